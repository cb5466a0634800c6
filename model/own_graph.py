"""What a run does with a graph or a survey of the user: checks before anything is made, and lines of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parley.environments.graph_files import ATTITUDE
from parley.environments.link_attributes import Ties
from parley.environments.survey_table import Survey, describe_survey
from parley.llm.errors import UserError
from parley.model.casting import RoomSeating, check_seats, first_links, seat_rooms
from parley.model.scenario import Scenario


def check_files(scenario: Scenario) -> None:
    """Errors: UserError where a graph of the user does not fit, before anything is made."""
    environment: Any = scenario.environment
    for group in environment.groups() if _has_own_graph(scenario) else ():
        first_links(scenario, group, 0)
        check_seats(scenario, group)
        room = next(room for room in seat_rooms(scenario.replace(repetitions=1)) if room.group == group.name)
        _check_periods(room.ties, scenario.rounds)


def _has_own_graph(scenario: Scenario) -> bool:
    return bool(getattr(scenario.environment, "own_graph", False))


def _check_periods(ties: Ties, rounds: int) -> None:
    """Errors: UserError if no link exists in any round of the run."""
    if ties.spells and not any(ties.at(round_) for round_ in range(1, rounds + 1)):
        raise UserError(
            f"no link of the graph exists in rounds 1 to {rounds}. The columns `start` and `end` hold numbers of "
            "rounds, counted from 1: correct them, or set rounds to a larger number"
        )


def own_graph_lines(scenario: Scenario) -> Iterator[str]:
    """Yield what a plan says about the links and nodes of a graph of the user; nothing for other graphs."""
    if not _has_own_graph(scenario):
        return
    room = next((room for room in seat_rooms(scenario.replace(repetitions=1)) if room.links is not None), None)
    if room is None:
        return
    if room.ties.weights:
        yield "  the weights of the graph's links are recorded; debates ignore them"
    if room.ties.signs:
        yield "  the signs of the graph's links are recorded; debates ignore them"
    if room.ties.spells:
        yield f"  {_changes(room, scenario.rounds)}"
    if any(ATTITUDE in node.attributes for node in room.nodes):
        yield "  the attitudes of the graph's nodes are recorded; agents state their own opinions"


def mix_lines(scenario: Scenario) -> Iterator[str]:
    """Yield what a plan says about the survey whose shares of parties the agents have; nothing without one."""
    survey: Survey | None = getattr(scenario.environment, "survey", None)
    if survey:
        yield from (f"  {line}" for line in describe_survey(survey))
        shares = ", ".join(f"{kind} {share:.1%}" for kind, share in survey.read().shares.items())
        yield f"  seats by weighted shares: {shares}"


def _changes(room: RoomSeating, rounds: int) -> str:
    """Return how many links of a room change in a run; an undirected link counts twice."""
    never = len(room.ties.spells) - len({pair for round_ in range(1, rounds + 1) for pair in room.ties.at(round_)})
    removed, added = (sum(len(room.ties.changes(round_)[which]) for round_ in range(2, rounds + 1)) for which in (0, 1))
    absent = f"; {never:,} links exist in none of the {rounds} rounds" if never else ""
    return f"links by round: {added:,} appear and {removed:,} vanish, each direction counted{absent}"
