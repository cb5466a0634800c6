"""Which seats a surrogate plays in place of a model (`--llm PARTY=surrogate:FILE`), and how well it predicts unseen rooms."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.agents.opinion_dynamics import extrapolation_note, read_response
from parley.agents.persona import party_of
from parley.agents.surrogate_agent import SurrogateResponse
from parley.agents.traits import PLAIN
from parley.llm.errors import UserError
from parley.model.interventions.base import ALL, Saying
from parley.model.interventions.planner import Planner
from parley.model.trait_assignment import entry_for

if TYPE_CHECKING:
    from parley.model.scenario import Scenario


class SurrogateHolder(NamedTuple):
    """A seat that a surrogate plays: its label, its party, the surrogate's file."""

    seat: str
    party: str
    file: str


def surrogate_for(stand_ins: Mapping[str, str], voices: Container[str], label: str, party: str) -> str:
    """The file of a seat's surrogate, or of its party's; "" where it has none, or the seat a model of its own (`voices`)."""
    return "" if label in voices else stand_ins.get(label, stand_ins.get(party, ""))


def check_surrogates(scenario: Scenario) -> None:
    """Errors: UserError where a scenario is none for stand-ins, or a file does not fit it."""
    if not scenario.surrogate_by_party:
        return
    _check_names(scenario)
    _check_kind(scenario)
    holders = _surrogate_holders(scenario)
    for file, party in _files(holders):
        for topic in scenario.subject.topics:
            _check_fit(scenario.surveys.probe, file, party, topic)
    _check_untold(scenario, holders)
    _check_hearing(scenario, holders)


def load_surrogates(scenario: Scenario) -> dict[tuple[str, str, str], SurrogateResponse]:
    """By file, party and topic."""
    return {
        (file, party, topic): SurrogateResponse(read_response(Path(file), topic), party)
        for file, party in _files(_surrogate_holders(scenario))
        for topic in scenario.subject.topics
    }


def surrogate_manifest(scenario: Scenario) -> tuple[dict[str, Any], ...]:
    """For the header, by file and topic: its seats of all that debate, and what it says of itself (fidelity on unseen rooms)."""
    holders = [one.file for one in _surrogate_holders(scenario)]
    of, found = len(_seats(scenario)), []
    for file in dict.fromkeys(holders):
        for topic in scenario.subject.topics:
            fit = read_response(Path(file), topic)
            row = {"file": Path(file).name, "topic": topic, "seats": holders.count(file), "of": of}
            caption = ". ".join(filter(None, [fit["caption"], extrapolation_note(fit, scenario.rounds)]))
            found.append(row | {"caption": caption, "fidelity": fit["fidelity"]})
    return tuple(found)


def _seats(scenario: Scenario) -> list[tuple[str, str]]:
    """Label and party of every seat that debates, in one repetition of each group."""
    return [
        (label, party_of(seat))
        for group in scenario.groups
        for label, seat in zip(group.labels, group.seats, strict=True)
    ]


def _surrogate_holders(scenario: Scenario) -> list[SurrogateHolder]:
    """Those of them that have a surrogate."""
    own = scenario.surrogate_by_party
    if not own:
        return []
    voices = scenario.llm_by_party
    return [SurrogateHolder(*seat, file) for seat in _seats(scenario) if (file := surrogate_for(own, voices, *seat))]


def _files(holders: Iterable[SurrogateHolder]) -> dict[tuple[str, str], None]:
    """Every file with each party that it holds seats of."""
    return dict.fromkeys((one.file, one.party) for one in holders)


def _check_names(scenario: Scenario) -> None:
    """Errors: UserError where no file is given, or nobody who debates is meant."""
    seats = _seats(scenario)
    known = {name for seat in seats for name in seat}
    for who, file in scenario.surrogate_by_party.items():
        if not file:
            raise UserError(f"llms: write {who}=surrogate:FILE, a file that run.py surrogate wrote")
        if who not in known:
            parties = ", ".join(sorted({party for _, party in seats}))
            raise UserError(
                f"llms: {who} has no seat in this debate; a surrogate can play {parties}, or one of their seats"
            )


def _check_kind(scenario: Scenario) -> None:
    """Errors: UserError for a kind of debate that no surrogate was fitted to."""
    if scenario.subject.questions or scenario.speech.format != "free" or scenario.people.sides != "own":
        raise UserError("a surrogate repeats free debates: it can neither deliberate nor argue for an assigned side")
    if scenario.surveys.survey != "rounds":
        raise UserError("a surrogate changes its attitude at each survey: set survey=rounds")
    if any(one.kind == "model" for one in scenario.interventions):
        raise UserError("a surrogate cannot be combined with a later change of model: remove one of them")


def _check_fit(probe: str, file: str, party: str, topic: str) -> None:
    """Errors: UserError where the file was fitted to another survey question, or knows nothing of a party."""
    fit = read_response(Path(file), topic)
    if fit["probe"] != probe:
        raise UserError(
            f"{file} was fitted to answers to the probe {fit['probe']}: set probe={fit['probe']}, not {probe}"
        )
    known = fit["parties"]
    if party not in known:
        raise UserError(f"{file} was fitted to {', '.join(known)}: it knows no {party}")
    if not known[party]["said"]:
        raise UserError(f"{file} has no line of a {party} on {topic}: nothing that they said could be graded")


def _check_untold(scenario: Scenario, holders: Iterable[SurrogateHolder]) -> None:
    """Errors: UserError where a stand-in is given what only a model could be told."""
    assigned = scenario.trait_assignment
    fields = {
        "roles": assigned.roles,
        "traits": assigned.traits,
        "confirmation_bias": assigned.confirmation_bias,
        "adapters": scenario.adapter_by_party,
    }
    for field, listed in fields.items():
        for one in holders:
            if entry_for(listed, one.seat, one.party) not in ("", PLAIN.confirmation_bias):
                raise UserError(
                    f"{field}: a surrogate plays {one.seat} and reads no prompt; set {field} for other parties or seats only"
                )


def _check_hearing(scenario: Scenario, holders: Iterable[SurrogateHolder]) -> None:
    """Errors: UserError where a line is for a stand-in that hears where people stand: whoever is in no room stands nowhere."""
    for line in scenario.interventions:
        if isinstance(line, Saying | Planner):
            meant = [one for one in holders if {ALL, one.seat, one.party} & set(line.to)]
            deaf = _by_attitudes({one.file for one in meant}, scenario.subject.topics)
            if reached := next((one.seat for one in meant if one.file in deaf), None):
                raise UserError(
                    f"{line.kind}: a surrogate plays {reached} and responds to attitudes in its room, not to text "
                    "(heard: attitudes); address other agents with to=..."
                )


def _by_attitudes(files: Iterable[str], topics: Iterable[str]) -> set[str]:
    """Those of these files that hear, on one of these topics, attitudes of who speaks and no lines."""
    return {file for file in files if any(read_response(Path(file), topic)["heard"] == "attitudes" for topic in topics)}
