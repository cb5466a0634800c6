"""The numbers that the page sends to the browser to be drawn: hand-computed, and plain text throughout."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

solara = pytest.importorskip("solara", reason="the [app] extra is not installed")
from solara.server import settings  # noqa: E402

from parley.analysis.figures import STYLES  # noqa: E402
from parley.analysis.tables import Tables, load, tables  # noqa: E402
from parley.analysis.views._chart import LIBRARY, as_json, marker_path, party_key  # noqa: E402
from parley.analysis.views.attitudes import attitude_chart, flags, spoken  # noqa: E402
from parley.analysis.views.compare import comparison_chart  # noqa: E402
from parley.analysis.views.conversation import room_lines  # noqa: E402
from parley.analysis.views.distribution import BINS, histograms  # noqa: E402
from parley.analysis.views.emotions import emotion_chart  # noqa: E402
from parley.model.debate import DebateModel  # noqa: E402
from parley.model.events import Intervened  # noqa: E402
from parley.model.recorder import MemoryRecorder  # noqa: E402
from parley.model.run_folder import make_header  # noqa: E402
from parley.model.scenario import Scenario  # noqa: E402

ATTACK = "<img src=x onerror=alert(1)> \u202eevil\u2069 {a|b}\nand more"


@pytest.fixture
def five(held: Callable[..., Tables]) -> Tables:
    """Five rooms of a Republican and a Democrat: Republicans go from 0..4 to 4..8; one rating of the first room is missing."""
    return held(*({"republican": [float(room), float(room + 4)], "democrat": [None if room == 0 else 8.0, 8.0]}
                  for room in range(5)), turns=(0, 1), reference=[6.0, 7.0])  # fmt: skip


def test_the_library_is_a_file_of_a_wheel_that_is_installed() -> None:
    """Without the file the page's server would ask another machine for it."""
    assert (settings.assets.proxy_cache_dir / LIBRARY.removeprefix("_solara/cdn/")).stat().st_size > 500_000


def test_means_have_the_interval_of_students_t_over_rooms(five: Tables) -> None:
    """Five rooms at 0, 1, 2, 3, 4: mean 2, t of 2.776 with 4 degrees, standard deviation 1.581; the ends stay within 0 to 10.

    Wilson's form: the ends are the m with (2 - m)^2 = r (m)(10 - m), r = reach^2 / 16 = .2409: (4 + 10 r -+ root) / (2 + 2 r).
    """
    chart = attitude_chart(five, "x")
    (panel,) = chart.panels
    lines = {line.key: line for line in panel.lines}
    reach = 2.7764 * math.sqrt(2.5) / math.sqrt(5)
    ratio = reach**2 / 16
    middle, root = 4 + 10 * ratio, math.sqrt((4 + 10 * ratio) ** 2 - 16 * (1 + ratio))
    ends = [(middle - root) / (2 + 2 * ratio), (middle + root) / (2 + 2 * ratio)]
    assert lines["republican"].means[0] == pytest.approx([2, *ends], abs=0.001)
    assert lines["republican"].means[1][0] == 6
    assert lines["republican"].middle == [[1.0, 3.0], [5.0, 7.0]]
    assert [values[0] for values in lines["republican"].thin] == [0, 1, 2, 3, 4]


def test_a_missing_rating_is_a_gap_and_counted_and_few_rooms_have_no_interval(five: Tables) -> None:
    """Four rooms are rated: no interval; all alike in round 1: none either. A gap is None, never zero."""
    chart = attitude_chart(five, "x")
    line = next(line for line in chart.panels[0].lines if line.key == "democrat")
    assert line.means == [[8.0, None, None], [8.0, None, None]]
    assert line.thin[0] == [None, 8.0]
    cells = {(key, round_): row[4:] for key, round_, row in chart.rows}
    assert cells["democrat", 0] == [8.0, None, None, 4, 1]
    assert cells["democrat", 1] == [8.0, None, None, 5, 0]
    assert {key.id for key in chart.keys} == {"republican", "democrat", "thin", "middle", "level"}
    assert chart.panels[0].level == 6.5
    assert "Republican 2.0 to 6.0" in spoken(chart, 1)


def test_the_words_at_the_ends_are_those_of_the_survey(five: Tables) -> None:
    panel = attitude_chart(five, "x").panels[0]
    assert (panel.low, panel.high) == ("not a problem at all", "a very big problem")


def test_a_room_alone_offers_no_lines_of_rooms(held: Callable[..., Tables]) -> None:
    """One agent of a party: a thin line and a band would repeat the mean."""
    chart = attitude_chart(held({"republican": [1.0, 2.0], "default": [5.0, 5.0]}, turns=(0, 1)), "x")
    assert [key.id for key in chart.keys] == ["republican", "default"]
    assert chart.panels[0].level is None


