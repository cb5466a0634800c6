"""Refuses settings that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from parley.agents.language import REPRESENTATIVE
from parley.agents.mediators import open_mediator
from parley.agents.persona import load_personas, parties, party_of, set_name
from parley.agents.probe import END, PUBLIC, TURNS
from parley.agents.published.pack import is_pack, topic_in
from parley.agents.recollection import interview_questions
from parley.agents.representative import BALLOT, VOTE, parse_knowledge
from parley.agents.topic import Topic
from parley.environments.platform import Platform
from parley.llm.backends import ANY_TOPIC, split_spec, topics_of
from parley.llm.errors import UserError, unknown_name
from parley.model import surrogate_seats
from parley.model.interventions.base import REPORT, Presence
from parley.model.interventions.fact_check import FactCheck, open_evidence
from parley.model.people import check_people
from parley.model.scenario_blocks import check_number

if TYPE_CHECKING:
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario

WRITERS = ("persona_enhanced", "persona_variant")
"""Prompts with which personas are written (run.py study personas), and no debate is led."""
EXAMPLE = "blackout"
"""An item of news that messages name."""


def check_scenario(scenario: Scenario) -> None:
    """Run every check, values first."""
    for name, least in {"repetitions": 1, "rounds": 0, "seed": 0}.items():
        check_number(name, getattr(scenario, name), least)
    for problem in _problems(scenario):
        raise UserError(problem)
    surrogate_seats.check_surrogates(scenario)


def _problems(scenario: Scenario) -> Iterator[str]:
    """Yield what does not fit and what to set instead."""
    for topic in scenario.subject.all_topics:
        yield from _society_problems(scenario, topic)
        yield from _probe_problems(scenario, topic)
        interview_questions(topic.language, scenario.surveys.interview)
    open_mediator(scenario.speech.mediator)
    yield from _wording_problems(scenario)
    yield from _representative_problems(scenario)
    yield from _deliberation_problems(scenario)
    yield from _survey_problems(scenario)
    yield from _persona_problems(scenario)
    for entries in ("trait_assignment", "adapter_by_party", "llm_by_party", "share_by_seat"):
        getattr(scenario, entries)  # raises a UserError on an entry that cannot be read
    yield from check_people(scenario)
    yield from _news_problems(scenario)
    yield from _intervention_problems(scenario)
    yield from _platform_problems(scenario)
    yield from getattr(scenario.environment, "problems", lambda _: ())(scenario)
    if scenario.people.archetypes and scenario.surveys.chain:
        yield "agents of one kind differ in the answers that a chain tells them: set archetypes=0, or chain= (empty)"
    if scenario.people.archetypes and scenario.speech.relevance == "embedding":
        yield "who is asked would depend on the order of the embeddings: set archetypes=0, or relevance=words"
    if scenario.people.archetypes and (scenario.subject.questions or scenario.interventions):
        why = "private deliberations" if scenario.subject.questions else "interventions"
        yield f"agents cannot share survey answers in a scenario with {why}: set archetypes=0"


def _society_problems(scenario: Scenario, topic: Topic) -> Iterator[str]:
    topic_society, theirs = topic.society.name, scenario.society.name
    if topic.society.folder.resolve() != scenario.society.folder.resolve():
        yield (
            f"topic {topic.slug} is of the society {topic_society}, and the people are of {theirs}: "
            f"set society={topic_society}, or give another "
            f'topic; a file of your own names its society (society = "{theirs}")'
        )


def _wording_problems(scenario: Scenario) -> Iterator[str]:
    """Yield that a pack words nothing that this scenario sends: its results would be called those of the paper's words."""
    wording, subject = scenario.subject.wording, scenario.subject
    if not is_pack(wording):
        return
    names = scenario.society.language.worded(wording).reworded
    of_representatives = {name for name in names if name.startswith(f"{REPRESENTATIVE}/")}
    if subject.questions:
        if names <= of_representatives and scenario.people.represented == "none":
            yield f"the wording {wording} has only prompts of representatives, and this run has none: set represented=all"
        elif not names - set(WRITERS):
            yield f"the wording {wording} has no prompts for deliberations: set wording=given, or give the pack of another paper"
        return
    worded = [topic for topic in subject.all_topics if topic_in(topic.language.wording_folder, topic.root)]
    if not worded and not names - of_representatives - set(WRITERS):
        yield f"the wording {wording} has no prompt and no topic of this debate: set wording=given, or give another pack or topic"


