"""Backends by name: `--llm NAME[:MODEL][,key=value...]` opens `llm/backends/NAME`, or one of your own (llm/registry.py).

A backend module has one function, `open_backend(model, **options)`; its keyword arguments, with their types, are the options.
Your own backend may be a class instead, and may leave out `model`. The module may also define

- `MANNER`, the options that change how the model is called but not what it says: a resumed run may change them;
- `SHARED`, those of them that limit all calls at a time: workers that run at the same time get a part each;
- `known_topics(model)`, the topics of a model that knows only some (`*` among them: and any of the user's); it is called without
  opening the backend;
- `check_options(model, **options)`, which refuses values that the backend cannot use, before a run begins;
- `run_costs(model, usage, **options)`, of a model in this process: the memory and the seconds that so many tokens take here;
- `recorded_name(model)`, where the name of the model in journals is not the last part of what was given;
- `servers(model, **options)`, of a backend of Parley: the servers that it calls, from the texts of its options.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from multiprocessing import parent_process
from typing import Any

from parley.llm.errors import UserError, unknown_name
from parley.llm.model_catalogue import fetched_names
from parley.llm.registry import Checked, Registry
from parley.llm.request import Backend, Usage
from parley.llm.spec import Spec, parse_spec, write_spec
from parley.llm.trust import CALLING, Contact, host_of, key_for

BACKENDS = Registry(
    "model", __name__, "parley.backends", ("complete",), shared=(), opener="open_backend", colon="model"
)
_announced: set[str] = set()
ANY_TOPIC = "*"
"""Among the topics that a model knows: it takes any topic of the user's too."""
PERSON = "person"
SCRIPTED = ("fake", "yoked", PERSON)
"""Backends without a model: partners with fixed lines, and people, cost nothing."""
OWN_SPEAKERS = ("oracle", "pocket", "organism", "replay", "chatter")
"""Speakers of known bias, recordings, and a stand-in that answers by chance: nothing has to be found out about them."""


def backend_names() -> list[str]:
    """Return the names of all backends, sorted."""
    return BACKENDS.names()


def split_spec(spec: str) -> Spec:
    """Split `oracle,kappa=0` into ("oracle", "", {"kappa": "0"}), `replay:runs/a` into ("replay", "runs/a", {})."""
    return parse_spec(full_spec(spec))


def full_spec(spec: str) -> str:
    """Return a spec with its backend, where it begins with the name of a model that `run.py models get` fetches.

    >>> full_spec("smollm2,threads=2"), full_spec("oracle,kappa=0")
    ('gguf:smollm2,threads=2', 'oracle,kappa=0')
    """
    return f"gguf:{spec.lstrip()}" if spec.partition(",")[0].strip() in fetched_names() else spec


def is_scripted(spec: str) -> bool:
    """Does a spec name a backend without a model?

    >>> is_scripted("yoked:runs/a/lines.json"), is_scripted("oracle")
    (True, False)
    """
    return split_spec(spec).name in SCRIPTED


def needs_qualification(spec: str) -> bool:
    """Return whether a spec names a model of which it is not known whether it plays people.

    >>> needs_qualification("oracle,kappa=0"), needs_qualification("fake"), needs_qualification("openai:llama3")
    (False, False, True)
    """
    return not is_scripted(spec) and split_spec(spec).name not in OWN_SPEAKERS


def is_person(spec: str) -> bool:
    """Does a spec name a person, who is asked at the terminal (llm/backends/person)?

    >>> is_person("person,wait=60"), is_person("oracle")
    (True, False)
    """
    return split_spec(spec).name == PERSON


def open_spec(spec: str) -> Backend:
    """Open the backend that a spec names. Errors: UserError on an unknown name, option or value."""
    target, _, options = check_spec(spec)
    announce([spec])
    backend: Backend = target(**options)
    return backend


def check_spec(spec: str) -> Checked:
    """Return backend and typed options of a spec; nothing is opened. Errors: as open_spec."""
    return _checked(spec, with_files=True)


def check_name(spec: str) -> None:
    """Refuse a spec whose backend is unknown, before anything of a backend is imported. Errors: UserError, with a hint."""
    name, model, _ = split_spec(full_spec(spec))
    if name not in BACKENDS:
        raise _with_backend_hint(name, model, unknown_name(BACKENDS.what, name, BACKENDS.names()))


