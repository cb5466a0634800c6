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
    "message": lambda intervention, whom: f"{intervention.by} says to {whom}: “{intervention.text}”",
    "moderator": lambda intervention, whom: (
        f"the moderator says to {whom}: “{LINES.get(intervention.text, intervention.text)}”"
    ),
    "shock": lambda intervention, whom: f"news for {whom}: “{intervention.text}”",
    "mute": lambda intervention, whom: f"{whom} cannot speak",
    "unmute": lambda intervention, whom: f"{whom} can speak again",
    "leave": lambda intervention, whom: f"{whom} leave",
    "join": lambda intervention, whom: f"{whom} join",
    "model": lambda intervention, whom: f"{whom} speak through {model_words(intervention.llm)}",
    "speech": lambda intervention, whom: f"{whom} speak with {_settings(intervention.changes)}",
}
"""What an intervention does, by its kind; others say it themselves (`Intervention.in_words`)."""


def in_words(
    intervention: Intervention,
    names: PartyNames,
    rooms: Mapping[str, str] | None = None,
    named_round: int | None = None,
) -> str:
    """Return an intervention in words: `Before round 3: Ann says to all agents: “Think of the cost.”`

    rooms: titles by id. named_round: a round that need not be named.
    """
    share = "" if intervention.share == 1 else f"{intervention.share:.0%} of "
    to = [
        "all agents" if name == ALL else names.plurals.get(name) or seat_title(name, names) for name in intervention.to
    ]
    does = DOES.get(intervention.kind, type(intervention).in_words)(intervention, f"{share}{join_phrases(to)}")
    if not does:
        return strip_controls(f"Before round {intervention.round}: {intervention_spec(intervention)}")
    where = (
        f" (in {join_phrases([(rooms or {}).get(room, room) for room in intervention.rooms])})"
        if intervention.rooms
        else ""
    )
    again = f", and again every {intervention.every} rounds" if intervention.every else ""
    when = "" if intervention.round == named_round and not again else f"Before round {intervention.round}{again}: "
    return strip_controls(f"{when}{does}{where}")


def changes_in_words(
    base: Scenario, branch: Scenario, names: PartyNames, named_round: int | None = None
) -> Iterator[str]:
    """Yield what a branch changes, a phrase each. named_round: a round that need not be named."""
    rounds, added, dropped = changed_parts(base, branch)
    if rounds is not None:
        yield f"the debate ends after round {rounds}, not {base.rounds}"
    yield from [in_words(intervention, names, named_round=named_round) for intervention in added]
    yield from [f"left out: {in_words(intervention, names)}" for intervention in dropped]


def _settings(changes: Mapping[str, Any]) -> str:
    return join_phrases([f"{SPEECH[name]} {value}" for name, value in changes.items()])
