"""The corpus of the fuzzer (tests/fuzz): what it once found stays mended."""

from __future__ import annotations

from pathlib import Path

from data_checks import check_each
from fuzz.__main__ import CORPUS
from fuzz.targets import TARGETS

INPUTS = sorted(path.relative_to(CORPUS) for path in CORPUS.rglob("*.txt"))


@check_each("name", INPUTS, ids=str)
def test_what_the_fuzzer_found_stays_mended(name: Path) -> None:
    TARGETS[name.parts[0]]((CORPUS / name).read_bytes())


def test_each_target_has_a_corpus() -> None:
    assert {name.parts[0] for name in INPUTS} == TARGETS.keys()
