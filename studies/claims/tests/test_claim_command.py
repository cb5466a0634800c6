"""The command of a claim: run on the oracle, sealed, killed and continued; planted effects are found."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from small_claims import written, written_small

import run
from parley.analysis.bundles.bundle import write_bundle
from parley.analysis.bundles.check import DIFFERS, SAME, check_bundle
from parley.analysis.outcomes import find_outcome
from parley.llm.errors import UserError
from parley.llm.trust import refuse_named
from parley.studies.claims.claim import load_claim
from parley.studies.claims.derivation import read_values

KILLED = Path(__file__).with_name("killed_claim.py")


def test_too_few_specifications_are_refused_before_slow_imports(tmp_path: Path) -> None:
    """They were refused after 3 s of imports (statsmodels, matplotlib) and a rehearsed run."""
    code = (
        "import sys, run\n"
        f"code = run.main(['study', 'claim', {str(written(tmp_path))!r}, '--specifications', '12'])\n"
        "slow = {'pandas', 'mesa', 'statsmodels', 'matplotlib', 'scipy.stats', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'{code} {sorted(slow)}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(run.__file__).parent, text=True, capture_output=True, check=False
    )
    assert done.stderr.endswith("2 []\n"), done.stderr
    assert "too few --specifications (12) to vary 11 settings: give --specifications 24 or more" in done.stderr


@pytest.mark.thorough
def test_a_claim_on_the_oracle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole command: both arms of four specifications, the page and the tables; a repeated command asks nothing again."""
    path = written_small(tmp_path)
    command = ["study", "claim", str(path), "--repetitions", "1", "--workers", "1", "--out", str(tmp_path / "out")]
    assert run.main(command) == 0
    first = capsys.readouterr().out
    assert "8 of 8 are finished" in first
    page = (tmp_path / "out" / "claim.md").read_text(encoding="utf-8")
    assert "## The specification curve" in page
    assert (tmp_path / "out" / "claim.html").exists()
    assert (tmp_path / "out" / "claim.png").exists()
    assert run.main(command) == 0
    again = capsys.readouterr().out
    assert "0 calls were made" in again
    assert (tmp_path / "out" / "claim.md").read_text(encoding="utf-8") == page


@pytest.mark.thorough
def test_a_sealed_claim_comes_out_of_its_records_and_a_changed_number_is_found(tmp_path: Path) -> None:
    """A bundle of a moved claim: records come out of replies, and pages out of records; a changed number is named.

    Code that a claim names is not run, and a design that is none is one line.
    """
    command = [
        "study",
        "claim",
        str(written_small(tmp_path)),
        "--repetitions",
        "1",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run.main(command) == 0
    folder = (tmp_path / "out").rename(tmp_path / "a claim")
    write_bundle([folder], tmp_path / "c.zip")
    findings = check_bundle(tmp_path / "c.zip")
    assert {one.verdict for one in findings} == {SAME}
    assert "8 of 8 records" in findings[1].sentence
    names = ("md", "html", "png", "svg", "txt")
    tables = ("curve", "differences", "settings", "topics", "variance")
    assert f"{len(names) + 2 * len(tables)} of {len(names) + 2 * len(tables)} tables" in findings[2].sentence
    table = folder / "differences.csv"
    table.write_text(table.read_text().replace("racism", "Racism", 1))
    write_bundle([folder], tmp_path / "d.zip")
    found = check_bundle(tmp_path / "d.zip")
    assert [one.sentence for one in found if one.verdict == DIFFERS] == [
        "differences.csv is not what comes out of the record"
    ]
    design = json.loads((folder / "claim.json").read_text())
    (folder / "claim.json").write_text(
        json.dumps({**design, "claim": {**design["claim"], "settings": ["environment=./coin.py"]}})
    )
    with pytest.raises(UserError, match="coin"):
        write_bundle([folder], tmp_path / "e.zip")
    values = read_values(folder)
    with pytest.raises(UserError, match=r"names the code environment=\./coin\.py"):
        refuse_named(values, "claim.json")
    for text in (
        "",
        "[]",
        "{}",
        "[" * 50_000,
        json.dumps({**design, "specifications": 10**9}),
        json.dumps({**design, "claim": 1}),
    ):
        (folder / "claim.json").write_text(text)
        with pytest.raises(UserError, match="is not the design of a claim"):
            read_values(folder)


def launch(claim: Path, folder: Path, count: int = 0) -> int:
    """Run killed_claim.py in a process of its own; the exit status."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(KILLED.parents[3])]))
    command = [sys.executable, str(KILLED), str(claim), str(folder), f"{folder}.log", str(count)]
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, env=environment, check=False, timeout=300).returncode


@pytest.mark.thorough
def test_a_killed_claim_ends_like_an_undisturbed_one_and_asks_nothing_twice(tmp_path: Path) -> None:
    """kill -9 in the middle, the same command again: the same page and tables, byte by byte, and each call once."""
    path, killed, calm = written_small(tmp_path), tmp_path / "killed", tmp_path / "calm"
    path.write_text(path.read_text(encoding="utf-8").replace('["oracle"]', f'["{KILLED}:counted"]'), encoding="utf-8")
    assert launch(path, calm) == 0
    calls = Path(f"{calm}.log").read_text().split()
    assert launch(path, killed, len(calls) // 2) == -signal.SIGKILL
    assert launch(path, killed) == 0
    assert sorted(Path(f"{killed}.log").read_text().split()) == sorted(calls)
    tables = sorted(one.name for one in calm.iterdir() if one.suffix in (".csv", ".md"))
    assert "claim.md" in tables
    for name in tables:
        assert (killed / name).read_bytes() == (calm / name).read_bytes(), name


ACQUIESCENT = """
claim = "Agents who talked for one round rate the topic higher than agents who did not."
scenario = "two_way"
settings = ["memory=whole", "survey=ends", "temperature=1", "listing=given", "reminder=false", "spacing=given"]
outcome = "attitudes.attitude"
expected = "greater"
smallest = 0.5
[contrast]
first = ["rounds=1"]
second = ["rounds=0"]
[population]
personas = ["enhanced"]
topics = ["racism"]
models = ["oracle,flips=acquiescence:1,wording=2"]
"""


@pytest.mark.thorough
def test_planted_effects_of_scale_and_wording_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratings of the speaker turn with the scale after lines heard, and are higher in the second wording: the effect depends
    on both, and on no other setting.
    """
    path, out = tmp_path / "claim.toml", tmp_path / "out"
    path.write_text(ACQUIESCENT, encoding="utf-8")
    command = [
        "study",
        "claim",
        str(path),
        "--specifications",
        "16",
        "--repetitions",
        "3",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    assert run.main(command) == 0
    said = capsys.readouterr().out
    assert "Among these people the effect depends on wording of the instructions (" in said
    assert " and scale (" in said
    assert "Whether wording of the instructions and scale matters for other people too is unknown." in said
    assert "The claim's result will be unknown, because there are 3 separate groups of people" in said
    settings = pd.read_csv(out / "settings.csv").set_index("setting")
    assert settings.loc["scale", "low"] > 0.5
    assert (settings.drop(index=["scale", "wording of the instructions"])["p_holm"] >= 0.05).all()


def test_the_printed_claim_is_one(tmp_path: Path) -> None:
    """The file that studies/claims/README.md prints can be read as it is."""
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "claim.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    assert load_claim(path).measure == find_outcome("polarisation.variance")
