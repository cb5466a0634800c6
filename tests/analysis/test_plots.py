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
from figure_rules import faults
from matplotlib import colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.analysis.figure_text import text_width, wrap_text
from parley.analysis.figures import (
    KINDS,
    OTHERS,
    STYLES,
    draw_null,
    make_canvas,
    new_figure,
    save,
    styles_by_party,
    styles_of_run,
)
from parley.analysis.metrics.trajectory import compute
from parley.analysis.plots import _grid, attitudes, write_figures
from parley.analysis.statistics.intervals import SCALE, mean_interval
from parley.analysis.summary import caption
from parley.analysis.tables import Tables, load
from parley.model.titles import group_title

pytestmark = pytest.mark.usefixtures("pictures")

FOUR = "gun_violence,racism,climate_change,illegal_immigration"
FIVE = f"{FOUR},abortion"
ECHO = {"parties": "republican,democrat,default"}


def drawn(tables: Tables) -> Figure:
    return attitudes(tables, compute(tables), tables.groups, "a caption")


def panels(figure: Figure) -> list[Axes]:
    return [axis for axis in figure.axes if axis.get_visible()]


@pytest.mark.thorough
@check_each(
    ("preset", "settings", "shape", "hidden"),
    [
        ("two_way", {}, (1, 1), 0),
        ("three_way", {"topic": "racism,abortion"}, (1, 2), 0),
        ("three_way", {"topic": FOUR}, (2, 2), 0),
        ("three_way", {"topic": FIVE}, (2, 3), 1),
        ("echo_chamber", {"default_agent": "without", **ECHO}, (3, 1), 0),
        ("echo_chamber", {"topic": FIVE}, (4, 5), 0),
        ("echo_chamber", {"topic": "racism"}, (2, 2), 0),
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
    alone = [group_title(group) for group in tables.groups] if len(tables.groups) > 1 else []
    named = [" ".join(title.split("\n(10:")[0].split()) for title in titles]
    assert named == ([tables.title(topic) for topic in tables.topics] if len(tables.topics) > 1 else alone)
    assert all(axis.get_ylim() == (-0.3, 10.3) for axis in panels(figure))
    assert figure.get_figwidth() == (3.5 if shape[1] == 1 else 7.0), "one column of a page, or two"


def drawn_ticks(axis: Axes) -> list:
    """The labels of ticks within the axes; Matplotlib has labels beyond them, which it does not draw."""
    across = [
        label for label in axis.get_xticklabels() if axis.get_xlim()[0] <= label.get_position()[0] <= axis.get_xlim()[1]
    ]
    return [
        *across,
        *(
            label
            for label in axis.get_yticklabels()
            if axis.get_ylim()[0] <= label.get_position()[1] <= axis.get_ylim()[1]
        ),
    ]


def texts(figure: Figure) -> list:
    """The boxes of titles, labels, note and legend in pixels."""
    figure.draw_without_rendering()
    labels = [label for axis in panels(figure) for label in (axis.title, axis.xaxis.label, axis.yaxis.label)]
    ticks = [label for axis in panels(figure) for label in drawn_ticks(axis)]
    shown = [
        *figure.texts,
        *figure.legends,
        *(label for label in (*labels, *ticks) if label.get_text() and label.get_visible()),
    ]
    return [artist.get_window_extent() for artist in shown]


CROWDED = {"size": 5, "rounds": 1, "repetitions": 2}


@pytest.mark.thorough
@check_each(
    ("preset", "settings"),
    [
        ("two_way", {}),
        ("two_way", {"topic": "racism", "repetitions": 40, "rounds": 1}),
        ("three_way", {}),
        ("echo_chamber", {}),
        ("echo_chamber", CROWDED),
        ("echo_chamber", CROWDED | {"topic": "racism"}),
        ("echo_chamber", CROWDED | {"topic": "racism", "parties": "republican", "default_agent": "without"}),
    ],
)
def test_nothing_lies_over_anything_else(preset: str, settings: dict, ran: Callable) -> None:
    """Caption, titles, axis label, a legend of any number of rows and panels keep apart, and within the paper."""
    figure = drawn(load(ran(preset, **{"topic": FOUR} | settings)))
    boxes = texts(figure) + [axis.get_window_extent() for axis in panels(figure)]
    for number, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_the_caption_of_one_groups_figure_stays_on_the_paper(ran: Callable) -> None:
    """The narrowest figure has the longest caption."""
    tables = load(ran("echo_chamber"))
    for group in tables.groups:
        figure = attitudes(tables, compute(tables), [group], caption(tables, compute(tables)))
        assert all(figure.bbox.x0 < box.x0 < box.x1 < figure.bbox.x1 for box in texts(figure))


def test_lines_and_bars_are_the_metrics_means_and_intervals(ran: Callable) -> None:
    """What is drawn is what is in tables/trajectory: x rounds, y mean, bar the 95% interval over rooms that the text has."""
    tables = load(ran("three_way", repetitions=6))
    points = compute(tables)
    containers = panels(drawn(tables))[0].containers
    assert [box.get_label() for box in containers] == ["Republican", "Democrat", "Default"]
    for box in containers:
        line = points[points["seat"] == str(box.get_label()).lower()]
        drawn_ = box.lines[0].get_xydata()
        assert drawn_[:, 0].round().tolist() == line["round"].to_list()
        assert np.array_equal(drawn_[:, 1], line["mean"])
        ratings = tables.attitudes[tables.attitudes["seat"] == str(box.get_label()).lower()]
        rooms = [part["attitude"].to_numpy(dtype=float) for _, part in ratings.groupby("round")]
        ends = np.array([segment[:, 1] for segment in box.lines[2][0].get_segments() if len(segment)])
        known = np.array([mean_interval(values, bounds=SCALE) for values in rooms])
        assert ends == pytest.approx(known[np.isfinite(known).all(axis=1)])


def test_below_five_rooms_there_are_no_bars(ran: Callable) -> None:
    """Four rooms have no interval in the text, so they have none in the figure, and the note says why."""
    tables = load(ran("three_way", repetitions=4))
    segments = [segment for box in panels(drawn(tables))[0].containers for segment in box.lines[2][0].get_segments()]
    assert not any(np.isfinite(segment).all() and len(segment) for segment in segments)
    assert "fewer than 5 rooms" in caption(tables, compute(tables))
    assert "One room" in caption(load(ran("three_way", repetitions=1)), compute(load(ran("three_way", repetitions=1))))


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
    names = [text.get_text() for text in drawn(load(ran("echo_chamber", topic=FOUR))).legends[0].get_texts()]
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


@pytest.mark.thorough
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
    assert len(one) == 15, "two formats and a caption each"
    assert b"<text" not in one["attitudes.svg"], "letters are outlines, so no font has to be installed"
    assert one["attitudes.txt"].startswith(b"Two of one party among themselves")
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
def test_title_and_note_are_never_cut_off(width: float, size: float) -> None:
    """However narrow a figure is, all of its title and note lie on it, and the panels lie between them."""
    note = "debates on " + "oracle (known-truth speaker), WWW MMM planted bias, " * 8
    with new_figure(width, 2.5, note, size, title="Who moves whom " * 12) as figure:
        axis = figure.subplots()
    figure.draw_without_rendering()
    below = next(text for text in figure.texts if "planted" in text.get_text()).get_window_extent()
    above = next(text for text in figure.texts if "moves" in text.get_text()).get_window_extent()
    across, tall = figure.get_size_inches() * figure.dpi
    assert all(0 <= box.x0 < box.x1 <= across for box in (above, below))
    assert (
        0
        <= below.y0
        < below.y1
        <= axis.get_window_extent().y0
        < axis.get_window_extent().y1
        <= above.y0
        < above.y1
        <= tall
    )


def test_a_word_that_is_too_long_is_broken() -> None:
    """German compounds are longer than a panel."""
    lines = wrap_text("die Donaudampfschifffahrtsgesellschaftskapitänswitwenrente", 0.8, 8).split("\n")
    assert "".join(lines).replace(" ", "") == "dieDonaudampfschifffahrtsgesellschaftskapitänswitwenrente"
    assert all(text_width(line, 8) <= 0.8 for line in lines)


LONG = "Geschwindigkeitsbegrenzung auf Bundesautobahnen und die Ausnahmegenehmigung für Rettungsfahrzeuge im Katastropheneinsatz"
FOUR_AT_ONCE = (
    "message round=2 by=Ann text='A storm came'", "mute round=2 share=0.5", "leave round=2 share=0.2", "unmute round=2",
    "message round=3 by=Bob text='No'", "message round=1 by=Cleo text='Yes'",
)  # fmt: skip
GERMAN = {"society": "germany", "topic": "germany/tempolimit,germany/klimawandel,germany/zuwanderung"}
SEVEN = ["cdu", "spd", "gruene", "fdp", "afd", "linke", "default"]


def nasty(name: str, ran: Callable, held: Callable, monkeypatch: pytest.MonkeyPatch) -> Tables:
    if name == "seven parties":
        return held({party: [2, 3] for party in SEVEN})
    tables = {
        "long titles": lambda: load(ran("three_way", **GERMAN, repetitions=5, rounds=2)),
        "four interventions": lambda: load(ran("echo_chamber", rounds=3, interventions=FOUR_AT_ONCE)),
        "one room": lambda: load(ran("three_way", repetitions=1)),
        "twenty rounds": lambda: load(ran("two_way", topic=FOUR, rounds=20, repetitions=1, interventions=EVERY_ROUND)),
    }[name]()
    if name == "long titles":
        monkeypatch.setattr(type(tables), "title", lambda _, topic: f"{LONG} ({topic})")
    return tables


EVERY_ROUND = (
    *(f"message round={number} by=Ann text='x'" for number in range(1, 20, 2)),
    "mute round=2 every=2 share=0.2",
)


@pytest.mark.thorough
@check_each("name", ["long titles", "four interventions", "one room", "seven parties", "twenty rounds"])
def test_labels_never_collide(name: str, ran: Callable, held: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Titles, labels of axes and ticks, legend, note and letters of interventions keep apart and stay on the paper."""
    tables = nasty(name, ran, held, monkeypatch)
    figure = attitudes(tables, compute(tables), tables.groups, caption(tables, compute(tables)))
    boxes = texts(figure)
    for axis in panels(figure):
        letters = [text.get_window_extent() for text in axis.texts]
        assert all(axis.get_window_extent().padded(2).contains(*corner) for box in letters for corner in box.corners())
        assert not any(one.overlaps(other) for one, other in itertools.combinations(letters, 2))
    for number, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[number + 1 :]), name


def test_the_legend_says_what_each_letter_is(ran: Callable) -> None:
    """Four interventions before one round are one letter with four kinds; a later one has a letter of its own."""
    tables = load(ran("echo_chamber", rounds=3, interventions=FOUR_AT_ONCE))
    names = [text.get_text().replace("\n", " ") for text in drawn(tables).legends[0].get_texts()]
    assert "A: message before rounds 1, 3" in names
    assert any(name.startswith("B: message, mute, ") and name.endswith("before round 2") for name in names)


@pytest.mark.thorough
def test_a_pdf_embeds_its_fonts_and_has_no_date(ran: Callable, tmp_path: Path) -> None:
    """TrueType fonts (type 42), as journals ask for; the same bytes on another day."""
    tables = load(ran("two_way"))
    first, second = (save(drawn(tables), tmp_path / name, KINDS).with_suffix(".pdf").read_bytes() for name in "ab")
    assert first == second
    assert b"/FontFile2" in first
    assert b"/Type3" not in first
    assert b"CreationDate" not in first


SHAPES = [(1, 1, (1, 1)), (3, 1, (3, 1)), (4, 1, (2, 2)), (14, 1, (5, 3)), (1, 9, (3, 3)), (3, 4, (3, 4))]


@check_each(("groups", "topics", "grid"), SHAPES)
def test_panels_of_many_groups_are_no_tower(groups: int, topics: int, grid: tuple[int, int]) -> None:
    """Echo chambers of seven parties were 14 panels in one column, 1,050 by 8,930 pixels."""
    assert _grid(groups, topics) == grid


def test_an_axis_of_differences_shows_the_value_of_no_difference() -> None:
    """A reader cannot see whether an interval holds 0 where 0 is not drawn, or is outside the picture."""
    figure = make_canvas(4, 3, "constrained")
    axis = figure.subplots()
    axis.set_ylabel("first minus second (points)")
    axis.plot([0, 1], [2.0, 3.0])
    assert faults(figure) == ["no line of no effect on the y axis: first minus second (points)"]
    draw_null(axis)
    assert faults(figure) == []
    axis.set_ylim(1.0, 4.0)
    assert faults(figure) == ["the line of no effect on the y axis is outside: [0.0], 1 to 4"]
