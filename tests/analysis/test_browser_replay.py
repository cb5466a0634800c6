"""Replay in a real browser: the clock, its keys, what follows it, and what a live run is waiting for."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlparse

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PAYLOADS, Server, Visit, browser, needs_chromium, stepped, trusting, visits  # noqa: F401
from loopback import Act, Body, Loopback, echo
from playwright.sync_api import Page, expect

from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.events import Seated, Utterance
from parley.model.files import PARTIAL
from parley.model.recorder import from_line
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

pytestmark = needs_chromium
PEOPLE = int(os.environ.get("PARLEY_PEOPLE", "60"))
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "debate": ("three_way", {"topic": "racism", "repetitions": 1, "rounds": 3, "llm": "oracle"}),
    "many": ("three_way", {"repetitions": 40, "rounds": 6, "llm": "oracle"}),
    "ring": (
        "network",
        {"size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2", "reference": "", "llm": "oracle"},
    ),
    "crowd": ("network", {"size": PEOPLE, "repetitions": 1, "rounds": 2, "reference": "", "llm": "oracle"}),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs, and one whose lines are attacks and whose ratings are missing in part."""
    folder = tmp_path_factory.mktemp("home")
    for name, (preset, settings) in RUNS.items():
        scenario = load_preset(preset).with_settings(settings)
        run_scenario(RunSpec(scenario, folder / "runs" / name, tuple(settings)))
    few = {"topic": "racism", "repetitions": 1, "rounds": 2}
    backend = Fake(partly)
    run_scenario(
        RunSpec(load_preset("three_way").with_settings(few), folder / "runs" / "attack", tuple(few)), backend=backend
    )
    return folder


def partly(request: Request) -> str:
    """An attack; of a survey the first answer, or nothing that can be read."""
    return PAYLOADS[1] if not request.answers or request.seed % 3 == 0 else request.answers[0]


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


def clock(page: Page) -> float:
    """The moment that the page shows."""
    return float(page.evaluate("window.parleyClock.at"))


def at(page: Page, moment: float) -> None:
    """Wait until the page shows a moment."""
    page.wait_for_function("moment => window.parleyClock && window.parleyClock.at === moment", arg=moment)


def shown_lines(panel: Any) -> int:
    """The lines of agents that the conversation shows."""
    return int(panel.locator(".conversation .turn").count())


@pytest.mark.thorough
def test_keys_move_the_conversation_and_never_act_in_a_field(visits: Callable[..., Visit]) -> None:
    """Arrows, Home, End and the space bar; a reader who types a space into the search does not start the replay."""
    visit = visits()
    page = visit.load("debate")
    panel = visit.view("Conversation")
    panel.locator(".turn").nth(8).wait_for()
    page.evaluate("document.activeElement.blur()")
    for key, moment, lines in (("ArrowLeft", 2, 6), ("Home", 0, 0), ("ArrowRight", 1, 3), ("End", 3, 9)):
        page.keyboard.press(key)
        at(page, moment)
        expect(panel.locator(".turn")).to_have_count(lines)
    search = panel.get_by_label("Search")
    search.focus()
    for key in ("Space", "ArrowLeft", "Home"):
        page.keyboard.press(key)
    assert clock(page) == 3
    assert not page.evaluate("window.parleyClock.playing")
    assert search.input_value() == " "


def test_the_space_bar_plays_line_by_line_and_pauses(visits: Callable[..., Visit]) -> None:
    """A replay of a finished run begins before the debate, shows lines within a round, and ends at the end."""
    visit = visits()
    page = visit.load("debate")
    panel = visit.view("Conversation")
    panel.locator(".turn").nth(8).wait_for()
    page.evaluate(
        """window.seen = new Set(); addEventListener('parley-clock', () => setTimeout(() =>
           window.seen.add(document.querySelectorAll('.conversation .turn').length), 0))"""
    )
    page.get_by_label("Speed of the replay").select_option("8")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    at(page, 3)
    page.wait_for_function("!window.parleyClock.playing")
    seen = set(page.evaluate("[...window.seen]"))
    assert 9 in seen
    assert seen - {0, 3, 6, 9}  # not round by round
    box = panel.get_by_role("log")
    page.wait_for_function(
        """() => { const box = document.querySelector('.conversation');
           return box.scrollHeight - box.scrollTop - box.clientHeight < 40; }"""
    )
    assert box.is_visible()
    page.get_by_label("Speed of the replay").select_option("0.25")
    visit.press("Replay")
    page.wait_for_function("window.parleyClock.at > 0 && window.parleyClock.at < 1")
    visit.press("Pause replay")
    now = clock(page)
    assert 0 < now < 1
    page.keyboard.press("ArrowRight")
    at(page, 1)


