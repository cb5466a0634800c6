"""Whether noise in ratings looks like the model's own pull on a bias card.

python benchmarks/rating_noise.py [--sets 200] [--blocks 10] [--topic racism] [--kinds NAME,NAME] [--out runs/rating_noise]

The opinions are those of the oracle's personas, and move by its law; the noise of opinions is carried on. A rating adds noise
that is gone at the next survey, is cut at the ends of the scale, and may be a whole point. Each set has the rooms of a card
(`three`, `two`, `same`, `empty`) on one topic over five rounds; analysis/card/sections/pull.py makes its rows of them. Printed by
kind of data and row: how often it has a number, how often its interval misses what was planted (of all sets, and of those with a
number), how often 0 is outside of it, the middle estimate and the middle half width.

`NoisyOracle` is the same as a model, for the whole command:

    python run.py audit --llm "benchmarks/rating_noise.py:NoisyOracle,sd=1,mu=0.06" --topic racism,gun_violence --sections pull
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd

from parley.agents.persona import load_personas
from parley.agents.society import DEFAULT, US, load_society
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.records import ConditionRecords, Passage
from parley.analysis.card.sections import pull
from parley.analysis.formatting import format_number, markdown_table
from parley.analysis.rating_value import predict_ratings
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.dynamics import normal, planted, start
from parley.llm.backends.oracle.phrases import banks
from parley.llm.request import Reply, Request, Wrapper
from parley.llm.seeding import digest
from parley.model.scenario import Scenario, load_preset

PARTIES = load_society(US).debaters
SIGMA = 0.15
ROUNDS = 5


class Kind(NamedTuple):
    """What is planted, the SD of the noise of a rating (points) by party, and whether ratings are whole points."""

    mu: float = 0.06
    kappa: float = 0.05
    sd: float = 0.0
    sd_second: float | None = None
    whole: bool = False
    sigma: float = SIGMA


KINDS = {
    f"{name}, {noise}": Kind(mu, kappa, sd, second, whole)
    for name, mu, kappa in (("pull 6%", 0.06, 0.05), ("pull 15%", 0.15, 0.1), ("nothing", 0.0, 0.0))
    for noise, sd, second, whole in (
        ("exact", 0.0, None, False), ("SD .3", 0.3, None, False), ("SD .5", 0.5, None, False), ("SD 1", 1.0, None, False),
        ("whole points", 0.0, None, True), ("SD .5, whole points", 0.5, None, True), ("SD 1, whole points", 1.0, None, True),
        ("SD .3 and 1", 0.3, 1.0, False),
    )
}  # fmt: skip
"""The first party's noise is named first."""


