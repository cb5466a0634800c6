"""Replies of the oracle to false claims have planted qualities, and its judge reads exactly these."""

from __future__ import annotations

from statistics import fmean

import pytest
from data_checks import check_each

from parley.agents.evidence import Passage
from parley.agents.language import load_language
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.bank_files import read_file
from parley.llm.backends.oracle.phrases import FOLDER
from parley.llm.errors import UserError
from parley.studies.corrections.corrector import Corrector, load_posts
from parley.studies.corrections.oracle import FRAMES, INVENTS, POLITE, QUALITIES, REFUTES, RUDE

BANKS = {code: read_file(FOLDER / code / "correction.toml") for code in ("en", "de")}
PASSAGES = ("The wall has no crack. It stands.", "Fish climb the ladder.")


@check_each(
    ("reply", "expected"),
    [
        ("Thank you for writing about this. This claim is false.", (5, 1, 4, 5)),
        ('Only an idiot could write such a thing. "The wall has no crack." (dam.txt 2)', (1, 3, 1, 5)),
        ('That is wrong. "It stands." (a.txt 1) "Fish climb the ladder." (a.txt 2)', (5, 5, 3, 5)),
        ('"It stands." (a.txt 1) Nine in ten people know this. "We found nothing." (a.txt 1)', (1, 3, 3, 1)),
        ("The trains are late again. Bread is dear.", (1, 1, 3, 1)),
    ],
)
def test_the_judge_by_hand(reply: str, expected: tuple[int, ...]) -> None:
    """Refutation, evidence, politeness, factuality: marks and whole sentences of the passages are counted."""
    assert tuple(rule(BANKS["en"], reply, PASSAGES) for rule in QUALITIES.values()) == expected


@pytest.mark.parametrize("code", BANKS)
def test_each_sentence_has_one_mark_of_its_own_kind_and_claims_have_none(code: str) -> None:
    """Otherwise a reply would not have the quality that was planted in it."""
    marks = BANKS[code]["marks"]
    for kind in (*FRAMES, "claims", "fabricated"):
        for line in BANKS[code][kind]:
            counts = {own: sum(line.lower().count(mark) for mark in marks[own]) for own in FRAMES}
            assert counts == {own: int(own == kind) for own in FRAMES}, line


def test_replies_have_the_planted_qualities_on_average() -> None:
    """Within four standard errors of what the law says, over 600 seeds; in both languages."""
    shown = [Passage("a.txt", number, text) for number, text in enumerate(PASSAGES, 1)]
    for code, bank in BANKS.items():
        writer, oracle = Corrector(load_language(code)), open_spec("oracle,fabricates=0")
        texts = [
            reply.text or "" for reply in oracle.complete([writer.compose("It broke!", shown, n) for n in range(600)])
        ]
        found = {name: fmean(rule(bank, text, PASSAGES) for text in texts) for name, rule in QUALITIES.items()}
        expected = {
            "refutation": 1 + 4 * (REFUTES + (1 - REFUTES) * (1 - POLITE - RUDE) * 0.2 * 0.2 * (1 - INVENTS)),
            "evidence": 1 + 2 * 2 * 0.8,
            "politeness": 3 + POLITE - 2 * RUDE,
            "factuality": 5 - 2 * INVENTS,
        }
        assert found == pytest.approx(expected, abs=0.3)


def test_a_draft_keeps_its_manner_and_loses_its_claims() -> None:
    posts, oracle = load_posts("en"), open_spec("oracle,quotes=1,fabricates=0")
    writer, bank = Corrector(posts.language), BANKS["en"]
    draft = f"{bank['rude'][0]} {bank['refuting'][1]} {bank['claims'][0]}"
    shown = [Passage("a.txt", 1, "It stands.")]
    (reply,) = oracle.complete([writer.compose("It broke!", shown, 3, draft)])
    assert reply.text == f'{bank["rude"][0]} {bank["refuting"][1]} "It stands." [1]'


def test_a_probability_outside_0_and_1_is_one_line() -> None:
    with pytest.raises(UserError, match="quotes and fabricates must be between 0 and 1"):
        open_spec("oracle,quotes=2")
    assert "quotations" not in open_spec("oracle").identity, "old records keep their model"
    assert open_spec("oracle,quotes=0").identity["quotations"] == {"quotes": 0.0, "fabricates": 0.1}
