"""The page without a browser: every view on runs that are loaded and on one under way. In a browser: test_browser.py."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each

solara = pytest.importorskip("solara", reason="the [app] extra is not installed")
import ipyvuetify  # noqa: E402

import run  # noqa: E402
from parley.agents.society import load_society, society_names  # noqa: E402
from parley.analysis.metrics._network import populations  # noqa: E402
from parley.analysis.network_plot import layout  # noqa: E402
from parley.analysis.provenance import rerun_command  # noqa: E402
from parley.analysis.views import _gallery, _layouts, _runs, export, network, views  # noqa: E402
from parley.analysis.views._fields import VALUES, changed, field_comments, fields_of, matters  # noqa: E402
from parley.analysis.views._form import draft_of, settings_of, wanted  # noqa: E402
from parley.analysis.views._header import RunHeader, status  # noqa: E402
from parley.analysis.views._plan import model_problem, plan_of, scenario_of_draft  # noqa: E402
from parley.analysis.views._session import Session, Shown  # noqa: E402
from parley.analysis.views.page import STYLE, Views  # noqa: E402
from parley.llm.backends.fake import Fake  # noqa: E402
from parley.model import example_runs  # noqa: E402
from parley.model.events import Header  # noqa: E402
from parley.model.files import RECORD  # noqa: E402
from parley.model.recorder import from_line  # noqa: E402
from parley.model.run_registry import RunRegistry  # noqa: E402
from parley.model.scenario import Scenario, load_preset, preset_names  # noqa: E402
from parley.model.scenario_blocks import BLOCKS  # noqa: E402
from parley.model.scenario_run import RunSpec, run_scenario  # noqa: E402
from tools.examples import keep_run  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("pictures")]
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> **bold**"
SMALL: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism", "repetitions": 2, "rounds": 2},
    "echo_chamber": {"topic": "racism", "repetitions": 1, "rounds": 1},
    "network": {"size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2"},
    "consensus": {"repetitions": 1, "episodes": 1},
}
COMMON = {"What came out", "Surveys", "Calls", "Interview", "Export"}
DEBATES = COMMON | {"Attitudes", "Conversation", "Distribution", "Compare"}
SHOWN = {
    "three_way": DEBATES | {"Rooms"},
    "echo_chamber": DEBATES | {"Groups", "Rooms"},
    "network": DEBATES | {"Network"},
    "consensus": COMMON | {"Deliberation"},
}


@pytest.fixture
def held(tmp_path: Path) -> Callable[[str], Path]:
    """A run of a preset in which every line is an attack."""

    def hold(preset: str) -> Path:
        scenario = load_preset(preset).with_settings(SMALL[preset])
        backend = Fake(lambda request: request.answers[0] if request.answers else ATTACK)
        run_scenario(RunSpec(scenario, tmp_path / preset, tuple(SMALL[preset])), backend=backend)
        return tmp_path / preset

    return hold


def opened(folder: Path) -> Session:
    session = Session()
    session.open(str(folder))
    assert not session.error
    return session


def seen(session: Session, last: int = 2) -> Shown:
    assert session.tables is not None
    return Shown(session.tables, last, session, session.events)


def texts(widget: Any) -> list[str]:
    """Every text that stands in a widget or in what is inside it."""
    found = [line["text"] for line in json.loads(getattr(widget, "lines", "[]"))]
    for child in getattr(widget, "children", []):
        found += [child] if isinstance(child, str) else texts(child)
    return found


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRegistry:
    """The runs of a server, in a folder of the test."""
    registry = RunRegistry(tmp_path, _runs.write_files)
    monkeypatch.setattr("parley.analysis.views._session.registry", lambda: registry)
    return registry


def until(so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    ended = time.monotonic() + 180
    while not so():
        assert time.monotonic() < ended
        threading.Event().wait(0.01)


def test_a_record_in_which_nobody_is_seated_yet_has_no_views(held: Callable[[str], Path], tmp_path: Path) -> None:
    """A page may look between the header and the seats of a run that begins: no view fails on rooms that are not there."""
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / RECORD).write_text((held("network") / RECORD).read_text().split("\n")[0] + "\n")
    session = opened(begun)
    box, _ = solara.render(Views(session), handle_error=False)
    assert texts(box) == []
    assert status(session).startswith("Unfinished.")


def test_a_recorded_run_of_a_real_model_is_opened_from_the_first_screen(
    held: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button restores the run where the page keeps its runs, with tables and figures, and goes there."""
    kept = tmp_path / "examples" / "small_model"
    keep_run(held("three_way"), kept)
    (kept / "README.md").write_text("# A debate of a small model\n", encoding="utf-8")
    for module in (_gallery, example_runs):
        monkeypatch.setattr(module, "EXAMPLES", tmp_path / "examples")
    monkeypatch.setattr(_gallery, "ROOT", tmp_path / "runs")
    places: list[str] = []
    session = Session()
    _, context = solara.render(_gallery.RealRuns(session, places.append), handle_error=False)
    try:
        button = context.find(ipyvuetify.Btn).widget
        assert button.children[0] == "A debate of a small model"
        button.click()
        assert places == [f"?run={tmp_path / 'runs' / 'small_model'}"]
        assert (tmp_path / "runs" / "small_model" / "summary.md").exists()
        assert (tmp_path / "runs" / "small_model" / "figures").is_dir()
        assert not session.error
    finally:
        context.close()


