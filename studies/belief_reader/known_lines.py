"""Lines whose tags are known: each core (a reason, for or against) in three of six appeals, and lines that argue nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pandas as pd

from parley.agents.topic import Topic, load_topic
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

from .tags import APPEALS, DIRECTIONS, NEITHER, NONE, PARTS, answers_of, check_topic, line_parts, reasons_of

COLUMNS = ["topic", "text", *PARTS, "core"]
"""core: lines of one core share its words, so that they are one cluster."""
PER_CORE = 3
"""Appeals in which each core is said."""
PAGE = "studies/belief_reader/README.md"


@cache
def known_lines(slug: str) -> pd.DataFrame:
    """Return the known lines on a topic: COLUMNS. Errors: UserError for a topic without any.

    >>> known_lines("racism").iloc[0]["text"]
    'Three independent studies came to the same figures: racism takes more money out of the pockets of families every year.'
    """
    topic = load_topic(slug)
    check_topic(topic)
    rows = [(slug, *row) for row in (*_arguing(topic), *_neither(topic))]
    return pd.DataFrame(rows, columns=COLUMNS)


def _arguing(topic: Topic) -> Iterator[tuple[str, str, str, str, str]]:
    parts = line_parts()
    local = parts["topics"].get(topic.root, {})
    for number, reason in enumerate(reasons_of(topic)):
        for side, direction in enumerate(DIRECTIONS[:2]):
            core = str({**parts[topic.axis][direction], **local.get(direction, {})}[reason]).format(title=topic.title)
            for turn in range(PER_CORE):
                appeal = APPEALS[
                    (number + side + 2 * turn) % len(APPEALS)
                ]  # each side has each appeal about equally often
                forms = parts["appeals"][appeal]
                text = str(forms[(number + turn) % len(forms)]).format(core=core)  # type: ignore[index]
                yield text, direction, reason, appeal, f"{reason} {direction}"


def _neither(topic: Topic) -> Iterator[tuple[str, str, str, str, str]]:
    for number, form in enumerate(line_parts()["neither"]["lines"]):
        yield str(form).format(title=topic.title), NEITHER, NONE, NONE, f"neither {number}"


def read_known(path: Path, slug: str) -> pd.DataFrame:
    """Return known lines of the user (text, direction, reason, appeal; core): COLUMNS. Errors: UserError."""
    table = read_table(path, ("text", *PARTS), PAGE, filled=("text", *PARTS))
    topic = load_topic(slug)
    for part in PARTS:
        allowed = answers_of(topic, part)
        for row, value in table[part].items():
            if value not in allowed:
                raise UserError(f"{path}, row {row}: {part} is {value}: use one of {', '.join(allowed)}")
    core = table["core"] if "core" in table else pd.Series([f"line {row}" for row in table.index], table.index)
    return table.assign(topic=slug, core=core)[COLUMNS].reset_index(drop=True)
