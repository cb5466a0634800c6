"""The charts of the page in headless Chromium: values under the pointer, the legend, flags, dark mode, files, and the slider.

A small page of the test's own shows one view of a run whose texts are attacks; nothing may leave this machine.
"""

from __future__ import annotations

import itertools
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PATIENCE, Visit, browser, needs_chromium, stepped, visits  # noqa: F401
from playwright.sync_api import Locator, Page

from parley.analysis.tables import load
from parley.analysis.views.attitudes import attitude_chart
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

ROOT = Path(__file__).parents[2]
TURN = "\u202e"
ATTACK = f'<img src="http://evil.example/x.png" onerror="alert(1)">{TURN}evil <script>alert(1)</script>'
APP = """
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs
sys.path.insert(0, ROOT)
import run
import solara
from parley.analysis.tables import tables
from parley.model.scenario_run import record_of
from parley.analysis.views import _session, views
from parley.analysis.views._session import Shown
from parley.model.recorder import read_lines
from solara.server import settings

settings.main.mode = "production"
VIEWS = Path(ROOT) / "analysis" / "views"
_session.RUNS = Path("runs")


@solara.component_vue(str(VIEWS / "scheme.vue"))
def Scheme():
    pass


@solara.component
def Page():
    query = parse_qs(solara.use_router().search or "")
    folder, title = Path(query["run"][0]), query["view"][0]
    part, last = solara.use_reactive(float(query.get("part", ["1"])[0])), solara.use_reactive(-1)
    events = solara.use_memo(lambda: list(read_lines(record_of(folder))), [])
    shown = solara.use_memo(lambda: tables(events[: int(len(events) * part.value)]), [part.value])
    rounds = int(max(shown.attitudes["round"]))
    solara.Style(VIEWS / "style.css")
    Scheme()
    round_ = rounds if last.value < 0 else min(last.value, rounds)
    solara.SliderInt("Up to round", value=round_, min=0, max=rounds, on_value=last.set)
    solara.Button("More", lambda: part.set(1.0))
    view = next(view for view in views() if view.TITLE == title)
    view.View(Shown(shown, round_, SimpleNamespace(folder=folder, phase="", look_at=print), events))
"""
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs: many (480 agents, 6 rounds), and attack (every line and the message of a user are attacks)."""
    folder, replies = tmp_path_factory.mktemp("home"), itertools.cycle([ATTACK])
    many = {"llm": "oracle", "repetitions": 40, "rounds": 6}
    run_scenario(RunSpec(load_preset("three_way").with_settings(many), folder / "runs" / "many", tuple(many)))
    texts = [{"kind": "message", "round": 2, "by": "Ann", "text": text} for text in (ATTACK, "Think of the cost.")]
    acts = [*texts, {"kind": "mute", "round": 3, "to": "republican"}]
    few = {"topic": "racism", "repetitions": 1, "rounds": 3, "interventions": acts}
    backend = Fake(lambda request: number(request) if request.answers else next(replies))
    run_scenario(
        RunSpec(load_preset("three_way").with_settings(few), folder / "runs" / "attack", tuple(few)), backend=backend
    )
    ring = {"llm": "oracle", "size": 8, "repetitions": 1, "rounds": 1, "graph": "ring,degree=2", "reference": ""}
    run_scenario(RunSpec(load_preset("network").with_settings(ring), folder / "runs" / "ring", tuple(ring)))
    (folder / "app.py").write_text(APP.replace("ROOT", repr(str(ROOT))), encoding="utf-8")
    return folder


def number(request: Request) -> str:
    """The fourth answer that is allowed."""
    return request.answers[min(3, len(request.answers) - 1)]


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-open", "--production", "--no-check-version"]
    command = [sys.executable, "-m", "solara", "run", "app.py", *options]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/readyz")
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            server.wait(20)


def wait_for(address: str) -> None:
    """Ask until the server answers."""
    until = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(address, timeout=5)
        except (URLError, ConnectionError, TimeoutError):
            continue
        return
    raise AssertionError("the server does not answer")


@pytest.fixture
def chart(visits: Callable[..., Visit], address: str) -> Callable[..., Locator]:  # noqa: F811
    """Open a view of a run and wait for its chart."""

    def open_(run: str, view: str, width: int = 1280, query: str = "", **options: Any) -> Locator:
        page: Page = visits(viewport={"width": width, "height": 900}, **options).page
        page.goto(f"{address}?run=runs/{run}&view={view}{query}")
        if view == "Compare":
            page.get_by_label("Compare with runs/attack").check()
        page.locator(".chart .canvas[data-round] svg").wait_for()
        return page.locator(".chart")

    return open_


@pytest.fixture
def network(visits: Callable[..., Visit], address: str) -> Page:  # noqa: F811
    page: Page = visits().page
    page.goto(f"{address}?run=runs/ring&view=Network")
    page.locator(".network g .node").nth(7).wait_for()
    return page


def point(chart: Locator, round_: float, value: float, panel: int = 0) -> None:
    """Move the pointer to a place in a panel, by the chart's own coordinates."""
    x, y = chart.locator(".canvas").evaluate(
        """async (box, [panel, at]) => {
          const library = await window.parleyCharts, board = library.getInstanceByDom(box), rect = box.getBoundingClientRect();
          const [x, y] = board.convertToPixel({xAxisIndex: panel, yAxisIndex: panel}, at);
          return [rect.left + x, rect.top + y];
        }""",
        [panel, [round_, value]],
    )
    chart.page.mouse.move(x - 2, y)
    chart.page.mouse.move(x, y)