@pytest.mark.thorough
@check_each("preset", SMALL)
def test_every_view_shows_a_loaded_run_and_text_stays_text(held: Callable[[str], Path], preset: str) -> None:
    """Markup of a model in a page would run in the reader's browser."""
    session = opened(held(preset))
    shown = seen(session)
    there = [view for view in views() if view.shows(shown.tables)]
    assert {view.TITLE for view in there} == SHOWN[preset]
    for view in there:
        box, _ = solara.render(view.View(shown), handle_error=False)
        assert box.children, view.TITLE
        if view.TITLE in ("Conversation", "Groups", "Deliberation"):
            assert ATTACK in texts(box)


@pytest.mark.thorough
def test_a_run_under_way_is_followed_its_agents_asked_and_stepped_into(tmp_path: Path, runs: RunRegistry) -> None:
    """What the page did to a run is in the command that its folder gives, and that command gives the same record."""
    settings = {"topic": "racism", "repetitions": "1", "rounds": "2", "llm": "oracle"}
    live = runs.start(load_preset("three_way").with_settings(settings), tuple(settings))
    session = Session()
    session.open(str(live.folder))

    @solara.component
    def Both() -> None:
        RunHeader(session, lambda place: None)
        Views(session)

    box, found = solara.render(Both(), handle_error=False)
    try:
        session.step()
        until(lambda: live.phase == "paused")
        session.seen.set(session.version)
        assert "Paused after round 1 of 2. 9 of 15 replies." in texts(box)
        session.interview(1, "Why?")
        session.step_in({"kind": "message", "by": "Ann", "text": "Think of 'the' cost."})
        until(lambda: len(session.interviews) == len(session.interventions) == 1)
        session.play()
        until(lambda: live.phase == "done")
        until(lambda: session.tables is not None and session.tables.finished)  # read after the phase
        session.seen.set(session.version)
        tabs = DEBATES - {"Attitudes", "Conversation"}  # those are seen together in the first one
        assert len(found.find(ipyvuetify.Tab).widgets) == len(tabs)
        folder = live.folder
    finally:
        session.stop()
    live.join(60)
    assert (folder / "summary.md").exists()
    assert live.problem == ""
    record = (folder / RECORD).read_bytes()
    header = from_line(record.decode().split("\n")[0])
    assert isinstance(header, Header)
    again = rerun_command(header)
    assert again is not None
    assert run.main([*shlex.split(again)[2:], "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / RECORD).read_bytes() == record


def test_what_cannot_be_run_or_opened_is_told(tmp_path: Path) -> None:
    session = Session()
    assert "rounds is 'many', but must be a whole number" in plan_of(draft_of("three_way", {"rounds": "many"})).problem
    assert plan_of(draft_of("three_way", {"topic": ""})).problem == "choose at least one topic"
    session.open(str(tmp_path / "none"))
    assert not session.is_run
    session.interview(1, "Hello?")
    assert "cannot answer questions" in session.error
    session.step_in({"kind": "mute"})
    assert "cannot be changed" in session.error


def test_the_words_of_a_value_are_those_of_its_field() -> None:
    """One value means other things in two fields: `given` is an order of answers here, and text as it is written there."""
    choices = {
        field.name: dict(field.choices)
        for name in ("echo_chamber", "herding", "consensus")
        for field in fields_of(load_preset(name))
    }
    assert all(set(words) <= set(choices[field]) for field, words in VALUES.items())
    assert (choices["listing"]["given"], choices["steering"]["given"]) == ("low to high", "as written")
    assert choices["spacing"] == {} or "low to high" not in choices["spacing"].values()


@check_each("preset", preset_names())
def test_every_field_of_a_preset_is_a_control_with_the_presets_value(preset: str) -> None:
    """A control that shows another value than the run will have would be a lie; what is not touched is not set."""
    scenario = load_preset(preset)
    known = fields_of(scenario)
    given = {one.name: one.value for one in known}
    assert changed(known, given) == {}
    lists = {name: told for name, told in given.items() if name not in ("llms", "seats", "order")}
    assert scenario.with_settings(lists).to_dict()["topic"] == scenario.to_dict()["topic"]
    assert changed(known, {"rounds": "7"}) == ({"rounds": "7"} if given["rounds"] != "7" else {})
    assert all(one.label and one.about for one in known if matters(one, scenario))


def test_every_field_says_what_it_is() -> None:
    told = {name: text for kind in (Scenario, *BLOCKS.values()) for name, text in field_comments(kind).items()}
    assert told["frame"] == "the word for the event in all prompts: debate, conversation"
    assert told["questions"].startswith("questions instead of topics")
    assert told["max_tokens"] == "most tokens of a reply"


def test_the_address_and_the_form_choose_the_same_run() -> None:
    """An address that named a scenario used to give another model and another size than the form."""
    assert wanted("scenario=three_way") == draft_of("three_way")
    draft = wanted("scenario=echo_chamber&rounds=2&llm=oracle%2Ckappa%3D0")
    assert draft is not None
    assert settings_of(draft) == {"rounds": "2", "llm": "oracle,kappa=0", "repetitions": "5"}
    network_draft = wanted("scenario=network&reference=")
    assert network_draft is not None
    assert settings_of(network_draft) == {"reference": "", "llm": "oracle"}
    assert wanted("") is None
    assert wanted("run=runs/a") is None


@check_each("preset", preset_names())
def test_the_form_of_every_scenario_can_start(preset: str) -> None:
    """A gallery with a scenario that its own button cannot start would be a dead end."""
    assert (settings_of(draft_of(preset)).keys()) <= {"llm", "repetitions"}
    draft = draft_of(preset)
    assert not model_problem(scenario_of_draft(draft))


def test_a_network_shows_who_was_heard_and_who_has_no_rating(held: Callable[[str], Path]) -> None:
    """On a ring everybody hears its two neighbours; before the debate nobody has heard anybody."""
    shown = seen(opened(held("network")))
    (one,) = populations(shown.tables)
    told = network.history(shown.tables, one)
    assert [len(used) for used in told["used"]] == [0, 16, 16]
    assert sorted([reader, author] for reader, author, _ in told["used"][2]) == sorted(told["links"][0])
    assert told["links"][1:] == [None, None]
    assert told["surveys"] == [0, 1, 2]
    assert [len(values) for values in told["attitudes"]] == [3] * 8
    moments = [at for _, _, at in told["used"][1]]
    assert moments == sorted(moments)
    assert set(moments) == {round(place / 9, 4) for place in range(1, 9)}


def test_a_layout_is_kept_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second server does not compute the layout of the same links again; a damaged file is no layout."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return network.np.full((100, 2), len(made), network.np.float32)

    ends = network.np.arange(99), network.np.arange(1, 100)
    first = _layouts.kept_layout(100, *ends, make)
    assert (_layouts.kept_layout(100, *ends, make) == first).all()
    _layouts.kept_layout(100, ends[1], ends[0], make)
    assert len(made) == 2
    for file in _layouts.folder().iterdir():
        file.write_bytes(b"no layout")
    _layouts.kept_layout(100, *ends, make)
    assert len(made) == 3


def test_linked_people_are_drawn_near_each_other() -> None:
    """Two rings of ten without a link between them: their own people are nearer, and nobody is off the picture."""
    ring = [(a, (a + 1) % 10) for a in range(10)]
    pairs = network.np.array(ring + [(a + 10, b + 10) for a, b in ring])
    at = layout(20, pairs[:, 0], pairs[:, 1])
    assert at.min() >= 0
    assert at.max() <= 1
    linked = network.np.linalg.norm(at[pairs[:, 0]] - at[pairs[:, 1]], axis=1).mean()
    everybody = network.np.linalg.norm(at[:, None] - at[None], axis=2)
    assert linked < everybody[:10, 10:].mean() / 2
    assert (layout(20, pairs[:, 0], pairs[:, 1]) == at).all()


def test_a_layout_is_the_same_on_every_number_of_processors() -> None:
    """The figure of a network is the same file on every machine: no matrix product, whose digits depend on its threads."""
    code = (
        "import hashlib, numpy as np\nfrom parley.analysis.network_plot import layout\n"
        "ends = np.random.default_rng(1).integers(0, 600, (3000, 2))\n"
        "print(hashlib.sha256(layout(600, ends[:, 0], ends[:, 1]).tobytes()).hexdigest())"
    )
    threads = [dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count) for count in ("1", "2")]
    made = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **one}, text=True, capture_output=True, check=True
        ).stdout
        for one in threads
    }
    assert len(made) == 1