def _checked(spec: str, with_files: bool) -> Checked:
    """Return what `check_spec` does. with_files: also whether the files of the model are there."""
    try:
        checked = BACKENDS.check(full_spec(spec))
        if with_files and (check_options := _own(checked.target, "check_options", None)):
            check_options(**checked.options)
        return checked
    except UserError as error:
        name, model, _ = split_spec(spec)
        raise _with_backend_hint(name, model, error) from error


def topics_of(spec: str) -> tuple[str, ...] | None:
    """Return the debate topics that a model knows; None: it takes any topic. Errors: as check_spec."""
    target, _, options = check_spec(spec)
    known_topics = _own(target, "known_topics", None)
    shared = {key: options[key] for key in ("society",) if key in options}
    topics: tuple[str, ...] | None = known_topics(split_spec(spec).after, **shared) if known_topics else None
    return topics


def identity_spec(spec: str) -> str:
    """Return the spec without the options that change only how the model is called: `openai:m,base_url=URL` is `openai:m`."""
    name, model, options = split_spec(spec)
    try:
        manner = _own(BACKENDS.find(name), "MANNER", ())
    except UserError:
        manner = ()
    return write_spec(name, model, {key: value for key, value in sorted(options.items()) if key not in manner})


def contacts_of(spec: str, base_url: str = "") -> list[Contact]:
    """Return the servers that a spec and the specs in its options name, each with the variable of its key. Nothing is imported
    that is no part of Parley. base_url: of an endpoint without its own. Errors: UserError where it is no spec.

    >>> contacts_of("openai:m,base_url=http://127.0.0.1:8000/v1,key=LAB_KEY"), contacts_of("oracle,kappa=0")
    ([Contact(host='127.0.0.1:8000', key='LAB_KEY')], [])
    """
    name, model, options = parse_spec(spec)
    if name in CALLING:
        servers = import_module(f"{__name__}.{name}").servers
        contacts: list[Contact] = servers(model, **({"base_url": base_url} if base_url else {}) | options)
        return contacts
    named = [Contact(host_of(value), options.get("key", "")) for value in options.values() if "://" in value]
    return named + [contact for value in options.values() if ":" in value for contact in contacts_of(value, base_url)]


def server_lines(specs: Iterable[str]) -> list[str]:
    """Return a line for each server that these models call: the name of the variable of its key, never a key or an address."""
    keys = {contact.host: key_for(contact) for spec in specs for contact in contacts_of(spec)}
    return [f"{host} gets {_key_words(key)}" for host, key in sorted(keys.items())]


def _key_words(key: str) -> str:
    return f"the key in {key}" if os.environ.get(key, "").strip() else "no key"


def announce(specs: Iterable[str]) -> None:
    """Print the servers that are called, each once in a process; a worker leaves it to the process that started it."""
    for line in server_lines(specs):
        if line not in _announced and parent_process() is None:
            _announced.add(line)
            from tqdm import tqdm  # takes a moment to import, and most runs call no server

            tqdm.write(f"server   {line}")


def recorded_name(spec: str) -> str:
    """Return the name under which a journal holds the model of a spec: the last part of a path or hub id, or the module's own.

    >>> recorded_name("openai:org/model,timeout=9")
    'model'
    """
    model = split_spec(spec).after
    name_rule = _own(check_spec(spec).target, "recorded_name", None)
    return str(name_rule(model)) if name_rule else model.rsplit("/", 1)[-1]


def run_costs(spec: str, usage: Usage) -> Any:
    """Return what so many tokens cost on this machine (gguf/speed.py: MachineCosts); None for a backend that cannot tell.

    Errors: as check_spec.
    """
    target, _, options = check_spec(spec)
    costs = _own(target, "run_costs", None)
    return costs(usage=usage, **options) if costs else None


def suited_sampling(spec: str) -> dict[str, float]:
    """Return the settings of sampling that a model needs for sentences of its language, by field; {} where none are known.

    Errors: as check_spec.
    """
    suited = _own(check_spec(spec).target, "suited_sampling", None)
    return dict(suited(split_spec(spec).after)) if suited else {}


def with_defaults(spec: str, **options: object) -> str:
    """Return the spec with these options added, where its backend has them and the spec does not set them.

    >>> with_defaults("pocket,batch=9", keep=512), with_defaults("oracle", keep=512)
    ('pocket,batch=9,keep=512', 'oracle')
    """
    target, _, given = check_spec(spec)
    parameters = inspect.signature(target).parameters
    return ",".join(
        [spec, *(f"{key}={value}" for key, value in options.items() if key in parameters and key not in given)]
    )


