"""A bias card in Python: the card of the command, as an object."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import parley
import run as command_line

SMALL = {"topic": "climate_change", "blocks": 2, "sections": ["bias", "null_conditions"], "rounds": 1}
WORDS = "audit --llm oracle --topic climate_change --blocks 2 --sections bias,null_conditions --set rounds=1"


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> parley.AuditCard:
    return parley.audit("oracle", out=tmp_path_factory.mktemp("cards") / "a", **SMALL)


@pytest.mark.thorough
def test_it_is_the_card_of_the_command(card: parley.AuditCard, tmp_path: Path) -> None:
    """One way to make a card, whoever asks for it."""
    assert command_line.main([*WORDS.split(), "--out", str(tmp_path / "b")]) == 0
    for name in ("card.json", "card.csv", "card.png"):
        assert (card.folder / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.thorough
def test_two_blocks_give_no_verdict(card: parley.AuditCard) -> None:
    """Below five blocks nothing is claimed: an interval is missing with its reason, never a number."""
    of_blocks = card.claims[
        card.claims["unit"] == "block"
    ]  # others are over answers or wordings, of which there are more
    assert len(of_blocks)
    assert of_blocks[["low", "high"]].isna().all(axis=None)
    assert (of_blocks["reason"] != "").all()
    unknown = card.claims[card.claims["estimate"].isna()]
    assert (unknown["reason"] != "").all()
    assert not [sentence for sentence in card.sentences if "95%" in sentence]


def test_what_a_card_shows(card: parley.AuditCard) -> None:
    assert isinstance(card.plot(), Figure)
    assert "<h1" in card.report().read_text(encoding="utf-8")
    assert repr(card).startswith("<AuditCard of ")
    shown = card._repr_html_()
    assert "estimate" in shown
    assert "rule-based" in shown, "a reader has to know that no language model spoke"
    card.report().unlink()
    with pytest.raises(parley.UserError, match=r"card\.html is missing: write the page again with parley\.audit"):
        card.report()


def test_model_text_in_a_card_is_shown_as_text(card: parley.AuditCard) -> None:
    """The name of a model is whatever a server says."""
    card = parley.AuditCard(card.folder / "card.json")
    card.model = "<script>alert(1)</script>"
    assert "<script" not in card._repr_html_()


def test_what_is_wrong_is_told_and_costs_nothing(tmp_path: Path) -> None:
    with pytest.raises(parley.UserError, match="blocks must be at least 2"):
        parley.audit("oracle", blocks=1, out=tmp_path / "x")
    with pytest.raises(parley.UserError, match="unknown field"):
        parley.audit("oracle", memry="whole", out=tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(parley.UserError, match="cannot read the card"):
        parley.AuditCard(tmp_path)


@pytest.mark.thorough
def test_a_spent_budget_leaves_a_card_to_go_on_with(tmp_path: Path) -> None:
    """What was asked is kept, and the card says that it is not whole."""
    with pytest.raises(parley.UserError, match="budget"):
        parley.audit("oracle", out=tmp_path / "x", max_calls=60, **SMALL)
    stopped = parley.AuditCard(tmp_path / "x")
    assert stopped.stopped
    assert "unfinished" in repr(stopped)
    assert "Unfinished" in stopped._repr_html_()