def test_export_opens_before_its_lists_are_there(held: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening Export waits for no table, figure or zip: they are listed beside it, and made when a button is pressed."""
    shown, listing = seen(opened(held("three_way"))), threading.Event()
    listed = export.tables_of
    monkeypatch.setattr(export, "tables_of", lambda shown: (listing.wait(20), listed(shown))[1])
    monkeypatch.setattr(export, "zip_of", lambda *_: pytest.fail("a zip without a button"))
    monkeypatch.setattr(export, "painted", lambda *_: pytest.fail("a figure without a button"))
    box, context = solara.render(export.View(shown), handle_error=False)
    try:
        assert export.LISTING in texts(box)
        listing.set()
        until(lambda: export.LISTING not in texts(box))
    finally:
        context.close()


@pytest.mark.thorough
def test_exports_are_those_of_a_report(held: Callable[[str], Path]) -> None:
    """A table from the page and one from a report of the same run must not differ."""
    from parley.analysis.run_report import write_report

    for preset in ("three_way", "consensus"):
        folder = held(preset)
        shown = seen(opened(folder))
        write_report(folder)
        assert export.text(shown) == (folder / "transcript.md").read_text(encoding="utf-8")
        for kind in ("csv", "parquet"):
            for name, make in export.tables_of(shown).items():
                path = folder / "tables" / f"{name}.{kind}"
                assert not path.exists() or export.table_file(make(), kind) == path.read_bytes(), name
        written = {path.stem for path in (folder / "tables").glob("*.csv")}
        assert written - set(export.tables_of(shown)) == {"summaries"}, "a table without rows"
        main, draw = next(iter(export.figures_of(shown.tables, folder).items()))
        assert export.painted(draw, "png") == (folder / "figures" / f"{main}.png").read_bytes()


def luminance(color: str) -> float:
    """Relative luminance by WCAG 2.2."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def lifted(color: str, share: float) -> str:
    """A colour with a share of white, as color-mix in sRGB makes it."""
    parts = [int(color[place : place + 2], 16) for place in (1, 3, 5)]
    return "#" + "".join(f"{round(part + share * (255 - part)):02x}" for part in parts)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_marks_stand_out_from_what_they_stand_on(scheme: str) -> None:
    """WCAG 2.2 AA: 4.5 for text, 3 for lines that tell something (focus, parties, borders of controls)."""
    (block,) = re.findall(rf"(?m)^[^{{\n]*\.theme--{scheme} {{([^}}]*)}}", STYLE.read_text(encoding="utf-8"))
    colors = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
    for ground in ("paper", "note"):
        for text in ("ink", "soft", "accent"):
            assert contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
        for line in ("line", "default", "outside"):
            assert contrast(colors[line], colors[ground]) >= 3, (line, ground)
        for name in society_names():
            for party, one in load_society(name).parties.items():
                edge = lifted(one.colour, int(re.findall(r"--lift: (\d+)%", block)[0]) / 100)
                assert contrast(edge, colors[ground]) >= (3 if name == "us" else 2.3), (name, party, ground)
    assert contrast(colors["on-accent"], colors["accent"]) >= 4.5
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
