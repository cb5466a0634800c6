"""What a judge says of a line: which way it argues on a claim, which reason it gives, and how it tries to convince.

After Moore, Goodman, Haber and Kleiman-Weiner 2026, whose simulated target splits a message into parts that support or oppose
beliefs and use logos, pathos or ethos. Departures: one reason and one appeal for each line, both from closed lists; five appeals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.datafiles import read_toml
from parley.agents.language import ENGLISH, language_of_study
from parley.agents.probe import scale_of_table
from parley.agents.reply_cleaning import one_line
from parley.agents.scales import LABELLED
from parley.agents.topic import Topic, load_topic
from parley.analysis.judging import Item, Judge, Rubric, Verdict, load_rubric, missing
from parley.llm.errors import UserError
from parley.llm.purposes import Facts

DIRECTION, REASON, APPEAL = PARTS = ("direction", "reason", "appeal")
SUPPORTS, OPPOSES, NEITHER = DIRECTIONS = ("supports", "opposes", "neither")
SIGNS: Mapping[str, int] = {SUPPORTS: 1, OPPOSES: -1, NEITHER: 0}
NONE = "none"
"""The reason, or the appeal, of a line that has none of those listed."""
APPEALS = ("evidence", "emotion", "authority", "story", "others", NONE)


class TagFacts(Facts, total=False):
    """What a question about a line states."""

    slug: str  # the topic
    part: str  # one of PARTS


class Tag(NamedTuple):
    """The tags of a line; "" for one that is missing."""

    direction: str = ""
    reason: str = ""
    appeal: str = ""


@cache
def study_data(name: str) -> Path:
    """Return a data file of the study."""
    return language_of_study(ENGLISH, Path(__file__).parent).folder / name


@cache
def line_parts() -> Mapping[str, dict[str, dict[str, dict[str, str]]]]:
    """Return the parts of known lines, and the reasons (data/en/lines.toml)."""
    return read_toml(study_data("lines.toml"))


def check_topic(topic: Topic) -> None:
    """Errors: UserError for a topic on which no line has known tags."""
    if topic.axis not in line_parts() or topic.language.code != ENGLISH.code:
        raise UserError(
            f"the belief reader has no known messages for {topic.slug} ({topic.axis}, {topic.language.code}): choose a topic "
            "in English that asks how big a problem is, or for agreement, such as climate_change or bridge"
        )


def claim_of(topic: Topic) -> str:
    """Return the claim that the upper end of the topic's axis stands for.

    >>> claim_of(load_topic("racism")), claim_of(load_topic("abortion"))
    ('racism is a very big problem', 'partial-birth abortions should be banned')
    """
    check_topic(topic)
    claims = line_parts()["claims"]
    if topic.axis in claims:
        return str(claims[topic.axis]).format(title=topic.title)
    return topic.claim if topic.probe("agreement").polarity == 1 else f"it is not so that {topic.claim}"


def reasons_of(topic: Topic) -> dict[str, str]:
    """Return the reasons of a topic with what they are about: those of every topic, and its own."""
    topic_reasons = line_parts()["topics"].get(topic.root, {}).get("reasons", {})
    return {str(name): str(about) for name, about in {**line_parts()["reasons"], **topic_reasons}.items()}


def answers_of(topic: Topic, part: str) -> tuple[str, ...]:
    """Return the closed list of answers to a part."""
    return {DIRECTION: DIRECTIONS, REASON: (*reasons_of(topic), NONE), APPEAL: APPEALS}[part]


def rubric_of(topic: Topic, part: str) -> Rubric:
    """Return what a judge is asked about a part."""
    return _rubric(part, answers_of(topic, part))


@cache
def _rubric(part: str, answers: tuple[str, ...]) -> Rubric:
    labels = {str(number): word for number, word in enumerate(answers)}
    table = {"kind": LABELLED, "low": 0, "high": len(answers) - 1, "labels": labels}
    return replace(load_rubric(str(study_data(f"{part}.toml"))), scale=scale_of_table(part, table, part))


def item_of(topic: Topic, part: str, text: str, *key: object) -> Item:
    """Return the question about a part of a line. key: names its random stream."""
    line = one_line(text)
    slots: dict[str, object] = {"statement": line}
    offered: dict[str, object] = {}
    if part != APPEAL:
        slots["claim"] = claim_of(topic)
    if part == REASON:
        reasons = {**reasons_of(topic), NONE: "no reason, or another one"}
        offered = {
            "listed": "\n".join(f"{name}: {about}" for name, about in reasons.items()),
            "words": "; ".join(reasons),
        }
    return Item((topic.slug, line, *key), slots, offered, facts=TagFacts(slug=topic.slug, part=part))


def said(topic: Topic, part: str, verdict: Verdict) -> str:
    """Return the answer of a verdict; "" if it is missing."""
    return "" if verdict.value is None else answers_of(topic, part)[int(verdict.value)]


def tag_lines(judge: Judge, lines: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the lines with direction, reason and appeal ("": missing), and why_direction, why_reason and why_appeal.

    lines: `topic` (a slug) and `text` (NaN or "": nothing was said, which is not asked). A text that comes twice is asked once.
    """
    topics = {str(slug): load_topic(str(slug)) for slug in lines["topic"].unique()}
    pairs = [
        (str(slug), text if isinstance(text, str) else "")
        for slug, text in zip(lines["topic"], lines["text"], strict=True)
    ]
    tagged = lines.copy()
    for part in PARTS:
        unique_pairs = dict.fromkeys(pairs)
        verdicts: dict[tuple[str, str], Verdict] = {}
        for slug, topic in topics.items():
            texts = [pair for pair in unique_pairs if pair[0] == slug]
            items = [item_of(topic, part, text) if text.strip() else missing("no statement") for _, text in texts]
            verdicts |= zip(
                texts, judge.judge_items(rubric_of(topic, part), items, seed, f"{part} of lines"), strict=True
            )
        tagged[part] = [said(topics[pair[0]], part, verdicts[pair]) for pair in pairs]
        tagged[f"why_{part}"] = [verdicts[pair].reason if verdicts[pair].value is None else "" for pair in pairs]
    return tagged


def tags_in(tagged: pd.DataFrame) -> Iterator[Tag]:
    """Yield the tags of each row of `tag_lines`."""
    return (Tag(*row) for row in tagged[list(PARTS)].itertuples(index=False))
