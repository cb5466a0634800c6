"""Each file of a society has a table of its keys: every key that the reader takes is in it, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from docs import pages
from parley.agents.datafiles import HERE, read_toml
from parley.agents.news import NewsItem
from parley.agents.persona import Persona
from parley.agents.probe import Probe
from parley.agents.question import Question
from parley.agents.scales import Scale
from parley.agents.skeleton import SKELETON
from parley.agents.society import SOCIETIES, Party, Society
from parley.agents.topic import Topic
from parley.llm.backends.oracle.bank_files import OraclePart, ParametersFile, TopicFile, TopicParameters

PAGE = (HERE.parent / "docs" / "societies.md").read_text(encoding="utf-8") + pages.society_keys_page()
PARTY, ORACLE = "new party` names the party", "The part `[oracle]` is for `--llm oracle` alone:"
"""Lines above the tables of a party's file."""


def documented(above: str) -> set[str]:
    """The keys in the first column of the first table below a line that begins with `above`."""
    start = PAGE.index(above if above in (PARTY, ORACLE) else f"## {above}")
    rows = PAGE[start:].partition("\n|---")[2].partition("\n\n")[0].splitlines()[1:]
    cells = [row.split("|")[1] for row in rows]
    return {key.strip("[]") for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def names(kind: Any, *made: str) -> set[str]:
    """The fields of a class that a file can give, without those that the reader makes."""
    return {one.name for one in fields(kind)} - {*made}


READERS = {
    "`society.toml`\n": names(Society, "name", "folder", "parties"),
    PARTY: names(Party) | {"persona", "oracle"},
    ORACLE: set(OraclePart.model_fields),
    "`[[persona]]`, in": names(Persona, "id", "party", "society"),
    "`topics/<name>.toml`, and": names(Topic, "slug", "spoken", "line") | {"scales"},
    "`[news]`, of": names(NewsItem),
    "`[probes.NAME]`\n": names(Probe, "name", "language"),
    "`[scales.NAME]`\n": names(Scale, "name"),
    "`questions.toml`: a": names(Question, "society"),
    "`oracle/parameters.toml`, and": set(ParametersFile.model_fields) | set(TopicParameters.model_fields),
    "`oracle/topics/<name>.toml`\n": set(TopicFile.model_fields),
}


@pytest.mark.parametrize("above", READERS)
def test_the_table_has_the_keys_that_the_reader_takes(above: str) -> None:
    assert documented(above) == READERS[above]


def keys_of(name: str, *parts: str) -> set[str]:
    """The keys of a file in all shipped societies, and of the tables in some of its parts."""
    found: set[str] = set()
    for path in [*SOCIETIES.glob(f"*/{name}"), *SKELETON.glob(f"society/{name}")]:
        values = read_toml(path)
        found |= {key for key, value in values.items() if parts or not isinstance(value, dict)}
        found |= {key for part in parts for entry in values[part].values() for key in entry}
    assert found
    return found


@pytest.mark.parametrize(("above", "used"), [
    ("`questionnaire.toml`, and", keys_of("questionnaire.toml", "items")),
    ("`validation.toml`\n", keys_of("validation.toml")),
    ("`people.toml`\n", keys_of("people.toml")),
], ids=["questionnaire", "validation", "people"])  # fmt: skip
def test_the_table_has_the_keys_of_the_shipped_files(above: str, used: set[str]) -> None:
    """These files are read key by key."""
    assert documented(above) == used


def shipped_keys(paths: Iterable[Path]) -> set[str]:
    return {key for path in paths for key in read_toml(path)}


def test_shipped_files_use_no_other_key() -> None:
    """A guard of the helper: the tables are about these files."""
    assert shipped_keys(SOCIETIES.glob("*/society.toml")) <= documented("`society.toml`\n")
    assert shipped_keys(SOCIETIES.glob("*/parties/*.toml")) <= documented(PARTY)
    assert shipped_keys(SOCIETIES.glob("*/topics/**/*.toml")) <= documented("`topics/<name>.toml`, and")
