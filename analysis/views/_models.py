"""Choose the model of the next run: embedded, rule-based, on a server, in a local folder, or any other spec."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import solara
import solara.lab

from parley.analysis.serving.own_files import check_named
from parley.analysis.views._plan import HERE
from parley.llm.backends import open_spec, split_spec
from parley.llm.errors import UserError
from parley.llm.spec import write_spec

KINDS = {
    "oracle": ("Rule-based speaker", "This speaker writes its lines by rules, with a bias that is set in advance. "
               "It is free, and gives some hundred replies a second. "
               "Use it to try out Parley and to test an analysis, not for findings about language models."),
    "pocket": ("Embedded model", "A small language model that comes with Parley and runs on this machine. "
               "It is free, and slower than the rule-based speaker. The opinions of this model come from its training texts."),
    "openai": ("A server", "Any server with the OpenAI interface, such as Ollama, vLLM, llama.cpp, LM Studio, or a company's "
        "server. The page calls only servers that you name when you start it: --trust HOST:PORT, or "
        "--trust KEY_NAME@HOST for a server that needs a key."),
    "gguf": ("A GGUF file", "SmolLM2 (write smollm2, once `run.py models get smollm2` has fetched it), or the path of a file, "
             "in this process. Name the folder of a file when you start the page: --allow-files FOLDER."),
    "hf": ("A local folder", "The folder of a model of the transformers library on this machine. "
           "Name the folder when you start the page: --allow-files FOLDER."),
    "": ("Other", "Any model that you could name on the command line, for example replay:runs/a."),
}  # fmt: skip


@solara.component_vue("models.vue")
def Picker(
    state: str,
    event_choose: Callable[[str], None],
    event_change: Callable[[dict], None],
    event_test: Callable[[Any], None],
) -> None:
    """state: JSON of `picked`, the kinds, and what a test found."""


@solara.component
def ModelPicker(
    spec: str,
    price: tuple[float, float] | None,
    put: Callable[[str], None],
    put_price: Callable[[Any], None],
    problem: str,
) -> None:
    """The picker. put gets a spec; put_price gets money per million tokens in and out, or None. problem: what the bar says."""
    tested = solara.use_reactive(0)
    picked = picked_of(spec)
    result = solara.lab.use_task(
        lambda: check_server(picked) if tested.value else {}, dependencies=[tested.value], raise_error=False
    )
    server_says: dict[str, Any] = (result.value or {}) if result.finished else {}
    if server_says.get("server") != server_of(picked):
        server_says = {}  # of an address that was typed before

    def choose_only() -> None:
        if (only := server_says.get("only")) and not picked["model"]:
            put(spec_of(picked | {"model": only}))

    solara.use_effect(choose_only, [result.value])

    known = solara.lab.use_task(lambda: plays_people(spec), dependencies=[spec], raise_error=False)

    def change(values: dict[str, str]) -> None:
        if {"price_in", "price_out"} & values.keys():
            put_price(_price(values))
        else:
            put(spec_of(picked | values))

    state = {
        **picked, "kinds": [[kind, *words] for kind, words in KINDS.items()], "problem": problem,
        "testing": bool(result.pending and tested.value), "price_in": price[0] if price else "",
        "price_out": price[1] if price else "", "tested": tested.value, **server_says,
        "plays": (known.value or "") if known.finished else "",
    }  # fmt: skip
    Picker(
        state=json.dumps(state),
        event_choose=lambda kind: put(spec_of({**picked_of(""), "kind": kind})),
        event_change=change,
        event_test=lambda _: tested.set(tested.value + 1),
    )


def picked_of(spec: str) -> dict[str, str]:
    """Return a spec in the parts that the picker shows: kind, model, base_url, key, and all other options as text."""
    try:
        name, model, options = split_spec(spec)
    except UserError:
        name, model, options = spec, "", {}
    kind = name if name in KINDS else ""
    url, key = options.pop("base_url", ""), options.pop("key", "")
    more = write_spec("", "", options).removeprefix(",")
    return {"kind": kind, "model": model, "base_url": url, "key": key, "more": more, "spec": spec}


def spec_of(picked: dict[str, str]) -> str:
    """Return the spec of what was picked."""
    if not picked["kind"]:
        return picked["spec"]
    address = {"base_url": picked["base_url"], "key": picked["key"]} if picked["kind"] == "openai" else {}
    spec = write_spec(picked["kind"], picked["model"], {key: value for key, value in address.items() if value})
    return f"{spec},{picked['more']}" if picked["more"] else spec


def server_of(picked: dict[str, str]) -> list[str]:
    """Return the server that was picked: its address, and the variable of its key."""
    return [picked["base_url"], picked["key"]]


def check_server(picked: dict[str, str]) -> dict[str, Any]:
    """Return what a server says: the models that it lists, the only one of them, and what the chosen one can do, or an error."""
    from parley.llm.backends.openai import KEY
    from parley.llm.backends.openai.model_list import list_models

    server_says: dict[str, Any] = {"server": server_of(picked)}
    try:
        check_named({"llm": spec_of(picked)}, HERE)
        models = server_says["models"] = list_models(picked["base_url"], picked["key"] or KEY)
        if len(models) == 1 and not picked["model"]:
            picked = picked | {"model": models[0]}
            server_says["only"] = models[0]
        if picked["model"]:
            server_says["says"] = getattr(open_spec(spec_of(picked)), "says", "")
    except UserError as error:
        server_says["error"] = str(error)
    return server_says


def plays_people(spec: str) -> str:
    """Return the kept verdict on whether a model can play people, or that nothing is known; "" for speakers of known bias."""
    from parley.agents.society import US
    from parley.analysis.formatting import plain
    from parley.analysis.qualify.kept import kept_qualification, short_battery, spec_identity
    from parley.analysis.qualify.questions import questions
    from parley.analysis.qualify.verdict import headline
    from parley.llm.backends import needs_qualification

    try:
        check_named({"llm": spec}, "the form of this page")
        if not spec or not needs_qualification(spec):
            return ""
        result = kept_qualification(spec_identity(spec), US)
        calls = len(questions(short_battery(US)))
    except UserError:
        return ""  # the form says what is wrong with the model
    if result is None:
        return f"Whether this model can play people is not checked yet. Its first run or audit asks {calls} questions first."
    return plain(headline("this model", list(result.verdicts)))


def _price(values: dict[str, Any]) -> tuple[float, float] | None:
    try:
        price = float(values["price_in"]), float(values["price_out"])
    except (ValueError, TypeError):
        return None
    return price if min(price) >= 0 else None