def test_a_replay_asks_the_server_for_nothing_but_the_round(visits: Callable[..., Visit]) -> None:
    """480 agents: a step is under 100 ms on a quiet machine (printed), and sends less than a kilobyte per step to the browser."""
    visit = visits()
    page = visit.load("many")
    visit.view("Attitudes").locator(".canvas[data-round='6'] svg").wait_for()
    received: list[int] = []
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.on("Network.webSocketFrameReceived", lambda frame: received.append(len(frame["response"]["payloadData"])))
    slider = page.get_by_role("slider", name="Up to round")
    slider.focus()
    times = [
        stepped(page, key, to) for key, to in [("ArrowLeft", 5), ("ArrowLeft", 4), ("ArrowRight", 5), ("End", 6)] * 5
    ]
    sys.stdout.write(f"slider step: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms\n")
    assert statistics.median(times) < 1000  # a machine with many programs; the figure of a quiet one is in tools/log
    assert sum(received) / len(times) < 20_000
    page.wait_for_function("document.querySelector('.chart').getAttribute('aria-label').includes('after round 6')")
    assert page.get_by_role("slider", name="Up to round").get_attribute("aria-valuetext") == "After round 6 of 6"


def test_the_round_reaches_the_tables_when_the_reader_rests(visits: Callable[..., Visit]) -> None:
    """Tables come from the server: they follow the clock a moment later, and a reload of the view keeps the round."""
    visit = visits()
    page = visit.load("debate")
    page.get_by_role("slider", name="Up to round").focus()
    page.keyboard.press("Home")
    rows = visit.view("Surveys").locator("tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_role("slider", name="Up to round").focus()
    page.keyboard.press("End")
    expect(rows).to_have_count(12)


def test_links_of_a_network_light_up_turn_by_turn(visits: Callable[..., Visit]) -> None:
    """On a ring of eight each turn is heard by two; the links of the latest turn are drawn on their own."""
    visit = visits()
    page = visit.load("ring")
    panel = visit.view("Network")
    panel.locator("g .node").nth(7).wait_for()
    before, latest = panel.locator("path.used").first, panel.locator("path.used.latest")
    assert drawn(before) == 16
    assert drawn(latest) == 0
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    page.wait_for_function("document.querySelector('.network path.used').getAttribute('d') === ''")
    page.get_by_label("Speed of the replay").select_option("0.25")
    visit.press("Replay")
    page.wait_for_function("window.parleyClock.at > 4 / 9")
    visit.press("Pause replay")
    turns = int(clock(page) * 9 + 1e-6)
    assert drawn(latest) == 2
    assert drawn(before) == 2 * (turns - 1)
    first = panel.locator("g .node").first.get_attribute("fill")
    page.keyboard.press("End")
    at(page, 2)
    fills = {panel.locator("g .node").nth(place).get_attribute("fill") for place in range(8)}
    assert first
    assert None not in fills
    assert "after round 2" in (panel.get_by_role("application").get_attribute("aria-label") or "")


def drawn(path: Any) -> int:
    """The number of links of a path."""
    return int((path.get_attribute("d") or "").count("M"))


def test_the_wheel_scrolls_the_page_and_not_the_network(visits: Callable[..., Visit]) -> None:
    """A map that catches the wheel or the finger is a trap on a small screen."""
    visit = visits(viewport={"width": 390, "height": 844}, has_touch=True)
    page = visit.load("ring")
    panel = visit.view("Network")
    panel.locator("g .node").nth(7).wait_for()
    drawing = panel.get_by_role("application")
    drawing.scroll_into_view_if_needed()
    drawing.hover()
    top = page.evaluate("scrollY || document.scrollingElement.scrollTop")
    page.mouse.wheel(0, -150)
    whole = "-20 -20 1040 740"
    assert drawing.get_attribute("viewBox") == whole
    assert drawing.evaluate("map => getComputedStyle(map).touchAction") == "pan-y"
    if top > 0:
        page.wait_for_function("top => scrollY < top", arg=top)
    drawing.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -150)
    page.wait_for_function(
        "whole => document.querySelector('.network > svg').getAttribute('viewBox') !== whole", arg=whole
    )
    page.keyboard.up("Control")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_crowd_opens_and_steps(visits: Callable[..., Visit]) -> None:
    """Times for PARLEY_PEOPLE agents are printed (bar: 2 s each for 1,000)."""
    visit = visits()
    page = visit.load("crowd")
    began = time.perf_counter()
    panel = visit.view("Network")
    panel.locator("g .node").nth(PEOPLE - 1).wait_for()
    opening, times = time.perf_counter() - began, []
    page.get_by_role("slider", name="Up to round").focus()
    for key, to in [("ArrowLeft", 1), ("ArrowRight", 2)] * 3:
        began = time.perf_counter()
        page.keyboard.press(key)
        page.get_by_role("application", name=f"after round {to}").wait_for()
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        times.append(time.perf_counter() - began)
    sys.stdout.write(f"network of {PEOPLE}: opens in {opening:.2f} s, a step {statistics.median(times):.2f} s\n")