def _probe_problems(scenario: Scenario, topic: Topic) -> Iterator[str]:
    name = scenario.surveys.probe
    main, *_ = [topic.probe(probe) for probe in (name, *scenario.surveys.also)]
    if not main.on_axis or name.endswith((PUBLIC, TURNS, END)):
        yield f"probe {name} cannot be the main probe: set probe to an attitude probe and add this one to also"


def _representative_problems(scenario: Scenario) -> Iterator[str]:
    letters = parse_knowledge(scenario.people.knows)
    if scenario.people.represented == "none":
        return
    if not scenario.mediated:
        yield "representatives take part in deliberations, and only the environment mediated has them: set represented=none"
    if set(letters) & set("OCP") and scenario.subject.episodes < 2:
        yield f"knows={letters} uses earlier episodes, so one episode is not enough: set episodes=2 or more"
    if VOTE in scenario.people.represents and getattr(scenario.environment, "vote", "none") == "none":
        yield "represents=vote needs a final vote: set vote=final, or leave out vote"
    if BALLOT in scenario.people.represents and not _own_ballots(scenario):
        yield (
            "represents=ballot needs ballots that members give themselves: set mediator=habermas,ballots=own, or leave "
            "out ballot"
        )
    if set(letters) & set("DP") and scenario.surveys.survey == "never":
        yield f"knows={letters} needs survey answers: set survey=ends or survey=rounds"


def _own_ballots(scenario: Scenario) -> bool:
    return getattr(open_mediator(scenario.speech.mediator), "ballots", "") in ("own", "both")


def _deliberation_problems(scenario: Scenario) -> Iterator[str]:
    environment, subject = f"environment {scenario.environment_spec.name}", scenario.subject
    if scenario.mediated and not subject.questions:
        yield f"{environment} needs questions to deliberate on: set questions=shipped, or the path of a file of questions"
    if subject.questions and not scenario.mediated:
        yield f"{environment} debates topics and cannot use questions: set environment=mediated, or leave out questions"
    if subject.questions and scenario.people.reference:
        yield "reference answers surveys about topics, but this scenario uses questions: set reference= (empty)"
    if subject.questions and (pool := len(subject.question_pool)) < (episodes := subject.episodes):
        yield f"{episodes} episodes need as many questions, and there are only {pool}: set fewer episodes, or another split"


def _survey_problems(scenario: Scenario) -> Iterator[str]:
    if scenario.surveys.survey != "rounds" and getattr(scenario.environment, "by_attitude", False):
        yield f"environment {scenario.environment_spec.name} needs ratings after each round: set survey=rounds"
    private = any(group.mediated or group.networked for group in scenario.groups)
    if scenario.people.sides == "opposed" and (private or scenario.surveys.survey == "never"):
        yield "sides=opposed needs a survey before the debate: set survey=rounds or ends, and environment=round_table"
    if scenario.people.sides == "assigned" and private:
        yield "sides=assigned needs an open debate: set environment=round_table"


def _persona_problems(scenario: Scenario) -> Iterator[str]:
    folder = scenario.persona_folder
    for party in scenario.people.reference:
        if party_of(party) not in parties(folder):
            yield (
                f"reference={party}: the personas of {set_name(folder)} have no {party_of(party)}.toml, so this party cannot "
                "answer a survey before the debates: set reference= (empty) to skip that survey"
            )
    for seat in scenario.seats:
        for person in load_personas(seat, folder):
            for topic in scenario.subject.all_topics if person.language else ():
                scenario.subject.topic_named(topic.slug, person.language)  # has words in this language


def _platform_problems(scenario: Scenario) -> Iterator[str]:
    if not isinstance(scenario.environment, Platform):
        return
    for who in scenario.surrogate_by_party:
        yield f"a surrogate moves opinions and does not act on a platform: give {who} a model"
    if turns := [name for name in scenario.surveys.also if name.endswith(TURNS)]:
        yield f"also={turns[0]} asks after every turn, and on a platform all act at once: leave out {TURNS}"
    if scenario.speech.format != "free":
        yield "a structured debate has statements in turn, and a platform has acts: set format=free"