def test_counts_of_a_histogram_have_one_bin_a_half_point(five: Tables) -> None:
    chart = histograms(five, "racism", "x")
    line = next(line for line in chart.panels[0].lines if line.key == "republican")
    assert [sum(counts) for counts in line.counts] == [5, 5]
    assert {value: count for value, count in zip(BINS.tolist(), line.counts[0], strict=True) if count} == {
        0: 1, 1: 1, 2: 1, 3: 1, 4: 1}  # fmt: skip
    other = next(line for line in chart.panels[0].lines if line.key == "democrat")
    assert [sum(counts) for counts in other.counts] == [4, 5]


PAIR = {"republican": [1.0, 2.0], "democrat": [8.0, 8.0]}


def act(room: int, agents: int, what: str, text: str | None, by: str = "") -> Intervened:
    """An intervention before round 1 on the first agents of a room, which `held` numbers by the room's name."""
    name = f"racism/republican+democrat/{room}"
    first = int.from_bytes(name.encode(), "big") % 10**12 * 10
    return Intervened(name, 1, what, tuple(range(first, first + agents)), text, by)


def test_a_flag_names_the_same_words_in_several_rooms_once(held: Callable[..., Tables]) -> None:
    """Forty rooms with the same message must not be forty lines of text; different acts keep their own line."""
    acts = [act(0, 2, "message", "Think.", "Ann"), act(1, 2, "message", "Think.", "Ann"), act(0, 1, "mute", None)]
    tables = held(PAIR, PAIR, turns=(0, 1), more=acts)
    assert flags(tables, "racism", "republican+democrat") == [
        (1, "Ann, to all agents: Think. (in 2 rooms)"),
        (1, "mute, Rae"),
    ]


def test_text_of_a_user_is_one_line_without_invisible_characters(held: Callable[..., Tables]) -> None:
    """A sign that turns the rest of a line round, or a line break, would change what the reader sees of other texts."""
    tables = held(PAIR, turns=(0, 1), more=[act(0, 2, "message", ATTACK, "Ann")])
    ((_, text),) = json.loads(as_json(attitude_chart(tables, "x")))["panels"][0]["flags"]
    assert text.isprintable()
    assert "<img src=x onerror=alert(1)>" in text


def test_two_runs_share_a_panel_and_differ_in_marker_and_dash(five: Tables, ran: Callable[..., Path]) -> None:
    chart = comparison_chart({"a (1)": five, "a (2)": five})
    assert [line.key for line in chart.panels[0].lines] == [
        f"a ({run})|{party}" for run in (1, 2) for party in ("republican", "democrat")]  # fmt: skip
    assert [key.open for key in chart.keys] == [False, False, True, True]
    assert comparison_chart({"a": five, "b": load(ran("two_way", topic="gun_violence"))}).panels == []


def test_a_party_looks_as_in_the_figures_of_the_report() -> None:
    look = STYLES["republican"]
    key = party_key("republican", "Republican", look)
    assert (key.colour, key.path) == (look["color"], marker_path(look["markers"][0]))
    assert "C" in marker_path("o")


def test_emotions_have_a_panel_each_from_one_to_seven(small: Callable[..., Scenario]) -> None:
    """Means are those of the ratings by room and party, the axis is that of the question, and a missing rating is counted."""
    setup, recorder = small("two_way", also="valence,arousal", rounds=1, llm="oracle,volatility=.5"), MemoryRecorder()
    model = DebateModel(setup, recorder=recorder)
    model.run()
    run = tables([make_header(setup, (), model.backend), *recorder.events])
    chart = emotion_chart(run, "x")
    assert [(panel.title, panel.low, panel.high, panel.ends) for panel in chart.panels] == [
        ("Valence: Racism", "very bad", "very good", (1, 7)),
        ("Arousal: Racism", "very calm", "very worked up", (1, 7)),
    ]
    felt = run.emotions[(run.emotions["probe"] == "arousal") & (run.emotions["party"] == "democrat")]
    line = next(line for line in chart.panels[1].lines if line.key == "democrat")
    assert [mean for mean, _, _ in line.means] == pytest.approx(
        felt.groupby("round")["value"].mean().tolist(), abs=0.001
    )
    assert {row[-1] for _, _, row in chart.rows} == {0}
    (room, *_) = run.agents["room"][run.agents["group"] != "reference"]
    shown = [one for one in room_lines(run, room) if "emotion (1-7)" in json.dumps(one)]
    assert len(shown) == 2
    assert "valence" in json.dumps(shown[0])
