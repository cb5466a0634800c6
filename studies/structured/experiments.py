"""The experiments of the UCL study: their conditions (settings of the preset structured_debate), and how each one runs.

Every condition is a run in a folder of its own, whose statements a judge scores.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.language import GIVEN
from parley.agents.society import DEFAULT, SEATS, Society, article
from parley.analysis.formatting import slug
from parley.analysis.metrics import broken_replies
from parley.analysis.statement_judge import Judging, judge_run
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import derive
from parley.model.events import Header
from parley.model.scenario import Scenario

PRESET = "structured_debate"
LETTERS = ("R", "D")
"""The study's letters for the two parties, `first` and `second`; N is the Neutral, a Default."""
PARTY = {"N": DEFAULT, **dict(zip(LETTERS, SEATS, strict=True))}
"""Seats of a scenario by the study's letters."""
Settings = Mapping[str, Any]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Experiment:
    """The conditions of an experiment, by name, and what is compared.

    question: what the experiment was made for. main: answers it first in the report; pairs of conditions and a party.
    pairs: conditions that are compared (none: every two). together: sets of conditions that one more test compares.
    first: the party that speaks first in each condition, where the conditions differ in that.
    yardstick: three conditions: a wording, the same in other words, and the one that is compared with both (yardstick.py).
    quartets: four conditions on two models: does the Neutral side with the partisan on its own model? (contrasts.sharing)
    """

    title: str
    figures: str
    conditions: Mapping[str, Settings]
    question: str
    pairs: Pairs = ()
    main: tuple[tuple[str, str, str], ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    first: Mapping[str, str] = field(default_factory=dict)
    yardstick: tuple[str, ...] = ()
    quartets: Mapping[str, tuple[str, str, str, str]] = field(default_factory=dict)


def seats(who: str, variant: str = "") -> dict[str, str]:
    """Return the setting for `2R+N`: two of the first party and a Neutral, in this order; variant: of all, such as male.

    >>> seats("2R+N", "male")["seats"]
    'first:male,first:male,default:male'
    """
    parties = [PARTY[group[-1]] for group in who.split("+") for _ in range(int(group[:-1] or 1))]
    return {"seats": ",".join(f"{party}:{variant}" if variant else party for party in parties)}


def experiment(name: str, models: Sequence[str], society: Society) -> Experiment:
    """Return the experiment of this name with the parties of a society. Errors: UserError.

    models: several for the experiment `models`, else one.
    """
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, [*EXPERIMENTS, WORDING])
    if repeated := [model for model in models if models.count(model) > 1]:
        raise UserError(f"--llm names {repeated[0]} twice: give each model once")
    if (name == "models") != (len(models) > 1):
        raise UserError(
            "the experiment models compares models: give --llm twice or more"
            if name == "models"
            else f"the experiment {name} uses one model: give --llm once"
        )
    return _models(models, society) if name == "models" else EXPERIMENTS[name](society)


def without_genders(whole: Experiment) -> Experiment:
    """Return the experiment without the conditions that seat men or women. Errors: UserError if none is left."""
    kept = {name: settings for name, settings in whole.conditions.items() if ":" not in settings.get("seats", "")}
    if not kept:
        raise UserError(
            f"{whole.title}: this experiment needs personas who exist as men and as women (run.py study personas "
            "--set twins writes some)"
        )
    pairs = tuple(pair for pair in whole.pairs if kept.keys() >= {*pair})
    return replace(
        whole,
        conditions=kept,
        pairs=pairs,
        main=tuple(comparison for comparison in whole.main if kept.keys() >= {*comparison[:2]}),
    )


def parties(society: Society) -> dict[str, str]:
    """Return the parties by the study's letters."""
    return {letter: society.seat(seat) for letter, seat in PARTY.items()}


def _orders(society: Society) -> Experiment:
    orders = ["+".join(order) for order in permutations("NRD")]
    conditions = {order.replace("+", "-"): seats(order) for order in orders}
    first = {name: parties(society)[name[0]] for name in conditions}
    question = "Do opening and closing statements depend on who speaks first?"
    whole = (tuple(conditions),)
    return Experiment("All six orders of speaking", "section 3.5", conditions, question, together=whole, first=first)


def _genders(society: Society) -> Experiment:
    label, other = map(society.label, society.debaters)
    groups = {
        "men": seats("N+R+D", "male"),
        "women": seats("N+R+D", "female"),
        f"{label} woman, two men": {"seats": "default:male,first:female,second:male"},
        f"{other} woman, two men": {"seats": "default:male,first:male,second:female"},
        f"{other} man, two women": {"seats": "default:female,first:female,second:male"},
    }
    informed = {f"{name}, informed": {**seated, "disclose": "gender"} for name, seated in groups.items()}
    pairs = [("men", group) for group in groups if group != "men"]
    pairs += [(f"{first}, informed", f"{second}, informed") for first, second in pairs]
    pairs += list(zip(groups, informed, strict=True))
    pairs.append((f"{other} man, two women, informed", f"{label} woman, two men, informed"))
    main = tuple((f"men{more}", f"women{more}", party) for more in ("", ", informed") for party in society.debaters)
    question = "Do women of a party speak differently from its men?"
    title = "Gender in an agent's own persona, and known to the other agents"
    return Experiment(title, "Figs 4, 9, 10", {**groups, **informed}, question, tuple(pairs), main)