def test_missing_ratings_are_stated_in_the_distribution(visits: Callable[..., Visit], home: Path) -> None:
    """A histogram of what is there looks complete when half of the ratings are missing."""
    visit = visits()
    visit.load("attack")
    panel = visit.view("Distribution")
    panel.locator(".canvas[data-round] svg").wait_for()
    assert re.search(r"\d missing", " ".join(panel.locator("svg text").all_text_contents()))
    assert panel.locator("img[src^='http']").count() == 0


@pytest.mark.thorough
def test_a_slow_model_is_waited_for_by_name_and_its_lines_come_one_by_one(
    visits: Callable[..., Visit], tmp_path: Path
) -> None:
    """One of two rooms gets no reply: the lines of the other room are there before the round ends. The page names the agent."""
    asked: list[Body] = []

    def plan(body: Body, time: int) -> Act:
        text = str(body)
        if "racism" not in text.lower():  # what the server can do is tested before
            return echo(body, time)
        asked.append(body)
        return Act(hang=True) if len(asked) == 2 else echo(body, time)

    with Loopback(plan) as server, trusting(tmp_path, "--trust", urlparse(server.url).netloc) as address:
        visit = visits()
        visit.enter(address)
        page = visit.open(
            "?scenario=three_way&topic=racism&repetitions=2&rounds=2&survey=never&reference=&llm="
            + quote(f"openai:echo,base_url={server.url}")
        )
        visit.planned()
        plan = page.locator(".plan")
        with_check = plan.inner_text()
        page.get_by_label("Check this model first").uncheck()
        expect(plan).not_to_have_text(with_check)  # the question before the start names the replies of the plan
        visit.planned()
        visit.press("Start a new run")
        page.get_by_role("alertdialog").get_by_role("button").first.click()
        folder = visit.folder()
        waiting = page.locator(".waiting [role=status]")
        expect(waiting).to_have_text(re.compile(r"Waiting for (?!the model).+, [3-9] s\."), timeout=60_000)
        slow = re.search(r"Waiting for (.+), \d+ s", waiting.inner_text())
        assert slow
        events = [from_line(line) for line in (tmp_path / folder / PARTIAL).read_text().splitlines()]
        seats = [event for event in events if isinstance(event, Seated)]
        assert not any(isinstance(event, Utterance) for event in events)
        stuck = {seat.room for seat in seats if seat.name == slow[1]}
        panel = visit.view("Conversation")
        if "0" in {room.rpartition("/")[2] for room in stuck}:
            visit.choose("Room", "room 2")
        expect(panel.locator(".turn")).to_have_count(3)
        panel.get_by_text("Round 1, under way").wait_for()
        visit.press("Stop")
        page.close()