class NoisyOracle(Wrapper):
    """The oracle, whose ratings have noise that is gone at the next survey: a new draw for each prompt.

    sd: of the noise, in points of 0 to 10. whole: ratings are whole points, without probabilities.
    """

    def __init__(
        self, kappa: float = 0.05, mu: float = 0.06, sigma: float = SIGMA, sd: float = 0.0, whole: bool = False,
        society: str = "us",
    ):  # fmt: skip
        super().__init__(open_spec(f"oracle,kappa={kappa},mu={mu},sigma={sigma},society={society}"))
        self.sd, self.whole = sd, whole

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**self.inner.identity, "rating_noise": self.sd, "whole": self.whole}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        return [self._rated(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _rated(self, request: Request, reply: Reply) -> Reply:
        if request.purpose != "survey" or not reply.answers:
            return reply
        options, last = list(reply.answers), len(reply.answers) - 1
        exact = sum(place * share for place, share in enumerate(reply.answers.values()))
        noise = normal(digest("rating", *(message.content for message in request.messages)))
        value = min(max(exact + self.sd * noise * last / 10, 0.0), float(last))
        shares = {option: max(0.0, 1 - abs(value - place)) for place, option in enumerate(options)}
        return replace(reply, text=options[round(value)], answers=None if self.whole else shares)


class Rooms(NamedTuple):
    """Rooms of one company, one a block: ratings (rooms, seats, surveys), the party of each seat, who speaks in a round (rooms,
    turns).
    """

    ratings: np.ndarray
    party: Sequence[str]
    speakers: np.ndarray


class SimulatedRecords:
    """What a section takes of `ConditionRecords`."""

    parties = PARTIES

    def __init__(self, records: Mapping[str, Sequence[Rooms]], topic: str, whole: bool):
        self.records, self.topic, self.how = records, topic, "attitude" if whole else "expected"

    def ratings(self, condition: str) -> pd.DataFrame:
        """Return the first rating of each Default, which is all that the section takes of single ratings."""
        (company,) = self.records[condition]
        answers = company.ratings[:, company.party.index(DEFAULT), 0]
        return pd.DataFrame({"round": 0, "party": DEFAULT, "topic": self.topic, "how": self.how, "level": answers})

    def passages(self, conditions: Sequence[str]) -> list[Passage]:
        """Return what `room_passages` returns, from arrays: data frames take ten times as long."""
        here = [(condition, company) for condition in conditions for company in self.records[condition]]
        levels, cells, blocks, kinds = [], [], [], []
        for number, (_, company) in enumerate(here):
            size, seats, surveys = company.ratings.shape
            levels.append(company.ratings.reshape(-1, surveys))
            party = np.tile([(*PARTIES, DEFAULT).index(name) for name in company.party], size)
            cells.append(10 * number + party)
            kinds.append(party)
            blocks.append(np.repeat(np.arange(size), seats))
        ratings = np.concatenate(levels)
        predicted = predict_ratings(ratings, *(np.concatenate(codes) for codes in (cells, blocks, kinds)))
        all_passages, place = [], 0
        for _, company in here:
            size, seats, surveys = company.ratings.shape
            expected = predicted[place : place + size * seats].reshape(size, seats, surveys)
            place += size * seats
            for room, survey in product(range(size), range(surveys - 1)):
                columns = (
                    company.ratings[room, :, survey],
                    company.ratings[room, :, survey + 1],
                    expected[room, :, survey],
                )
                sides = (tuple(column.tolist()) for column in columns)
                all_passages.append(
                    Passage(str(room), self.topic, *sides, tuple(company.speakers[room].tolist()), tuple(company.party))
                )
        return all_passages


@cache
def people(topic: str) -> dict[str, np.ndarray]:
    """Return where the oracle's personas begin, by party."""
    folder, sentence_banks = load_preset("three_way").persona_folder, banks("us")
    return {
        party: np.array(
            [
                start(sentence_banks, persona.backstory, topic, planted()[topic])
                for persona in load_personas(party, folder)
            ]
        )
        for party in (*PARTIES, DEFAULT)
    }


def simulate(rng: np.random.Generator, kind: Kind, topic: str, blocks: int) -> SimulatedRecords:
    """Return the conditions of one card. rng: of its people and its noise."""
    starts = {party: rng.permutation(values) for party, values in people(topic).items()}
    first, second, default_starts = (np.resize(starts[party], 2 * blocks) for party in (*PARTIES, DEFAULT))
    first_seats, other, default_starts = first[:blocks], second[:blocks], default_starts[:blocks]
    companies = {
        "three": (((first_seats, other, default_starts), (*PARTIES, DEFAULT)),),
        "two": (((first_seats, other), PARTIES),),
        "same": (((first_seats, first[blocks:]), PARTIES[:1] * 2), ((other, second[blocks:]), PARTIES[1:] * 2)),
        **{f"empty {party}": (((first_seats, other, default_starts), (*PARTIES, DEFAULT)),) for party in PARTIES},
    }
    rooms = {
        condition: [_debate(rng, kind, topic, condition, np.stack(begun, axis=1), party) for begun, party in groups]
        for condition, groups in companies.items()
    }
    return SimulatedRecords(rooms, topic, kind.whole)


def _debate(
    rng: np.random.Generator, kind: Kind, topic: str, condition: str, begun: np.ndarray, party: Sequence[str]
) -> Rooms:
    """Return one company of a condition in all blocks. begun: where its people begin (rooms, seats)."""
    size, seats = begun.shape
    speakers = (rng.integers(0, seats, size)[:, None] + np.arange(seats)) % seats
    bias, talk = planted()[topic].bias, not condition.startswith("empty")
    value, path = begun, [begun]
    for _ in range(ROUNDS):
        for turn in range(seats):
            speaker = speakers[:, turn]
            spoken = value[np.arange(size), speaker][:, None]
            noise = kind.sigma * rng.normal(size=value.shape)
            step = kind.kappa * talk * (spoken - value) + kind.mu * (bias - value) + noise
            heard = np.arange(seats)[None, :] != speaker[:, None]
            value = np.where(heard, np.clip(value + step, 0, 10), value)
        path.append(value)
    spread = np.where(np.array(party) == PARTIES[1], kind.sd if kind.sd_second is None else kind.sd_second, kind.sd)
    ratings = np.stack(path, axis=-1)
    ratings = np.clip(ratings + spread[None, :, None] * rng.normal(size=ratings.shape), 0, 10)
    ratings = np.round(ratings) if kind.whole else ratings
    if not talk:  # partners with fixed lines have no rating that could be read
        ratings = np.where((np.array(party) == condition.partition(" ")[2])[None, :, None], ratings, np.nan)
    return Rooms(ratings, party, speakers)


def truths(kind: Kind, topic: str) -> dict[str, float]:
    """Return what is planted, by quantity; without a pull there is no level and no half-life."""
    bias = planted()[topic].bias
    rates = {f"{name}_{which}": getattr(kind, name) for name in ("kappa", "mu") for which in ("first", "second")}
    planted_rates = {
        "kappa": kind.kappa,
        "mu": kind.mu,
        "lost": pull.lost(kind.mu),
        "mu_empty": kind.mu,
        "closed_apart": 0.0,
    }
    levels = {"level": bias, "level_default": 0.0} if kind.mu else {}
    half = {"half_life": math.log(0.5) / math.log(1 - pull.lost(kind.mu))} if kind.mu else {}
    return planted_rates | rates | levels | half


def claims_of(study: SimulatedRecords) -> list[CardEstimate]:
    """Return the rows of the section. The first of each quantity is over all topics, which is one."""
    base: Scenario = load_preset("three_way").with_settings({"llm": "oracle", "topic": study.topic})
    with patch.object(pull, "room_passages", lambda study, conditions: study.passages(conditions)):
        return pull.claims(cast(ConditionRecords, study), base)


def rows(kind: Kind, topic: str, blocks: int, sets: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a row per set and quantity: estimate, low, high, truth."""
    truth_by_quantity = truths(kind, topic)
    for number in range(sets):
        claims = claims_of(simulate(np.random.default_rng([seed, number]), kind, topic, blocks))
        first = pd.DataFrame({"claim": claims, "name": [claim.quantity for claim in claims]}).drop_duplicates("name")
        for claim in first["claim"]:
            if claim.quantity in truth_by_quantity:
                yield {"set": number, "quantity": claim.quantity, "truth": truth_by_quantity[claim.quantity],
                       "reason": claim.reason, "estimate": claim.estimate, "low": claim.low, "high": claim.high}  # fmt: skip


def summary(claims: pd.DataFrame) -> pd.DataFrame:
    """Return a row per quantity: sets, share with a number, misses, claims that 0 is outside, middle estimate, half width."""
    lines = []
    for quantity, quantity_claims in claims.groupby("quantity", sort=False):
        shown = quantity_claims[quantity_claims["estimate"].notna()]
        low, high = shown["low"].fillna(-np.inf), shown["high"].fillna(np.inf)
        missed = (shown["truth"] < low) | (shown["truth"] > high)
        lines.append({
            "quantity": quantity, "sets": len(quantity_claims), "shown": len(shown) / len(quantity_claims),
            "missed": missed.sum() / len(quantity_claims),
            "coverage": 1 - missed.mean(), "claims": ((low > 0) | (high < 0)).sum() / len(quantity_claims),
            "middle": shown["estimate"].median(), "width": ((high - low) / 2).median(),
        })  # fmt: skip
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--topic", default="racism")
    parser.add_argument("--kinds", default="", help=f"default: all of {'; '.join(KINDS)} (separate by semicolons)")
    parser.add_argument("--out", type=Path, default=Path("runs/rating_noise"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.kinds.split("; ") if options.kinds else KINDS:
        table = summary(pd.DataFrame(rows(KINDS[name], options.topic, options.blocks, options.sets)))
        table.insert(0, "kind", name)
        path = options.out / f"{options.topic}-{options.blocks}.csv"
        table.to_csv(path, mode="a", header=not path.exists(), index=False)
        cells = [
            [row.quantity, *(format_number(value, 3) for value in (row.shown, row.missed, row.coverage, row.claims,
                                                                   row.middle, row.width))]
            for row in table.itertuples()
        ]  # fmt: skip
        print(f"\n{name} ({options.sets} sets of {options.blocks} blocks)\n", flush=True)
        print(
            markdown_table(["row", "has a number", "missed", "coverage", "excludes 0", "middle", "half width"], cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