def words(chart: Locator) -> str:
    return " ".join(chart.locator("svg text").all_text_contents())


@pytest.mark.thorough
def test_pointing_at_a_round_shows_the_values_of_all_parties(chart: Callable[..., Locator], home: Path) -> None:
    """The numbers under the pointer are those that were computed, with their interval."""
    shown = chart("many", "Attitudes")
    point(shown, 3, 5)
    tip = shown.page.locator(".tip")
    tip.get_by_text("after round 3").wait_for()
    panel = attitude_chart(load(home / "runs" / "many"), "x").panels[0]
    for line, name in zip(panel.lines, ("Republican", "Democrat", "Default"), strict=True):
        mean, low, high = line.means[3]
        assert f"{name}: {mean:.2f} ({low:.2f} to {high:.2f})" in tip.inner_text()


def test_the_legend_hides_a_party_and_the_rooms(chart: Callable[..., Locator]) -> None:
    """With the keyboard; the lines, the values under the pointer and the table follow."""
    shown = chart("many", "Attitudes")
    page, lines = shown.page, shown.locator("svg path[fill=none]")
    before = lines.count()
    shown.get_by_role("button", name="Democrat").press("Enter")
    page.wait_for_function(
        "many => document.querySelectorAll('.chart .canvas svg path[fill=none]').length < many", arg=before
    )
    assert shown.get_by_role("button", name="Democrat").get_attribute("aria-pressed") == "false"
    point(shown, 2, 5)
    page.locator(".tip").get_by_text("after round 2").wait_for()
    assert "Democrat" not in page.locator(".tip").inner_text()
    shown.locator("summary").click()
    table = shown.get_by_role("region", name="Values of the chart")
    table.locator("tbody tr").first.wait_for()
    assert table.locator("tbody tr").count() == 4 * 2 * 7
    assert "\tDemocrat\t" not in table.inner_text()
    now = lines.count()
    shown.get_by_role("button", name="Single rooms").click()
    page.wait_for_function(
        "many => document.querySelectorAll('.chart .canvas svg path[fill=none]').length < many", arg=now
    )


def test_flags_show_every_text_as_text(chart: Callable[..., Locator]) -> None:
    """Two messages before one round are two lines; markup stays text, and no sign turns the line round."""
    shown = chart("attack", "Attitudes")
    listed = shown.get_by_role("list", name="Interventions").get_by_role("listitem").all_inner_texts()
    assert len(listed) == 3
    assert sum(text.startswith("Before round 2: Ann, to all agents: ") for text in listed) == 2
    point(shown, 2, 5)
    tip = shown.page.locator(".tip")
    tip.get_by_text("Before this round").first.wait_for()
    said = tip.inner_text()
    assert '<img src="http://evil.example/x.png" onerror="alert(1)">' in said
    assert "Think of the cost." in said
    assert TURN not in shown.inner_text() + said
    assert shown.page.locator(".chart img, .tip img, .tip script, .chart iframe").count() == 0
    shown.get_by_role("button", name="Interventions").click()
    shown.get_by_role("list", name="Interventions").wait_for(state="detached")


def test_a_distribution_has_one_scale_with_counts(chart: Callable[..., Locator]) -> None:
    """All small charts have the same height of counts: 40 ratings at one point reach twice as high as 20."""
    shown = chart("many", "Distribution")
    scales = shown.locator(".canvas").evaluate(
        """async box => (await window.parleyCharts).getInstanceByDom(box).getOption().yAxis.map(axis => [axis.min, axis.max])"""
    )
    assert len(scales) == 3 * 7
    assert {tuple(scale) for scale in scales} == {(0, 40)}
    assert all(word in words(shown) for word in ("40", "Before", "Round 6"))


