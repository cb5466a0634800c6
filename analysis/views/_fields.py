"""The settings of a scenario as controls: in groups, with plain labels, and only those that matter for the scenario."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from parley.agents.question import question_set, topics_of
from parley.agents.society import load_society, society_names
from parley.agents.topic import is_news, news_names, topic_names
from parley.analysis.views._words import probe_words, society_title, topic_title
from parley.llm.errors import UserError
from parley.model.scenario import Scenario
from parley.model.scenario_blocks import BLOCKS, FIELD_BLOCKS

HIDDEN = ("name", "title", "source", "options", "environment", "interventions", "llm")
"""Fields without a control here: words about a preset, what decides on all other fields, and what has a place of its own."""
GROUPS = ("Who takes part", "What it is about", "How long", "How opinions are measured", "Advanced")
WHO, ABOUT, LONG, MEASURED, ADVANCED = GROUPS
LABELS: dict[str, tuple[str, str]] = {
    "society": (WHO, "Society"),
    "seats": (WHO, "Seats, in speaking order"),
    "topology": (WHO, "Places and stages"),
    "parties": (WHO, "Parties"),
    "size": (WHO, "People in each group"),
    "sizes": (WHO, "Several group sizes in one run"),
    "vote": (MEASURED, "Final vote"),
    "default_agent": (WHO, "Groups with a Default agent"),
    "personas": (WHO, "Set of personas"),
    "represented": (WHO, "Members with a digital representative"),
    "topic": (ABOUT, "Topics"),
    "episodes": (ABOUT, "Questions in a session"),
    "repetitions": (LONG, "Repetitions"),
    "rounds": (LONG, "Rounds"),
    "words": (LONG, "Words in a reply"),
    "exchanges": (LONG, "Turns in a talk of two"),
    "survey": (MEASURED, "When agents are surveyed"),
    "probe": (MEASURED, "Survey question"),
    "forecast": (MEASURED, "Ask agents to predict their final opinion"),
    "also": (ADVANCED, "Further survey questions"),
    "chain": (ADVANCED, "Survey answers of which agents are reminded"),
    "seed": (ADVANCED, "Random seed"),
    "cast": (ADVANCED, "Which personas meet"),
    "block": (ADVANCED, "With listed: personas of each party per repetition"),
    "disclose": (ADVANCED, "What agents know of each other"),
    "introduce": (ADVANCED, "How opponents are described"),
    "reference": (ADVANCED, "Parties surveyed without a debate"),
    "roles": (ADVANCED, "Roles"),
    "traits": (ADVANCED, "Temperaments"),
    "confirmation_bias": (ADVANCED, "Confirmation bias"),
    "believers": (ADVANCED, "Share of believers of the news at the start"),
    "sides": (ADVANCED, "What debaters argue for"),
    "represents": (ADVANCED, "What a representative does"),
    "knows": (ADVANCED, "What a representative knows"),
    "archetypes": (ADVANCED, "Shared survey answers"),
    "questions": (ADVANCED, "Set of questions"),
    "split": (ADVANCED, "Part of the questions"),
    "frame": (ADVANCED, "Word for the event"),
    "wording": (ADVANCED, "Wording of the instructions"),
    "spacing": (ADVANCED, "White space of prompts"),
    "steering": (ADVANCED, "Sentences of personas that say how to debate"),
    "format": (ADVANCED, "Form of the debate"),
    "closing": (ADVANCED, "Closing statements"),
    "reader": (ADVANCED, "How ratings are read"),
    "asked": (ADVANCED, "How survey questions are answered"),
    "measure": (ADVANCED, "What an opinion is"),
    "interview": (ADVANCED, "Questions of the interview at the end"),
    "relevance": (ADVANCED, "How fitting memories are found"),
    "evidence": (ADVANCED, "Conclusions cite memories"),
    "plan": (ADVANCED, "Rounds of a day with a plan"),
    "listing": (ADVANCED, "Order of the answers"),
    "asks": (ADVANCED, "Attempts at a survey question"),
    "survey_temperature": (ADVANCED, "Temperature of ratings"),
    "mediator": (ADVANCED, "Mediator"),
    "cut": (ADVANCED, "What is kept of a long reply"),
    "max_tokens": (ADVANCED, "Most tokens in a reply"),
    "temperature": (ADVANCED, "Temperature of replies"),
    "top_p": (ADVANCED, "Nucleus sampling"),
    "min_p": (ADVANCED, "Least share of the likeliest token"),
    "top_k": (ADVANCED, "Number of likeliest tokens"),
    "memory": (ADVANCED, "What agents remember"),
    "importance": (ADVANCED, "Importance of a memory"),
    "reflect": (ADVANCED, "Lines before a reflection"),
    "reminder": (ADVANCED, "Remind agents of their persona"),
    "think": (ADVANCED, "What agents do before they speak"),
    "adapters": (ADVANCED, "Fine-tuned adapters"),
    "llms": (ADVANCED, "Other models for a party or seat"),
    "order": (ADVANCED, "Order of speaking"),
    "graph": (ADVANCED, "Network"),
    "rule": (ADVANCED, "Who meets whom"),
    "activation": (ADVANCED, "Who is active in a round"),
    "rewiring": (ADVANCED, "How links change"),
    "timing": (ADVANCED, "Whether agents speak at the same time"),
    "mix": (ADVANCED, "Shares of the parties"),
    "posts": (ADVANCED, "Who reads a post"),
    "judge": (ADVANCED, "Judge"),
    "protocol": (ADVANCED, "Order of the two sides"),
    "recommender": (ADVANCED, "Recommender"),
    "against": (ADVANCED, "Compared with the recommenders"),
    "reach": (ADVANCED, "Whose posts a feed may show"),
    "length": (ADVANCED, "Posts in a feed"),
    "lasting": (ADVANCED, "Rounds that a post stays"),
    "pool": (ADVANCED, "Posts that are ranked"),
    "acts": (ADVANCED, "What people can do"),
    "seeded": (ADVANCED, "Share of posts with a vote from outside"),
}
HINTS = {
    "society": "Whose parties, people, topics and language.",
    "personas": "The people from whom the seats are filled: a set, a line such as 20 nurses from Leeds, or the path of "
        "a CSV file. The page opens a file only if you start it with --allow-files FOLDER.",
    "seats": "The party of each seat, in speaking order. A seat named default has no persona, and shows the model's own "
        "opinion.",
    "topology": "Places at once are joined by +, stages by >: rooms + network > echo [rounds=1].",
    "parties": "The parties of the groups.",
    "size": "How many people each group has.",
    "vote": "At the end members rank the draft and the last revision, or not.",
    "sizes": "Such as 3,4,5: each repetition has groups of each size. Empty: every group has the size above.",
    "default_agent": "A Default is an agent without a persona, which shows the model's own opinion.",
    "order": "Which side begins a round, and which follows.",
    "graph": "Which agents are linked: blocks, ring, small_world, scale_free, complete (docs/networks.md).",
    "rule": "neighbours: each agent speaks to the agents that are linked to it. pairs: agents meet two by two.",
    "activation": "Which agents speak in a round: every agent, or a share of the agents.",
    "rewiring": "none: links stay as they are (docs/networks.md).",
    "timing": "simultaneous: agents do not hear the other posts of the same round.",
    "spacing": "The same words with other spaces and line breaks between them.",
    "mix": "Empty: the same number of personas of each party.",
    "exchanges": "How often each of the two agents speaks.",
    "posts": "partner: only the next partner reads the message. room: all agents of the room read it.",
    "judge": "The party of the agent that judges the debate.",
    "protocol": "sequential: the second side has read the first.",
    "repetitions": "Number of debates for each topic and group, each with other personas. More repetitions give narrower "
        "intervals.",
    "rounds": "Every agent speaks once in a round.",
    "topic": "Each topic has its own debates.",
    "words": "The length of a reply that agents are asked for.",
    "recommender": "Which posts come first: chronological, hot, interest, homophilous, bridging, random ... (docs/networks.md).",
    "against": "Empty: none. Otherwise the same people use the medium under each of these recommenders too.",
    "reach": "followed: posts of the people that an agent follows. all: posts of all agents.",
    "length": "How many posts a person is shown in a round.",
    "lasting": "After this number of rounds a post is no longer shown.",
    "pool": "How many of the newest posts the recommender looks at.",
    "acts": "The acts from which a person chooses, separated by commas.",
    "seeded": "Such posts get one vote for or against them at random, to measure the herd effect.",
    "believers": "0.2: a fifth of the agents. 0: the prompts do not mention the rumour (studies/news/README.md).",
}  # fmt: skip
"""Explanations that replace the comment behind a field, and those of options of an environment."""
RANGES: dict[str, tuple[float, float, float]] = {
    "rounds": (1, 20, 1), "repetitions": (1, 100, 1), "size": (1, 20, 1), "episodes": (1, 10, 1), "words": (10, 300, 10),
    "asks": (1, 5, 1), "temperature": (0, 2, 0.05), "top_p": (0.05, 1, 0.05), "min_p": (0, 0.95, 0.05), "top_k": (0, 200, 10),
    "survey_temperature": (0, 2, 0.05),
    "exchanges": (1, 10, 1),
}  # fmt: skip
"""Least, most and step of a slider. The number field next to the slider takes any value."""
VALUES: dict[str, dict[str, str]] = {
    "survey": {"rounds": "before the debate and after each round", "ends": "before and after the debate",
               "stages": "before the debate and after each stage"},
    "default_agent": {
        "with": "with a Default agent", "without": "without", "both": "both kinds, side by side",
    },
    "cast": {
        "circle": "the next personas on a random circle", "fresh": "no persona again until all have sat",
        "fixed": "always the first ones",
        "listed": "the next personas of the file", "drawn": "drawn at random", "copies": "one person in all seats",
    },
    "disclose": {"demographics": "gender, party and age"},
    "represented": {"one": "one member"},
    "sides": {
        "own": "their own opinion", "opposed": "for and against, in turn", "assigned": "for and against the claim, in turn",
    },
    "order": {"random_first": "a random one begins"},
    "cut": {"last": "its last words", "sentence": "the sentences that fit"},
    "asked": {"numbers": "with a number", "phrases": "with a phrase that ends a sentence"},
    "measure": {"mean": "the mean of the distribution of answers", "rating": "the answer itself"},
    "listing": {"given": "low to high", "reversed": "high to low", "shuffled": "random"},
    "spacing": {
        "given": "as written", "newline": "a line break at the end", "blank_lines": "two empty lines between parts",
        "double_spaces": "two spaces after a full stop",
    },
    "steering": {"given": "as written", "struck": "struck out"},
}  # fmt: skip
"""The values of a field in words, where the value itself does not say it."""


class Field(NamedTuple):
    """A control: its field, the preset's value as on a command line, its group and label, its kind, an explanation, the values
    to choose from with their labels, and the range of a slider.

    kind: slider, number, select, switch, several (any of the choices), row (choices in an order, also repeated) or text.
    """

    name: str
    value: str
    group: str
    label: str
    kind: str
    about: str
    choices: tuple[tuple[str, str], ...] = ()
    range: tuple[float, float, float] = (0, 0, 1)


def fields_of(scenario: Scenario) -> list[Field]:
    """Return the controls of the scenario by group: all fields and those of its environment."""
    plain, names = scenario.to_dict(), [name for name in FIELD_BLOCKS if name not in HIDDEN]
    kinds = (Scenario, *BLOCKS.values())
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    about = {name: text for kind in kinds for name, text in field_comments(kind).items()}
    controls = [_field(scenario, name, plain[name], hints[name], about.get(name, "")) for name in names]
    environment: Any = scenario.environment
    hints = get_type_hints(type(environment))
    for setting in fields(environment):
        if setting.init:
            value = getattr(environment, setting.name)
            controls.append(_field(scenario, setting.name, value, hints[setting.name], ""))
    order = list(LABELS)
    return sorted(
        controls,
        key=lambda control: (
            GROUPS.index(control.group),
            order.index(control.name) if control.name in LABELS else len(order),
        ),
    )


def matters(field: Field, scenario: Scenario) -> bool:
    """Return whether a setting can change anything in this scenario."""
    speech, questions = scenario.speech, bool(scenario.subject.questions)
    rules = {
        "episodes": questions, "questions": scenario.mediated, "split": questions,
        "mediator": scenario.mediated, "represented": scenario.mediated, "knows": scenario.people.represented != "none",
        "represents": scenario.people.represented != "none",
        "closing": speech.format == "structured", "format": not scenario.mediated, "sides": not scenario.mediated,
        "importance": speech.memory.startswith("retrieve"), "reflect": speech.memory.startswith("retrieve"),
        "rounds": True, "forecast": not questions, "mix": bool(getattr(scenario.environment, "graph", "")),
    }  # fmt: skip
    return rules.get(field.name, True)


def changed(controls: list[Field], given: Mapping[str, str], origin: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the settings that differ from the preset, or from `origin` over the preset."""
    before = {field.name: field.value for field in controls} | dict(origin or {})
    return {name: value for name, value in given.items() if value != before.get(name)}


