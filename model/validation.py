"""Checks that the blocks of a scenario fit together. Errors: UserError, one line that says what does not and what to set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parley.agents.mediators import open_mediator
from parley.agents.persona import load_personas, parties, party_of, persona_set
from parley.agents.representative import parse_knowledge
from parley.agents.topic import PUBLIC, TURNS, Topic
from parley.llm.backends import split_spec, topics_of
from parley.llm.errors import UserError, unknown_name
from parley.model import surrogate_seats
from parley.model.interventions.base import Presence
from parley.model.interventions.fact_check import FactCheck
from parley.model.scenario_blocks import check_number

if TYPE_CHECKING:
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario


def check_scenario(scenario: Scenario) -> None:
    """Every check, values first."""
    _values(scenario)
    for subject in scenario.subject.all_topics:
        _probes(scenario, subject)
    _deliberation(scenario)
    _surveys(scenario)
    _personas(scenario)
    _parties(scenario)
    _interventions(scenario)
    _archetypes(scenario)
    surrogate_seats.check_surrogates(scenario)


def check_taught(scenario: Scenario, backend: Backend) -> None:
    """Errors: UserError on a topic that an opened model does not know. One that says nothing of topics takes any.

    pocket would say of another topic what it says of its own; the oracle has nothing planted on one. In private deliberations the
    oracle takes any question.
    """
    said = dict(backend.identity)
    for one in (said, said.get("first", {}), *said.get("voices", {}).values()):
        known = one.get("topics") or ([] if scenario.subject.questions else list(one.get("parameters", ())))
        _refuse(one.get("backend", ""), known, scenario.subject.all_topics if known else [])


def check_topics(spec: str, topics: Iterable[Topic]) -> None:
    """The same of a model that was not opened yet, by its spec: before a folder is made, or a plan printed. Errors: UserError."""
    known = topics_of(spec)
    if known is not None:
        _refuse(split_spec(spec)[0], known, topics)


def _refuse(model: str, known: Sequence[str], topics: Iterable[Topic]) -> None:
    for topic in topics:
        if topic.root not in known:
            raise UserError(
                f"{model} was not taught {topic.slug}: it knows {', '.join(known)}. Name another model with --llm, or, "
                f'where the topic is a case of one of these, say so in its file (base = "{known[0]}")'
            )


def _values(scenario: Scenario) -> None:
    for name, least in {"repetitions": 1, "rounds": 0, "seed": 0}.items():
        check_number(name, getattr(scenario, name), least)


def _personas(scenario: Scenario) -> None:
    folder = persona_set(scenario.people.personas)
    for party in scenario.people.reference:
        if party_of(party) not in parties(folder):
            raise UserError(
                f"reference={party}: the personas of {folder.name} have no {party_of(party)}.toml, so it cannot be asked "
                "before the debates; --set reference= asks no party beforehand"
            )
    for seat in scenario.seats:
        load_personas(seat, folder)


def _surveys(scenario: Scenario) -> None:
    if scenario.surveys.survey != "rounds" and getattr(scenario.environment, "by_attitude", False):
        raise UserError(
            f"environment {scenario.environment_spec.name} uses ratings after each round: set survey=rounds"
        )
    private = any(group.mediated or group.networked for group in scenario.groups)
    if scenario.people.sides == "opposed" and (private or scenario.surveys.survey == "never"):
        raise UserError(
            "sides=opposed needs a survey before the debate: set survey=rounds or ends, and environment=round_table"
        )


def _parties(scenario: Scenario) -> None:
    """Read every entry for a party or seat. Errors: UserError on one that cannot be read."""
    for entries in ("trait_assignment", "adapter_by_party", "llm_by_party"):
        getattr(scenario, entries)


def _probes(scenario: Scenario, subject: Topic) -> None:
    first, *_ = [subject.probe(name) for name in (scenario.surveys.probe, *scenario.surveys.also)]
    if not first.on_axis or scenario.surveys.probe.endswith((PUBLIC, TURNS)):
        raise UserError(
            f"probe {scenario.surveys.probe} cannot be the main probe: set probe to an attitude probe and add this one to also"
        )


def _deliberation(scenario: Scenario) -> None:
    open_mediator(scenario.speech.mediator)
    _represented(scenario, parse_knowledge(scenario.people.knows))
    if scenario.mediated and not scenario.subject.questions:
        raise UserError(
            f"environment {scenario.environment_spec.name} deliberates on questions: set questions to shipped or to a path"
        )
    if scenario.subject.questions and not scenario.mediated:
        raise UserError(
            f"environment {scenario.environment_spec.name} debates topics; questions are for one with a mediator: mediated"
        )
    if scenario.subject.questions and scenario.people.reference:
        raise UserError("a reference is asked about topics, and this scenario draws questions: set reference= (empty)")
    if scenario.subject.questions and len(scenario.subject.question_pool) < scenario.subject.episodes:
        pool, episodes = len(scenario.subject.question_pool), scenario.subject.episodes
        raise UserError(
            f"{pool} questions to draw from are too few for {episodes} episodes: set fewer episodes, or another split"
        )


def _archetypes(scenario: Scenario) -> None:
    if scenario.people.archetypes and (scenario.subject.questions or scenario.interventions):
        why = "private deliberations" if scenario.subject.questions else "interventions"
        raise UserError(f"agents cannot share survey answers in a scenario with {why}: set archetypes=0")


def _interventions(scenario: Scenario) -> None:
    for one in scenario.interventions:
        if one.round > scenario.rounds:
            raise UserError(
                f"{one.kind} before round {one.round} is too late: "
                f"the scenario has {scenario.rounds} rounds; set rounds={one.round} or more"
            )
        seated = {party_of(seat) for group in scenario.groups for seat in group.seats}
        known = {"all", *seated, *(label for group in scenario.groups for label in group.labels)}
        if one.networked and not any(group.networked for group in scenario.groups):
            raise UserError(
                f"{one.kind} are those of a network, and environment {scenario.environment_spec.name} has none"
            )
        if isinstance(one, FactCheck) and one.llm and scenario.mediated:
            raise UserError("fact_check: a model checks public statements, and private deliberations have none")
        if isinstance(one, Presence) and (scenario.mediated or scenario.people.sides == "opposed"):
            raise UserError(f"{one.kind} does not work in private deliberations or with assigned sides")
        for who in sorted(set(one.whom()) - known):
            raise unknown_name(f"party or seat of {one.kind}", who, known)


def _represented(scenario: Scenario, letters: str) -> None:
    if scenario.people.represented == "none":
        return
    if not scenario.mediated:
        raise UserError(
            "representatives write critiques, which only the environment mediated asks for: set represented=none"
        )
    if set(letters) & set("OCP") and scenario.subject.episodes < 2:
        raise UserError(f"knows={letters} is about earlier episodes: set episodes to 2 or more")
    if set(letters) & set("DP") and scenario.surveys.survey == "never":
        raise UserError(f"knows={letters} needs survey answers: set survey=ends or survey=rounds")