def no_news(scenario: Scenario) -> str:
    """Return the first topic that is no item of news; "" where all are items."""
    return next((topic.slug for topic in scenario.subject.all_topics if topic.news is None), "")


def _news_problems(scenario: Scenario) -> Iterator[str]:
    if scenario.people.believers and (other := no_news(scenario)):
        yield f"believers believe an item of news, and {other} is none: set topic={EXAMPLE}, or believers=0"


def _intervention_problems(scenario: Scenario) -> Iterator[str]:
    seated = {party_of(seat) for group in scenario.groups for seat in group.seats}
    allowed_names = {"all", *seated, *(label for group in scenario.groups for label in group.labels)}
    for intervention in scenario.interventions:
        if REPORT in getattr(intervention, "text", "") and (other := no_news(scenario)):
            yield f"{REPORT} is the true report of an item of news, and {other} is none: set topic={EXAMPLE}, or another text"
        if intervention.round > scenario.rounds:
            yield (
                f"{intervention.kind} before round {intervention.round} is too late: "
                f"the scenario has {scenario.rounds} rounds; set rounds={intervention.round} or more"
            )
        in_places = hasattr(scenario.environment, "places")  # which say it by stage
        if intervention.networked and not in_places and not any(group.networked for group in scenario.groups):
            yield (
                f"{intervention.kind} changes a network, and environment {scenario.environment_spec.name} has none: "
                "leave it out, or set environment=network"
            )
        if isinstance(intervention, FactCheck) and intervention.evidence:
            open_evidence(intervention.evidence)
        if isinstance(intervention, FactCheck) and intervention.llm and scenario.mediated:
            yield "fact_check with llm checks public statements, and private deliberations have none: give its text instead"
        if isinstance(intervention, Presence) and (scenario.mediated or scenario.people.sides != "own"):
            yield f"{intervention.kind} does not work in private deliberations or with sides=opposed or assigned: leave it out"
        for who in sorted(set(intervention.whom()) - allowed_names):
            raise unknown_name(f"party or seat of {intervention.kind}", who, allowed_names)


def check_taught(scenario: Scenario, backend: Backend) -> None:
    """Errors: UserError on a topic that an opened model does not know. A model that names no topics takes any.

    pocket would repeat what it learned about its own topics; the oracle has no planted bias on another topic. In private
    deliberations the oracle takes any question.
    """
    identity = dict(backend.identity)
    for voice_identity in (identity, identity.get("first", {}), *identity.get("voices", {}).values()):
        topics = scenario.subject.all_topics if scenario.subject.questions else topics_to_know(scenario)
        taught_topics = voice_identity.get("topics") or (
            [] if scenario.subject.questions else list(voice_identity.get("parameters", ()))
        )
        _refuse_topics(voice_identity.get("backend", ""), taught_topics, topics if taught_topics else [])


def topics_to_know(scenario: Scenario) -> Sequence[Topic]:
    """Return the topics that a model has to know: none where people deliberate on questions, or hold no opinions."""
    opinions = not scenario.subject.questions and getattr(scenario.environment, "knows_topics", True)
    return scenario.subject.all_topics if opinions else []


def check_topics(spec: str, topics: Iterable[Topic]) -> None:
    """Check the topics of a model by its spec, before it is opened. Errors: UserError."""
    if (taught_topics := topics_of(spec)) is not None:
        _refuse_topics(split_spec(spec)[0], taught_topics, topics)


def _refuse_topics(model: str, taught_topics: Sequence[str], topics: Iterable[Topic]) -> None:
    for topic in topics:
        if topic.root in taught_topics or (topic.own and ANY_TOPIC in taught_topics):
            continue
        others = "Choose another model with --llm: a language model, or oracle, the rule-based speaker, which takes any topic"
        case = (
            f'. If it is a case of one of these, say so in its file (base = "{taught_topics[0]}")'
            if ".toml" in topic.slug
            else ""
        )
        raise UserError(
            f"{model} cannot write about the topic {topic.slug}, only about {', '.join(taught_topics)}. {others}{case}"
        )