def in_society(spec: str, society: str) -> str:
    """Return the spec for a society: its backend gets the name, if it has the option `society`; `us` goes without saying.

    The files of the model need not be there: a record is replayed without them.

    >>> in_society("oracle,kappa=0", "germany"), in_society("oracle,society=uk", "us"), in_society("fake", "uk")
    ('oracle,kappa=0,society=germany', 'oracle', 'fake')
    """
    name, model, options = split_spec(spec)
    parameters = inspect.signature(_checked(spec, with_files=False).target).parameters
    if "society" not in parameters or options.get("society", parameters["society"].default) == society:
        return spec
    options.pop("society", None)
    return write_spec(name, model, options | ({} if society == parameters["society"].default else {"society": society}))


def split_limits(spec: str, parts: int) -> str:
    """Return the spec for one of `parts` workers: `openai:m,rpm=60` for 4 is `openai:m,in_flight=8,rpm=15.0,tpm=0.0`."""
    limits, (name, model, options) = _shared(spec), split_spec(spec)
    others = {key: value for key, value in options.items() if key not in limits}
    return write_spec(name, model, others | {key: str(_part(most, parts)) for key, most in limits.items()})


def max_splits(spec: str) -> int | None:
    """Return among how many workers a model can be divided: each needs one request in flight; None for no limit."""
    return min((most for most in _shared(spec).values() if isinstance(most, int)), default=None)


def runs_weights(spec: str) -> bool:
    """Return whether the model's weights run in the process that asks, on its GPU if it has one."""
    return bool(_own(check_spec(spec)[0], "ON_GPU", False))


def check_reached(spec: str) -> None:
    """Errors: UserError as in check_spec, and where the key of an endpoint is missing; nothing is opened or called."""
    target, _, options = check_spec(spec)
    if check_reachable := _own(target, "check_reachable", None):
        check_reachable(**options)


def _own(target: Any, name: str, default: Any) -> Any:
    """Return what the module or the class of a backend defines besides how to open it."""
    home = target if inspect.isclass(target) else sys.modules[target.__module__]
    return getattr(home, name, default)


def _shared(spec: str) -> Mapping[str, int | float]:
    """Return the limits on all calls at a time, as set or by default."""
    target, _, options = check_spec(spec)
    parameters = inspect.signature(target).parameters
    limits: dict[str, Any] = {key: parameters[key].default for key in _own(target, "SHARED", ())}
    return limits | {key: value for key, value in options.items() if key in limits}


def _part(most: float, parts: int) -> float:
    return max(1, most // parts) if isinstance(most, int) else most / parts


SERVED = (
    "ollama",
    "vllm",
    "claude",
    "anthropic",
    "gemini",
    "mistral",
    "llama",
    "qwen",
    "deepseek",
    "openrouter",
    "lmstudio",
    "llamacpp",
    "groq",
    "together",
)
"""Programs and companies that serve models over the interface of OpenAI."""


def _with_backend_hint(name: str, model: str, error: UserError) -> UserError:
    """Return the error of an unknown name; the name of a model without its backend gets a hint."""
    whole = f"{name}:{model}" if model else name
    numbered = any(map(str.isdigit, name))
    if not str(error).startswith(f"unknown model {name!r}") or ("did you mean" in str(error) and not numbered):
        return error
    if name.lower().endswith(".gguf"):
        return UserError(f"unknown model {name!r}: for a model in a file, write gguf:{whole}")
    if os.path.isfile(os.path.join(os.path.expanduser(name), "config.json")):
        return UserError(f"unknown model {name!r}: for a model in a folder, write hf:{whole}")
    if "/" in name and not name.startswith((".", "/")):
        return UserError(
            f"unknown model {name!r}: write hf:{whole} for a model on this machine, or openai:{whole} for a model on "
            "a server"
        )
    if name in SERVED:
        return UserError(
            f"unknown model {name!r}: to use a model of {name}, write openai:MODEL with --base-url URL (docs/models.md)"
        )
    if numbered or "-" in name:
        return UserError(
            f"unknown model {name!r}: for a model on a server, write openai:{whole}, and give the server's address with "
            "--base-url"
        )
    return error
