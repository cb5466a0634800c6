"""Hooks of all tests, and the fixtures that they share."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

import run  # noqa: F401  (`parley` is this checkout, whatever is installed: before any test's module loads it)

# isort: split
from shared_fixtures import *  # noqa: F403

pytest.register_assert_rewrite("parley.llm.exam", "parley.environments._exam")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """With the folder of studies deleted, what tests a study is not there; the rest is the kernel's, and passes."""
    ours = collection_path.suffix == ".py" and find_spec("parley.studies") is None
    return True if ours and "parley.studies" in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with most thorough tests first: what is left at the end is short, so that no process waits long for the other."""
    thorough = Counter(item.path for item in items if item.get_closest_marker("thorough"))
    items.sort(key=lambda item: -thorough[item.path])
