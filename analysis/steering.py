"""What tells the agents of a scenario how to behave, and the same scenario without it.

SETTINGS are the settings by which an author does so. Sentences of personas may do the same (agents/steering.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.agents.persona import all_personas
from parley.agents.steering import STRUCK, has_list, steering_sentences
from parley.agents.topic import load_topic
from parley.model.scenario import Scenario

SETTINGS: Mapping[str, Any] = {
    "roles": (), "traits": (), "confirmation_bias": (), "believers": 0.0, "sides": "own", "frame": "debate", "think": "none",
    "reminder": False,
}  # fmt: skip
"""The settings that put words into prompts which say how to behave, each with its value that says nothing."""


def steering_of(scenario: Scenario) -> list[str]:
    """Return what tells agents how to behave, as phrases: settings, and the number of personas with a steering sentence.

    Personas count where the language has a list of steering words, and with steering=given.
    Example: ["reminder=True", "18 of 36 personas"].
    """
    used = [f"{name}={_shown(scenario.value(name))}" for name, free in SETTINGS.items() if scenario.value(name) != free]
    if scenario.speech.steering == STRUCK:
        return used
    people = [person for party in scenario.parties for person in all_personas(party, scenario.persona_folder)]
    languages = {load_topic(slug).language for slug in scenario.subject.topic}
    steered = [person for person in people if any(_says_how(person.backstory, language) for language in languages)]
    return [*used, *([f"{len(steered)} of {len(people)} personas"] if steered else [])]


def _says_how(backstory: str, language: Any) -> bool:
    return has_list(language) and bool(steering_sentences(backstory, language))


def _shown(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def unsteered(scenario: Scenario) -> Scenario:
    """Return a scenario without its steering settings, and with the steering sentences of its personas struck out.

    Without a list of steering words in its language, the personas stay as they are.
    """
    personas = {"steering": STRUCK} if has_list(scenario.society.language) else {}
    return scenario.with_settings({**SETTINGS, **personas})
