"""The debates as a person would read them, in Markdown. What a model said is untrusted: it is shown as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from analysis.load import Tables
from analysis.wording import REFERENCE, group_title, harmless, number


def write_transcript(tables: Tables, path: Path) -> Path:
    """Write every room's debate with the ratings that followed each round."""
    path.write_text("\n".join(_lines(tables)), encoding="utf-8")
    return path


def _lines(tables: Tables) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {scenario['name']}: transcripts"
    yield f"\n{scenario['title']}. Model: {scenario['llm']}. Seed {scenario['seed']}."
    yield "Ratings (0-10) are private: nobody in the room sees them.\n"
    ratings = dict(list(tables.attitudes.groupby("room", sort=False)))
    spoken = dict(list(tables.utterances.groupby("room", sort=False)))
    for room, seated in tables.agents.groupby("room", sort=False):
        yield from _room(tables, seated, spoken.get(room), ratings.get(room))


def _room(
    tables: Tables, seated: pd.DataFrame, spoken: pd.DataFrame | None, ratings: pd.DataFrame | None
) -> Iterator[str]:
    first = seated.iloc[0]
    if first["group"] == REFERENCE:
        return
    yield f"\n## {tables.title(first['topic'])}: {group_title(first['group'])}, room {first['repetition'] + 1}\n"
    yield ", ".join(f"**{name}** ({seat})" for name, seat in zip(seated["name"], seated["seat"], strict=True)) + "\n"
    yield from _ratings(ratings, 0)
    if spoken is None:
        return
    for round_, turns in spoken.groupby("round"):
        yield f"### Round {round_}\n"
        for name, text, reason in zip(turns["name"], turns["text"], turns["reason"], strict=True):
            yield f"**{name}:** {harmless(text) if isinstance(text, str) else f'*(silent: {reason})*'}\n"
        yield from _ratings(ratings, int(round_))


def _ratings(ratings: pd.DataFrame | None, round_: int) -> Iterator[str]:
    here = ratings[ratings["round"] == round_] if ratings is not None else ()
    if len(here):
        assert isinstance(here, pd.DataFrame)
        told = [
            f"{name} {number(value, 1)}" if pd.notna(value) else f"{name} – ({reason})"
            for name, value, reason in zip(here["name"], here["attitude"], here["reason"], strict=True)
        ]
        yield f"> {'Before the debate' if round_ == 0 else f'After round {round_}'}: {', '.join(told)}\n"
