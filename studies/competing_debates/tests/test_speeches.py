"""Speeches for one side by debaters who hold the belief or not: pairs by hand, nothing found by lot, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.persona import Persona
from parley.agents.topic import load_topic
from parley.studies.competing_debates.speeches import (
    BELIEF,
    NULL,
    Speech,
    SpeechReader,
    quality_table,
    speech_pairs,
    verdict,
)


def test_pairs_hold_topic_side_and_protocol_fixed() -> None:
    """Own and other belief of one repetition are a pair; two own beliefs of two repetitions are a null pair, by lot."""
    every = [
        Speech("sequential", "racism", number, "for", own, f"{number}{own}")
        for number in range(4)
        for own in (True, False)
    ]
    every += [Speech("sequential", "racism", 9, "against", True, "alone")]
    pairs = speech_pairs(every, 0)
    belief = [pair for pair in pairs if pair.kind == BELIEF]
    null = [pair for pair in pairs if pair.kind == NULL]
    assert [(pair.first.text, pair.second.text) for pair in belief] == [(f"{n}True", f"{n}False") for n in range(4)]
    assert {frozenset((pair.first.text, pair.second.text)) for pair in null} == {
        frozenset(("0True", "1True")),
        frozenset(("2True", "3True")),
    }
    firsts = {speech_pairs(every, seed)[-2].first.text for seed in range(12)}
    assert firsts == {"0True", "1True"}  # the lot names either
    assert len({name for pair in pairs for name in pair.ids}) == 2 * len(pairs)


def values(shift: float, units: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two pairs of each of so many repetitions, whose shares vary around 0.5 + shift."""
    rows = [
        (BELIEF, "sequential", "t", unit, side, 0.5 + shift + rng.normal(0, 0.1))
        for unit in range(units)
        for side in ("for", "against")
    ]
    return pd.DataFrame(rows, columns=["kind", "protocol", "topic", "repetition", "side", "value"])


def test_a_preference_is_found_and_none_is_not() -> None:
    """A share of 0.6 is more often, 0.4 less often; at 0.5 few of 20 draws claim anything; below five units nothing is said."""
    words = {}
    for shift in (0.1, -0.1):
        row = quality_table(values(shift, 20, np.random.default_rng(0))).to_dict("records")[0]
        words[shift] = verdict(row, "sequential")
    assert "more often" in words[0.1]
    assert "less often" in words[-0.1]
    claims = 0
    for seed in range(20):
        row = quality_table(values(0.0, 10, np.random.default_rng(seed))).to_dict("records")[0]
        claims += "is not clearly preferred more or less often than" not in verdict(row, "sequential")
    assert claims <= 3
    few = quality_table(values(0.3, 4, np.random.default_rng(0))).to_dict("records")[0]
    assert "fewer than 5 repetitions" in verdict(few, "sequential")
    lost = quality_table(values(0.3, 8, np.random.default_rng(0)).assign(value=np.nan)).to_dict("records")[0]
    assert "is unknown" in verdict(lost, "sequential")


def test_the_same_people_on_six_topics_are_one_unit() -> None:
    """People whose speeches are better on every topic are no six pieces of evidence: a share of .5 is missed in about 5%."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(400):
        people = np.repeat(rng.normal(0, 0.1, 8), 6)
        rows = [
            ("k", "p", f"t{at % 6}", at // 6, "for", 0.5 + shift + rng.normal(0, 0.05))
            for at, shift in enumerate(people)
        ]
        table = quality_table(pd.DataFrame(rows, columns=["kind", "protocol", "topic", "repetition", "side", "value"]))
        assert table["units"].tolist() == [8]
        missed += not table["low"].iloc[0] <= 0.5 <= table["high"].iloc[0]
    assert 5 <= missed <= 35


def test_a_reader_is_shown_two_speeches_for_one_side() -> None:
    """The prompt names the claim and the side, in English and in German; the answer is 1 or 2."""
    person = Persona("p1", "default", "Ann", "You are Ann.")
    for name, word in (("racism", "against the claim"), ("germany/tempolimit", "gegen die Behauptung")):
        topic = load_topic(name)
        asked = SpeechReader(person, topic, "against").compose_choice("", "One.", "Two.", 1)
        text = asked.messages[-1].content
        assert word in text
        assert topic.claim in text
        assert text.index("One.") < text.index("Two.")
        assert asked.answers == ("1", "2")


def test_a_panel_that_cannot_be_is_refused_before_the_debates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown model, too many personas, a panel that compares nothing: one line, and no folder."""
    cases = {
        "--compare nonsense": "unknown model",
        "--compare oracle --panel 9999": "9999 are needed",
        "--panel 3": "add --compare SPEC",
    }
    for options, wanted in cases.items():
        line = f"study prior-beliefs --llm oracle {options} --out {tmp_path / 'run'}"
        assert run.main(line.split()) == 2
        assert wanted in capsys.readouterr().err
        assert not (tmp_path / "run").exists()


@pytest.mark.thorough
def test_the_command_compares_speeches_and_asks_nothing_twice(tmp_path: Path) -> None:
    """The oracle argues for its own belief with more certainty, and a panel of strong taste hears it; again, the same bytes."""
    line = (
        "study prior-beliefs --llm oracle --compare oracle,taste=40 --panel 4 --topic racism --repetitions 6 --rounds 1"
    )
    pages = []
    for _ in range(2):
        assert run.main([*line.split(), "--out", str(tmp_path)]) == 0
        pages.append((tmp_path / "beliefs.md").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    quality = pd.read_csv(tmp_path / "quality.csv").set_index(["protocol", "kind"])
    assert quality.loc[("simultaneous", BELIEF), "share"] > 0.55
    assert (tmp_path / "speech_pairs.csv").exists()
