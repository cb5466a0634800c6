"""Reports that put rooms of several topics together: the same people meet on all topics of a repetition, so they are one unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.agents.recollection import AGAIN, FULL, WITHOUT
from parley.analysis.curve_comparison import compare_with_data
from parley.analysis.note_alignment import summary
from parley.analysis.reader_moves import effects
from parley.analysis.recollection import by_condition, differences
from parley.analysis.rubric_report import by_party
from parley.analysis.scores.reversion import ratios
from parley.studies.archetypes.measures import pooled
from parley.studies.games.run_report import by_round

APPEALS = ("logos", "pathos", "ethos")
CASTS, TOPICS, TURNS = 10, 4, 6


def cast_rows(columns: Iterable[str], parts: int) -> pd.DataFrame:
    """Return rows of one topic, so many a room: noise of room and row in every column."""
    rng = np.random.default_rng(0)
    casts, places = np.repeat(np.arange(CASTS), parts), np.tile(np.arange(parts), CASTS)
    noise = {name: rng.normal(size=CASTS)[casts] + rng.normal(size=len(casts)) for name in columns}
    keys = {"topic": "a", "group": "g", "repetition": casts, "room": [f"a/{cast}" for cast in casts], "party": "p"}
    return pd.DataFrame({**keys, "place": places, "round": places + 1, "iteration": places + 1, "agent": 1, **noise})


def on_topics(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows once for each of TOPICS topics: the same people do the same on all of them."""
    return pd.concat([rows.assign(topic=str(one), room=rows["room"] + f" {one}") for one in range(TOPICS)])


def of_appeals(rows: pd.DataFrame) -> pd.DataFrame:
    tags = rows.assign(**{name: (rows[name] > 0).astype(float) for name in APPEALS})
    moved = rows[["room", "iteration", "agent", "toward"]]
    return pd.concat([by_party(tags, APPEALS, (0, 1)), effects(tags, moved, APPEALS)])


def of_games(rows: pd.DataFrame) -> pd.DataFrame:
    moves = rows.assign(move="contribution", value=rows["moved"], asked=1)
    return by_round(SimpleNamespace(moves=moves), "contribution").drop(columns="rooms")  # type: ignore[arg-type]


def of_notes(rows: pd.DataFrame) -> pd.DataFrame:
    return summary(rows)


def of_interviews(rows: pd.DataFrame) -> pd.DataFrame:
    asked = rows.melt(rows.columns.difference([FULL, AGAIN, *WITHOUT]), var_name="condition", value_name="recall")
    asked = asked.assign(question=asked["place"].astype(str), about="said", own=asked["recall"], stranger=0.0)
    return pd.concat([by_condition(asked), differences(asked)[0]])


def of_shared_answers(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([pooled(rows.assign(drawn=True))])


def of_reversion(rows: pd.DataFrame) -> pd.DataFrame:
    """Each agent moves by two points, and then back by another number."""
    turns, own = rows["iteration"].clip(upper=4), {"condition": "c", "agent": "A"}
    said = rows.assign(**own, run=rows["room"], statement=turns).drop_duplicates(["run", "statement"])
    score = 2 + 2 * (said["statement"] > 1) + 0.2 * said["score"] - 1.0 * (said["statement"] == 4)
    people = said.assign(person=said["repetition"], text="").drop_duplicates("run")
    return ratios(said.assign(score=score), people=people)


def of_sentiment(rows: pd.DataFrame) -> pd.DataFrame:
    data = pd.DataFrame({"round": range(1, TURNS + 1), "sentiment": [1.0, 3, 2, 5, 4, 6], "posts": np.nan})
    return compare_with_data(rows.assign(sentiment=rows["sentiment"] + rows["round"], texts=1.0), data)


@pytest.mark.thorough
@check_each(
    ("report", "columns"),
    [
        (of_appeals, (*APPEALS, "toward")),
        (of_games, ("moved",)),
        (of_notes, ("note", "line", "stranger", "known", "closer")),
        (of_interviews, (FULL, AGAIN, *WITHOUT)),
        (of_shared_answers, ("error", "stranger")),
        (of_sentiment, ("sentiment",)),
        (of_reversion, ("score",)),
    ],
)
def test_the_same_people_on_more_topics_are_no_more_units(
    report: Callable[[pd.DataFrame], pd.DataFrame], columns: tuple[str, ...]
) -> None:
    """Rooms that say the same on four topics as on one leave every interval as it is: ten casts are ten units."""
    rows = cast_rows(columns, TURNS)
    once, often = (report(part).filter(regex="low$|high$") for part in (rows, on_topics(rows)))
    assert once.notna().any(axis=None)
    assert often.to_numpy(dtype=float) == pytest.approx(once.to_numpy(dtype=float), nan_ok=True)
