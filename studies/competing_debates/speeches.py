"""Which speech makes the better case: by a debater who believes it, or by one who does not?

A pair has two first statements on one topic for one side, by debaters of two rooms: one holds the belief, the other does not. A
panel of personas compares them in both orders. The null: pairs of two debaters who both hold the belief, one of them named by
lot. The unit is the repetition, with all its pairs: the same people debate every topic of it. Source: Carro et al. 2025;
README.md lists the departures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.persona import Persona
from parley.agents.persuasion import CHOICES, Reader
from parley.agents.reply_cleaning import one_line
from parley.agents.topic import Topic, load_topic
from parley.analysis.formatting import Column, count_table, estimate, format_estimate
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import Match, ask_readers, compare, length_row, pair_values, place_row
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, SHARE
from parley.analysis.statistics.intervals import verdict as interval_verdict
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.tables import Tables
from parley.llm.purposes import Facts
from parley.llm.request import Request
from parley.llm.seeding import derive, stream
from parley.model.trait_assignment import alternate_sides, side_of

from .verdicts import own_words

BELIEF, NULL = "own belief or not", "both own belief"
PERCENT = 100
percent = estimate("share", 1, PERCENT)
"""Shows a share with its interval, in percent."""


class Speech(NamedTuple):
    """The first statement of a debater. side: for or against the claim. own: whether the debater holds that belief."""

    protocol: str
    topic: str
    repetition: int
    side: str
    own: bool
    text: str


class SpeechPair(NamedTuple):
    """Two speeches for one side; the first is the one whose share is counted. kind: BELIEF or NULL."""

    kind: str
    first: Speech
    second: Speech

    @property
    def ids(self) -> tuple[str, str]:
        """The names of the two speeches in the comparisons."""
        speech = self.first
        name = f"{self.kind}/{speech.protocol}/{speech.topic}/{speech.repetition}/{speech.side}"
        return f"{name}/1", f"{name}/2"


def speeches(protocol: str, tables: Tables) -> Iterator[Speech]:
    """Yield the first statements of debaters whose side and belief are known."""
    ratings = tables.attitudes
    before = ratings[ratings["round"] == ratings["round"].min()].set_index("agent")["attitude"]
    first_texts = (
        tables.utterances[tables.utterances["text"].notna()].sort_values("iteration").groupby("agent")["text"].first()
    )
    for _, seated in tables.agents[tables.agents["group"].isin(tables.groups)].groupby("room", sort=False):
        *debaters, _ = seated["agent"]
        topic = load_topic(str(seated["topic"].iloc[0]))
        claimed = topic.probe("agreement").polarity
        priors = [side_of(None if pd.isna(before.get(agent)) else float(before[agent])) for agent in debaters]
        for agent, prior, side in zip(debaters, priors, alternate_sides(priors[0], len(debaters)), strict=True):
            if prior is not None and side is not None and agent in first_texts.index:
                stance = "for" if side == claimed else "against"
                yield Speech(
                    protocol,
                    topic.slug,
                    int(seated["repetition"].iloc[0]),
                    stance,
                    prior == side,
                    str(first_texts[agent]),
                )


def speech_pairs(every: Sequence[Speech], seed: int) -> list[SpeechPair]:
    """Return the pairs of a run: the speeches of one protocol, topic, side and repetition, and the null pairs.

    A null pair has the speeches of two repetitions by debaters who hold the belief, the first drawn by lot.
    """
    pairs: list[SpeechPair] = []
    places = dict.fromkeys((speech.protocol, speech.topic, speech.side) for speech in every)
    for place in places:
        here = [speech for speech in every if (speech.protocol, speech.topic, speech.side) == place]
        own_side = {speech.repetition: speech for speech in here if speech.own}
        other = {speech.repetition: speech for speech in here if not speech.own}
        pairs += [SpeechPair(BELIEF, own_side[number], other[number]) for number in own_side if number in other]
        numbers = list(own_side)
        for number, next_ in zip(numbers[::2], numbers[1::2], strict=False):
            lot = stream(seed, "null pair", *place, number).sample([own_side[number], own_side[next_]], 2)
            pairs.append(SpeechPair(NULL, *lot))
    return pairs


class SpeechReader(NamedTuple):
    """A person who says which of two speeches for one side of a topic makes the better case."""

    person: Persona
    topic: Topic
    side: str

    def compose_choice(self, aim: str, first: str, second: str, seed: int, post: str = "") -> Request:
        """Ask which speech makes the better case; the answer is 1 or 2. aim, post: not used, because the side is the aim."""
        language, texts = self.topic.language, (one_line(first), one_line(second))
        slots = {"claim": self.topic.claim, "side": language.words(self.side), "first": texts[0], "second": texts[1]}
        ask = own_words(language).prompt("speech_quality").fill(**slots)
        facts: Facts = {"claim": self.topic.claim, "candidates": list(texts), "choices": [self.side, self.side]}
        return Reader(self.person, language).request(ask, seed, CHOICES, "debate_verdict", facts)


def compare_speeches(
    pairs: Sequence[SpeechPair], panel: Sequence[Persona], spec: str, desk: CallDesk, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all comparisons (of `comparison_table`), and one row per pair: kind, protocol, topic, repetition, side, value (share
    that prefers the first; NaN: missing), decided.
    """
    texts = {name: speech.text for pair in pairs for name, speech in zip(pair.ids, pair[1:], strict=True)}
    matches = [
        Match(SpeechReader(person, load_topic(pair.first.topic), pair.first.side), *pair.ids)
        for pair in pairs
        for person in panel
    ]
    table = ask_about_speeches(matches, texts, spec, desk, seed)
    values = pair_values(table, list(texts)).groupby("a")["value"].mean()
    rows = [(pair.kind, *pair.first[:4], values.get(pair.ids[0], np.nan)) for pair in pairs]
    return table, pd.DataFrame(rows, columns=["kind", "protocol", "topic", "repetition", "side", "value"]).astype(
        {"value": "float64"}
    )


