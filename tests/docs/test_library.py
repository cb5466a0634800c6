"""The code of docs/library.md runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from data_checks import check_each

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.thorough
@check_each("code", CODE, ids=["scenario", "run", "functions", "experiment"])
def test_the_code_runs(
    code: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(code, "docs/library.md", "exec"), names)
    assert {"model", "run", "comparison"} & set(names) or re.fullmatch(
        r"(rng \d: variance \d\.\d\d\n){2}", capsys.readouterr().out
    )
