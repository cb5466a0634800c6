"""Which conditions an experiment has: settings over the preset structured_debate, and which of them are compared.

Debates and judge of an experiment, condition by condition, each in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.formatting import slug
from parley.analysis.statement_judge import Judging, judge_run
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import derive
from parley.model.events import Header
from parley.model.scenario import Scenario

PRESET = "structured_debate"
PARTY = {"N": "default", "R": "republican", "D": "democrat"}
Settings = Mapping[str, Any]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Experiment:
    """`conditions` by name; `pairs` are compared (none: every two), and all of a set of `together` in one test as well.

    `question` is what the experiment was made for, answered first in its report by `main`: pairs of conditions and the party
    that is looked at. `first` is the party that speaks first, by condition, where that is what differs. `quartets` are four
    conditions on two models, for the question whether the Neutral sides with whoever shares its model (contrasts.sharing).
    """

    title: str
    figures: str
    conditions: Mapping[str, Settings]
    question: str
    pairs: Pairs = ()
    main: tuple[tuple[str, str, str], ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    first: Mapping[str, str] = field(default_factory=dict)
    quartets: Mapping[str, tuple[str, str, str, str]] = field(default_factory=dict)


def seats(who: str, variant: str = "") -> dict[str, str]:
    """`2R+N` -> two Republicans and a Neutral, in this order; all of them of a variant (male, female) if wanted.

    >>> seats("2R+N", "male")["seats"]
    'republican:male,republican:male,default:male'
    """
    parties = [PARTY[part[-1]] for part in who.split("+") for _ in range(int(part[:-1] or 1))]
    return {"seats": ",".join(f"{party}:{variant}" if variant else party for party in parties)}


def experiment(name: str, models: Sequence[str]) -> Experiment:
    """One of the experiments. `models`: several for "models", else one. Errors: UserError."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    if len(set(models)) < len(models):
        raise UserError(f"--llm names {next(one for one in models if models.count(one) > 1)} twice")
    if (name == "models") != (len(models) > 1):
        raise UserError(
            "the experiment models needs two --llm or more" if name == "models" else f"{name} takes one --llm"
        )
    return _models(models) if name == "models" else EXPERIMENTS[name]


def _orders() -> Experiment:
    orders = ["+".join(order) for order in permutations("NRD")]
    conditions = {order.replace("+", "-"): seats(order) for order in orders}
    first = {name: PARTY[name[0]] for name in conditions}
    question = "Do opening and closing statements depend on who speaks first?"
    whole = (tuple(conditions),)
    return Experiment("All six orders of speaking", "section 3.5", conditions, question, together=whole, first=first)


def _genders() -> Experiment:
    among = {
        "men": seats("N+R+D", "male"),
        "women": seats("N+R+D", "female"),
        "Republican woman, two men": {"seats": "default:male,republican:female,democrat:male"},
        "Democrat woman, two men": {"seats": "default:male,republican:male,democrat:female"},
        "Democrat man, two women": {"seats": "default:female,republican:female,democrat:male"},
    }
    told = {f"{name}, informed": {**chosen, "disclose": "gender"} for name, chosen in among.items()}
    pairs = [("men", other) for other in among if other != "men"]
    pairs += [(f"{one}, informed", f"{other}, informed") for one, other in pairs]
    pairs += [(name, f"{name}, informed") for name in among]
    pairs.append(("Democrat man, two women, informed", "Republican woman, two men, informed"))
    main = tuple(
        (f"men{one}", f"women{one}", party) for one in ("", ", informed") for party in ("republican", "democrat")
    )
    question = "Do women of a party speak otherwise than its men do?"
    title = "Gender told to oneself, and to the others"
    return Experiment(title, "Figs 4, 9, 10", {**among, **told}, question, tuple(pairs), main)


def _echo() -> Experiment:
    groups = ("2R", "2D", "2R+N", "2D+N")
    conditions: dict[str, Settings] = {group: seats(group) for group in groups}
    pairs = [("2R", "2R+N"), ("2D", "2D+N")]
    for group in groups:
        for variant, people in (("male", "men"), ("female", "women")):
            conditions[f"{group} {people}"] = seats(group, variant)
            conditions[f"{group} {people}, informed"] = {**seats(group, variant), "disclose": "gender"}
            pairs.append((f"{group} {people}", f"{group} {people}, informed"))
        pairs += [(f"{group} men{told}", f"{group} women{told}") for told in ("", ", informed")]
    main = tuple((f"2{letter}", f"2{letter}+N", PARTY[letter]) for letter in "RD")
    question = "Does a party of two speak otherwise when a Neutral listens? (Echo chambers: below.)"
    title = "Two of a party, with and without a Neutral"
    return Experiment(title, "Figs 5, 6, 11, 12", conditions, question, tuple(pairs), main)


def _models(models: Sequence[str]) -> Experiment:
    """Each model for all seats; each two mixed, one of the three on the other model; each three in every permutation.

    Mixed conditions are compared with the pure one of the Neutral's model, and with each other for the question whether the
    Neutral sides with whoever shares its model.
    """
    names = _short(models)
    conditions: dict[str, Settings] = {name: {"llm": model} for model, name in names.items()}
    pairs = list(combinations(names.values(), 2))
    main = tuple((one, other, "default") for one, other in pairs)
    quartets: dict[str, tuple[str, str, str, str]] = {}
    for one, other in permutations(models, 2):
        for party in PARTY.values():
            mixed = _mixed(names, one, other, party)
            conditions[mixed] = {"llm": one, "llms": (f"{party}={other}",)}
            pairs.append((names[one], mixed))
    for one, other in combinations(models, 2):
        quartets[f"{names[one]} and {names[other]}"] = (
            _mixed(names, one, other, "republican"), _mixed(names, one, other, "democrat"),
            _mixed(names, other, one, "republican"), _mixed(names, other, one, "democrat"),
        )  # fmt: skip
    threes: list[str] = []
    for neutral, republican, democrat in permutations(models, 3):
        threes.append(f"N {names[neutral]}, R {names[republican]}, D {names[democrat]}")
        conditions[threes[-1]] = {"llm": neutral, "llms": (f"republican={republican}", f"democrat={democrat}")}
    together = tuple(one for one in (tuple(names.values()), tuple(threes)) if len(one) > 2)
    question = "Does the Neutral speak otherwise on another model?"
    return Experiment(
        "Models, alone and mixed", "Fig 3, Table 5", conditions, question, tuple(pairs), main, together, {}, quartets
    )


