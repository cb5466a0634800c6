"""What the shared options of a command mean (cli.py declares them): a scenario, models, prices, budgets."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError

if TYPE_CHECKING:
    from parley.llm.budget import Budget, Ledger, Price, SharedBudget
    from parley.model.scenario import Scenario


def fields_from_args(options: argparse.Namespace, models: Sequence[str] | None = None) -> dict[str, Any]:
    """The fields of a scenario that were given: by --set, by an option of their own, and its models.

    models: in place of those of --llm, where the command has read these itself.
    """
    from parley.model.scenario import parse_settings

    interventions = getattr(options, "intervene", None)
    named = {
        "topics": options.topic,
        "repetitions": getattr(options, "repetitions", None),
        "rounds": getattr(options, "rounds", None),
        "seed": options.seed,
        "interventions": None if interventions is None else tuple(filter(None, interventions)),
        **model_fields(with_base_url(options.llm, options.base_url) if models is None else models),
    }
    return parse_settings(options.set) | {key: value for key, value in named.items() if value is not None}


def scenario_from_args(
    options: argparse.Namespace, preset: str = "", models: Sequence[str] | None = None
) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario as asked for (that of `preset`, or of --scenario), and the names of the fields that were given.

    models: as of `fields_from_args`.
    """
    from parley.llm.backends import check_spec
    from parley.model.scenario import load_preset
    from parley.model.validation import check_topics

    given = fields_from_args(options, models)
    found = load_preset(preset or options.scenario, given)
    for spec in (found.models.llm, *found.llm_by_party.values()):
        check_spec(spec)
        check_topics(spec, [] if found.subject.questions else found.subject.all_topics)
    return found, tuple(given)


def models_from_args(options: argparse.Namespace, *others: str) -> list[str]:
    """The models of --llm, then those of the options named `others` ("" where one is not given), each with its address.

    Errors: UserError for PARTY=SPEC, where no party is asked.
    """
    if own := [spec for spec in options.llm if party_of(spec)]:
        raise UserError(f"--llm {own[0]}: no party speaks in this command; leave out {party_of(own[0])}=")
    return with_base_url([*options.llm, *(getattr(options, name) or "" for name in others)], options.base_url)


def model_from_args(options: argparse.Namespace, default: str = "") -> str:
    """The one model of a command that asks one. Errors: UserError where --llm names several."""
    return only_model(models_from_args(options), default)


def only_model(specs: Sequence[str], default: str = "") -> str:
    """The one that is named. Errors: UserError where there are several."""
    if len(named := list(dict.fromkeys(specs))) > 1:
        raise UserError(
            f"--llm names two models, {named[0]} and {named[1]}: this command uses one model, so leave one of them out"
        )
    return named[0] if named else default


def model_fields(specs: Sequence[str]) -> dict[str, Any]:
    """Models as the fields `llm` and `llms` of a scenario. Errors: UserError where two are for everybody."""
    own = [spec for spec in specs if party_of(spec)]
    first = [spec for spec in specs if not party_of(spec)]
    if len(first) > 1:
        raise UserError(
            f"--llm names two models, {first[0]} and {first[1]}: write PARTY=MODEL for a model of one party"
        )
    return {"llm": first[0] if first else None, "llms": tuple(own) or None}


def with_base_url(specs: Sequence[str], base_url: str | None) -> list[str]:
    """The specs, where an endpoint without an address gets that of --base-url. Errors: UserError where there is none."""
    addressed = [_addressed(spec, base_url) for spec in specs]
    if base_url and addressed == list(specs):
        raise UserError("--base-url needs an --llm openai:MODEL")
    return addressed


def _addressed(spec: str, base_url: str | None) -> str:
    served = spec.removeprefix(f"{party_of(spec)}=").startswith("openai:") and "base_url=" not in spec
    return f"{spec},base_url={base_url}" if base_url and served else spec


def party_of(spec: str) -> str:
    """`republican=oracle` is the republicans', `republican 2=oracle` one seat's, `oracle,kappa=0` everybody's."""
    head, equals, _ = spec.partition("=")
    return head if equals and head.replace("_", "").replace(" ", "").isalnum() else ""


def prices_from_args(options: argparse.Namespace, asked: Scenario) -> dict[str, Price | None]:
    """What each of a scenario's models costs: as given, or as in a table; None where no price is known."""
    return _prices(options, _voices(asked), False)


def budgets_from_args(options: argparse.Namespace, *asked: Scenario | str) -> list[Budget]:
    """The limits that were given, for scenarios and models that share them, with the prices of each.

    Errors: UserError for a limit on cost where a price is not known, or nothing costs anything.
    """
    from parley.llm.budget import FREE, Budget

    voices = [_voices(one) for one in asked]
    served = {model for each in voices for spec in each.values() if (model := _served(spec))}
    if options.price and len(served) > 1:
        raise UserError(
            "--price is the price of one served model, and several are named: write their prices into a table (--prices FILE)"
        )
    known = [_prices(options, each, bool(served)) for each in voices]
    free = all(price == FREE for each in known for price in each.values())
    for each, found in zip(voices, known, strict=True):
        unpriced = [each[voice] for voice, price in found.items() if price is None or free]
        if options.max_cost is not None and unpriced:
            raise UserError(
                f"--max-cost needs --price IN,OUT, money per million tokens: no price is known for {unpriced[0]}"
            )
    limits = options.max_calls, options.max_tokens, options.max_cost
    priced = [{voice: price for voice, price in each.items() if price} for each in known]
    return [Budget(*limits, one, options.keep_going) for one in priced]


def study_budgets(
    options: argparse.Namespace, base: Scenario, folder: Path, names: Sequence[str]
) -> tuple[list[Budget], Ledger | None]:
    """The limits of runs of one scenario's models in folders of `folder`, and the ledger that they share."""
    from parley.llm.journal import shared_ledger
    from parley.model.scenario_run import JOURNAL

    (limits,) = budgets_from_args(options, base)
    return [limits] * len(names), shared_ledger(limits, [(folder / name / JOURNAL, limits) for name in names])


def shared_budget(options: argparse.Namespace, folder: Path, *specs: str) -> SharedBudget:
    """One limit over everything that several models are asked in a folder, with the price of each. What earlier starts spent
    there is counted at the highest of these prices: one journal does not say whose the tokens were.
    """
    from parley.llm.budget import FREE, SharedBudget
    from parley.llm.journal import shared_ledger

    found = dict(zip(specs, budgets_from_args(options, *specs), strict=True))
    dearest = max(found.values(), key=lambda one: sum(one.prices.get("", FREE)))
    return SharedBudget(found, shared_ledger(dearest, [(path, dearest) for path in sorted(folder.rglob("*.sqlite"))]))


def _voices(asked: Scenario | str) -> dict[str, str]:
    """The specs of a scenario by voice, or one model's."""
    return {"": asked} if isinstance(asked, str) else {"": asked.models.llm, **asked.llm_by_party}


def _served(spec: str) -> str:
    """The model behind an endpoint; empty for a model in process."""
    from parley.llm.backends import split_spec

    backend, name, _ = split_spec(spec)
    return name if backend == "openai" else ""


def _prices(options: argparse.Namespace, voices: Mapping[str, str], served: bool) -> dict[str, Price | None]:
    """--price is that of an endpoint's model; where one is `served`, models in process cost nothing all the same."""
    from parley.llm.budget import Price, load_prices

    mine = not served or any(map(_served, voices.values()))
    given = Price(*options.price) if options.price and mine else None
    own = {voice: spec for voice, spec in voices.items() if voice}
    return load_prices(voices[""], own, options.prices, given)
