"""The figure shows the metric's numbers, for any layout, the same bytes twice, and reads without colour."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from parley.analysis.figures import OTHERS, STYLES, add_caption, save, styles_by_party, styles_of_run
from parley.analysis.formatting import group_title
from parley.analysis.metrics.trajectory import compute
from parley.analysis.plots import attitudes, write_figures
from parley.analysis.summary import caption
from parley.analysis.tables import Tables, load

FOUR = "gun_violence,racism,climate_change,illegal_immigration"
FIVE = f"{FOUR},abortion"
ECHO = {"parties": "republican,democrat,default"}


def drawn(tables: Tables) -> Figure:
    return attitudes(tables, compute(tables), tables.groups, "a caption")


def panels(figure: Figure) -> list[Axes]:
    return [axis for axis in figure.axes if axis.get_visible()]


@check_each(
    ("preset", "settings", "shape", "hidden"),
    [
        ("two_way", {}, (1, 1), 0),
        ("three_way", {"topics": "racism,abortion"}, (1, 2), 0),
        ("three_way", {"topics": FOUR}, (2, 2), 0),
        ("three_way", {"topics": FIVE}, (2, 3), 1),
        ("echo_chamber", {"default_agent": "without", **ECHO}, (3, 1), 0),
        ("echo_chamber", {"topics": FIVE}, (4, 5), 0),
    ],
)
def test_every_layout_has_its_panels(
    preset: str, settings: dict, shape: tuple[int, int], hidden: int, ran: Callable
) -> None:
    """One panel a group and topic, each titled, slots without one hidden, one legend, nothing outside the paper."""
    tables = load(ran(preset, rounds=1, repetitions=2, **settings))
    figure = drawn(tables)
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    assert len(panels(figure)) == len(tables.groups) * len(tables.topics) == len(figure.axes) - hidden
    titles = [axis.get_title() for axis in panels(figure) if axis.get_title()]
    assert titles == [tables.title(topic) for topic in tables.topics]
    assert all(axis.get_ylim() == (-0.3, 10.3) for axis in panels(figure))
    assert figure.get_figwidth() <= (7 if shape[1] < 5 else 8.75)


def texts(figure: Figure) -> list:
    """The boxes of titles, captions and legend in pixels."""
    figure.draw_without_rendering()
    shown = [*figure.texts, *figure.legends, *(axis.title for axis in panels(figure) if axis.get_title())]
    return [artist.get_window_extent() for artist in shown]


CROWDED = {"size": 5, "rounds": 1, "repetitions": 2}


@check_each(
    ("preset", "settings"),
    [
        ("two_way", {}),
        ("two_way", {"topics": "racism", "repetitions": 40, "rounds": 1}),
        ("three_way", {}),
        ("echo_chamber", {}),
        ("echo_chamber", CROWDED),
        ("echo_chamber", CROWDED | {"topics": "racism"}),
        ("echo_chamber", CROWDED | {"topics": "racism", "parties": "republican", "default_agent": "without"}),
    ],
)
def test_nothing_lies_over_anything_else(preset: str, settings: dict, ran: Callable) -> None:
    """Caption, titles, axis label, a legend of any number of rows and panels keep apart, and within the paper."""
    figure = drawn(load(ran(preset, **{"topics": FOUR} | settings)))
    boxes = texts(figure) + [axis.get_window_extent() for axis in panels(figure)]
    for number, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_the_caption_of_one_groups_figure_stays_on_the_paper(ran: Callable) -> None:
    """The narrowest figure has the longest caption."""
    tables = load(ran("echo_chamber"))
    for group in tables.groups:
        told = f"{group_title(group)}. {caption(tables, compute(tables))}"
        figure = attitudes(tables, compute(tables), [group], told)
        assert all(figure.bbox.x0 < box.x0 < box.x1 < figure.bbox.x1 for box in texts(figure))


def test_lines_and_bars_are_the_metrics_means_and_errors(ran: Callable) -> None:
    """What is drawn is what is in tables/trajectory: x replies, y mean, bar one standard error each way."""
    tables = load(ran("three_way"))
    points = compute(tables)
    containers = panels(drawn(tables))[0].containers
    assert [box.get_label() for box in containers] == ["Republican", "Democrat", "Default"]
    for box in containers:
        line = points[points["seat"] == str(box.get_label()).lower()]
        assert np.array_equal(box.lines[0].get_xydata(), line[["iteration", "mean"]].to_numpy(dtype=float))
        ends = np.array([segment[:, 1] for segment in box.lines[2][0].get_segments()])
        bars = line[["mean", "mean"]].to_numpy() + np.outer(line["se"], [-1, 1])
        assert ends == pytest.approx(bars)


def test_a_missing_mean_leaves_a_gap(held: Callable) -> None:
    """No rating is no point: not zero, not the one before."""
    tables = held(*[{"republican": [2, None, 4]}] * 2)
    line = panels(drawn(tables))[0].containers[0].lines[0]
    assert np.isnan(line.get_ydata()[1])
    assert line.get_ydata()[[0, 2]].tolist() == [2, 4]


def levels(axis: Axes) -> dict[str, float]:
    return {str(line.get_label()): line.get_ydata()[0] for line in axis.lines if "before" in str(line.get_label())}


def test_the_dashed_line_stands_at_the_level_of_a_default_that_is_not_seated(held: Callable, ran: Callable) -> None:
    """Figs 4 and 8: its rating before the debates, of how many; none where the Default debates or nobody was asked."""
    rooms = [{"republican": [2, 3]}, {"republican": [3, 3]}]
    assert levels(panels(drawn(held(*rooms, reference=6.5)))[0]) == {"Default, before (n=1)": 6.5}
    assert levels(panels(drawn(held(*rooms)))[0]) == {}
    assert levels(panels(drawn(held({"republican": [2, 3], "default": [6, 6]}, reference=7)))[0]) == {}
    echo = panels(drawn(load(ran("echo_chamber"))))
    assert [list(levels(axis)) for axis in echo] == [[], [], *[["Default, before (n=3)"]] * 2]


def test_the_legend_has_one_dashed_line_though_panels_differ_in_n(held: Callable) -> None:
    """An unreadable Default in one group: `n=1 to 2`, not two entries for the same line."""
    tables = held(
        {"republican": [2, 3]}, {"democrat": [8, 8]}, {"republican": [2, 3], "default": [6, 6]},
        {"democrat": [8, 8], "default": [5, 6]}, {"democrat": [8, 8], "default": [6, 6]},
    )  # fmt: skip
    names = [text.get_text() for text in drawn(tables).legends[0].get_texts()]
    assert [name for name in names if "before" in name] == ["Default, before (n=1 to 2)"]


def test_each_line_stands_once_in_the_legend(ran: Callable) -> None:
    """Complete over all panels, without repeats."""
    names = [text.get_text() for text in drawn(load(ran("echo_chamber", topics=FOUR))).legends[0].get_texts()]
    assert sorted(names) == [
        "Default",
        "Default, before (n=3)",
        "Democrat 1",
        "Democrat 2",
        "Republican 1",
        "Republican 2",
    ]


def test_parties_and_seats_are_told_apart_without_colour(held: Callable) -> None:
    """In grey print eight seats of a party and all parties still differ by marker, filling or line."""
    seats = {f"{party} {number}": [2, 3] for party in ("republican", "democrat", "default") for number in range(1, 9)}
    lines = [box.lines[0] for box in panels(drawn(held(seats)))[0].containers]
    looks = {(line.get_marker(), line.get_markerfacecolor() == "none", line.get_linestyle()) for line in lines}
    assert len(looks) == len(lines) == 24
    styles = [*STYLES.values(), *OTHERS]
    markers = "".join(style["markers"] for style in STYLES.values())
    assert len(set(markers)) == len(markers)
    assert len({str(style["linestyle"]) for style in styles}) == len(styles)


DICHROMATS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""How colours look without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1)."""


