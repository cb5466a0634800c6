"""Which conditions an experiment has: settings over the preset structured_debate, and which of them are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from llm.errors import UserError, unknown

PRESET = "structured_debate"
PARTY = {"N": "default", "R": "republican", "D": "democrat"}
Settings = Mapping[str, Any]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Experiment:
    """`conditions` by name; `pairs` are compared (none: every two), `together` says whether all are in one test as well.

    `first` is the party that speaks first, by condition, where that is what differs.
    """

    title: str
    figures: str
    conditions: Mapping[str, Settings]
    pairs: Pairs = ()
    together: bool = False
    first: Mapping[str, str] = field(default_factory=dict)


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
        raise unknown("experiment", name, EXPERIMENTS)
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
    return Experiment("All six orders of speaking", "section 3.5", conditions, together=True, first=first)


def _genders() -> Experiment:
    among = {
        "men": seats("N+R+D", "male"),
        "women": seats("N+R+D", "female"),
        "Republican woman, two men": {"seats": "default:male,republican:female,democrat:male"},
        "Democrat woman, two men": {"seats": "default:male,republican:male,democrat:female"},
    }
    told = {f"{name}, informed": {**chosen, "disclose": "gender"} for name, chosen in among.items()}
    pairs = [("men", other) for other in among if other != "men"]
    pairs += [(f"{one}, informed", f"{other}, informed") for one, other in pairs]
    pairs += [(name, f"{name}, informed") for name in among]
    return Experiment("Gender told to oneself, and to the others", "Figs 4, 9, 10", {**among, **told}, tuple(pairs))


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
    return Experiment("Two of a party, with and without a Neutral", "Figs 5, 6, 11, 12", conditions, tuple(pairs))


def _models(models: Sequence[str]) -> Experiment:
    """Each model for all seats; and each two mixed: one of the three on the other model."""
    conditions: dict[str, Settings] = {model: {"llm": model} for model in models}
    pairs = [(one, other) for place, one in enumerate(models) for other in models[place + 1 :]]
    for one, other in permutations(models, 2):
        for party in PARTY.values():
            conditions[f"{one}, {party} on {other}"] = {"llm": one, "llms": (f"{party}={other}",)}
    return Experiment("Models, alone and mixed", "Fig 3, Table 5", conditions, tuple(pairs), together=len(models) > 2)


_TOGETHER = "together"
EXPERIMENTS = {
    "baseline": Experiment("A Neutral, a Republican, a Democrat", "Figs 1, 8 (other models: 13-16)", {"N-R-D": {}}),
    "alone": Experiment(
        "Each alone with the question: what statements do without anybody to hear",
        "a null condition, not in the paper",
        {_TOGETHER: {}, **{f"{letter} alone": seats(letter) for letter in "NRD"}},
        tuple((_TOGETHER, f"{letter} alone") for letter in "NRD"),
    ),
    "closing": Experiment(
        "Closing announced, or one more round in its place",
        "Figs 8, 17; Table 2",
        {"closing": {}, "no closing": {"closing": False}},
    ),
    "orders": _orders(),
    "gender": _genders(),
    "echo": _echo(),
    "models": Experiment("Models, alone and mixed", "Fig 3, Table 5", {}),
}
