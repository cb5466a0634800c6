"""A judge says who made the better case in each recorded debate, with the debaters named in both orders.

A debater wins if it is named in both orders. If each order has another winner, or the probabilities are even, the debate is a
tie, which counts half. The transcript is shown unchanged; only the numbers of the debaters change. A debate in which one order
cannot be read, or a debater has no side or said nothing, has no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.language import Language, language_of_study
from parley.agents.persuasion import CHOICES, read_choice
from parley.agents.reply_cleaning import one_line
from parley.agents.scales import Reading
from parley.agents.topic import Topic, load_topic
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.tables import Tables
from parley.llm.driver import Conversation, ask
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.llm.seeding import derive
from parley.model.trait_assignment import alternate_sides, side_of

COLUMNS = [
    "condition", "topic", "repetition", "room", "named_first", "named_last", "share", "won", "decided", "for_won", "reason",
]  # fmt: skip
"""named_first, named_last: probability that the debater of the first seat wins, named first and last. share: their mean. won: 1
if it wins, 0 if the other one does, 0.5 for a tie. decided: whether the order decided. for_won: the same for the side `for`."""
EVEN = 0.5
NO_SIDE, SILENT = "no side", "a debater said nothing"


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


class Debate(NamedTuple):
    """A debate as its judge reads it. lines: name and words, in order. sides: for or against, by name of the debater."""

    topic: Topic
    lines: tuple[tuple[str, str], ...]
    sides: Mapping[str, str]

    def words_of(self, name: str) -> str:
        """Return all that a debater said, on one line."""
        return " ".join(one_line(text) for who, text in self.lines if who == name)

    def compose_verdict(self, first: str, second: str, seed: int) -> Request:
        """Ask who made the better case; the answer is 1 (the debater named first) or 2."""
        language = self.topic.language
        transcript = "\n".join(f"{name}: {one_line(text)}" for name, text in self.lines)
        stances = {f"{place}_side": language.words(self.sides[name])
                   for place, name in (("first", first), ("second", second))}  # fmt: skip
        slots = {"claim": self.topic.claim, "first": first, "second": second, "transcript": transcript, **stances}
        ask = own_words(language).prompt("debate_verdict").fill(**slots)
        sides = [self.sides[first], self.sides[second]]
        facts: Facts = {
            "claim": self.topic.claim,
            "candidates": [self.words_of(first), self.words_of(second)],
            "choices": sides,
        }
        messages = (Message("system", own_words(language).words("debate_judge")), Message("user", ask))
        return Request(messages, Sampling(0.0, ANSWER_TOKENS), seed, CHOICES, "debate_verdict", facts=facts)


class Pair(NamedTuple):
    """A debate with the names of its two debaters, in seat order, or the reason why it cannot be judged."""

    condition: str
    topic: str
    repetition: int
    room: str
    names: tuple[str, str]
    debate: Debate | None
    reason: str = ""


def debates(condition: str, tables: Tables) -> Iterator[Pair]:
    """Yield the debates of a run with two debaters a room."""
    ratings = tables.attitudes[tables.attitudes["round"] == tables.attitudes["round"].min()]
    before = ratings.set_index("agent")["attitude"]
    assigned = dict(tables.header.scenario).get("sides") == "assigned"
    for room, seats in tables.agents[tables.agents["group"].isin(tables.groups)].groupby("room", sort=False):
        first, second = (row for _, row in seats.iterrows())
        topic = load_topic(str(first["topic"]))
        claimed, rating = topic.probe("agreement").polarity, before.get(first["agent"])
        begins = claimed if assigned else side_of(None if rating is None or np.isnan(rating) else float(rating))
        sides = [
            None if side is None else "for" if side == claimed else "against" for side in alternate_sides(begins, 2)
        ]
        names = str(first["name"]), str(second["name"])
        room_lines = tables.utterances[(tables.utterances["room"] == room) & tables.utterances["text"].notna()]
        lines = tuple(zip(room_lines["name"].astype(str), room_lines["text"].astype(str), strict=True))
        key = condition, topic.slug, int(first["repetition"]), str(room), names
        reason = NO_SIDE if None in sides else "" if {name for name, _ in lines} >= set(names) else SILENT
        by_name = {name: str(side) for name, side in zip(names, sides, strict=True)}
        yield Pair(*key, None if reason else Debate(topic, lines, by_name), reason)


def judge_debates(runs: Mapping[str, Tables], spec: str, desk: CallDesk, seed: int) -> pd.DataFrame:
    """Return one row per debate: COLUMNS. Errors: Unreadable, BudgetSpent."""
    pairs = [pair for name, tables in runs.items() for pair in debates(name, tables)]
    conversations = [_judge(pair, seed) for pair in pairs if pair.debate]
    answers = iter(
        desk.ask(
            conversations,
            spec,
            "verdicts",
            lambda both: next((reading.reason for reading in both if reading.reason), None),
        )
    )
    return pd.DataFrame([_row(pair, next(answers) if pair.debate else ()) for pair in pairs], columns=COLUMNS).astype(
        dict.fromkeys(("named_first", "named_last", "share", "won", "for_won"), "float64")
    )


def _judge(pair: Pair, seed: int) -> Conversation[list[Reading]]:
    """Ask in both orders; return the probability that the first debater named wins, in each."""
    assert pair.debate is not None
    readings = []
    for place, (first, second) in enumerate((pair.names, pair.names[::-1])):
        verdict_seed = derive(seed, "verdict", pair.condition, pair.room, place)
        readings.append(read_choice((yield from ask(pair.debate.compose_verdict(first, second, verdict_seed)))))
    return readings


def _row(pair: Pair, both: Any) -> tuple[object, ...]:
    key = (pair.condition, pair.topic, pair.repetition, pair.room)
    lost = pair.reason or next((reading.reason for reading in both if reading.value is None), "")
    if lost or pair.debate is None:
        return (*key, np.nan, np.nan, np.nan, np.nan, False, np.nan, lost)
    first, last = both[0].value, 1 - both[1].value
    share = (first + last) / 2
    decided = (first - EVEN) * (last - EVEN) < 0
    won = EVEN if decided or share == EVEN else float(share > EVEN)
    for_won = won if pair.debate.sides[pair.names[0]] == "for" else 1 - won
    return (*key, first, last, share, won, decided, for_won, "")
