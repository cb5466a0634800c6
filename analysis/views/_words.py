"""What the page calls a run: its title, its size, its model, its state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.llm.errors import UserError
from parley.llm.prices import dollars
from parley.llm.spec import parse_spec
from parley.model.gallery import preset_title
from parley.model.scenario_blocks import EnvironmentSpec
from parley.model.titles import seated_title

if TYPE_CHECKING:
    from parley.model.events import Header

MODELS = {
    "oracle": "rule-based speaker",
    "pocket": "embedded model",
    "fake": "stand-in",
    "chatter": "stand-in that answers by chance",
    "replay": "replayed replies",
}
PLANTED = {
    "bias": "opinion of its own", "kappa": "influence of others", "mu": "pull to the opinion of its own", "sigma": "noise",
    "epsilon": "largest distance at which others have influence",
}  # fmt: skip
"""What the settings of the rule-based speaker are."""
STATES = {"ready": "ready", "running": "running", "paused": "paused", "unfinished": "unfinished", "stopped": "stopped",
          "done": "done", "failed": "failed", "elsewhere": "running elsewhere"}  # fmt: skip
MOST_SEATS = 100_000
SHOWN_TOPICS = 3


def run_title(header: Header) -> str:
    """Return the title of a run: `A three-way debate, on racism and abortion`. With other seats, the title names them."""
    scenario = header.scenario
    title = preset_title(str(scenario["name"]), str(scenario["title"]))
    if {"seats", "parties", "environment"}.intersection(header.given):
        title = _seated(header) or title
    topics = topic_words(scenario)
    society = str(scenario["society"])
    place = "" if society == "us" else f", {society_title(society)}"
    return f"{title}, on {topics}{place}" if topics else f"{title}{place}"


def _seated(header: Header) -> str:
    """Return a title of who sits there; "" where the environment is not on this machine, and for numbers of no real run."""
    scenario = header.scenario
    if any(isinstance(value, int) and value > MOST_SEATS for value in scenario["options"].values()):
        return ""
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in scenario["options"].items()}
    try:
        groups = EnvironmentSpec(str(scenario["environment"]), options, str(scenario["society"])).groups
        return seated_title(groups, header.names, str(scenario["frame"]))
    except (UserError, TypeError, ValueError):
        return ""


def topic_words(scenario: dict[str, Any]) -> str:
    """Return the topics in words, of many the number; for questions their number a session."""
    if scenario["questions"]:
        return f"{scenario['episodes']} questions"
    if len(scenario["topic"]) > SHOWN_TOPICS:
        return f"{len(scenario['topic'])} topics"
    topics = [topic_title(slug) for slug in scenario["topic"]]
    return topics[0] if len(topics) == 1 else f"{', '.join(topics[:-1])} and {topics[-1]}"


def topic_title(slug: str) -> str:
    """Return the title of a topic, or its name where it is not on this machine."""
    try:
        return load_topic(slug).title
    except UserError:
        return slug.rsplit("/", 1)[-1].removesuffix(".toml").replace("_", " ")


def probe_words(probe: str) -> str:
    """Return the name of a survey question in words.

    >>> probe_words("attitude_1_7"), probe_words("money_worry")
    ('attitude, from 1 to 7', 'money worry')
    """
    return re.sub(r"_(\d+)_(\d+)$", r", from \1 to \2", probe).replace("_", " ")


def society_title(name: str) -> str:
    """Return the title of a society, or its name where it is not on this machine."""
    try:
        return load_society(name).title
    except UserError:
        return name


def model_words(spec: str) -> str:
    """Return a model in words.

    >>> model_words("oracle,kappa=0"), model_words("openai:gpt-4o-mini")
    ('rule-based speaker (oracle, influence of others: kappa = 0)', 'gpt-4o-mini')
    """
    name, model, options = parse_spec(spec)
    settings = [
        f"{PLANTED[key]}: {key} = {value}" if key in PLANTED else f"{key}={value}"
        for key, value in options.items()
        if key not in ("base_url", "society")
    ]
    label = f"{MODELS[name]} ({', '.join([name, *settings])})" if name in MODELS else (model.rsplit("/", 1)[-1] or name)
    return f"{label} at {options['base_url']}" if "base_url" in options else label


def size_words(scenario: dict[str, Any]) -> str:
    """Return how long a run is: `5 repetitions, 5 rounds`."""
    size = scenario["options"].get("size") if scenario["environment"] == "network" else None
    parts = [f"{size} agents"] if size else []
    many = scenario["repetitions"]
    return ", ".join(
        [
            *parts,
            f"{many:,} repetition{'s' * (many != 1)}",
            f"{scenario['rounds']} round{'s' * (scenario['rounds'] != 1)}",
        ]
    )


def model_of(header: Header) -> str:
    """Return the models of a run in words."""
    more = len(header.scenario["llms"])
    return model_words(str(header.scenario["llm"])) + (f" and {more} more" if more else "")


def cost_words(cost: float | None) -> str:
    """Return a cost in words: `free`, `$0.31`, or that no price is known."""
    return "price not known" if cost is None else "free" if cost == 0 else dollars(cost)
