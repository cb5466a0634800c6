"""What a run will need before it starts: rooms, replies, time and money, from a dry run; and what would stop it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.serving.own_files import check_named
from parley.analysis.views._words import cost_words
from parley.llm.backends import check_reached, open_spec, split_spec
from parley.llm.errors import UserError
from parley.llm.prices import FREE, Price, PriceList, cost_of, load_prices
from parley.llm.request import NOTHING, total
from parley.model.model_shares import called_models
from parley.model.scenario import Scenario, load_preset
from parley.model.validation import check_taught, check_topics, topics_to_know

if TYPE_CHECKING:
    from parley.analysis.card.protocol import AuditPlan
    from parley.analysis.views._session import Draft
    from parley.model.run_plan import RunPlan

MANY = 100_000
"""Replies above which a run asks before it starts."""
LARGEST, LONGEST = 1_000_000, 20
"""The largest number that the page plans, because an address may ask for any, and the digits of it that are read."""
HERE = "the form or address of this page"
ADDRESS = "Enter the address of the server, test the server, and choose a model."
REACHED = ("config.json", "adapter_config.json")


@dataclass(frozen=True)
class Plan:
    """The plan of a draft. `problem` says in one line why it cannot start; `cost` is None where no price is known. `check`: the
    questions and the time of the check of a new model; "" where nothing is to be checked. `missing`: what the user has not
    entered yet, which is no problem.
    """

    text: str = ""
    problem: str = ""
    scenario: Scenario | None = None
    calls: int = 0
    cost: float | None = 0.0
    prices: PriceList | None = None
    check: str = ""
    missing: str = ""

    @property
    def question(self) -> str:
        """What to ask before the run starts; "" where nothing needs to be asked."""
        if self.cost is None:
            return f"This run sends {self.calls:,} requests to a server, and no price is known. Start it?"
        if self.cost > 0:
            return f"This run sends {self.calls:,} requests and will cost about {cost_words(self.cost)}. Start it?"
        return f"This run needs {self.calls:,} replies, which takes long. Start it?" if self.calls > MANY else ""


def plan_of(draft: Draft) -> Plan:
    """Return the plan of the form. Whatever a user got wrong is its `problem`."""
    from parley.analysis.qualify.before_run import planned_checks
    from parley.model.run_plan import plan_run

    llm = draft.given.get("llm", "oracle")
    if nothing := model_plan(llm):
        return nothing
    try:
        scenario = scenario_of_draft(draft)
        if problem := model_problem(scenario, llm):
            return Plan(problem=problem)
        plan, checks = plan_run(scenario), planned_checks([scenario], skipped=False)
        for check in checks if draft.checked else ():
            used = total([plan.tokens.get("", NOTHING), check.usage])
            plan = replace(plan, others=plan.others + check.calls, tokens={**plan.tokens, "": used})
        shown = priced(plan, draft.price, f"{plan.size}, {plan.calls:,} replies")
        first = [f"{check.calls:,} questions, {time_words(scenario, check.calls)}" for check in checks]
        return replace(shown, check=first[0] if first else "")
    except UserError as error:
        return Plan(problem=str(error))


def priced(
    plan: RunPlan | AuditPlan, given: tuple[float, float] | None, size: str, more: Mapping[str, Price] | None = None
) -> Plan:
    """Return the plan of a dry run with its time and cost. size: what the text says first. given: the price that the form has;
    more: prices that are known from an earlier run, by voice. Errors: UserError.
    """
    from parley.model.cost_estimate import planned_accounts

    scenario = plan.scenario
    own_prices = load_prices(scenario.models.llm, scenario.llm_by_party, None, Price(*given) if given else None)
    all_prices = own_prices | {
        voice: price for voice, price in (more or {}).items() if own_prices.get(voice, FREE) is None
    }
    missing = [voice for voice in plan.tokens if all_prices.get(voice, FREE) is None]
    prices = PriceList(all_prices, own_prices.models).known()
    cost = None if missing else cost_of(planned_accounts(scenario, plan.tokens), prices)
    amount = f"about {cost_words(cost)}" if cost else cost_words(cost)
    return Plan(f"{size}, {time_words(scenario, plan.calls)}, {amount}", "", scenario, plan.calls, cost, prices)


def time_words(scenario: Scenario, calls: int) -> str:
    """Return how long calls to the model of a scenario take, as in its latest run."""
    from parley.model.run_time import duration, measured_rate

    specs = called_models(scenario)
    rate = measured_rate(scenario.models.llm) if len(specs) == 1 else None
    return f"about {duration(calls / rate[0])}" if rate else "time not known yet"


def preset_of(name: str) -> Scenario:
    """Return a preset. Errors: UserError, also where it is a file that only the start of the page may name."""
    check_named({"scenario": name}, HERE)
    return load_preset(name)


def scenario_of_draft(draft: Draft) -> Scenario:
    """Return the scenario of the form. Errors: UserError for a value that does not fit, or that the page may not open."""
    check_named(draft.given, HERE)
    for name, text in draft.given.items():
        if name != "seed" and text.isdecimal() and int(text[:LONGEST]) > LARGEST:
            raise UserError(f"{name} is above {LARGEST:,}, which the page cannot plan: use the command line")
    scenario = preset_of(draft.preset)
    if draft.given.get("topic") == "" and not (scenario.subject.questions or draft.given.get("questions")):
        raise UserError("choose at least one topic")
    return scenario.with_settings(draft.given)


def model_plan(spec: str) -> Plan | None:
    """Return a plan that says what the form of the model lacks, or what is wrong with it; None where a run can use the model."""
    missing = missing_part(spec)
    try:
        if missing != ADDRESS:
            check_named({"llm": spec}, HERE)
        if missing:
            return Plan(missing=missing)
        check_reached(spec)
        check_local(spec)
    except UserError as error:
        return Plan(problem=str(error))
    return None


def missing_part(spec: str) -> str:
    """Return what the user still has to enter in the form of the model; "" where a model is named.

    >>> missing_part("openai"), missing_part("openai,base_url=http://127.0.0.1:8000/v1"), missing_part("oracle")
    ('Enter the address of the server, test the server, and choose a model.', 'Test the server and choose a model.', '')
    """
    if not spec:
        return "Enter a model."
    try:
        name, model, options = split_spec(spec)
    except UserError:
        return ""
    if model or name not in ("openai", "gguf", "hf"):
        return ""
    if name == "openai":
        return "Test the server and choose a model." if "base_url" in options else ADDRESS
    return "Enter smollm2, or the path of the file." if name == "gguf" else "Enter the path of the folder."


def model_problem(scenario: Scenario, looked_at: str = "") -> str:
    """Return why a model of the scenario cannot be used here; "" where nothing is known against it. No model is loaded.

    looked_at: a model for which `model_plan` has found no problem.
    """
    try:
        for spec in called_models(scenario):
            if spec != looked_at:
                check_reached(spec)
                check_local(spec)
            check_topics(spec, topics_to_know(scenario))
            if split_spec(spec).name == "oracle":
                check_taught(scenario, open_spec(spec))
    except UserError as error:
        return str(error)
    return ""


def check_local(spec: str) -> None:
    """Errors: UserError where no model is named, and for a local one that is not here or whose packages are not installed."""
    name, model, _ = split_spec(spec)
    if name == "openai" and not model:
        raise UserError("no model is chosen: test the server to see its models, and choose one")
    if name == "gguf" and find_spec("xllamacpp") is None:
        raise UserError("a GGUF file needs xllamacpp: pip install -e '.[gguf]' (docs/models.md)")
    if name != "hf":
        return
    if missing := [package for package in ("torch", "transformers") if find_spec(package) is None]:
        raise UserError(f"a local model needs {' and '.join(missing)}: pip install -e '.[local]' (docs/tutorial.md)")
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not any((folder / name).is_file() for name in REACHED):
            raise UserError(
                f"{model} has no config.json, so it is not the folder of a model: choose the folder with the weights"
            )
    elif not _in_cache(model):
        raise UserError(
            f"{model or 'no folder'} is neither a folder here nor a downloaded model: give the path of a folder, or download the "
            "model first (hf download NAME)"
        )


def _in_cache(model: str) -> bool:
    """Return whether the hub's cache on this machine has the model."""
    try:
        from huggingface_hub import try_to_load_from_cache

        return isinstance(try_to_load_from_cache(model, REACHED[0]), str)
    except (ImportError, ValueError):  # HFValidationError, for a path, is a ValueError
        return False