def _mixed(names: Mapping[str, str], one: str, other: str, party: str) -> str:
    return f"{names[one]}, {party} on {names[other]}"


def _short(models: Sequence[str]) -> dict[str, str]:
    """Names of models for labels: without their parameters, where that leaves them different.

    >>> _short(["openai:gpt,base_url=http://a", "oracle"])
    {'openai:gpt,base_url=http://a': 'openai:gpt', 'oracle': 'oracle'}
    """
    short = [model.partition(",")[0] for model in models]
    return dict(zip(models, short if len(set(short)) == len(models) else models, strict=True))


_TOGETHER = "together"
EXPERIMENTS = {
    "baseline": Experiment(
        "A Neutral, a Republican, a Democrat",
        "Figs 1, 8 (other models: 13-16)",
        {"N-R-D": {}},
        "Which way do the three go? (Slopes and their intervals: below.)",
    ),
    "alone": Experiment(
        "Each alone with the question: what statements do without anybody to hear",
        "a null condition, not in the paper",
        {_TOGETHER: {}, **{f"{letter} alone": seats(letter) for letter in "NRD"}},
        "Does a party speak otherwise alone than in company?",
        tuple((_TOGETHER, f"{letter} alone") for letter in "NRD"),
        tuple((_TOGETHER, f"{letter} alone", PARTY[letter]) for letter in "NRD"),
    ),
    "closing": Experiment(
        "Closing announced, or one more round in its place",
        "Figs 8, 17; Table 2",
        {"closing": {}, "no closing": {"closing": False}},
        "Does a closing statement that is announced change what a party says?",
        (("closing", "no closing"),),
        tuple(("closing", "no closing", party) for party in PARTY.values()),
    ),
    "orders": _orders(),
    "gender": _genders(),
    "echo": _echo(),
    "models": Experiment("Models, alone and mixed", "Fig 3, Table 5", {}, ""),
}


@dataclass(frozen=True)
class ExperimentResult:
    """`verdicts` and `attitudes` of all conditions (rooms named after them), `scores` as analysis/scores takes them.

    `people` says who sat where (`PEOPLE` of analysis/scores/table.py).
    """

    verdicts: pd.DataFrame
    attitudes: pd.DataFrame
    scores: pd.DataFrame
    people: pd.DataFrame
    headers: Mapping[str, Header]


def condition_folders(experiment: Experiment, out: Path) -> dict[str, Path]:
    """Where each condition's run is."""
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
    """Yields each condition's scenario, wants its record, has its statements judged (within the budget); returns all of it.

    Each condition has a seed of its own: with one seed for all, what does not differ would be word for word the same, and tests
    that take conditions for independent would never find anything. The people of a repetition are the same in all of them
    where the cast does not go by the seed (listed, fixed).
    """
    verdicts, attitudes, agents, headers = [], [], [], {}
    for name, folder in condition_folders(experiment, out).items():
        tables = yield base.with_settings({"seed": derive(base.seed, "condition", name), **experiment.conditions[name]})
        headers[name] = tables.header
        verdicts.append(_in(name, judge_run(tables, folder / "judge", judge, judging, bar, budget, ledger)))
        attitudes.append(_in(name, tables.attitudes))
        agents.append(_in(name, tables.agents))
    whole = [pd.concat(parts, ignore_index=True) for parts in (verdicts, attitudes, agents)]
    return ExperimentResult(whole[0], whole[1], scores(whole[0]), people(whole[2]), headers)


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores. Agents are named after their party, and numbered where a room has several of one."""
    found = verdicts.merge(_named(verdicts), on=["room", "agent"])
    found = found.drop(columns="agent").rename(columns={"room": "run", "named": "agent"})
    return found[["topic", "condition", "run", "agent", "statement", "score"]]


def people(agents: pd.DataFrame) -> pd.DataFrame:
    """Return who sat where: a row an agent of a run, with its party, its name (person) and its persona (text)."""
    found = agents.merge(_named(agents), on=["room", "agent"]).drop(columns="agent")
    names = {"room": "run", "named": "agent", "name": "person", "persona": "text"}
    return found.rename(columns=names)[["condition", "run", "agent", "party", "person", "text"]]


def _named(seated: pd.DataFrame) -> pd.DataFrame:
    """The name of each agent of a room: its party, and a number where the room has several of it."""
    seats = seated[["room", "party", "agent"]].drop_duplicates().sort_values(["room", "agent"])
    seats = seats.assign(number=seats.groupby(["room", "party"]).cumcount() + 1)
    several = seats.groupby(["room", "party"])["agent"].transform("size") > 1
    seats["named"] = seats["party"].where(~several, seats["party"] + " " + seats["number"].astype(str))
    return seats[["room", "agent", "named"]]


def _in(condition: str, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(condition=condition, room=condition + "/" + table["room"])
