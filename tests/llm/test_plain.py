"""A conversation as one text: where the turn of a completion model ends."""

from __future__ import annotations

from dataclasses import replace

from parley.llm.plain import plain, stops
from parley.llm.request import Message, Request, Sampling

TALK = (
    Message("system", "You are Ann."), Message("user", "Bob: Guns!\n\nYour turn."), Message("assistant", "Yes."),
    Message("user", "Cid: No.\n\nYour turn."),
)  # fmt: skip


def test_a_turn_ends_at_the_next_label() -> None:
    """Its own and others' at the beginning of a line, as many as servers take; the request's own stop strings come first."""
    request = Request(TALK, Sampling(), 1, names=frozenset({"Bob", "Cid", "Ann"}))
    assert plain(TALK, closed=False).endswith("Me: Yes.\n\nCid: No.\n\nYour turn.\n\nMe:")
    assert stops(request) == ("\nMe:", "\nAnn:", "\nBob:", "\nCid:")
    assert stops(replace(request, names=None)) == ("\nMe:",)
    assert stops(replace(request, sampling=Sampling(stop=("!",)))) == ("!", "\nMe:", "\nAnn:", "\nBob:")
    assert stops(replace(request, answers=("1", "2"))) == ("\nMe:", "\nAnswer:", "\nAnn:", "\nBob:")
