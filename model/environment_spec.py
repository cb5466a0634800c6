"""The environment of a scenario: its name and options, as a preset gives them, and the object made of these, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from parley.environments import environment_class
from parley.environments.base import Environment, Group
from parley.llm.errors import UserError


@dataclass(frozen=True)
class EnvironmentSpec:
    """The name of an environment, and the options that a preset or a user sets. Other options have their defaults.

    `name` is a module of environments/, an entry point, or a class of your own (`./mine.py:Mine`).
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def environment(self) -> Environment:
        """The environment itself. Errors: UserError when the options do not fit."""
        try:
            environment: Environment = environment_class(self.name)(**self.options)
        except ValueError as error:
            raise UserError(f"environment {self.name}: {error}") from error
        return environment

    @cached_property
    def groups(self) -> Sequence[Group]:
        """Who sits together."""
        return self.environment.groups()

    def to_dict(self) -> dict[str, Any]:
        """The options as plain values. A graph object is named by its digest."""
        return {key: value if _is_plain(value) else str(value) for key, value in self.options.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Name and options alone: another process builds its own environment."""
        return {"name": self.name, "options": self.options}


def _is_plain(value: Any) -> bool:
    """Whether JSON holds a value as it is."""
    return value is None or isinstance(value, str | int | float | list | tuple | dict)
