"""Options that commands share which hold a scenario: what is debated, on which models, with what budget."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError
from parley.model.commandline import amount, natural, price

if TYPE_CHECKING:
    from parley.llm.budget import Budget, Ledger, Price
    from parley.model.scenario import Scenario


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """What is debated, and on which models."""
    parser.add_argument("--scenario", metavar="NAME", help="a scenario's name, or the path of a .toml preset")
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (see --list)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic and group")
    parser.add_argument("--rounds", metavar="N", help="rounds; every agent speaks once in each")
    parser.add_argument(
        "--llm",
        metavar="[PARTY=]NAME[:MODEL][,key=value]",
        action="append",
        default=[],
        help="pocket (in the box), oracle (known truth), openai:MODEL (any compatible server), hf:PATH_OR_ID, fake, replay:RUN;"
        " once more for each party, or seat ('republican 2'), that has a model of its own",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL[+URL]",
        help="where the model of --llm openai:MODEL is served; several share the load",
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="set any field of the preset or of its environment (repeatable)",
    )
    parser.add_argument(
        "--intervene",
        metavar='"KIND KEY=VALUE ..."',
        action="append",
        help="something from outside before a round, in place of the preset's own (repeatable; docs/interventions.md): "
        "\"message round=3 to=democrat by=Ann text='...'\"",
    )


def add_budget(parser: argparse.ArgumentParser, folder: str) -> None:
    """What may be spent in a folder, called `folder` in the help, and whether failures are asked again."""
    parser.add_argument("--retry-failures", action="store_true", help="ask the calls that failed again")
    add_limits(parser, folder)


def add_limits(parser: argparse.ArgumentParser, folder: str) -> None:
    """What may be spent in a folder over all sittings."""
    parser.add_argument("--max-calls", metavar="N", type=natural, help=f"stop cleanly after N calls in this {folder}")
    parser.add_argument(
        "--max-tokens", metavar="N", type=natural, help=f"stop cleanly after about N tokens in this {folder}"
    )
    parser.add_argument("--max-cost", metavar="X", type=amount, help="stop cleanly at about this cost")
    parser.add_argument(
        "--price",
        metavar="IN,OUT",
        type=price,
        help="money per million tokens in and out (llm/prices.toml knows some models)",
    )
    parser.add_argument("--prices", metavar="FILE", type=Path, help="a table of your own, as llm/prices.toml")
    add_keep_going(parser)


def add_keep_going(parser: argparse.ArgumentParser) -> None:
    """Whether a run goes on of which nothing can be read."""
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="go on where (nearly) no rating or reply can be read; otherwise the run stops after that survey or round",
    )


def chosen(options: argparse.Namespace) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario as asked for, and the names of the fields that were given."""
    from parley.llm.backends import check_spec
    from parley.model.scenario import load_preset, parse_settings
    from parley.model.validation import check_topics

    named = {
        "topics": options.topic,
        "repetitions": options.repetitions,
        "rounds": options.rounds,
        "seed": options.seed,
        "interventions": None if options.intervene is None else tuple(filter(None, options.intervene)),
        **models(options.llm, options.base_url),
    }
    settings = parse_settings(options.set) | {key: value for key, value in named.items() if value is not None}
    scenario = load_preset(options.scenario).with_settings(settings)
    for spec in (scenario.llm, *scenario.own_llms().values()):
        check_spec(spec)
        check_topics(spec, [] if scenario.questions else scenario.subjects())
    return scenario, tuple(settings)


def models(given: Sequence[str], base_url: str | None) -> dict[str, Any]:
    """`--llm` as the fields `llm` and `llms`; the address goes to those that name none."""
    specs = [addressed(spec, base_url) for spec in given]
    if base_url and specs == list(given):
        raise UserError("--base-url needs an --llm openai:MODEL")
    own = [spec for spec in specs if _party(spec)]
    first = [spec for spec in specs if not _party(spec)]
    if len(first) > 1:
        raise UserError(
            f"--llm names two models, {first[0]} and {first[1]}: one for all, PARTY=MODEL for a party of its own"
        )
    return {"llm": first[0] if first else None, "llms": tuple(own) or None}


def addressed(spec: str, base_url: str | None) -> str:
    """The spec with the address of its endpoint, where it needs one and names none."""
    served = spec.removeprefix(f"{_party(spec)}=").startswith("openai:") and "base_url=" not in spec
    return f"{spec},base_url={base_url}" if base_url and served else spec


def _party(spec: str) -> str:
    """`republican=oracle` is the republicans', `republican 2=oracle` one seat's, `oracle,kappa=0` everybody's."""
    head, equals, _ = spec.partition("=")
    return head if equals and head.replace("_", "").replace(" ", "").isalnum() else ""


def prices(scenario: Scenario, options: argparse.Namespace) -> dict[str, Price | None]:
    """What each of the scenario's models costs, as it was given or stands in a table."""
    from parley.llm.budget import Price, load_prices

    given = Price(*options.price) if options.price else None
    return load_prices(scenario.llm, scenario.own_llms(), options.prices, given)


def budget(options: argparse.Namespace, *scenarios: Scenario) -> list[Budget]:
    """The limits that were given, for scenarios that share them, with the prices of each."""
    return _limited(options, [(scenario.llm, scenario.own_llms()) for scenario in scenarios])


def budget_of(options: argparse.Namespace, *specs: str) -> list[Budget]:
    """The same for models that are asked outside of a scenario, each with its price."""
    return _limited(options, [(spec, {}) for spec in specs])


def budgets_of(
    options: argparse.Namespace, base: Scenario, out: Path, names: Sequence[str]
) -> tuple[list[Budget], Ledger | None]:
    """The limits of runs of one scenario's models in folders of `out`, and the ledger that they share."""
    from parley.llm.journal import shared_ledger
    from parley.model.scenario_run import JOURNAL

    (limits,) = budget(options, base)
    return [limits] * len(names), shared_ledger(limits, [(out / name / JOURNAL, limits) for name in names])


def _limited(options: argparse.Namespace, asked: Sequence[tuple[str, Mapping[str, str]]]) -> list[Budget]:
    """Errors: UserError for a limit on cost where a price is not known."""
    from parley.llm.budget import FREE, Budget, Price, load_prices

    given = Price(*options.price) if options.price else None
    found = [(first, own, load_prices(first, own, options.prices, given)) for first, own in asked]
    free = all(price == FREE for _, _, known in found for price in known.values())
    for first, own, known in found:
        unpriced = [voice for voice, price in known.items() if price is None or free]
        if options.max_cost is not None and unpriced:
            spec = own.get(unpriced[0], first)
            raise UserError(f"--max-cost needs --price IN,OUT, money per million tokens: no price is known for {spec}")
    limits = options.max_calls, options.max_tokens, options.max_cost
    priced = [{voice: price for voice, price in known.items() if price} for *_, known in found]
    return [Budget(*limits, one, options.keep_going) for one in priced]
