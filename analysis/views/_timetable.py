"""Interventions that are planned, and the changes of a branch, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parley.agents.society import PartyNames
from parley.analysis.formatting import strip_controls
from parley.analysis.views._words import model_words
from parley.model.branching import changed_parts
from parley.model.interventions import intervention_spec
from parley.model.interventions.base import ALL, Intervention
from parley.model.interventions.moderator import LINES
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases, seat_title

SPEECH = {
    "temperature": "temperature", "top_p": "top_p", "max_tokens": "most tokens of a reply", "cut": "cut of long replies",
    "reminder": "reminder of the persona",
}  # fmt: skip
DOES: dict[str, Callable[[Any, str], str]] = {
    "message": lambda one, whom: f"{one.by} says to {whom}: “{one.text}”",
    "moderator": lambda one, whom: f"the moderator says to {whom}: “{LINES.get(one.text, one.text)}”",
    "shock": lambda one, whom: f"news for {whom}: “{one.text}”",
    "mute": lambda one, whom: f"{whom} cannot speak",
    "unmute": lambda one, whom: f"{whom} can speak again",
    "leave": lambda one, whom: f"{whom} leave",
    "join": lambda one, whom: f"{whom} join",
    "model": lambda one, whom: f"{whom} speak through {model_words(one.llm)}",
    "speech": lambda one, whom: f"{whom} speak with {_settings(one.changes)}",
}
"""What an intervention does, by its kind; others say it themselves (`Intervention.in_words`)."""


def in_words(
    one: Intervention, names: PartyNames, rooms: Mapping[str, str] | None = None, known: int | None = None
) -> str:
    """Return an intervention in words: `Before round 3: Ann says to all agents: “Think of the cost.”`

    rooms: titles by id. known: a round that need not be named.
    """
    share = "" if one.share == 1 else f"{one.share:.0%} of "
    to = ["all agents" if name == ALL else names.plurals.get(name) or seat_title(name, names) for name in one.to]
    does = DOES.get(one.kind, type(one).in_words)(one, f"{share}{join_phrases(to)}")
    if not does:
        return strip_controls(f"Before round {one.round}: {intervention_spec(one)}")
    where = f" (in {join_phrases([(rooms or {}).get(room, room) for room in one.rooms])})" if one.rooms else ""
    again = f", and again every {one.every} rounds" if one.every else ""
    when = "" if one.round == known and not again else f"Before round {one.round}{again}: "
    return strip_controls(f"{when}{does}{where}")


def changes_in_words(base: Scenario, branch: Scenario, names: PartyNames, known: int | None = None) -> Iterator[str]:
    """Yield what a branch changes, a phrase each. known: a round that need not be named."""
    rounds, added, dropped = changed_parts(base, branch)
    if rounds is not None:
        yield f"the debate ends after round {rounds}, not {base.rounds}"
    yield from [in_words(one, names, known=known) for one in added]
    yield from [f"left out: {in_words(one, names)}" for one in dropped]


def _settings(changes: Mapping[str, Any]) -> str:
    return join_phrases([f"{SPEECH[name]} {value}" for name, value in changes.items()])
