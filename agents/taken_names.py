"""The names that agents use for themselves. An agent class of a user that takes one is refused in one line."""

from __future__ import annotations

from collections.abc import Mapping

import mesa

from parley.agents.memory import Memory
from parley.agents.persona import Persona
from parley.agents.reasoning import Note
from parley.agents.speech import DebateStyle
from parley.agents.topic import Topic
from parley.agents.traits import Traits
from parley.llm.errors import UserError

TAKEN: Mapping[str, type | tuple[type, ...]] = {
    "ability": object, "absent": bool, "adapter": str, "character": Traits, "day": int, "hearers": tuple,
    "late": bool, "memory": Memory, "muted": bool, "name": str, "note": Note, "persona": Persona, "plan": Note,
    "prepares": bool, "ratings": dict, "side": str, "sided": bool, "states": dict, "style": DebateStyle, "topic": Topic,
    "voice": str, "why_absent": str,
}  # fmt: skip
"""What an agent keeps, by name, and of which type it is (docs/library.md lists them)."""


def check_class(kind: type, base: type) -> None:
    """Check the names that a user's class defines. base: Parley's class. Errors: UserError on one that is taken."""
    for name in vars(kind):
        ours = name.startswith("_") and not name.startswith("__") and hasattr(base, name)
        is_ours = ours and not hasattr(mesa.Agent, name)  # Mesa 3.5 gives each class a `_datasets`
        if name in TAKEN or is_ours:
            raise _taken(name, kind)


def check_value(agent: object, name: str, value: object) -> None:
    """Check what is set on an agent. Errors: UserError where a taken name gets a value of another type."""
    if name in TAKEN and not isinstance(value, TAKEN[name]):
        raise _taken(name, type(agent))


def _taken(name: str, kind: type) -> UserError:
    better = f"my_{name.strip('_')}"
    return UserError(
        f"the agent class {kind.__name__} uses the name {name}, which Parley's own agents need: use another name, "
        f"such as {better}"
    )
