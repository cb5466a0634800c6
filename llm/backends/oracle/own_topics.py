"""Banks for topics of the user's, which no society has: the sentences and planted numbers of banks/<code>/topic.toml.

It does not understand such a topic: its words fit any, and its law is the same for all of them. A prompt says that a topic is the
user's (`own` in llm/purposes.py), and its title is the topic's name here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from parley.llm.backends.oracle.party_files import PartyFiles, derived_start

NUMBERS = ("bias", "kappa", "mu", "sigma", "epsilon")
LEFT_IS_HIGH = -1.0
Value = TypeVar("Value")


class ByTopic(dict[str, Value]):
    """Values of known topics, by slug. That of a topic of the user's is made when it is asked for, and is never listed."""

    def __init__(self, known: Mapping[str, Value], make: Callable[[str], Value]):
        super().__init__(known)
        self._make, self._made = make, dict[str, Value]()

    def __missing__(self, title: str) -> Value:
        if title not in self._made:
            self._made[title] = self._make(title)
        return self._made[title]


def sentences_on(title: str, bank: dict[str, Any]) -> dict[str, Any]:
    """Return what the speaker says on a topic with this title, in the shape of a file oracle/topics/NAME.toml."""
    return {key: bank[key] for key in ("stance", "labels", "grades")} | {
        "title": title, "recognise": [title.lower()], "propositions": []
    }  # fmt: skip


def planted_on(bank: dict[str, Any], parties: PartyFiles) -> dict[str, Any]:
    """Return the planted numbers of a topic of the user's, with where each party begins."""
    numbers = {name: bank["planted"][name] for name in NUMBERS}
    speakers = parties.speakers.items()
    starts = {
        party: derived_start(party_file.side, (), LEFT_IS_HIGH, numbers["bias"]) for party, party_file in speakers
    }
    return {**numbers, "start": starts, "stubbornness": {}, "positions": {}}
