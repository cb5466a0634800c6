"""What the known-truth speaker keeps to itself: each answer by its stated law, and a named failure where it knows nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from data_checks import check_each

from parley.agents.agent import Debater
from parley.agents.inner_thoughts import WEIGHTS
from parley.agents.topic import load_topic
from parley.agents.traits import Traits
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

REPUBLICAN = "You are Rae. Racism is a small problem. You vote Republican."


def put(asked: Callable[..., Reply], purpose: str, *heard: str, topic: str = "racism", **facts: Any) -> Reply:
    """What is asked for a purpose in a debate on a topic, after lines heard."""
    text = "\n\n".join(["A debate.", *heard, "What do you keep to yourself?"])
    answers, temperature = facts.pop("answers", ()), facts.pop("temperature", 1.0)
    return asked(text, answers=answers, temperature=temperature, purpose=purpose, facts={"topic": topic, **facts})


@pytest.mark.parametrize(
    ("grade", "intention", "feeling"), [(8, "agree with Bob", "calm"), (4, "disagree with Bob", "angry")]
)
def test_notes_follow_what_was_heard_last(
    asked: Callable[..., Reply], line: Callable[..., str], grade: int, intention: str, feeling: str
) -> None:
    """The Default stands at 8 on racism; a line of grade 4 is farther off than 3, one of grade 8 is not."""
    heard = f"Bob: {line('racism', grade)}"
    bdi = (put(asked, "bdi", heard).text or "").split("\n")
    assert banks().topics["racism"].grade(bdi[0].removeprefix("Belief: ")) in (7, 8)
    assert bdi[1] == "Desire: I want the others to see it as I do."
    assert bdi[2] == f"Intention: I will {intention}."
    latent = put(asked, "latent", heard).text or ""
    assert latent.endswith(f"Feeling: I feel {feeling}.")


def test_nothing_heard_and_nothing_firm(asked: Callable[..., Reply]) -> None:
    """illegal immigration: the Default stands at 5.3, near the middle, and wants to learn."""
    text = put(asked, "bdi", topic="illegal immigration").text or ""
    assert "Desire: I want to learn what the others know." in text
    assert text.endswith("Intention: I will say where I stand.")


def test_few_words_are_kept_to(asked: Callable[..., Reply]) -> None:
    """The stance first; with too few words for it, nothing: never a part of a sentence."""
    assert (put(asked, "bounded", words=40).text or "").endswith("I will say where I stand.")
    short = put(asked, "bounded", words=8).text or ""
    assert banks().topics["racism"].grade(short) == 8
    refused = put(asked, "bounded", words=2)
    assert refused.failure is not None
    assert refused.failure.name == "too_few_words"


@check_each(("grade", "points"), [(8, "1"), (4, "5"), (0, "8")])
def test_importance_by_hand(asked: Callable[..., Reply], line: Callable[..., str], grade: int, points: str) -> None:
    """From a Default at 8: 1 + 9 x 0, 1 + 9 x .4 = 4.6, 1 + 9 x .8 = 8.2, to whole points."""
    assert put(asked, "importance", line=line("racism", grade), scale=WEIGHTS).text == points


def test_insights_by_hand(oracle: Oracle, debater: Callable[..., Debater], line: Callable[..., str]) -> None:
    """Bob's 8 and 10 are a 9, Cleo's 2 is a 2; a line that it cannot read is left out."""
    agent = debater(memory="retrieve:2", others=("Bob", "Cleo"))
    for name, grade in (("Bob", 8), ("Bob", 10), ("Cleo", 2)):
        agent.hear(name, line("climate_change", grade))
    agent.hear("Cleo", "Good evening.")
    request = agent.compose_reflection(1)
    told = agent.absorb_reflection(oracle.complete([request])[0]).text or ""
    bank = banks().topics["climate_change"]
    assert told.split("\n") == [
        f"By what Bob says: {bank.stance_sentence(9)}",
        f"By what Cleo says: {bank.stance_sentence(2)}",
    ]


def test_confidence_by_hand(asked: Callable[..., Reply]) -> None:
    """The Default at 8: 80; on 1-7, 1 + .8 x 6 = 5.8; near the middle, 5.3: 53."""
    probe = load_topic("racism").probe("confidence")
    reply = put(asked, "survey", answers=probe.scale.answers, temperature=0.0, **probe.facts)
    assert reply.text == "80"
    assert reply.answers is not None
    assert sum(share * int(point) for point, share in reply.answers.items()) == pytest.approx(80)
    assert put(asked, "survey", topic="illegal immigration", **probe.facts).text == "53"


@check_each("purpose", ["bdi", "latent", "reflection"])
def test_what_it_knows_nothing_about(asked: Callable[..., Reply], purpose: str) -> None:
    """No belief is made up on a topic that is in no bank."""
    reply = put(asked, purpose, topic="the weather in Rome")
    assert reply.text is None
    assert reply.failure is not None
    assert reply.failure.name in ("unknown_ask", "nothing_to_conclude")


@check_each(("bias", "heard"), [("none", True), ("weak", False), ("strong", False)])
def test_a_confirmation_bias_bounds_what_it_hears(line: Callable[..., str], bias: str, heard: bool) -> None:
    """A Republican at 3 hears a line of grade 10, 7 away: no influence with a bias; without one it moves by kappa x 7."""
    quiet = open_backend("", mu=0.0, sigma=0.0)
    character = Traits(confirmation_bias=bias).backstory
    facts: Facts = {"topic": "racism", "character": character, "confirmation_bias": bias}
    persona = Message("system", f"{REPUBLICAN} {character}".strip())

    def stands(*lines: str) -> float:
        content = "\n\n".join(["This is a debate about racism.", *lines, "Complete your next reply."])
        return quiet.attitude(read(Request((persona, Message("user", content)), Sampling(), 0, facts=facts), banks()))[
            0
        ]

    moved = stands(f"Bob: {line('racism', 10)}") - stands()
    assert moved == pytest.approx(0.05 * (10 - stands()) if heard else 0.0)
