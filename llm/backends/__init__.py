"""Backends by name: `--llm NAME[:MODEL][,key=value...]` opens `llm/backends/NAME`, or one of your own (llm/registry.py).

A backend module has one function, `open_backend(model, **options)`; its keyword arguments, with their types, are the options.
One of your own may be a class instead, and `model` may be left out.
Those that change how the model is asked and not what it says are named in its `MANNER`: a run may be resumed with others.
Those of them that limit all who ask at once are named in its `SHARED`: workers side by side have a part each.
One that knows some topics alone says which in `known_topics(model)`, without being opened.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from parley.llm.errors import UserError
from parley.llm.registry import Checked, Registry
from parley.llm.request import Backend
from parley.llm.spec import Spec, parse_spec, write_spec

BACKENDS = Registry(
    "model", __name__, "parley.backends", ("complete",), shared=(), opener="open_backend", colon="model"
)
SCRIPTED = ("fake", "yoked")
"""Backends that are no model: partners who say what is written for them cost nothing."""


def backend_names() -> list[str]:
    """Every backend, sorted."""
    return BACKENDS.names()


def split_spec(spec: str) -> Spec:
    """`oracle,kappa=0` -> ("oracle", "", {"kappa": "0"}); `replay:runs/a` -> ("replay", "runs/a", {})."""
    return parse_spec(spec)


def is_scripted(spec: str) -> bool:
    """Whether a spec names no model.

    >>> is_scripted("yoked:runs/a/lines.json"), is_scripted("oracle")
    (True, False)
    """
    return split_spec(spec).name in SCRIPTED


def open_spec(spec: str) -> Backend:
    """Open the backend that a spec names. Errors: UserError on an unknown name, option or value."""
    target, _, options = check_spec(spec)
    backend: Backend = target(**options)
    return backend


def check_spec(spec: str) -> Checked:
    """Backend and typed options of a spec; nothing is opened. Errors: as open_spec."""
    try:
        return BACKENDS.check(spec)
    except UserError as error:
        name, model, _ = split_spec(spec)
        raise _served(name, model, error) from error


def topics_of(spec: str) -> tuple[str, ...] | None:
    """The topics of debates that a model knows; None: it says nothing of topics, so it takes any. Errors: as check_spec."""
    told = _own(check_spec(spec).target, "known_topics", None)
    known: tuple[str, ...] | None = told(split_spec(spec).after) if told else None
    return known


def identity_spec(spec: str) -> str:
    """The spec without the options that change only how the model is asked: `openai:m,base_url=URL` is `openai:m`."""
    name, model, options = split_spec(spec)
    try:
        manner = _own(BACKENDS.find(name), "MANNER", ())
    except UserError:
        manner = ()
    return write_spec(name, model, {key: value for key, value in sorted(options.items()) if key not in manner})


def with_defaults(spec: str, **options: object) -> str:
    """The spec with these options too, where its backend has them and it does not give them.

    >>> with_defaults("pocket,batch=9", keep=512), with_defaults("oracle", keep=512)
    ('pocket,batch=9,keep=512', 'oracle')
    """
    target, _, given = check_spec(spec)
    known = inspect.signature(target).parameters
    return ",".join([spec, *(f"{key}={value}" for key, value in options.items() if key in known and key not in given)])


def split_limits(spec: str, parts: int) -> str:
    """The spec for one of `parts` who ask at once: `openai:m,rpm=60` for 4 is `openai:m,in_flight=8,rpm=15.0,tpm=0.0`."""
    limits, (name, model, options) = _shared(spec), split_spec(spec)
    kept = {key: value for key, value in options.items() if key not in limits}
    return write_spec(name, model, kept | {key: str(_part(most, parts)) for key, most in limits.items()})


def max_splits(spec: str) -> int | None:
    """Among how many a model can be divided: each needs one request on its way; None where that is not limited."""
    return min((most for most in _shared(spec).values() if isinstance(most, int)), default=None)


def check_reached(spec: str) -> None:
    """Errors: UserError as of check_spec, and where the key of an endpoint is missing; nothing is opened or asked."""
    target, _, options = check_spec(spec)
    if reached := _own(target, "check_reachable", None):
        reached(**options)


def _own(target: Any, name: str, default: Any) -> Any:
    """What a backend says of itself beside how it is opened: in its module, or in its class."""
    home = target if inspect.isclass(target) else sys.modules[target.__module__]
    return getattr(home, name, default)


def _shared(spec: str) -> Mapping[str, int | float]:
    """What limits all who ask at once, as given or by default."""
    target, _, options = check_spec(spec)
    known = inspect.signature(target).parameters
    limits: dict[str, Any] = {key: known[key].default for key in _own(target, "SHARED", ())}
    return limits | {key: value for key, value in options.items() if key in limits}


def _part(most: float, parts: int) -> float:
    return max(1, most // parts) if isinstance(most, int) else most / parts


def _served(name: str, model: str, error: UserError) -> UserError:
    """What is said of an unknown name that is no backend's but a model's, which a backend has to be named before."""
    whole = f"{name}:{model}" if model else name
    numbered = any(map(str.isdigit, name))
    if not str(error).startswith(f"unknown model {name!r}") or ("did you mean" in str(error) and not numbered):
        return error
    if "/" in name and not name.startswith((".", "/")):
        return UserError(
            f"unknown model {name!r}: did you mean hf:{whole} (a local model) or openai:{whole} (an endpoint)?"
        )
    if numbered or "-" in name:
        return UserError(f"unknown model {name!r}: did you mean openai:{whole} (any endpoint: --base-url)?")
    return error
