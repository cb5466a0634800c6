"""Every command works on every society: twelve of them, on a German one and a new one, at night on all, with nothing missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.__main__ import main
from parley.agents.skeleton import write_skeleton
from parley.agents.society import load_society, society_names
from parley.analysis.tables import load

pytestmark = pytest.mark.thorough


NEW, NEEDS_MATERIAL = "a new one", ("personas",)
"""The skeleton, and commands that the oracle refuses there, because it has no sentences for them."""


LANDS = [
    NEW,
    "germany",
    *(pytest.param(name, marks=pytest.mark.nightly) for name in society_names() if name != "germany"),
]


@pytest.fixture(scope="module", params=LANDS)
def society(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A shipped society, or the skeleton."""
    if request.param == NEW:
        return str(write_skeleton("society", tmp_path_factory.mktemp("lands") / "mine"))
    return str(request.param)


@pytest.fixture(scope="module")
def run(society: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five rooms a topic of three seats."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    words = ["--society", society, "--scenario", "three_way", "--llm", "oracle", "--repetitions", "5", "--rounds", "2"]
    assert main([*words, "--out", str(folder)]) == 0
    return folder


def test_a_run_says_whose_parties_it_has(society: str, run: Path) -> None:
    tables, known = load(run), load_society(society)
    assert tables.society is known
    assert set(tables.agents["party"]) == {*known.debaters, "default"}
    assert tables.attitudes["attitude"].notna().all()
    summary = (run / "summary.md").read_text(encoding="utf-8")
    assert all(known.label(party) in summary for party in known.debaters)


@pytest.mark.parametrize("words", [
    ("report", "RUN", "--out", "OUT/report.html"),
    ("study", "judge", "RUN", "--trust", "SOCIETY", "--llm", "oracle", "--out", "OUT"),
    ("study", "judge", "RUN", "--trust", "SOCIETY", "--rubric", "appeal", "--llm", "oracle", "--out", "OUT"),
    ("study", "validate", "--society", "SOCIETY", "--personas", "simple", "--llm", "oracle", "--judge", "oracle", "--out", "OUT"),
    ("study", "questionnaire", "orders", "--society", "SOCIETY", "--llm", "oracle", "--repeats", "2", "--out", "OUT"),
    ("study", "personas", "--society", "SOCIETY", "--party", "FIRST", "--llm", "oracle", "--out", "OUT"),
    ("study", "case", "--society", "SOCIETY", "--topic", "TOPIC", "--for", "Yes.", "--against", "No.", "--llm", "oracle",
     "--out", "OUT/case.toml"),
    ("sweep", "--society", "SOCIETY", "--scenario", "two_way", "--llm", "oracle", "--repetitions", "2", "--vary", "rounds=1,2",
     "--out", "OUT"),
    ("study", "intervene", "--society", "SOCIETY", "--scenario", "two_way", "--llm", "oracle", "--repetitions", "2",
     "--intervene", "message round=2 to=second by=Kim text='Think again.'", "--out", "OUT"),
    ("audit", "--society", "SOCIETY", "--llm", "oracle", "--topic", "TOPIC", "--blocks", "2", "--sections", "bias,pull",
     "--out", "OUT"),
    ("--society", "SOCIETY", "--scenario", "consensus", "--llm", "oracle", "--repetitions", "1", "--out", "OUT"),
    ("--society", "SOCIETY", "--scenario", "structured_debate", "--llm", "oracle", "--repetitions", "1", "--out", "OUT"),
], ids=lambda words: {"-": words[3], "s": words[1]}.get(words[0][0], words[0]))  # fmt: skip
def test_a_command_works(society: str, run: Path, words: tuple[str, ...], tmp_path: Path) -> None:
    known = load_society(society)
    filled = {"RUN": str(run), "OUT": str(tmp_path / "out"), "SOCIETY": society, "FIRST": known.debaters[0]}
    filled["TOPIC"] = known.topics[0]
    asked = []
    for word in words:
        for name, value in filled.items():
            word = word.replace(name, value) if name in word else word
        asked.append(word)
    (tmp_path / "out").mkdir() if {"report", "case"} & {*words} else None
    refused = words[1] in NEEDS_MATERIAL and society not in society_names()
    assert main(asked) == (2 if refused else 0)
