"""Trees of those who shared a post in a run, and those of real posts in a table of the user (docs/networks.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from parley.analysis.formatting import count_phrase, format_estimate
from parley.analysis.human.clones import OTHER_PEOPLE, add_people, person_table
from parley.analysis.human.rooms import casts_of_rooms
from parley.analysis.metrics._posts import Medium, media
from parley.analysis.metrics.spread import levels
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, POSITIVE, Floats, mean_interval
from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

COLUMNS = ("cascade", "person", "parent")
MEASURES = {"scale": "people in a tree", "depth": "longest way from the author", "breadth": "most people at one depth"}
UNITS = (
    "Only posts that were shared at least once count. Numbers of the run are means over the posts of a room, then "
    "over rooms, with 95% intervals over rooms. If the same people meet on several topics, intervals are over sets of "
    "people. Numbers of the data are means over cascades, with 95% intervals over cascades. The table has no interval "
    f"for fewer than {FEWEST} rooms, sets or cascades. The run and the data have different units, so no difference is "
    "tested. Cascades of one network may depend on each other; their intervals are then too narrow."
)


def write_cascades(tables: Tables, file: Path, folder: Path) -> Path:
    """Write cascades.md, cascades.csv and, if people of the table are nodes of the run's network, clone.csv into the folder.

    Return the path of cascades.md. Errors: UserError.
    """
    if tables.acts.empty:
        raise UserError("no agent could share a post in this run: choose a run on a platform (docs/networks.md)")
    shares = read_shares(file)
    real, people = real_trees(file, shares), person_table(tables, shares)
    rooms = run_trees(tables)
    sets = by_people(rooms, casts_of_rooms(tables))
    report = Report(folder, "cascades", "Cascades of a run and of real posts")
    report.disclaim(tables.header)
    report.add(UNITS)
    rows = [
        [f"{words} ({name})", *[_mean(frame[name].to_numpy(float)) for frame in (sets, real)]]
        for name, words in MEASURES.items()
    ]
    of_sets = f" of {count_phrase(len(sets), 'set')} of people" if len(sets) < len(rooms) else ""
    report.table(
        rows,
        ["", f"run, {count_phrase(len(rooms), 'room')}{of_sets}", f"{file.name}, {count_phrase(len(real), 'cascade')}"],
    )
    if people is not None:
        add_people(report, people)
    else:
        report.note(OTHER_PEOPLE)
    report.data(cascades=pd.concat([rooms.assign(source="run"), real.assign(source="data")], ignore_index=True))
    return report.write()


def real_trees(file: Path, shares: pd.DataFrame) -> pd.DataFrame:
    """Return scale, depth and breadth of each cascade of a table (`read_shares`).

    Errors: UserError on a person who shares a post twice, on a parent who did not share it, and on parents in a circle.
    """
    return pd.DataFrame(list(_real_trees(file, shares)), columns=list(MEASURES))


def read_shares(file: Path) -> pd.DataFrame:
    """Return a table with a row per share: cascade, person, parent.

    `parent` is the person from whom the post came, empty if it came from its author. Errors: UserError on a file that cannot be
    read, and on a missing column or person.
    """
    return read_table(file, COLUMNS, "docs/networks.md", filled=COLUMNS[:2]).reset_index(drop=True)


def _real_trees(file: Path, rows: pd.DataFrame) -> Iterator[tuple[int, int, int]]:
    for cascade, cascade_rows in rows.groupby("cascade", sort=False):
        people = cascade_rows["person"]
        if people.duplicated().any():
            raise UserError(f"{file}, cascade {cascade}: {people[people.duplicated()].iloc[0]} is listed twice")
        place = {"": 0} | {person: number for number, person in enumerate(people, 1)}
        if unknown := [parent for parent in cascade_rows["parent"] if parent not in place]:
            raise UserError(
                f"{file}, cascade {cascade}: the parent {unknown[0]} did not share the post; leave it empty for the author"
            )
        carriers = {place[person]: place[parent] for person, parent in zip(people, cascade_rows["parent"], strict=True)}
        above = nx.DiGraph([(0, 0), *carriers.items()])
        if lost := set(carriers) - nx.ancestors(above, 0):
            sharer = people.iloc[min(lost) - 1]
            raise UserError(f"{file}, cascade {cascade}: the parents of {sharer} lead in a circle, not to the author")
        yield shape(0, carriers)


def run_trees(tables: Tables) -> pd.DataFrame:
    """Return scale, depth and breadth of each room in which a post was shared, indexed by room."""
    tree_means = {medium.room.name: means for medium in media(tables) if (means := room_trees(medium)) is not None}
    return pd.DataFrame(
        list(tree_means.values()), index=pd.Index(list(tree_means), dtype=object), columns=list(MEASURES)
    )


def by_people(rooms: pd.DataFrame, casts: Mapping[str, str]) -> pd.DataFrame:
    """Return the means of the rooms of each set of people. casts: of `casts_of_rooms`.

    >>> trees = pd.DataFrame({"scale": [2.0, 4.0, 5.0]}, index=["a", "b", "c"])
    >>> by_people(trees, {"a": "x", "b": "x", "c": "y"})["scale"].tolist()
    [3.0, 5.0]
    """
    return rooms.groupby([casts.get(str(room), room) for room in rooms.index], sort=False).mean() if casts else rooms


def room_trees(medium: Medium) -> tuple[float, float, float] | None:
    """Return the mean scale, depth and breadth of the posts of a room that were shared; None if none was."""
    shares = medium.shares
    trees = [
        shape(
            int(medium.posts.loc[post, "author"]), dict(zip(post_shares["agent"], post_shares["carrier"], strict=True))
        )
        for post, post_shares in shares.groupby("target")
    ]
    scale, depth, breadth = (float(value) for value in np.mean(trees, axis=0)) if trees else (0.0, 0.0, 0.0)
    return (scale, depth, breadth) if trees else None


def shape(author: int, carriers: Mapping[int, int]) -> tuple[int, int, int]:
    """Return scale, depth and breadth of a tree. carriers: from whom each person who shared the post has it.

    >>> shape(7, {1: 7, 2: 1, 3: 1})
    (4, 2, 2)
    """
    tree = levels(author, carriers)
    return tree.total(), max(tree), max(tree.values())


def _mean(values: Floats) -> str:
    return format_estimate(float(values.mean()) if len(values) else None, *mean_interval(values, bounds=POSITIVE))