@cache
def field_comments(kind: type) -> dict[str, str]:
    """Return the comment behind each field of a class.

    >>> field_comments(Scenario)["rounds"]
    'rounds of a debate; every agent speaks once in each'
    """
    parts = re.split(r"(?m)^    (?=\w+: )", inspect.getsource(kind).split("def ", 1)[0])
    comments = {section.partition(":")[0]: re.findall(r"  # (.+)", section) for section in parts[1:]}
    return {name: " ".join(lines) for name, lines in comments.items() if lines}


def plain_value(value: Any) -> str:
    """Return a value as it is written on a command line."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _field(scenario: Scenario, name: str, value: Any, hint: Any, comment: str) -> Field:
    plain, explained = _controls(scenario).get(name, (name.replace("_", " ").capitalize(), comment))
    group, label = LABELS.get(name, (ADVANCED, plain))
    written, choices = plain_value(value), _choices(scenario, name, hint)
    spread = RANGES.get(name, (0, 0, 1))
    if name == "size" and scenario.environment_spec.name in ("network", "places"):
        label, spread = "People", (2, 200, 1)
    if name in ("seats", "parties"):
        kind = "row"
    elif name == "topic":
        kind = "several"
    elif hint is bool:
        kind = "switch"
    elif choices and name != "personas":  # a set, or people in a line
        kind = "select"
    elif hint in (int, float):
        kind = "slider" if name in RANGES else "number"
    else:
        kind = "text"
    about = HINTS.get(name, explained)
    return Field(name, written, group, label, kind, about[:1].upper() + about[1:], choices, spread)


def _controls(scenario: Scenario) -> Mapping[str, tuple[str, str]]:
    """Return the label and the explanation of options that the environment itself has for the page, by their names."""
    return getattr(scenario.environment, "controls", {})


def _choices(scenario: Scenario, name: str, hint: Any) -> tuple[tuple[str, str], ...]:
    """Return the values to choose from, each with its label; none for any value."""
    if name == "society":
        own_societies = [] if scenario.subject.society in society_names() else [scenario.subject.society]
        return tuple((society, society_title(society)) for society in [*society_names(), *own_societies])
    if name == "topic":
        return tuple((slug, topic_title(slug)) for slug in _topics(scenario))
    if name in ("seats", "parties"):
        return tuple((code, party.label) for code, party in scenario.society.parties.items())
    if name == "personas":
        sets = dict.fromkeys([*scenario.society.persona_sets, scenario.people.personas])
        return tuple((personas, personas.rsplit("/", 1)[-1]) for personas in sets)
    if name == "probe":
        topics = [] if scenario.subject.questions else scenario.subject.all_topics
        probes = dict.fromkeys(probe for topic in topics for probe in topic.probes)
        return tuple((probe, probe_words(probe)) for probe in dict.fromkeys([scenario.surveys.probe, *probes]))
    if get_origin(hint) is Literal:
        return tuple((value, VALUES.get(name, {}).get(value, value.replace("_", " "))) for value in get_args(hint))
    return ()


def _topics(scenario: Scenario) -> list[str]:
    """Return the topics to choose from, and those already chosen: the topics of the society, the items of news of a scenario
    on news, or the set of questions.
    """
    chosen = list(scenario.subject.topic)
    if scenario.subject.questions:
        try:
            return topics_of(question_set(scenario.subject.questions, scenario.subject.society))
        except UserError:
            return chosen
    society = load_society(scenario.subject.society)
    if chosen and all(map(is_news, chosen)):
        return list(dict.fromkeys([*map(society.qualified, news_names(society.name)), *chosen]))
    return list(dict.fromkeys([*map(society.qualified, topic_names(society.folder / "topics")), *chosen]))
