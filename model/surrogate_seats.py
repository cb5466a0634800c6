"""Which seats a surrogate plays in place of a model (`--llm PARTY=surrogate:FILE`), and how well it predicts unseen rooms."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.agents.laws.surrogate import extrapolation_note, read_response
from parley.agents.persona import party_of
from parley.agents.traits import PLAIN
from parley.llm.errors import UserError
from parley.model.interventions.base import ALL
from parley.model.trait_assignment import entry_for

if TYPE_CHECKING:
    from parley.agents.surrogate_agent import SurrogateResponse
    from parley.model.scenario import Scenario


class SurrogateHolder(NamedTuple):
    """A seat that a surrogate plays: its label, its party, and the surrogate's file."""

    seat: str
    party: str
    file: str


def surrogate_for(files: Mapping[str, str], voices: Container[str], label: str, party: str) -> str:
    """Return the file of a seat's surrogate, or of its party's; "" without one, or if the seat has its own model (`voices`)."""
    return "" if label in voices else files.get(label, files.get(party, ""))


def check_surrogates(scenario: Scenario) -> None:
    """Errors: UserError where the scenario does not suit surrogates, or a file does not fit it."""
    if scenario.surrogate_by_party:
        for problem in _problems(scenario):
            raise UserError(problem)


def load_surrogates(scenario: Scenario) -> dict[tuple[str, str, str], SurrogateResponse]:
    """Return the response of each surrogate by file, party and topic."""
    from parley.agents.surrogate_agent import SurrogateResponse

    return {
        (file, party, topic): SurrogateResponse(read_response(Path(file), topic), party)
        for file, party in _file_parties(_surrogate_holders(scenario))
        for topic in scenario.subject.topic
    }


def surrogate_manifest(scenario: Scenario) -> tuple[dict[str, Any], ...]:
    """Return for the header, by file and topic: its number of seats, all seats, and its fidelity on unseen rooms."""
    files = [holder.file for holder in _surrogate_holders(scenario)]
    seats, rows = len(_seats(scenario)), []
    for file in dict.fromkeys(files):
        for topic in scenario.subject.topic:
            fit = read_response(Path(file), topic)
            row = {"file": Path(file).name, "topic": topic, "seats": files.count(file), "of": seats}
            caption = ". ".join(filter(None, [fit["caption"], extrapolation_note(fit, scenario.rounds)]))
            rows.append(row | {"caption": caption, "fidelity": fit["fidelity"]})
    return tuple(rows)


def _seats(scenario: Scenario) -> list[tuple[str, str]]:
    """Label and party of every seat that debates, in one repetition of each group."""
    return [
        (label, party_of(seat))
        for group in scenario.groups
        for label, seat in zip(group.labels, group.seats, strict=True)
    ]


def _surrogate_holders(scenario: Scenario) -> list[SurrogateHolder]:
    """The seats that surrogates play, in one repetition of each group."""
    files, voices = scenario.surrogate_by_party, scenario.llm_by_party
    if not files:
        return []
    return [SurrogateHolder(*seat, file) for seat in _seats(scenario) if (file := surrogate_for(files, voices, *seat))]


def _file_parties(holders: Iterable[SurrogateHolder]) -> dict[tuple[str, str], None]:
    """Every file with each party whose seats it plays."""
    return dict.fromkeys((holder.file, holder.party) for holder in holders)


def _problems(scenario: Scenario) -> Iterator[str]:
    """Yield what does not fit and what to set instead."""
    seats, topics = _seats(scenario), scenario.subject.topic
    for who, file in scenario.surrogate_by_party.items():
        if not file:
            yield f"llms: a surrogate needs its file: write {who}=surrogate:FILE, with a FILE written by run.py study surrogate"
        if not any(who in seat for seat in seats):
            parties = ", ".join(sorted({party for _, party in seats}))
            yield f"llms: {who} has no seat in this debate; a surrogate can play {parties}, or one of their seats"
    if scenario.subject.questions or scenario.speech.format != "free" or scenario.people.sides != "own":
        yield "a surrogate only works in free debates: set format=free and sides=own, and leave out questions"
    if scenario.surveys.survey != "rounds":
        yield "a surrogate needs a survey after each round, because it changes its attitude there: set survey=rounds"
    if any(intervention.kind == "model" for intervention in scenario.interventions):
        yield "a surrogate cannot be combined with an intervention of the kind model: leave out one of the two"
    holders = _surrogate_holders(scenario)
    for file, party in _file_parties(holders):
        for topic in topics:
            yield from _fit_problems(scenario.surveys.probe, file, party, topic)
    yield from _prompt_problems(scenario, holders)
    yield from _hearing_problems(scenario, holders)


def _fit_problems(probe: str, file: str, party: str, topic: str) -> Iterator[str]:
    fit = read_response(Path(file), topic)
    if fit["probe"] != probe:
        yield f"{file} was fitted to answers to the probe {fit['probe']}: set probe={fit['probe']}, not {probe}"
    fitted_parties = fit["parties"]
    if party not in fitted_parties:
        yield (
            f"{file} was fitted only to {', '.join(fitted_parties)}, so it cannot play a {party}: use it for these "
            "parties, or fit another run"
        )
    elif not fitted_parties[party]["said"]:
        yield f"{file} has no graded line of a {party} on {topic}, so it has nothing to say: fit it to another run"


def _prompt_problems(scenario: Scenario, holders: Iterable[SurrogateHolder]) -> Iterator[str]:
    """A surrogate reads no prompt, so no field may tell it something."""
    traits = scenario.trait_assignment
    fields = {name: getattr(traits, name) for name in ("roles", "traits", "confirmation_bias")}
    for field, entries in (fields | {"adapters": scenario.adapter_by_party}).items():
        for seat, party, _ in holders:
            if entry_for(entries, seat, party) not in ("", PLAIN.confirmation_bias):
                yield (
                    f"{field}: the seat {seat} is played by a surrogate, which reads no prompt; set {field} "
                    "only for other parties or seats"
                )


def _hearing_problems(scenario: Scenario, holders: Iterable[SurrogateHolder]) -> Iterator[str]:
    """A surrogate that responds to attitudes in its room hears a line from outside only if its attitude is given."""
    for line in scenario.interventions:
        if line.says_unvalued:
            valued = "say with value=0 to 10 which attitude the line argues for, or " if hasattr(line, "value") else ""
            for seat, party, file in holders:
                fits = [read_response(Path(file), topic) for topic in scenario.subject.topic]
                if {ALL, seat, party} & set(line.to) and any(fit["heard"] == "attitudes" for fit in fits):
                    yield (
                        f"{line.kind}: a surrogate plays {seat} and responds to attitudes in its room, not to text "
                        f"(heard: attitudes): {valued}address other agents with to=..."
                    )