def _echo(society: Society) -> Experiment:
    groups = ("2R", "2D", "2R+N", "2D+N")
    conditions: dict[str, Settings] = {group: seats(group) for group in groups}
    pairs = [("2R", "2R+N"), ("2D", "2D+N")]
    for group in groups:
        for variant, people in (("male", "men"), ("female", "women")):
            conditions[f"{group} {people}"] = seats(group, variant)
            conditions[f"{group} {people}, informed"] = {**seats(group, variant), "disclose": "gender"}
            pairs.append((f"{group} {people}", f"{group} {people}, informed"))
        pairs += [(f"{group} men{more}", f"{group} women{more}") for more in ("", ", informed")]
    main = tuple((f"2{letter}", f"2{letter}+N", parties(society)[letter]) for letter in LETTERS)
    question = "Do two people of a party speak differently when a Neutral listens?"
    title = "Two people of a party, with and without a Neutral"
    return Experiment(title, "Figs 5, 6, 11, 12", conditions, question, tuple(pairs), main)


def _models(models: Sequence[str], society: Society) -> Experiment:
    """Return the conditions: each model in all seats; each two mixed, one seat on the other; each three in every permutation.

    Mixed conditions are compared with the condition of the first model alone. Quartets of them answer whether the Neutral sides
    with the partisan on its own model.
    """
    names, (first_, second_) = _short(models), society.debaters
    left, right = map(society.label, society.debaters)
    conditions: dict[str, Settings] = {name: {"llm": model} for model, name in names.items()}
    pairs = list(combinations(names.values(), 2))
    main = tuple((*pair, DEFAULT) for pair in pairs)
    quartets: dict[str, tuple[str, str, str, str]] = {}
    for first, second in permutations(models, 2):
        for party in parties(society).values():
            mixed = f"{names[first]}, {society.label(party)} on {names[second]}"
            conditions[mixed] = {"llm": first, "llms": (f"{party}={second}",)}
            pairs.append((names[first], mixed))
    for model, other_model in combinations(names.values(), 2):
        quartets[f"{model} and {other_model}"] = (
            f"{model}, {left} on {other_model}", f"{model}, {right} on {other_model}",
            f"{other_model}, {left} on {model}", f"{other_model}, {right} on {model}",
        )  # fmt: skip
    threes: list[str] = []
    for neutral, first, second in permutations(models, 3):
        threes.append(f"N {names[neutral]}, R {names[first]}, D {names[second]}")
        conditions[threes[-1]] = {"llm": neutral, "llms": (f"{first_}={first}", f"{second_}={second}")}
    together = tuple(group for group in (tuple(names.values()), tuple(threes)) if len(group) > 2)
    title, question = "Models, alone and mixed", "Does the Neutral speak differently on another model?"
    return Experiment(title, "Fig 3, Table 5", conditions, question, tuple(pairs), main, together, quartets=quartets)


def _short(models: Sequence[str]) -> dict[str, str]:
    """Return names of models for labels: without their parameters, unless two models would then have the same name.

    >>> _short(["openai:gpt,base_url=http://a", "oracle"])
    {'openai:gpt,base_url=http://a': 'openai:gpt', 'oracle': 'oracle'}
    """
    short = [model.partition(",")[0] for model in models]
    return dict(zip(models, short if len(set(short)) == len(models) else models, strict=True))


def _baseline(society: Society) -> Experiment:
    people = [f"{article(label)} {label}" for label in map(society.label, society.debaters)]
    question = "In which direction do the scores of the three agents change?"
    return Experiment(f"A Neutral, {', '.join(people)}", "Figs 1, 8 (other models: 13-16)", {"N-R-D": {}}, question)


_TOGETHER = "together"


def _alone(society: Society) -> Experiment:
    letters = parties(society)
    return Experiment(
        "Each agent alone with the question: how statements change when no other agent speaks",
        "a null condition, not in the paper",
        {_TOGETHER: {}, **{f"{letter} alone": seats(letter) for letter in letters}},
        "Does a party speak differently alone than in company?",
        tuple((_TOGETHER, f"{letter} alone") for letter in letters),
        tuple((_TOGETHER, f"{letter} alone", party) for letter, party in letters.items()),
    )


def _closing(society: Society) -> Experiment:
    return Experiment(
        "An announced closing statement, compared with one more round",
        "Figs 8, 17; Table 2",
        {"closing": {}, "no closing": {"closing": False}},
        "Does a closing statement that is announced change what a party says?",
        (("closing", "no closing"),),
        tuple(("closing", "no closing", party) for party in parties(society).values()),
    )


