"""The page for everyone, in a real browser: axe-core in every place, a phone's width, the keyboard alone, a quiet terminal."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
pytest.importorskip("axe_playwright_python", reason="the [browser] extra is not installed")
from axe_playwright_python.sync_playwright import Axe
from browsing import RUN, Server, Visit, browser, needs_chromium, visits  # noqa: F401
from playwright.sync_api import Browser, Page, expect

from parley.analysis.html_report import write
from parley.llm.backends.fake import Fake
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from tools.screens import STILL, whole_gallery

pytestmark = needs_chromium
RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism", "repetitions": 5, "rounds": 2, "llm": "oracle"},
    "echo_chamber": {"topic": "racism", "repetitions": 1, "rounds": 1, "llm": "oracle"},
    "network": {"size": 12, "repetitions": 1, "rounds": 2, "llm": "oracle"},
    "consensus": {"repetitions": 1, "llm": "oracle"},
    "intervention": {"topic": "racism", "repetitions": 1, "rounds": 4, "llm": "oracle"},
    "platform": {
        "topic": "racism",
        "size": 12,
        "repetitions": 1,
        "rounds": 6,
        "graph": "ring,degree=4",
        "llm": "oracle",
    },
    "herding": {"topic": "two_options", "repetitions": 5, "rounds": 2, "llm": "oracle"},
}
OWN = {"three_way": None, "echo_chamber": {"Groups"}, "network": {"What came out"}, "consensus": {"Deliberation", "Surveys"},
       "intervention": {"What came out"}, "platform": {"Feed", "Acts", "Cascades"},
       "herding": {"Choices", "What came out"}}  # fmt: skip
"""The views of a run that are looked at; None: all. The others look as those of the first run."""
OVERRIDE = "\u202e"
INNER = """() => [...document.querySelectorAll('.view *')].filter(one => one.scrollHeight > one.clientHeight + 1
  && !one.matches('.conversation') && /auto|scroll/.test(getComputedStyle(one).overflowY)).map(one => one.className)"""
"""What has a vertical scroll bar of its own; a conversation has one, so that its newest line is seen beside the chart."""
NAMELESS = """() => [...document.querySelectorAll('button, [role=button], input, select')]
  .filter(one => one.checkVisibility())
  .filter(one => !(one.textContent.trim() || one.ariaLabel || one.labels?.length || one.title)).map(one => one.outerHTML)"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    for preset, settings in RUNS.items():
        scenario = load_preset(preset).with_settings(settings)
        run_scenario(RunSpec(scenario, folder / "runs" / preset, tuple(settings)))
    population = ["population", "--law", "deffuant", "--agents", "300", "--steps", "5", "--out", "runs/people"]
    subprocess.run([sys.executable, str(RUN), *population], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("terminal") / "errors.txt"


@pytest.fixture(scope="module")
def address(home: Path, terminal: Path) -> Iterator[str]:
    server = Server(home, errors=terminal)
    yield server.address
    server.end()


def findings(page: Page) -> list[str]:
    """Return what axe-core finds serious or critical, and controls without a name."""
    result = Axe().run(page).response["violations"]
    worst = [found for found in result if found["impact"] in ("serious", "critical")]
    lines = [f"{found['id']}: {node['target']} {node['html'][:200]}" for found in worst for node in found["nodes"]]
    return lines + page.evaluate(NAMELESS)


def wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@pytest.mark.thorough
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])  # a visit takes a minute
def test_every_place_for_everyone(visits: Callable[..., Visit], scheme: str, width: int) -> None:
    """No serious finding of axe-core (contrast, names, roles), nothing wider than the window, one scroll bar beside a figure."""
    visit = visits(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, wrong = visit.page, dict[str, list[str]]()

    def look(place: str) -> None:
        page.wait_for_function(STILL)
        found = findings(page) + ["wider than the window"] * wide(page)
        if page.locator(".view .chart, .view .figure, .view .network").count():
            found += [f"scrolls in itself: {name}" for name in page.evaluate(INNER)]
        if found:
            wrong[place] = found

    for query in ("", "?scenario=network", "?runs", "?audit=oracle", "?run=runs/people", "?branch=runs/three_way"):
        visit.open(query)
        page.locator("h1").wait_for()
        if query.startswith("?scenario"):
            visit.planned()
            for fold in page.locator("summary").all():
                fold.click()
        look(query or "start")
    visit.open("")
    whole_gallery(page)
    look("gallery")
    visit.open("?scenario=three_way")
    visit.planned()
    page.get_by_label("Or ask a question of your own").fill("Should cities ban cars?")
    page.get_by_label("Or ask a question of your own").press("Enter")
    page.get_by_text("Save as a file to edit").wait_for()
    look("own topic")
    for run, only in OWN.items():
        visit.load(run)
        for title in sorted(visit.titles() if only is None else only):
            visit.view(title)
            if title == "Compare":
                page.get_by_label("Compare with runs/intervention").check()
                page.get_by_role("region", name="What differs").wait_for()
            if page.locator(".view .canvas").count():
                page.locator(".view .canvas > *").first.wait_for()
            look(f"{run}, {title}")
    assert wrong == {}


@pytest.mark.thorough
def test_a_report_is_for_everyone(home: Path, browser: Browser) -> None:
    """The file that is sent to a colleague, of two runs and of one, on a wide screen and on a phone in the dark."""
    runs = [home / "runs" / name for name in ("three_way", "echo_chamber")]
    for report in (write(runs, home / "both.html"), write(runs[:1], home / "one.html")):
        for look in (
            {"viewport": {"width": 1280, "height": 900}},
            {"viewport": {"width": 390, "height": 900}, "color_scheme": "dark"},
        ):
            page = browser.new_page(**look)
            page.goto(report.as_uri())
            page.evaluate("document.getAnimations().forEach(each => each.finish())")
            assert findings(page) == []
            assert not wide(page)
            page.close()


@pytest.mark.thorough
def test_the_chart_of_a_report_moves_once_and_again_when_it_is_asked(home: Path, browser: Browser) -> None:
    """A sheet covers the chart and moves aside; a reader who wants less motion sees the whole chart at once."""
    report = write([home / "runs" / "three_way"], home / "moves.html")
    covered, moving = (
        "document.querySelector('.sheet').getBoundingClientRect().width",
        "document.getAnimations().length",
    )
    page = browser.new_page()
    page.goto(report.as_uri())
    assert page.evaluate(moving) > 0
    page.evaluate("document.getAnimations().forEach(each => each.finish())")
    assert page.evaluate(covered) == 0
    page.get_by_text("Play again").click()
    assert page.evaluate(moving) > 0
    page.close()
    still = browser.new_page(reduced_motion="reduce")
    still.goto(report.as_uri())
    assert still.evaluate(moving) == 0
    assert still.evaluate(covered) == 0
    expect(still.get_by_text("Play again")).to_be_hidden()
    still.close()


def test_two_fingers_zoom_and_the_language_is_named(visits: Callable[..., Visit]) -> None:
    page = visits().open()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    zoom = page.locator("meta[name=viewport]").get_attribute("content") or ""
    assert "user-scalable" not in zoom
    assert "maximum-scale" not in zoom


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control with this name has the focus, and the focus is visible."""
    for _ in range(80):
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText")
        if here.strip() == name:
            outline = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
            assert outline >= 2, f"{name}: no visible focus"
            return
    raise AssertionError(f"Tab does not reach {name}")


def test_from_the_first_screen_to_a_finding_by_keyboard_alone(visits: Callable[..., Visit]) -> None:
    visit = visits()
    page = visit.page
    page.goto(visit.address.partition("?")[0])
    page.locator(".card").first.wait_for()
    tab_to(page, "Start A debate of two")
    page.keyboard.press("Enter")
    visit.status("Finished.")
    assert findings(page) == []
    page.get_by_role("log").wait_for()
    tab_to(page, "Distribution")
    page.keyboard.press("Enter")
    page.get_by_role("tabpanel", name="Distribution").locator(".chart").wait_for()


def test_a_sign_that_turns_text_round_turns_only_its_own(visits: Callable[..., Visit], home: Path) -> None:
    """U+202E in a line or a name must not turn what the page says after it."""
    settings = {"topic": "racism", "repetitions": 1, "rounds": 1}
    scenario = load_preset("three_way").with_settings(settings)
    backend = Fake(lambda request: request.answers[0] if request.answers else f"{OVERRIDE}evil vote")
    run_scenario(RunSpec(scenario, home / "runs" / "turned", tuple(settings)), backend=backend)
    visit = visits()
    visit.load("turned")
    panel = visit.view("Conversation")
    panel.get_by_text("evil vote").first.wait_for()
    kinds = panel.locator(".turn").evaluate_all(
        "lines => lines.flatMap(line => [...line.children].map(one => getComputedStyle(one).unicodeBidi))"
    )
    assert kinds
    assert set(kinds) == {"isolate"}


@pytest.mark.thorough
def test_a_visit_leaves_no_warning_in_the_terminal(visits: Callable[..., Visit], terminal: Path) -> None:
    """Twelve lines of a Python warning at every visit hide the one that matters. Runs last, after all visits above."""
    visit = visits()
    visit.load("three_way")
    visit.page.reload()
    visit.status("Finished.")
    assert terminal.read_text(encoding="utf-8") == ""
