"""Shared by all tests: small scenarios, and a stand-in that speaks and rates."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings
from standins import opinionated
from unit_counts import check_what_is_written

import run  # noqa: F401  (`parley` is this checkout, whatever is installed)
from parley.agents.topic import is_news
from parley.analysis import figures
from parley.llm.backends.fake import Fake
from parley.model.scenario import Scenario, load_preset

pytest.register_assert_rewrite("parley.llm.exam", "parley.environments._exam")

EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
"""Examples of each property; `sh do.sh nightly` tries 500."""
settings.register_profile("steady", deadline=None, max_examples=EXAMPLES)  # a busy machine is no failure
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing of a test comes from the cache of the user who runs it, or goes there."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


DRAW = figures._write


def write_blank(figure: object, path: Path, kind: str) -> None:
    """Write an empty picture in the place of a drawn one."""
    path.write_bytes(b'<svg xmlns="http://www.w3.org/2000/svg"/>' if kind == "svg" else b"\x89PNG\r\n\x1a\n")


@pytest.fixture(scope="session", autouse=True)
def blank_pictures() -> Iterator[None]:
    """Figures are made and laid out, texts and all, and their files stay empty: drawing takes longer than a small run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_write", write_blank)
        yield


@pytest.fixture(scope="module")
def pictures(blank_pictures: None) -> Iterator[None]:
    """Figures are drawn, for a file of tests that looks at them: `pytestmark = pytest.mark.usefixtures("pictures")`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "_write", DRAW)
        yield


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """With the folder of studies deleted, what tests a study is not there; the rest is the kernel's, and passes."""
    ours = collection_path.suffix == ".py" and find_spec("parley.studies") is None
    return True if ours and "parley.studies" in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with most thorough tests first: what is left at the end is short, so that no process waits long for the other."""
    thorough = Counter(item.path for item in items if item.get_closest_marker("thorough"))
    items.sort(key=lambda item: -thorough[item.path])


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every table that any test writes says over how many units its intervals are."""
    check_what_is_written()


@pytest.fixture
def fake() -> Fake:
    return Fake(opinionated)


@pytest.fixture
def small() -> Callable[..., Scenario]:
    """A preset cut down to two rooms a cell on one topic (one on news, to its own); more settings by name."""

    def make(name: str = "three_way", **settings: object) -> Scenario:
        preset = load_preset(name)
        rounds = max([2, *[one.round for one in preset.interventions]])
        topic = preset.subject.topics[0] if preset.subject.topics and is_news(preset.subject.topics[0]) else "racism"
        return preset.with_settings({"topics": topic, "repetitions": 2, "rounds": rounds, "llm": "oracle"} | settings)

    return make
