"""The folder is the registry: `--llm NAME[:MODEL][,key=value...]` opens `llm/backends/NAME`.

A backend module has one function, `open_backend(model, **options)`; its keyword arguments, with their types, are the options.
Those that change how the model is asked and not what it says are named in its `MANNER`: a run may be resumed with others.
Those of them that limit all who ask at once are named in its `SHARED`: workers side by side have a part each.
One that knows some topics alone says which in `known_topics(model)`, without being opened.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Mapping
from typing import Any

from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Backend


def backend_names() -> list[str]:
    """Every backend, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def split_spec(spec: str) -> tuple[str, str, dict[str, str]]:
    """`oracle,kappa=0` -> ("oracle", "", {"kappa": "0"}); `replay:runs/a` -> ("replay", "runs/a", {})."""
    head, *pairs = spec.split(",")
    name, _, model = head.partition(":")
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--llm {spec}: {pair!r} is not key=value")
        if key.strip() in options:
            raise UserError(f"--llm {spec}: {key.strip()} is given twice")
        options[key.strip()] = value.strip()
    return name.strip(), model.strip(), options


SCRIPTED = ("fake", "yoked")
"""Backends that are no model: partners who say what is written for them cost nothing."""


def is_scripted(spec: str) -> bool:
    """Whether a spec names no model.

    >>> is_scripted("yoked:runs/a/lines.json"), is_scripted("oracle")
    (True, False)
    """
    return split_spec(spec)[0] in SCRIPTED


def open_spec(spec: str) -> Backend:
    """Open the backend that a spec names. Errors: UserError on an unknown name, option or value."""
    name, model, options = check_spec(spec)
    backend: Backend = importlib.import_module(f"parley.llm.backends.{name}").open_backend(model, **options)
    return backend


def topics_of(spec: str) -> tuple[str, ...] | None:
    """The topics of debates that a model knows; None: it says nothing of topics, so it takes any. Errors: as check_spec."""
    name, model, _ = check_spec(spec)
    told = getattr(importlib.import_module(f"parley.llm.backends.{name}"), "known_topics", None)
    known: tuple[str, ...] | None = told(model) if told else None
    return known


def identity_spec(spec: str) -> str:
    """The spec without the options that change only how the model is asked: `openai:m,base_url=URL` is `openai:m`."""
    name, model, options = split_spec(spec)
    manner = (
        getattr(importlib.import_module(f"parley.llm.backends.{name}"), "MANNER", ()) if name in backend_names() else ()
    )
    kept = [f",{key}={value}" for key, value in sorted(options.items()) if key not in manner]
    return "".join([name, f":{model}" if model else "", *kept])


def with_defaults(spec: str, **options: object) -> str:
    """The spec with these options too, where its backend has them and it does not give them.

    >>> with_defaults("pocket,draft=0", keep=512), with_defaults("oracle", keep=512)
    ('pocket,draft=0,keep=512', 'oracle')
    """
    name, _, given = check_spec(spec)
    known = inspect.signature(importlib.import_module(f"parley.llm.backends.{name}").open_backend).parameters
    return ",".join([spec, *(f"{key}={value}" for key, value in options.items() if key in known and key not in given)])


def split_limits(spec: str, parts: int) -> str:
    """The spec for one of `parts` who ask at once: `openai:m,rpm=60` for 4 is `openai:m,in_flight=8,rpm=15.0,tpm=0.0`."""
    limits = _shared(spec)
    return ",".join([_without(spec, limits), *(f"{name}={_part(most, parts)}" for name, most in limits.items())])


def max_splits(spec: str) -> int | None:
    """Among how many a model can be divided: each needs one request on its way; None where that is not limited."""
    return min((most for most in _shared(spec).values() if isinstance(most, int)), default=None)


def _shared(spec: str) -> dict[str, int | float]:
    """What limits all who ask at once, as given or by default."""
    name, _, options = check_spec(spec)
    module = importlib.import_module(f"parley.llm.backends.{name}")
    known = inspect.signature(module.open_backend).parameters
    limits: dict[str, Any] = {key: known[key].default for key in getattr(module, "SHARED", ())}
    return limits | {key: value for key, value in options.items() if key in limits}


def _without(spec: str, names: Mapping[str, object]) -> str:
    head, *pairs = spec.split(",")
    return ",".join([head, *(pair for pair in pairs if pair.partition("=")[0].strip() not in names)])


def _part(most: float, parts: int) -> float:
    return max(1, most // parts) if isinstance(most, int) else most / parts


def check_spec(spec: str) -> tuple[str, str, dict[str, object]]:
    """Backend, model and typed options of a spec; nothing is opened. Errors: as open_spec."""
    name, model, options = split_spec(spec)
    if name not in backend_names():
        raise _unknown(name, model)
    opener = importlib.import_module(f"parley.llm.backends.{name}").open_backend
    known = {key: parameter for key, parameter in inspect.signature(opener).parameters.items() if key != "model"}
    return name, model, {key: _typed(name, key, value, known) for key, value in options.items()}


def _unknown(name: str, model: str) -> UserError:
    """A name that is no backend: misspelt, or that of a model, which a backend has to be named before."""
    error, whole = unknown_name("model", name, backend_names()), f"{name}:{model}" if model else name
    if "did you mean" in str(error) and not any(map(str.isdigit, name)):
        return error
    if "/" in name and not name.startswith((".", "/")):
        return UserError(
            f"unknown model {name!r}: did you mean hf:{whole} (a local model) or openai:{whole} (an endpoint)?"
        )
    if any(map(str.isdigit, name)) or "-" in name:
        return UserError(f"unknown model {name!r}: did you mean openai:{whole} (any endpoint: --base-url)?")
    return error


def check_reached(spec: str) -> None:
    """Errors: UserError as of check_spec, and where the key of an endpoint is missing; nothing is opened or asked."""
    name, model, options = check_spec(spec)
    module = importlib.import_module(f"parley.llm.backends.{name}")
    if hasattr(module, "reached"):
        module.reached(model, **options)


def _typed(name: str, key: str, value: str, known: dict[str, inspect.Parameter]) -> object:
    if key not in known:
        raise unknown_name(f"option of {name}", key, known)
    kind = type(known[key].default) if known[key].default is not None else float
    try:
        typed = kind(value)
    except ValueError as error:
        raise UserError(f"option {key} of {name} must be a {kind.__name__}, not {value!r}") from error
    if isinstance(typed, float) and not math.isfinite(typed):
        raise UserError(f"option {key} of {name} must be a finite number, not {value!r}")
    return typed
