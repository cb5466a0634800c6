"""Helpers of the agents' tests: a debater made by hand, with no model, no environment and no language model behind it."""

from __future__ import annotations

from collections.abc import Callable

import mesa
import pytest

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.request import Reply, Request, Sampling

Make = Callable[..., Debater]


@pytest.fixture
def make() -> Make:
    """`make("Ann", "Bob", memory="last:2")`: Ann, debating gun violence with Bob."""
    model = mesa.Model(rng=1)

    def debater(
        name: str, *others: str, memory: str = "whole", reader: str = "strict", party: str = "republican", **how: str
    ) -> Debater:
        persona = Persona(f"{party}_01", party, name, f"You are {name}.")
        known = how.pop("known", "")
        style = DebateStyle("debate", 50, Sampling(1.0, 120), 0.7, memory, reader, **how)
        return Debater(model, persona, load_topic("gun_violence"), others, style, about_others=known)

    return debater


def say(debater: Debater, text: str | None) -> Request:
    """One turn: the request that was composed; the reply absorbed is `text`, or a failure when that is None."""
    request = debater.compose_speech(seed=1)
    debater.absorb_speech(Reply(text) if text is not None else Reply.failed("timeout"))
    return request


def sent(request: Request) -> list[str]:
    """The messages as readable lines: `user: ...`."""
    return [f"{role}: {content}" for role, content in request.messages]
