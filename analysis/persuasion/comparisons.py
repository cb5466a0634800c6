"""Comparisons of messages in pairs: who is asked what, and what the answers say about pairs, places and lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd

from parley.agents.own_people import people_folder
from parley.agents.persona import Persona, all_personas, parties
from parley.agents.persuasion import read_choice
from parley.agents.society import DEFAULT, load_society
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.studies.paired_conditions import mean_row
from parley.llm.driver import Conversation, ask_all
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.llm.seeding import derive, stream

COLUMNS = ["member", "party", "first", "second", "share", "reason"]
EVEN = 0.5
ABOVE_HALF = (-0.5, 0.5)
"""Bounds of a share, less one half."""


Answers = Conversation[list[tuple[float | None, str]]]
"""Asks for both orders of two texts: the probability that the first is chosen, or None and why."""


class PairReader(Protocol):
    """A person who says which of two texts is better: the answer is 1 or 2."""

    @property
    def person(self) -> Persona: ...

    def compose_choice(self, aim: str, first: str, second: str, seed: int, post: str = "") -> Request: ...


class Match(NamedTuple):
    """A reader and two messages by their ids, which it compares in both orders."""

    reader: PairReader
    a: str
    b: str


def draw_people(personas: str, number: int, seed: int, skip: int = 0) -> list[Persona]:
    """Return people of a set, in turns from each party but the Default, drawn by a seed. skip: leave out the first so many.

    Errors: UserError if the set has fewer.
    """
    folder = people_folder(personas, load_society())
    by_party = []
    for party in parties(folder):
        people = [person for person in all_personas(party, folder) if not person.variant]
        by_party.append([] if party == DEFAULT else stream(seed, "panel", party).sample(people, len(people)))
    drawn = [person for person in chain.from_iterable(zip_longest(*by_party)) if person is not None]
    if len(drawn) < skip + number:
        raise UserError(
            f"the set of personas {personas} has {len(drawn)} people, and {skip + number} are needed: "
            f"name another set with --personas, or ask fewer people"
        )
    return drawn[skip : skip + number]


def member_name(person: Persona) -> str:
    """Return the name of a person in tables: its id, after its party where the id alone does not say it."""
    return person.id if person.id.startswith(person.party) else f"{person.party}:{person.id}"


def compare(match: Match, texts: Mapping[str, str], aim: str, seed: int, post: str = "") -> Answers:
    """Ask for both orders, a first and then b first: the probability that the first message is chosen, or None and why.

    post: the post that both messages reply to; "" for none.
    """
    orders = (match.a, match.b), (match.b, match.a)
    person = match.reader.person
    seeds = [derive(seed, "arena", person.party, person.id, *order) for order in orders]
    requests = [
        match.reader.compose_choice(aim, texts[first], texts[second], question_seed, post)
        for (first, second), question_seed in zip(orders, seeds, strict=True)
    ]
    read = [read_choice(reply) for reply in (yield from ask_all(requests))]
    return [(reading.value, reading.reason or "") for reading in read]


def ask_readers(
    matches: Sequence[Match], conversations: list[Answers], spec: str, desk: CallDesk, title: str = "comparisons"
) -> pd.DataFrame:
    """Return the comparisons (`comparison_table`) of conversations of `compare`, one for each match. spec: who plays readers."""
    answers = desk.ask(conversations, spec, title, lambda both: next((why for _, why in both if why), None))
    return comparison_table(matches, answers)


def comparison_table(matches: Sequence[Match], answers: Sequence[Sequence[tuple[float | None, str]]]) -> pd.DataFrame:
    """Return two rows per match: COLUMNS; share: probability that the message shown first is chosen (NaN: missing)."""
    rows = [
        (member_name(person), person.party, *order, *answer)
        for (reader, a, b), both in zip(matches, answers, strict=True)
        for person in [reader.person]
        for order, answer in zip(((a, b), (b, a)), both, strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"share": "float64"})


def pair_values(table: pd.DataFrame, ids: Sequence[str], both: bool = True) -> pd.DataFrame:
    """Return one row per person and pair: member, a, b, value, decided.

    value: mean over its comparisons of the share that prefers a. With `both`, it is NaN unless both orders are known, because
    one order alone would count the place of a message as its strength. decided: whether the order decided (each order has
    another winner). a comes before b in ids.
    """
    place = {name: number for number, name in enumerate(ids)}
    ahead = table["first"].map(place) < table["second"].map(place)
    a, b = table["first"].where(ahead, table["second"]), table["second"].where(ahead, table["first"])
    toward = table["share"].where(ahead, 1 - table["share"])
    rows = table.assign(a=a, b=b, one=toward.where(ahead), other=toward.where(~ahead), toward=toward)
    means = rows.groupby(["member", "a", "b"], sort=False)[["one", "other", "toward"]].mean().reset_index()
    value = (means["one"] + means["other"]) / 2 if both else means["toward"]
    decided = (means["one"] - EVEN) * (means["other"] - EVEN) < 0
    return means[["member", "a", "b"]].assign(value=value, decided=decided)


def place_row(table: pd.DataFrame, ids: Sequence[str]) -> dict[str, float]:
    """Return how much more often the message shown first is chosen, as a share above one half, with its interval over people.

    Only pairs that a person compared in both orders count, because in them each message is first once: without an effect of the
    place the number is 0. decided: share of these pairs in which the order decided. ties: share of them that are even.
    """
    pairs = pair_values(table, ids).dropna(subset=["value"])
    place = {name: number for number, name in enumerate(ids)}
    ahead = table["first"].map(place) < table["second"].map(place)
    keys = table.assign(
        a=table["first"].where(ahead, table["second"]), b=table["second"].where(ahead, table["first"])
    ).merge(pairs[["member", "a", "b"]], on=["member", "a", "b"])
    people = (keys["share"] - EVEN).groupby(keys["member"]).mean().to_numpy(dtype=float)
    shares = {name: float(values.mean()) if len(values) else np.nan
              for name, values in (("decided", pairs["decided"]), ("ties", pairs["value"] == EVEN))}  # fmt: skip
    return {"people": len(people), **mean_row(people, "place", bounds=ABOVE_HALF), **shares}


def length_row(pairs: pd.DataFrame, texts: Mapping[str, str]) -> dict[str, float]:
    """Return how much more often the longer message of a pair is preferred, as a share above one half, with its interval over
    people. Pairs of equal length (in words) and missing ones are left out.
    """
    words = {name: len(text.split()) for name, text in texts.items()}
    longer = np.sign(pairs["a"].map(words) - pairs["b"].map(words))
    comparable = pairs["value"].notna() & (longer != 0)
    gains = (longer * (pairs["value"] - EVEN))[comparable].groupby(pairs["member"][comparable]).mean()
    return {"people": len(gains), **mean_row(gains.to_numpy(dtype=float), "longer", bounds=ABOVE_HALF)}
