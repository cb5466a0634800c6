"""A conversation as one text: where the turn of a completion model ends."""

from __future__ import annotations

from dataclasses import replace

from parley.llm.request import Message, Request, Sampling, plain_text, stop_strings

TALK = (
    Message("system", "You are Ann."), Message("user", "Bob: Guns!\n\nYour turn."), Message("assistant", "Yes."),
    Message("user", "Cid: No.\n\nYour turn."),
)  # fmt: skip


def test_a_turn_ends_at_the_next_label() -> None:
    """Its own and others' at the beginning of a line, as many as servers take; the request's own stop strings come first."""
    request = Request(TALK, Sampling(), 1, names=frozenset({"Bob", "Cid", "Ann"}))
    assert plain_text(TALK, closed=False).endswith("Me: Yes.\n\nCid: No.\n\nYour turn.\n\nMe:")
    assert stop_strings(request) == ("\nMe:", "\nAnn:", "\nBob:", "\nCid:")
    assert stop_strings(replace(request, names=None)) == ("\nMe:",)
    assert stop_strings(replace(request, sampling=Sampling(stop=("!",)))) == ("!", "\nMe:", "\nAnn:", "\nBob:")
    assert stop_strings(replace(request, answers=("1", "2"))) == ("\nMe:", "\nAnswer:", "\nAnn:", "\nBob:")
