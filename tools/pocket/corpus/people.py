"""Who speaks in the corpus: invented people, told of in several forms. None of the shipped personas is among them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from parley.agents.datafiles import read_toml
from parley.agents.persona import Persona, load_personas
from parley.agents.persona_generator import generate_persona, list_names
from parley.agents.society import DEFAULT, load_society
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends.oracle.phrases import banks
from parley.llm.driver import drive
from parley.llm.request import Backend

STATED = "stated"
"""A person without a party, whose text states positions and nothing else."""
NO_PERSONA = "nobody"
"""A speaker without any persona text."""
DEFAULT_TEXT = load_personas(DEFAULT)[0].backstory
SIDES = load_society().debaters
PARTIES = (*SIDES, DEFAULT)
LEANINGS = read_toml(Path(__file__).parent / "leanings.toml")
"""How a person of a party is told of, by form and party."""
ASIDE = 0.75
"""How often a topic is drawn on which backstories take no position, where another one is drawn once."""
_POSITIONS = ("problem", " ban on ")


TAUGHT = tuple(sorted((*topic_names(), "blackout")))
"""The topics that the pocket model is taught: those of debates, and one item of news."""


def any_topic(rng: random.Random) -> str:
    """A topic; those on which backstories say nothing come somewhat less often, they are there to tell a party from "down"."""
    return rng.choices(list(_weights()), list(_weights().values()))[0]


@cache
def _weights() -> dict[str, float]:
    return {slug: 1.0 if load_topic(slug).in_backstories else ASIDE for slug in TAUGHT}


def person(party: str, taken: set[str], rng: random.Random, writer: Backend, brief: float = 0.12) -> Persona:
    """A person of a party with a name that is not taken: party only (in a share `brief`), without positions, or whole."""
    name = rng.choice([name for source in PARTIES for name in list_names(source) if name not in taken])
    taken.add(name)
    if party == DEFAULT:
        return Persona("corpus", party, name, DEFAULT_TEXT)
    if party == STATED:
        return Persona("corpus", party, name, " ".join([f"You are {name}.", *_stated(rng)]))
    draw = rng.random()
    if draw < brief:
        return Persona("corpus", party, name, rng.choice(LEANINGS["brief"][party]).format(name=name))
    story = drive([generate_persona(party, name, rng.getrandbits(31))], writer)[0]
    return Persona("corpus", party, name, _without_positions(story) if draw < brief + 0.15 else story)


def _stated(rng: random.Random) -> list[str]:
    """Positions on some topics, each as likely as any other: a party tells none of them, they have to be read."""
    levels = list(banks().data("parameters")["levels"])
    positions = []
    for slug in rng.sample(topic_names(), rng.randint(2, 5)):
        level = rng.choice(levels[4:] if slug == "abortion" else levels[:4])
        positions.append(rng.choice(banks().data("backstory")["positions"][slug]["templates"]).format(level=level))
    return positions


def _without_positions(story: str) -> str:
    """A backstory up to the first sentence with a position on a topic."""
    kept: list[str] = []
    for sentence in story.split(". "):
        if any(phrase in sentence for phrase in _POSITIONS):
            break
        kept.append(sentence.rstrip("."))
    return ". ".join(kept) + "."
