"""The page: every view on a run that is loaded and on one under way. In a real browser it is tried by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

solara = pytest.importorskip("solara", reason="the [app] extra is not installed")
import ipyvuetify  # noqa: E402

from analysis.views import _session, views  # noqa: E402
from analysis.views._session import Session, Shown  # noqa: E402
from analysis.views.page import Status, Views  # noqa: E402
from llm.backends.fake import Fake  # noqa: E402
from model.scenario import load_preset  # noqa: E402
from model.session import Ask, sit  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> **bold**"
SETTINGS = {"topics": "racism", "repetitions": 2, "rounds": 2}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run in which every line is an attack."""
    scenario = load_preset("three_way").with_settings(SETTINGS)
    sit(
        Ask(scenario, tmp_path / "run"),
        backend=Fake(lambda request: request.answers[0] if request.answers else ATTACK),
    )
    return tmp_path / "run"


def texts(widget: Any) -> list[str]:
    """Every text that stands in a widget or in what is inside it."""
    found = []
    for child in getattr(widget, "children", []):
        found += [child] if isinstance(child, str) else texts(child)
    return found


class Watched(Session):
    """A tab whose watcher can wait for something to be so."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = threading.Condition()

    def _new(self) -> None:
        with self.changed:
            super()._new()
            self.changed.notify_all()

    def until(self, so: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(so, 60), self.told


def test_every_view_shows_a_loaded_run_and_text_stays_text(folder: Path) -> None:
    """Markup of a model in a page would run in the reader's browser."""
    session = Session()
    session.open(str(folder))
    assert session.tables is not None
    for view in views():
        assert view.shows(session.tables)
        box, _ = solara.render(view.View(Shown(session.tables, 2, session)), handle_error=False)
        assert box.children, view.TITLE
        if view.TITLE == "Conversation":
            assert ATTACK in texts(box)
            assert any("After round 2" in text for text in texts(box))


def test_a_run_under_way_is_followed_and_its_agents_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "RUNS", tmp_path)
    session = Watched()
    session.start("three_way", "topics=racism\nrepetitions=1\nrounds=2\nllm=oracle")

    @solara.component
    def Both() -> None:
        Status(session)
        Views(session)

    box, found = solara.render(Both(), handle_error=False)
    try:
        assert session.live is not None
        session.live.play(1)
        session.until(lambda: session.told.startswith("paused, round 1"))
        session.seen.set(session.version)
        assert "paused, round 1 of 2, 9 of 15 calls" in texts(box)
        session.interview(1, "Why?")
        session.until(lambda: len(session.interviews) == 1)
        session.live.play()
        session.until(lambda: session.told.startswith("done"))
        session.seen.set(session.version)
        assert len(found.find(ipyvuetify.Tab).widgets) == len(views())
    finally:
        session.close()


def test_what_cannot_be_run_or_opened_is_told(tmp_path: Path) -> None:
    session = Session()
    session.start("three_way", "rounds=many")
    assert "rounds must be a whole number" in session.error
    session.open(str(tmp_path / "none"))
    assert "cannot read the record" in session.error
    session.interview(1, "Hello?")
    assert "nobody to ask" in session.error
