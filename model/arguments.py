"""Reads the values of the shared options (cli.py declares them): a scenario, models, prices, budgets."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError

if TYPE_CHECKING:
    from parley.agents.society import Society
    from parley.llm.budget import Budget, Ledger, SharedBudget
    from parley.llm.prices import PriceList
    from parley.model.scenario import Scenario


def fields_from_args(options: argparse.Namespace, models: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the fields of a scenario that the command line sets.

    models: replace those of --llm, for a command that has read --llm itself.
    """
    settings: dict[str, Any] = {}
    if options.set:  # the page answers before it imports a scenario
        from parley.model.scenario import parse_settings

        settings = parse_settings(options.set)
    interventions = getattr(options, "intervene", None)
    fields = {
        "society": getattr(options, "society", None),
        "topic": options.topic,
        "repetitions": getattr(options, "repetitions", None),
        "rounds": getattr(options, "rounds", None),
        "seed": options.seed,
        "interventions": None if interventions is None else tuple(filter(None, interventions)),
        **model_fields(with_base_url(options.llm, options.base_url) if models is None else models),
    }
    given = {key: value for key, value in fields.items() if value is not None}
    if twice := sorted(settings.keys() & given.keys()):
        pair = f"--set {twice[0]}={settings[twice[0]]}"
        raise UserError(f"{pair} sets a field that another option sets too: leave out one of the two")
    return with_suited_sampling(settings | given)


SAMPLING = ("temperature", "top_p", "top_k", "min_p")


