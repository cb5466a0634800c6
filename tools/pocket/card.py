"""The figures of an evaluation as the tables of the model card (docs/models.md), with 95% intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from parley.agents.topic import load_topic, topic_names
from parley.model.events import Event, Seated
from tools.pocket.evaluation_measures import text_quality

BLOCKS = 20
"""Groups of rooms of which one at a time is left out for an interval."""
MOVED = 0.5
"""Points by which lines move the oracle at least, for a share of its movement to be told."""
TEXT = {
    "replies": "replies",
    "silent": "of them empty",
    "on_topic": "replies that say something of their topic and nothing of another",
    "names_party": "sentences in the first person that name one party",
    "wrong_party": "of these, with the wrong one",
    "addresses_present": "replies from round 2 on that name a person in the room",
    "names_absent": "replies that name a person who is not",
    "invented_word": "replies with a word that is in no bank and no name",
    "as_in_bank": "sentences that are word for word the oracle's",
    "graded": "replies with a sentence that can be graded",
    "grade_r": "r of a reply's grade with the rating before it",
    "grade_r_within": "the same within topic and party",
    "distinct_2": "different pairs of words, of all (distinct-2)",
    "repeated": "sentences said before in the same room",
    "words": "words a reply",
}
"""Figures of `text_quality` in words."""


def text_figures(events: Sequence[Event]) -> pd.DataFrame:
    """Columns figure, value, reach: half the 95% interval, from a jackknife over BLOCKS groups of rooms."""
    whole = text_quality(events)
    rooms = sorted({event.room for event in events if isinstance(event, Seated)})
    rest = [text_quality(_without(events, set(rooms[block::BLOCKS]))) for block in range(min(BLOCKS, len(rooms)))]
    return pd.DataFrame(
        [(name, value, _reach([figures[name] for figures in rest])) for name, value in whole.items()],
        columns=["figure", "value", "reach"],
    )


def _without(events: Sequence[Event], rooms: set[str]) -> list[Event]:
    return [event for event in events if getattr(event, "room", None) not in rooms]


def _reach(parts: list[float]) -> float:
    mean = sum(parts) / len(parts)
    return 1.96 * math.sqrt((len(parts) - 1) / len(parts) * sum((figure - mean) ** 2 for figure in parts))


def card(
    gaps: pd.DataFrame,
    texts: tuple[pd.DataFrame, pd.DataFrame],
    told: tuple[pd.DataFrame, pd.DataFrame],
    bare: tuple[pd.DataFrame, pd.DataFrame],
    rooms: int,
) -> str:
    """Ratings, texts and counterfactual transcripts of a model (first of each pair) beside the oracle's, as Markdown.

    Counterfactual lines tell their stance in so many words (`told`), or not (`bare`).
    """
    worst = {when: gaps.loc[gaps["rating"] == when, "difference"].abs() for when in ("first", "last")}
    head = [
        f"- {when} ratings: {(gap <= most).sum()} of {len(gap)} cells within {most} of the oracle's, at most {gap.max():.2f} off"
        for (when, gap), most in zip(worst.items(), (0.5, 0.5), strict=True)
    ]
    for lines, (pushed, planted) in (("with the stance sentence", told), ("without it", bare)):
        apart = (pushed["push_up"] > pushed["push_down"]).sum()
        head.append(f"- lines {lines} {_influence(pushed['g10'] - pushed['g0'], planted['g10'] - planted['g0'])}")
        head.append(
            f"- lines {lines}: rank correlation of grade heard and rating at least 0.9 in {(pushed['rho'] >= 0.9).sum()} of"
            f" {len(pushed)} cells; grade 10 pushes further up than grade 0 in {apart}"
        )
    return "\n\n".join(
        [
            "\n".join(head),
            f"Mean ratings, {rooms} rooms a topic (in brackets: apart from the oracle's by, 95% interval over rooms):",
            *["\n".join(_ratings(gaps[gaps["rating"] == when], when)) for when in ("first", "last")],
            "What is said (in brackets half the 95% interval, rooms being the units):",
            "\n".join(_texts(*texts)),
            "The others' lines of two rounds replaced by the stance sentence and one more of grade 0, 2, 4, 6, 8, 10; mean rating"
            " after that, rank correlation of grade and rating, and what grades 0 and 10 do beside what was said in fact:",
            "\n".join(_pushes(*told)),
            "The same with two sentences of the grade and no stance sentence:",
            "\n".join(_pushes(*bare)),
        ]
    )


def _influence(moved: pd.Series, planted: pd.Series) -> str:
    """Tell how far a rating moves between lines of grade 0 and 10 beside the oracle; in points where hardly any is planted."""
    if planted.min() < MOVED:
        reach = f"the oracle's by {planted.min():+.2f} to {planted.max():+.2f}"
        return (
            f"of grade 10 in place of grade 0 move a rating by {moved.min():+.2f} to {moved.max():+.2f} points, {reach}"
        )
    share = moved / planted
    return (
        f"move a rating by {share.min():.2f} (least cell) to {share.max():.2f} of what they move the oracle's, on average "
        f"{share.mean():.2f}"
    )


def _ratings(gaps: pd.DataFrame, when: str) -> Iterator[str]:
    yield f"| {when} rating | {' | '.join(load_topic(slug).title for slug in topic_names())} |"
    yield "|---|" + "---|" * len(topic_names())
    for (debate, group, party), cells in gaps.groupby(["debate", "group", "party"], sort=False):
        by_topic = cells.set_index("topic")
        name = f"{debate} {group} {party}" if debate == "echo_chamber" else f"{debate} {party}"
        shown = [
            f"{row.found:.1f} ({row.difference:+.2f}±{row.high - row.difference:.2f})"
            for row in (by_topic.loc[slug] for slug in topic_names())
        ]
        yield f"| {name} | {' | '.join(shown)} |"


def _texts(model: pd.DataFrame, oracle: pd.DataFrame) -> Iterator[str]:
    yield "| | pocket | oracle |"
    yield "|---|---:|---:|"
    for model_row, other in zip(model.itertuples(), oracle.itertuples(), strict=True):
        shown = [
            f"{cell.value:,.0f}" if cell.value >= 100 else f"{cell.value:.3g} ({cell.reach:.2g})"
            for cell in (model_row, other)
        ]
        yield f"| {TEXT[model_row.figure]} | {' | '.join(shown)} |"


def _pushes(model: pd.DataFrame, oracle: pd.DataFrame) -> Iterator[str]:
    yield "| topic | party | pocket | rank correlation | grade 0 | grade 10 | oracle |"
    yield "|---|---|---|---:|---:|---:|---|"
    grades = [name for name in model.columns if name[0] == "g" and name[1:].isdigit()]
    theirs = oracle.set_index(["topic", "party"])
    for row in model.to_dict("records"):
        yield (
            f"| {load_topic(row['topic']).title} | {row['party']} | {_row(row, grades)} | {row['rho']:.2f} "
            f"| {row['push_down']:+.2f}±{row['down_reach']:.2f} | {row['push_up']:+.2f}±{row['up_reach']:.2f} "
            f"| {_row(theirs.loc[row['topic'], row['party']], grades)} |"
        )


def _row(row: dict | pd.Series, grades: list[str]) -> str:
    return " ".join(f"{row[grade]:.1f}" for grade in grades)
