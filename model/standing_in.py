"""Who of a scenario is held by a surrogate in place of a model (`--llm PARTY=surrogate:FILE`), and how good that is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.laws.surrogate import read
from agents.persona import party_of
from agents.standin import Response
from llm.errors import UserError

if TYPE_CHECKING:
    from model.scenario import Scenario


def file_of(stand_ins: Mapping[str, str], label: str, party: str) -> str:
    """The file of a seat's surrogate, or of its party's; "" where it has none."""
    return stand_ins.get(label, stand_ins.get(party, ""))


def check(scenario: Scenario) -> None:
    """Errors: UserError where a scenario is none for stand-ins, or a file does not know a topic or a party."""
    held = _held(scenario)
    if not held:
        return
    if scenario.questions or scenario.format != "free" or scenario.sides != "own":
        raise UserError("a surrogate says what people of its party did: it neither deliberates nor argues for a side")
    if scenario.survey != "rounds":
        raise UserError("a surrogate moves once a survey: set survey=rounds")
    if any(one.kind == "model" for one in scenario.interventions):
        raise UserError("a model that comes in later may be another's: leave either it or the surrogate out")
    for file, party in dict.fromkeys(held):
        for topic in scenario.topics:
            known = read(Path(file), topic)["parties"]
            if party not in known:
                raise UserError(f"{file} was fitted to {', '.join(known)}: it knows no {party}")
            if not known[party]["said"]:
                raise UserError(f"{file} has no line of a {party} on {topic}: nothing that they said could be graded")


def responses(scenario: Scenario) -> dict[tuple[str, str, str], Response]:
    """By file, party and topic."""
    return {
        (file, party, topic): Response(read(Path(file), topic), party)
        for file, party in dict.fromkeys(_held(scenario))
        for topic in scenario.topics
    }


def present(scenario: Scenario) -> tuple[dict[str, Any], ...]:
    """For the header, by file and topic: its seats of all that debate, and what it says of itself (fidelity on unseen rooms)."""
    held = [file for file, _ in _held(scenario)]
    of = sum(len(group.seats) for group in scenario.build_environment().groups())
    found = []
    for file in dict.fromkeys(held):
        for topic in scenario.topics:
            fit = read(Path(file), topic)
            row = {"file": Path(file).name, "topic": topic, "seats": held.count(file), "of": of}
            found.append(row | {"caption": fit["caption"], "fidelity": fit["fidelity"]})
    return tuple(found)


def _held(scenario: Scenario) -> list[tuple[str, str]]:
    """File and party of every seat that has a surrogate, in one repetition of each group."""
    own = scenario.stand_ins()
    if not own:
        return []
    return [
        (file, party_of(seat))
        for group in scenario.build_environment().groups()
        for label, seat in zip(group.labels, group.seats, strict=True)
        if (file := file_of(own, label, party_of(seat)))
    ]