def with_suited_sampling(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a scenario that were set, with the sampling that its model needs, unless some of it is set."""
    from parley.llm.backends import suited_sampling

    spec = str(fields.get("llm", ""))
    return dict(fields) | (suited_sampling(spec) if spec and not set(SAMPLING) & set(fields) else {})


def scenario_from_args(options: argparse.Namespace, preset: str = "") -> tuple[Scenario, tuple[str, ...]]:
    """Return the scenario of `preset` (default: that of --scenario), and the names of the fields that the command line sets."""
    from parley.llm.backends import check_spec
    from parley.model.scenario import load_preset
    from parley.model.validation import check_topics, topics_to_know

    given = fields_from_args(options)
    scenario = load_preset(preset or options.scenario, given)
    for spec in _voices(scenario).values():
        check_spec(spec)
        check_topics(spec, topics_to_know(scenario))
    return scenario, tuple(given)


def models_from_args(options: argparse.Namespace, *others: str) -> list[str]:
    """Return the models of --llm, then those of the options named `others` ("" for one that is not set), with addresses.

    Errors: UserError for PARTY=SPEC, because no party speaks.
    """
    from parley.llm.backends import in_society

    if party_specs := [spec for spec in options.llm if party_of(spec)]:
        raise UserError(
            f"--llm {party_specs[0]} sets a model for one party, but this command has no debate between parties: "
            f"leave out {party_of(party_specs[0])}="
        )
    specs = with_base_url([*options.llm, *(getattr(options, name) or "" for name in others)], options.base_url)
    return [in_society(spec, society_from_args(options).name) if spec else spec for spec in specs]


def society_from_args(options: argparse.Namespace) -> Society:
    """Return the society of --society (default: us). Errors: UserError if there is none."""
    from parley.agents.society import US, load_society

    return load_society(getattr(options, "society", None) or US)


def model_from_args(options: argparse.Namespace, default: str = "", society: str = "") -> str:
    """Return the model of a command that asks one model. Errors: UserError if --llm names several.

    society: that of the run which the model is asked about (none: that of --society).
    """
    from parley.llm.backends import in_society

    spec = only_model(models_from_args(options), default)
    return in_society(spec, society or society_from_args(options).name) if spec else spec


def only_model(specs: Sequence[str], default: str = "") -> str:
    """Return the only model of a list, or the default. Errors: UserError if the list names several."""
    if len(named := list(dict.fromkeys(specs))) > 1:
        raise UserError(
            f"--llm names two models, {named[0]} and {named[1]}, but this command uses only one model: leave out one "
            "of the two"
        )
    return named[0] if named else default


def model_fields(specs: Sequence[str]) -> dict[str, Any]:
    """Return the fields `llm` and `llms` of a scenario. Errors: UserError if two models are for all parties."""
    by_party = tuple([spec for spec in specs if party_of(spec)])
    for_all = [spec for spec in specs if not party_of(spec)]
    if len(for_all) > 1:
        raise UserError(
            f"--llm names two models, {' and '.join(for_all[:2])}: to give one party its own model, write PARTY=MODEL"
        )
    return {"llm": for_all[0] if for_all else None, "llms": by_party or None}


def with_base_url(specs: Sequence[str], base_url: str | None) -> list[str]:
    """Return the specs; an endpoint without an address gets --base-url. Errors: UserError if there is no such endpoint."""

    def needs_address(spec: str) -> bool:
        return spec.removeprefix(f"{party_of(spec)}=").startswith("openai:") and "base_url=" not in spec

    if base_url and not any(map(needs_address, specs)):
        raise UserError(
            "--base-url only works with a model on a server: add --llm openai:MODEL, or leave out --base-url"
        )
    return [f"{spec},base_url={base_url}" if base_url and needs_address(spec) else spec for spec in specs]


def named_model(spec: str) -> str:
    """Return a value of --llm as it is. So an unknown model is refused before what reads it is imported. Errors: UserError."""
    from parley.llm.backends import check_name
    from parley.model.model_shares import STAND_IN

    named = spec.removeprefix(f"{party_of(spec)}=")
    if not named.startswith(STAND_IN):
        check_name(named)
    return spec


def party_of(spec: str) -> str:
    """Return the party, seat or share of a spec: `labour` of `labour=oracle`, "" of `oracle,kappa=0`."""
    from parley.model.model_shares import share_of

    head, equals, _ = spec.partition("=")
    named = head.replace("_", "").replace(" ", "").isalnum() or share_of(head) is not None
    return head if equals and named else ""


def prices_from_args(options: argparse.Namespace, scenario: Scenario) -> PriceList:
    """Return the price of each model of a scenario, by voice; None if no price is known."""
    return _prices(options, _voices(scenario), False)


def budgets_from_args(options: argparse.Namespace, *targets: Scenario | str) -> list[Budget]:
    """Return the limits of the command line with the prices of each scenario or model. They all share these limits.

    Errors: UserError for --max-cost without a known price, or if all models are free.
    """
    from parley.llm.budget import Budget
    from parley.llm.prices import FREE

    voices = [_voices(target) for target in targets]
    served = {model for specs in voices for spec in specs.values() if (model := _served(spec))}
    if options.price and len(served) > 1:
        raise UserError(
            "--price gives the price of one model, but the command uses several models on servers: write their "
            "prices into a file, and give --prices FILE"
        )
    prices = [_prices(options, specs, bool(served)) for specs in voices]
    free = all(price == FREE for run_prices in prices for price in run_prices.values())
    unpriced = [
        specs[voice]
        for specs, run_prices in zip(voices, prices, strict=True)
        for voice, price in run_prices.items()
        if price is None or free
    ]
    if options.max_cost is not None and unpriced:
        raise UserError(
            f"--max-cost needs prices, but no price is known for {unpriced[0]}: add --price IN,OUT, US dollars per million tokens"
        )
    limits = options.max_calls, options.max_tokens, options.max_cost
    return [Budget(*limits, run_prices.known(), options.keep_going) for run_prices in prices]


def study_budgets(
    options: argparse.Namespace, targets: Sequence[Scenario | str], folder: Path, names: Sequence[str]
) -> tuple[list[Budget], Ledger | None]:
    """Return the limits of runs of scenarios, or models, in these subfolders of `folder`, and the ledger that they share."""
    from parley.llm.journal import shared_ledger
    from parley.model.files import JOURNAL

    budgets = budgets_from_args(options, *targets)
    journals = [(folder / name / JOURNAL, budget) for name, budget in zip(names, budgets, strict=True)]
    return budgets, shared_ledger(budgets[0], journals)


def shared_budget(options: argparse.Namespace, folder: Path, *specs: str) -> SharedBudget:
    """Return one limit for all calls to several models in a folder, with the price of each.

    What earlier starts used is counted at the highest of these prices, because a journal does not say which model was asked.
    """
    from parley.llm.budget import SharedBudget
    from parley.llm.journal import shared_ledger
    from parley.llm.prices import FREE

    budgets = dict(zip(specs, budgets_from_args(options, *specs), strict=True))
    dearest = max(budgets.values(), key=lambda budget: (budget.prices.get("") or FREE).in_and_out)
    journals = [(path, dearest) for path in sorted(folder.rglob("*.sqlite"))]
    return SharedBudget(budgets, shared_ledger(dearest, journals))


def _voices(target: Scenario | str) -> dict[str, str]:
    """The specs of a scenario by voice, or that of one model."""
    return {"": target} if isinstance(target, str) else {"": target.models.llm, **target.llm_by_party}


def _served(spec: str) -> str:
    """The model behind an endpoint; "" for a model in this process."""
    from parley.llm.backends import split_spec
    from parley.llm.prices import is_served

    return split_spec(spec).after if is_served(spec) else ""


def _prices(options: argparse.Namespace, voices: Mapping[str, str], served: bool) -> PriceList:
    """--price is the price of an endpoint. If there is one (`served`), models in this process are free."""
    from parley.llm.prices import Price, load_prices

    mine = not served or any(map(_served, voices.values()))
    given = Price(*options.price) if options.price and mine else None
    voice_specs = {voice: spec for voice, spec in voices.items() if voice}
    return load_prices(voices[""], voice_specs, options.prices, given)