def ask_about_speeches(
    matches: Sequence[Match], texts: Mapping[str, str], spec: str, desk: CallDesk, seed: int
) -> pd.DataFrame:
    """Return the comparisons (of `comparison_table`) of speeches by id, each asked in both orders."""
    return ask_readers(matches, [compare(match, texts, "", derive(seed, "speeches")) for match in matches], spec, desk)


def quality_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per protocol and kind: pairs, units, share with low and high over units."""
    rows = []
    for (protocol, kind), kind_rows in values.groupby(["protocol", "kind"], sort=False):
        means = kind_rows.groupby("repetition")["value"].mean().dropna().to_numpy(dtype=float)
        counts = {
            "protocol": protocol,
            "kind": kind,
            "pairs": int(kind_rows["value"].notna().sum()),
            "units": len(means),
        }
        rows.append(counts | mean_row(means, "share", bounds=SHARE))
    return pd.DataFrame(rows, columns=["protocol", "kind", "pairs", "units", "share", "low", "high"])


def verdict(row: Mapping[str, float], protocol: str) -> str:
    """Return whether speeches for the own belief are preferred in a protocol."""
    start = f"{protocol}: it is unknown whether speeches for one's own belief make the better case, because"
    if row["units"] < FEWEST:
        return f"{start} fewer than {FEWEST} repetitions have a compared pair."
    if np.isnan(row["low"]):
        return f"{start} the shares do not vary."
    phrase = preference(row["low"], row["high"])
    return f"{protocol}: the speech for one's own belief {phrase} than the speech against it: in {percent(row)}% of comparisons."


def preference(low: float, high: float) -> str:
    """Return how often one of two speeches is preferred, by the interval of its share (0-1).

    >>> preference(0.4, 0.6)
    'is not clearly preferred more or less often'
    """
    unclear = "is not clearly preferred more or less often"
    return interval_verdict(low, high, "is preferred more often", "is preferred less often", unclear, at=0.5)


def add_quality(
    report: Report, pairs: Sequence[SpeechPair], compared: tuple[pd.DataFrame, pd.DataFrame], spec: str
) -> None:
    """Add the section on the quality of speeches, and its tables (comparisons, speeches, speech_pairs, quality)."""
    table, values = compared
    quality = quality_table(values)
    about = (
        f"Personas played by {spec} compared first statements for the same side of a topic, in both orders. The row `{BELIEF}` "
        "has the share of comparisons won by the debater who believes in the side, against a debater who does not. In the row "
        f"`{NULL}` both debaters believe in the side, and one debater is picked at random. Without an effect the share is 50%. "
        "Brackets are 95% intervals over repetitions, because people debate every topic of a repetition."
    )
    report.section("Which speech makes the better case?", about)
    report.disclaim_models(spec)
    shown = [(pair.kind, pair.first.side, name, speech.own, speech.text)
             for pair in pairs for name, speech in zip(pair.ids, pair[1:], strict=True)]  # fmt: skip
    every = pd.DataFrame(shown, columns=["kind", "side", "id", "own", "text"])
    report.data(comparisons=table, speeches=every, speech_pairs=values, quality=quality)
    lost = table["reason"][table["share"].isna()]
    report.missing(len(lost), len(table), "answers are missing", count_table(lost))
    rows = quality[quality["kind"] == BELIEF].to_dict("records")
    lines = [verdict(row, str(row["protocol"])) for row in rows]
    nothing = (
        "It is unknown which speeches make the better case, because no debater argued against its belief while another argued "
        "for it."
    )
    report.lines(f"- {line}" for line in [*(lines or [nothing]), *rival_lines(table, every)])
    report.table(quality, QUALITY)


def rival_lines(table: pd.DataFrame, every: pd.DataFrame) -> list[str]:
    """Return what else may decide: the place of a speech and its length."""
    texts = dict(zip(every["id"], every["text"], strict=True))
    place, length = place_row(table, list(texts)), length_row(pair_values(table, list(texts)), texts)
    return [
        f"The speech shown first is preferred {_half(place, 'place')}",
        f"The longer speech is preferred {_half(length, 'longer')}",
    ]


def _half(row: Mapping[str, float], key: str) -> str:
    if not row["people"]:
        return "in an unknown share: nothing was compared."
    value, low, high = (PERCENT * (0.5 + row[name]) for name in (key, "low", "high"))
    return f"in {format_estimate(value, low, high, 1)}% (interval over people); without an effect, 50% is expected."


QUALITY: Mapping[str, Column] = {
    "protocol": "protocol", "pairs of speeches": "kind", "pairs": "pairs", "repetitions": "units",
    "first preferred (%)": percent,
}  # fmt: skip