@pytest.mark.parametrize(("scheme", "ink"), [("light", "rgb(27, 27, 31)"), ("dark", "rgb(236, 236, 241)")])
def test_dark_follows_the_browser(chart: Callable[..., Locator], scheme: str, ink: str) -> None:
    """The title of a panel has the colour of the page's text."""
    chart("attack", "Attitudes", color_scheme=scheme).page.wait_for_function(
        "ink => [...document.querySelectorAll('.chart svg text')].some(text => getComputedStyle(text).fill === ink)",
        arg=ink,
    )


def test_files_of_what_is_shown(chart: Callable[..., Locator]) -> None:
    """PNG, SVG with the caption and no script, CSV of the parties and rounds that are shown."""
    shown, heads = chart("attack", "Attitudes"), {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b'\xef\xbb\xbf"topic"'}
    files = {}
    for kind, head in heads.items():
        with shown.page.expect_download() as caught:
            shown.get_by_role("button", name=f"Save {kind}").click()
        assert caught.value.suggested_filename == f"attack-attitudes-round-3.{kind.lower()}"
        files[kind] = caught.value.path().read_bytes()
        assert files[kind].startswith(head), kind
    assert b"bars are 95% intervals" in files["SVG"]
    assert b"<script" not in files["SVG"]
    assert len(files["CSV"].decode("utf-8-sig").splitlines()) == 1 + 3 * 4


def test_two_runs_are_overlaid(chart: Callable[..., Locator]) -> None:
    shown = chart("many", "Compare")
    assert shown.get_by_role("button", name="Republican, attack").count() == 1
    point(shown, 1, 5, panel=0)
    shown.page.locator(".tip").get_by_text("Republican, many").wait_for()
    assert "Republican, attack" in shown.page.locator(".tip").inner_text()


def test_new_rounds_are_added_to_the_chart_that_is_there(chart: Callable[..., Locator]) -> None:
    """A chart that is made anew at each new number would flicker and lose what the reader switched off."""
    shown = chart("many", "Attitudes", query="&part=0.5")
    canvas = shown.locator(".canvas")
    before = canvas.get_attribute("data-round")
    shown.get_by_role("button", name="Default", exact=True).click()
    canvas.evaluate("box => { box.querySelector('svg').mark = true; }")
    shown.page.get_by_role("button", name="More").click()
    shown.page.locator(".canvas[data-round='6']").wait_for()
    assert before != "6"
    assert canvas.evaluate("box => box.querySelector('svg').mark")
    assert shown.get_by_role("button", name="Default", exact=True).get_attribute("aria-pressed") == "false"


@pytest.mark.parametrize("view", ["Attitudes", "Distribution"])
def test_on_a_phone_nothing_sticks_out(chart: Callable[..., Locator], view: str) -> None:
    shown = chart("many", view, width=390)
    assert shown.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert shown.locator("svg").first.bounding_box()["width"] <= 390  # type: ignore[index]


def test_the_slider_moves_the_chart_without_sending_it_again(chart: Callable[..., Locator]) -> None:
    """480 agents and 6 rounds: the run's numbers go to the browser once. The times are printed (bar: 100 ms)."""
    page, sent = chart("many", "Attitudes").page, []
    slider = page.get_by_role("slider").first
    slider.focus()
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.on("Network.webSocketFrameReceived", lambda frame: sent.append(len(frame["response"]["payloadData"])))
    times = []
    for key, to in [("ArrowLeft", 5), ("ArrowLeft", 4), ("ArrowRight", 5), ("ArrowRight", 6)] * 4:
        times.append(stepped(page, key, to))
    sys.stdout.write(f"slider: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms\n")
    assert sum(sent) / len(times) < 20_000


@pytest.mark.thorough
def test_a_network_is_searched_zoomed_and_shows_neighbours(network: Page) -> None:
    """On a ring of eight everybody has two neighbours; the search goes to an agent and says when there is none."""
    panel = network.locator(".network")
    names = panel.locator(".about .name")
    panel.locator("g .node").nth(3).hover()
    first = names.inner_text()
    assert (panel.locator(".near").get_attribute("d") or "").count("M") == 2
    panel.locator("g .node").nth(5).hover()
    assert names.inner_text() != first
    panel.get_by_label("Find an agent").fill(first.lower())
    panel.get_by_text("1 found").wait_for()
    assert names.inner_text() == first
    whole = "-20 -20 1040 740"
    panel.get_by_role("button", name="Zoom in").click()
    network.wait_for_function(
        "whole => document.querySelector('.network > svg').getAttribute('viewBox') !== whole", arg=whole
    )
    panel.get_by_role("button", name="Whole network").click()
    network.wait_for_function(
        "whole => document.querySelector('.network > svg').getAttribute('viewBox') === whole", arg=whole
    )
    panel.get_by_label("Find an agent").fill("no such name")
    panel.get_by_text("No agent has this name").wait_for()