@check_each("eye", DICHROMATS)
def test_party_colours_differ_for_the_colour_blind(eye: str) -> None:
    """Red, blue and grey stay well apart for every kind of dichromat (the widest distance of RGB is 1.7)."""
    seen = {
        name: np.array(DICHROMATS[eye]) @ colors.to_rgb(STYLES[name]["color"])
        for name in ("republican", "democrat", "default")
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.2, (one, other)


@check_each("eye", DICHROMATS)
def test_ten_more_parties_differ_for_the_colour_blind(eye: str) -> None:
    """Each of the thirteen looks: distance in CIELAB of at least 18, for the eye that cannot see red, green or blue."""
    seen = {
        look["color"]: lab(np.array(DICHROMATS[eye]) @ linear(look["color"])) for look in [*STYLES.values(), *OTHERS]
    }
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 18, (one, other)


def linear(color: str) -> np.ndarray:
    """Linear RGB of a colour (IEC 61966-2-1)."""
    rgb = np.array(colors.to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB under D65."""
    xyz = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]] @ np.clip(rgb, 0, 1)
    ratio = xyz / [0.9505, 1, 1.0888]
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


NINE = ["cdu", "spd", "gruene", "fdp", "afd", "linke", "bsw", "volt", "default"]


def test_no_two_parties_of_a_run_look_alike(held: Callable) -> None:
    """Of five parties the fourth and fifth once looked like the first and second; nine differ in colour, marker and dash each."""
    tables = held({party: [2, 3] for party in NINE})
    for found in (styles_by_party(NINE), styles_of_run(tables)):
        seen = [(look["color"], str(look["linestyle"]), look["markers"][0]) for look in found.values()]
        assert [len(set(trait)) for trait in zip(*seen, strict=True)] == [9, 9, 9]
    lines = [box.lines[0] for box in panels(drawn(tables))[0].containers]
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 9
    crowd = styles_by_party([f"party{number}" for number in range(60)])
    assert len({str(look) for look in crowd.values()}) == 60


def test_a_party_looks_the_same_in_every_figure_of_a_run(held: Callable) -> None:
    """A panel in which only some sit does not begin the colours anew."""
    tables = held({"cdu": [2, 3], "spd": [3, 3]}, {"spd": [2, 3], "fdp": [4, 4]})
    drawn_ = attitudes(tables, compute(tables), [tables.groups[1]], "a caption")
    seen = {box.get_label(): box.lines[0].get_color() for box in panels(drawn_)[0].containers}
    assert seen == {"SPD": styles_of_run(tables)["spd"]["color"], "FDP": styles_of_run(tables)["fdp"]["color"]}


def test_a_set_of_personas_gives_a_party_its_name_and_colour(held: Callable) -> None:
    """As the record's header has them: legends and titles then say AfD, not Afd, whatever became of the set."""
    tables = held({"afd": [2, 3], "cdu": [2, 3]})
    header = replace(tables.header, parties={"afd": {"name": "AfD", "colour": "#123456"}})
    box = panels(drawn(replace(tables, header=header)))[0].containers[0]
    assert (box.get_label(), box.lines[0].get_color()) == ("AfD", "#123456")


def test_more_parties_than_looks_are_named_at_their_lines(held: Callable) -> None:
    """With fourteen parties a colour comes again: each line has its party's name at its end."""
    tables = held({f"party{number}": [2, 3] for number in range(14)})
    assert len({text.get_text() for text in panels(drawn(tables))[0].texts}) == 14


def test_a_run_without_ratings_says_so(ran: Callable, tmp_path: Path) -> None:
    """survey=never: an empty panel that says why, and files that can be written."""
    tables = load(ran(survey="never"))
    shown = panels(drawn(tables))
    assert [text.get_text() for axis in shown for text in axis.texts] == ["no ratings"]
    assert write_figures(tables, compute(tables), tmp_path, "none").exists()


@pytest.mark.filterwarnings("error")
def test_figures_are_the_same_bytes_twice(ran: Callable, tmp_path: Path) -> None:
    """A report that is written again differs in nothing; a run of several groups has a figure for each as well."""
    tables = load(ran("echo_chamber"))
    for folder in ("one", "two"):
        write_figures(tables, compute(tables), tmp_path / folder, "echo_chamber on oracle")
    one, two = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / folder).iterdir())} for folder in ("one", "two")
    )
    assert one == two
    assert len(one) == 10
    assert one["attitudes.png"].startswith(b"\x89PNG")
    assert b"<svg" in one["attitudes_republican_republican.svg"]


