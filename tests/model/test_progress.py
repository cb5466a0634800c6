"""Progress where there is no terminal: a long run in a log is not silent for hours."""

from __future__ import annotations

import pytest

from parley.model import progress
from parley.model.progress import EVERY, Lines


def test_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """How much of how much, how fast, how long still; on the errors' side, and nothing of a run that is short."""
    now = 0.0
    shown = Lines("two_way", 600, "call", "3 rooms", lambda: now)
    for second in range(61):
        now = float(second)
        shown.update(2)
        shown.set_postfix_str(f"3 rooms, round {1 + second // 40}/5")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "two_way: 62 of 600 calls, 2.1 a second, 260 s left, 3 rooms, round 1/5",
        "two_way: 122 of 600 calls, 2.0 a second, 235 s left, 3 rooms, round 2/5",
    ]
    assert EVERY == 30


def test_a_total_that_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    shown = Lines("verdicts", None, "call", "", lambda: now)
    now = 40.0
    shown.update(80)
    assert capsys.readouterr().err == "verdicts: 80 calls, 2.0 a second\n"


def test_more_calls_than_were_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """A question without probabilities takes several calls: `11 of 5 calls` was printed."""
    now = 0.0
    shown = Lines("answers", 5, "call", "", lambda: now)
    now = 44.0
    shown.update(11)
    assert capsys.readouterr().err == "answers: 11 calls, 15 a minute\n"


@pytest.mark.parametrize("widgets", [True, False])
def test_a_notebook_has_a_bar_and_no_warning(widgets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel has no terminal. Where ipywidgets is missing the bar is one of text, and tqdm does not complain."""
    from tqdm import tqdm

    monkeypatch.setattr(progress, "in_kernel", lambda: True)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: object() if widgets else None)
    if widgets:
        pytest.importorskip("ipywidgets")
    shown = progress.meter("two_way", 3)
    shown.update(3)
    assert isinstance(shown, tqdm)
    assert ("notebook" in type(shown).__module__) == widgets
    shown.close()


def test_a_slow_model_has_a_rate() -> None:
    """`three_way: 2 of 30 calls, 0.0 a second, 623 s left`: the rate was lost in rounding, and every condition had one name."""
    now = 0.0
    shown = Lines("asked (1 of 2)", 30, "call", "", lambda: now)
    now = 40.0
    shown.update(2)
    assert shown.line == "asked (1 of 2): 2 of 30 calls, 3 a minute, 560 s left"
