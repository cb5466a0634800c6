"""Estimates in words what a scenario will cost before it runs: calls, tokens and money; its time is that of run_time.py.

`estimate_lines` prints the plan (run_plan.py) for `--dry-run`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from parley.agents.society import PartyNames
from parley.llm.backends import is_scripted, server_lines, split_spec
from parley.llm.journal import thinking_tokens
from parley.llm.model_catalogue import recommended_sampling
from parley.llm.prices import (
    Account,
    Price,
    Prices,
    cost_by_model,
    cost_of,
    dollars,
    is_batch,
    is_served,
    price_for,
)
from parley.llm.request import NOTHING, Usage, total
from parley.model import attendance
from parley.model.interventions import intervention_spec
from parley.model.model_shares import called_models
from parley.model.own_graph import mix_lines, own_graph_lines
from parley.model.run_plan import RunPlan, has_random_turns, may_end_early, plan_run
from parley.model.run_time import latest_journal, machine_lines
from parley.model.scenario import Scenario
from parley.model.titles import header_parties, heading

FEW_BATCHES = 10
"""With more batches than this a plan says why there are so many."""


class Check(NamedTuple):
    """What a model is asked once, before its first run, to find out whether it plays people."""

    spec: str
    calls: int
    usage: Usage


def estimate_lines(scenario: Scenario, prices: Prices, checks: Sequence[Check] = ()) -> Iterator[str]:
    """Yield the plan in words, line by line. checks: what the model is asked before its first run."""
    plan, subject, asks = plan_run(scenario), scenario.subject, scenario.surveys.asks
    subjects = f"topics {len(subject.topic)}"
    if subject.questions:
        subjects = f"questions {len(subject.question_pool)}, episodes {subject.episodes}"
    yield f"{scenario.name}: {heading(scenario)}"
    yield (f"  {plan.size}; {subjects}, repetitions {scenario.repetitions}, rounds {scenario.rounds}")
    seated, names = attendance.planned_attendance(scenario), PartyNames.from_header(header_parties(scenario))
    yield f"  {attendance.attendance_lines(seated, attendance.cast_name(scenario), names)}"
    more = f", and {plan.others:,} of other kinds ({', '.join(plan.other_purposes)})" if plan.others > 0 else ""
    about = "about " if has_random_turns(scenario) else "at most " if may_end_early(scenario) else ""
    more += f", and {plan.acts:,} choices of acts and posts" if plan.acts else ""
    more += f", and {plan.notes:,} notes to themselves" if plan.notes else ""
    more_asked = (plan.ratings + plan.replies) * (asks - 1)
    again = (
        f"up to {more_asked:,} more calls if replies and ratings have to be asked again"
        if more_asked
        else "nothing is asked twice"
    )
    kinds = scenario.people.archetypes
    fewer = f"; fewer calls, because {kinds} of a kind answer for the others of this kind" if kinds else ""
    yield (
        f"  {about}{plan.calls:,} calls to {_models_with_calls(plan)}: {about}{plan.replies:,} replies "
        f"and {plan.ratings:,} ratings{more} ({again}{fewer})"
    )
    yield from own_graph_lines(scenario)
    yield from mix_lines(scenario)
    if unpaid := plan.scripted_calls:
        yield f"  {unpaid:,} of these calls go to scripted partners, which need no model and cost nothing"
    for intervention in scenario.interventions:
        yield f"  before round {intervention.round}: {intervention_spec(intervention)}"
    yield from estimate_cost([(plan, 1)], [prices], checks)
    yield from _advice_lines(scenario)


def _models_with_calls(plan: RunPlan) -> str:
    """Return the model of the run, or several models with the calls that each gets: `oracle (3,520) and fake (1,760)`."""
    specs, calls = {"": plan.scenario.models.llm, **plan.scenario.llm_by_party}, Counter[str]()
    for voice, number in plan.calls_by_voice.items():
        calls[specs[voice]] += number
    if len(calls) == 1:
        return next(iter(calls))
    return " and ".join(f"{spec} ({number:,})" for spec, number in calls.most_common())


def estimate_cost(
    plans: Sequence[tuple[RunPlan, int]],
    prices: Sequence[Prices],
    checks: Sequence[Check] = (),
    all_calls: int | None = None,
) -> Iterator[str]:
    """Yield tokens, cost, memory and time of some plans, each run so many times, and which prices are unknown.

    prices: of each plan. checks: what is asked once before. all_calls: the calls of the plans, where they share some.
    """
    planned = sum(plan.calls * times for plan, times in plans) if all_calls is None else all_calls
    yield from check_lines(checks, planned)
    used, most, price_by_model = dict[Account, Usage](), dict[Account, Usage](), dict[str, Price | None]()
    calls, repeated = Counter[str](), defaultdict[Account, float](float)
    for (plan, times), priced in zip(plans, prices, strict=True):
        specs = {"": plan.scenario.models.llm, **plan.scenario.llm_by_party}
        names = {voice: spec.split(",")[0] for voice, spec in specs.items()}
        accounts = {voice: Account(names[voice], batch=is_batch(spec)) for voice, spec in specs.items()}
        for sums, tokens in ((used, plan.tokens), (most, plan.most_tokens)):
            for voice, usage in tokens.items():
                if not (voice and is_scripted(names[voice])):
                    account = accounts[voice]
                    sums[account] = total([sums.get(account, NOTHING), *[usage] * times])
        for voice, usage in plan.tokens.items():
            repeated[accounts[voice]] += usage.prompt_tokens * times * plan.repeated
        price_by_model |= {names[voice]: price for voice, price in priced.items()}
        for voice, number in plan.calls_by_voice.items():
            calls[names[voice]] += number * times
    for check in checks:
        account = Account(check.spec.split(",")[0], batch=is_batch(check.spec))
        calls[account.voice] += check.calls
        for sums in (used, most):
            sums[account] = total([sums.get(account, NOTHING), check.usage])
    about, bound = total(used.values()), total(most.values())
    specs_used = {spec for plan, _ in plans for spec in called_models(plan.scenario)}
    yield from (f"  {line}" for line in server_lines(specs_used))
    yield (
        f"  about {_rounded(about.prompt_tokens)} tokens in and {_rounded(about.completion_tokens)} out (estimated from words); "
        f"at most about {_rounded(bound.prompt_tokens)} and {_rounded(bound.completion_tokens)} (max_tokens)"
    )
    if cost := cost_by_model(used, price_by_model):
        yield f"  cost about {cost}; at most about {dollars(cost_of(most, price_by_model))}"
    yield from _batch_lines(plans)
    yield from _cache_lines(used, repeated, price_by_model)
    for name in dict.fromkeys(account.voice for account in used):
        if name in price_by_model and price_by_model[name] is None:
            yield f"  no price is known for {name}: give --price IN,OUT (dollars per million tokens) or a table (--prices FILE)"
    for name in dict.fromkeys(account.voice for account in used if is_served(account.voice)):
        yield from _thinking_lines(name, calls[name], price_by_model.get(name))
    yield from machine_lines(usage_by_spec(plans, checks), planned + sum(check.calls for check in checks))


def planned_accounts(scenario: Scenario, tokens: Mapping[str, Usage]) -> dict[Account, Usage]:
    """Return the planned tokens of each voice by account: those of a model that is asked in batches have the price of batches."""
    specs = {"": scenario.models.llm, **scenario.llm_by_party}
    return {Account(voice, batch=is_batch(specs.get(voice, ""))): usage for voice, usage in tokens.items()}


def _batch_lines(plans: Sequence[tuple[RunPlan, int]]) -> Iterator[str]:
    """Yield how many batches of a provider wait one after another, for models that are asked in batches."""
    for plan, _ in plans:
        specs = [plan.scenario.models.llm, *plan.scenario.llm_by_party.values()]
        if plan.steps and (batched := next(filter(is_batch, specs), "")):
            many = "; each reply that agents hear needs a batch of its own" if plan.steps > FEW_BATCHES else ""
            yield (
                f"  {batched.split(',')[0]} is asked in batches: about {plan.steps:,} batches wait one after another, each for "
                f"up to 24 hours{many}"
            )


def _cache_lines(used: Mapping[Account, Usage], repeated: Mapping[Account, float], prices: Prices) -> Iterator[str]:
    """Yield the cost with prompt caching, where a model has a price for it. A provider promises no cache for batches."""
    cached = dict(used)
    for account, tokens in repeated.items():
        price = price_for(prices, account)
        if account in used and price and price.cached is not None and not account.batch:
            prompt, completion = used[account]
            cached[account] = Usage(prompt - round(tokens), completion)
            cached[account._replace(cached=True)] = Usage(round(tokens), 0)
    if cached != used:
        read = sum(usage.prompt_tokens for usage in cached.values())
        part = sum(usage.prompt_tokens for account, usage in cached.items() if account.cached) / max(read, 1)
        yield (
            f"  with prompt caching about {dollars(cost_of(cached, prices))}, if the server reuses the {part:.0%} of tokens in "
            "that repeat the start of the same agent's earlier prompt"
        )


def check_lines(checks: Sequence[Check], calls: int) -> Iterator[str]:
    """Yield what new models are asked once before the calls of a plan, and how many calls that makes."""
    for check in checks:
        calls += check.calls
        yield (
            f"  + {check.calls:,} calls once, to check whether {check.spec} plays people (--no-qualify "
            f"leaves these calls out): {calls:,} calls in all"
        )


def usage_by_spec(plans: Sequence[tuple[RunPlan, int]], checks: Sequence[Check] = ()) -> dict[str, Usage]:
    """Return the tokens of each model of some plans, each run so many times, and of what is asked before."""
    used = defaultdict[str, list[Usage]](list)
    for plan, times in plans:
        specs = {"": plan.scenario.models.llm, **plan.scenario.llm_by_party}
        for voice, usage in plan.tokens.items():
            used[specs[voice]] += [usage] * times
    for check in checks:
        used[check.spec].append(check.usage)
    return {spec: total(usages) for spec, usages in sorted(used.items())}


def _advice_lines(scenario: Scenario) -> Iterator[str]:
    """What the authors of the models recommend for speech, where the scenario has other settings."""
    for spec in sorted(called_models(scenario)):
        name, model, _ = split_spec(spec)
        advised = recommended_sampling(model if name == "gguf" else f"{name}:{model}")
        names = ("temperature", "top_p", "min_p")
        if advised and advised != tuple(scenario.value(each) for each in names):
            settings = " ".join(f"--set {each}={number:g}" for each, number in zip(names, advised, strict=True))
            yield f"  recommended for {spec}: {settings}"


def _thinking_lines(name: str, calls: int, price: Price | None) -> Iterator[str]:
    """The cost of what a model may think before it answers: as in its latest run, or at most."""
    from parley.llm.backends.openai.capabilities import THINKING

    journal = latest_journal(name)
    measured = thinking_tokens(journal) if journal else None
    if measured == 0:
        return
    each = float(THINKING) if measured is None else measured
    tokens = round(each * calls)
    amount = f"{_rounded(tokens)} tokens out ({each:,.0f} a call)"
    amount += f", a cost of {dollars(price.of(Usage(0, tokens)))}" if price else ""
    if journal and measured:
        yield f"  and about {amount}, for what {name} thinks before it answers, as many as in {journal.parent}"
    else:
        yield f"  and, if {name} thinks before it answers, at most {amount}; the first run shows how many"


def _rounded(tokens: int) -> str:
    """Two significant digits: 4,630,453 is 4,600,000."""
    return f"{float(f'{tokens:.2g}'):,.0f}"