def test_the_users_own_matplotlib_settings_change_nothing(
    ran: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figure is a function of the record, not of a matplotlibrc; and the settings are left as they were."""
    import matplotlib

    tables = load(ran("two_way"))
    plain = save(drawn(tables), tmp_path / "plain").read_bytes()
    for key, value in {"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "yellow"}.items():
        monkeypatch.setitem(matplotlib.rcParams, key, value)
    assert save(drawn(tables), tmp_path / "wild").read_bytes() == plain
    assert matplotlib.rcParams["font.size"] == 30


def test_captions_are_no_formulas(ran: Callable, tmp_path: Path) -> None:
    """A model called `$x_{` is text: no mathtext, no crash."""
    tables = load(ran("two_way"))
    figure = attitudes(tables, compute(tables), tables.groups, "on $x_{$ and $\\frac$")
    assert save(figure, tmp_path / "odd").stat().st_size > 1000
    assert isinstance(compute(tables), pd.DataFrame)


@check_each(("width", "size"), [(3.5, 7), (3.9, 7), (7.2, 8), (9.4, 9)])
def test_captions_are_never_cut_off(width: float, size: float) -> None:
    """However narrow a figure is, all of its caption lies on it, and the panels lie below."""
    figure = Figure(figsize=(width, 2.5), layout="constrained")
    axis = figure.subplots()
    add_caption(figure, "debates on " + "oracle (known-truth speaker), WWW MMM planted bias, " * 8, size)
    figure.canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    (title,) = [text for text in figure.texts if "planted" in text.get_text()]
    box, (across, tall) = title.get_window_extent(), figure.get_size_inches() * figure.dpi
    assert 0 <= box.x0 < box.x1 <= across
    assert axis.get_window_extent().y1 <= box.y0 < box.y1 <= tall