OURS, REWORDED, THEIRS = "ours", "ours reworded", "published"
WORDING = "wording"
"""The experiment, and the setting that the conditions differ in."""


def wordings(society: Society, published: str, people: str = "") -> Experiment:
    """Return the comparison of a paper's own prompts with Parley's, by the difference between two wordings of Parley's.

    published: the folder of the paper's prompts. people: the paper's own personas, for one more condition.
    """
    named = {OURS: GIVEN, REWORDED: "second", THEIRS: published}
    conditions: dict[str, Settings] = {name: {WORDING: wording} for name, wording in named.items()}
    pairs: list[tuple[str, str]] = [(OURS, REWORDED), (OURS, THEIRS)]
    if people:
        conditions["published and its people"] = {WORDING: published, "personas": people}
        pairs.append((THEIRS, "published and its people"))
    return Experiment(
        "The paper's own prompts, and Parley's in two wordings",
        "section 3.1 and appendix A (the prompts)",
        conditions,
        "Do the paper's own case, claim and judge give other results than Parley's?",
        tuple(pairs),
        tuple((OURS, THEIRS, party) for party in parties(society).values()),
        yardstick=(OURS, REWORDED, THEIRS),
    )


EXPERIMENTS: Mapping[str, Callable[[Society], Experiment]] = {
    "baseline": _baseline,
    "alone": _alone,
    "closing": _closing,
    "orders": _orders,
    "gender": _genders,
    "echo": _echo,
    "models": lambda society: _models((), society),
}


@dataclass(frozen=True)
class ExperimentResult:
    """The runs of all conditions, with rooms named after them.

    verdicts; attitudes; scores (as analysis/scores takes them); people (who sat where: `PEOPLE` of analysis/scores/table.py); the
    header of each condition; faults: what is wrong with replies (metrics/broken_replies.py).
    """

    verdicts: pd.DataFrame
    attitudes: pd.DataFrame
    scores: pd.DataFrame
    people: pd.DataFrame
    headers: Mapping[str, Header]
    faults: pd.DataFrame


def condition_folders(experiment: Experiment, out: Path) -> dict[str, Path]:
    """Return the run folder of each condition."""
    return {name: out / slug(name) for name in experiment.conditions}


def run_experiment(
    experiment: Experiment,
    base: Scenario,
    out: Path,
    judge: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
) -> Generator[Scenario, Tables, ExperimentResult]:
    """Yield the scenario of each condition, receive its tables, and have its statements judged within the budget.

    Each condition has a seed of its own. With one seed for all, conditions without a difference would be the same word for word,
    and tests that assume independent conditions could never find one. The people of a repetition are the same in all conditions
    if the cast does not depend on the seed (listed, fixed).
    """
    headers, parts, faults = {}, [], []
    for name, folder in condition_folders(experiment, out).items():
        tables = yield base.with_settings({"seed": derive(base.seed, "condition", name), **experiment.conditions[name]})
        headers[name] = tables.header
        faults.append(broken_replies.compute(tables))
        verdicts = judge_run(tables, folder / "judge", judge, judging, bar, budget, ledger)
        frames = verdicts, tables.attitudes, tables.agents
        parts.append([frame.assign(condition=name, room=name + "/" + frame["room"]) for frame in frames])
    verdicts, attitudes, agents = (pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True))
    broken = pd.concat(faults, ignore_index=True)
    return ExperimentResult(verdicts, attitudes, scores(verdicts), people(agents), headers, broken)


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts as a table of scores, with the names of seats as agents."""
    table = verdicts.merge(_seat_names(verdicts), on=["room", "agent"])
    table = table.drop(columns="agent").rename(columns={"room": "run", "named": "agent"})
    return table[["topic", "condition", "run", "agent", "statement", "score"]]


def people(agents: pd.DataFrame) -> pd.DataFrame:
    """Return one row per agent of a run: who sat where, with party, name (person) and persona (text)."""
    table = agents.merge(_seat_names(agents), on=["room", "agent"]).drop(columns="agent")
    names = {"room": "run", "named": "agent", "name": "person", "persona": "text"}
    return table.rename(columns=names)[["condition", "run", "agent", "party", "person", "text"]]


def _seat_names(seated: pd.DataFrame) -> pd.DataFrame:
    """Return the name of each agent of a room: its party, with a number where the room has several of it."""
    seats = seated[["room", "party", "agent"]].drop_duplicates().sort_values(["room", "agent"])
    by_party = seats.groupby(["room", "party"])["agent"]
    numbered = seats["party"] + " " + (by_party.cumcount() + 1).astype(str)
    return seats.assign(named=numbered.where(by_party.transform("size") > 1, seats["party"]))[
        ["room", "agent", "named"]
    ]
