"""Fixtures of all tests: a cache of their own, blank pictures, a stand-in that speaks and rates, small scenarios."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from figure_rules import faults
from hypothesis import settings
from matplotlib.figure import Figure
from standins import opinionated
from unit_counts import check_what_is_written

import run  # noqa: F401  (`parley` is this checkout, whatever is installed)
from parley.agents.topic import is_news
from parley.analysis import figures
from parley.llm.backends.fake import Fake
from parley.model.scenario import Scenario, load_preset

EXAMPLES = int(os.environ.get("EXAMPLES", "25"))
"""Examples of each property; `sh do.sh nightly` tries 500."""
settings.register_profile("steady", deadline=None, max_examples=EXAMPLES)  # a busy machine is no failure
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing of a test comes from the cache of the user who runs it, or goes there."""
    if str(tmp_path_factory.getbasetemp()) not in os.environ.get(
        "XDG_CACHE_HOME", ""
    ):  # each folder of tests names this fixture
        os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


DRAW = figures._write


def write_blank(figure: Figure, path: Path, kind: str) -> None:
    """Write an empty picture in the place of a drawn one, which must keep the rules of figures."""
    if kind == "png":
        assert not faults(figure), f"{path.stem}: {'; '.join(faults(figure))}"
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
        topic = preset.subject.topic[0] if preset.subject.topic and is_news(preset.subject.topic[0]) else "racism"
        return preset.with_settings({"topic": topic, "repetitions": 2, "rounds": rounds, "llm": "oracle"} | settings)

    return make


MODEL = """
from parley.llm.backends.oracle import open_backend


def open_model(deaf: int = 0):
    oracle = open_backend("", **({"ignores": "party"} if deaf else {}))
    return Named(oracle, deaf)


class Named:
    in_flight = 0
    asked = 0

    def __init__(self, inner, deaf):
        self.inner, self.identity = inner, {"backend": "new", "deaf": deaf}

    def seedless(self, request):
        return self.inner.seedless(request)

    def complete(self, requests):
        Named.asked += len(requests)
        return self.inner.complete(requests)
"""


@pytest.fixture
def new_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model of the user that Parley knows nothing about: the oracle behind another name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "new.py").write_text(MODEL)
    return f"{tmp_path / 'new.py'}:open_model"
