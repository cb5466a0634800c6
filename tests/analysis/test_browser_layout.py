"""What one sees: the screens of tools/screens.py by rules, and conversation, chart and network of a run together."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import Server, Visit, browser, needs_chromium, visits  # noqa: F401
from playwright.sync_api import Page, expect

from tools.screens import PLACES, drawn, make_runs, replayed, still

pytestmark = needs_chromium
WIDE = {"viewport": {"width": 1440, "height": 900}}
RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism,climate_change", "repetitions": 5, "rounds": 5},
    "network": {"size": 16, "repetitions": 1, "rounds": 2, "reference": ""},
    "stages": {
        "repetitions": 1,
        "size": 12,
        "topology": "rooms,size=4 [rounds=1] > mediated,size=4 [rounds=1]",
        "rounds": 2,
    },
    "consensus": {"repetitions": 1, "episodes": 1},
    "intervention": {"topic": "racism", "repetitions": 2, "rounds": 4},
    "platform": {"topic": "racism", "size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2"},
    "herding": {"topic": "two_options", "repetitions": 2, "rounds": 2},
}
USED = """() => {
  const written = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const marks = [...document.querySelectorAll('.page *')].filter(one => one.checkVisibility() && !one.closest('.quiet')
    && (/^(svg|IMG|INPUT|SELECT|TEXTAREA|BUTTON|TH|TD)$/.test(one.tagName) || written(one)));
  const boxes = marks.map(one => one.getBoundingClientRect()).filter(box => box.width > 0);
  return (Math.max(...boxes.map(box => box.right)) - Math.min(...boxes.map(box => box.left))) / innerWidth;
}"""
"""The share of the width that is used by what can be seen."""
CUT = """() => {
  const written = one => [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  const cut = one => one.clientWidth && one.scrollWidth > one.clientWidth + 1
    && /hidden|clip/.test(getComputedStyle(one).overflowX)
    && getComputedStyle(one).textOverflow !== 'ellipsis';
  return [...document.querySelectorAll('.top *, .page *')].filter(one => one.checkVisibility() && !one.closest('.quiet, svg')
    && written(one) && cut(one)).map(one => one.textContent.trim());
}"""
"""Texts that are cut, and neither end in three dots nor scroll."""
WRITTEN = """() => [...document.querySelectorAll('.page *:not(pre):not(code)')].filter(one => one.checkVisibility())
  .flatMap(one => [...one.childNodes].filter(node => node.nodeType === 3).map(node => node.data)).join(' ')"""
"""What can be read, without commands."""
TYPED = {"small_world", "scale_free"}
"""Names that a user types into the form."""
SLUG = re.compile(r"(?<![\w/.-])[a-z]+(?:_[a-z0-9]+)+(?![\w/.-])")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    make_runs(folder, RUNS)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


def folders(place: str) -> set[str]:
    """The names of run folders, which are shown where runs are chosen or compared; in the gallery they would be raw names."""
    return set() if place in ("start", "gallery", "form", "form-advanced") else set(RUNS)


@pytest.mark.thorough
def test_every_place_uses_its_width_cuts_no_text_and_shows_no_internal_name(visits: Callable[..., Visit]) -> None:
    """A renamed class once cost 41% of the network's width, and the gallery had names like herd_effect as titles."""
    visit, wrong = visits(**WIDE), dict[str, list[str]]()
    page = visit.page
    for name, place in PLACES.items():
        visit.open(place.query)
        place.act(page)
        still(page)
        used = float(page.evaluate(USED))
        found = [f"uses {used:.0%} of the width"] * (used < 0.75)
        found += [f"cut: {text}" for text in page.evaluate(CUT)]
        found += [f"internal name: {slug}" for slug in {*SLUG.findall(page.evaluate(WRITTEN))} - folders(name) - TYPED]
        if found:
            wrong[name] = found
    assert wrong == {}


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found, selector
    return {"top": found["y"], "bottom": found["y"] + found["height"]}


def test_line_chart_and_header_are_seen_together_while_a_run_is_replayed(visits: Callable[..., Visit]) -> None:
    """The header took 44% of the window, and the newest line of a replay was below it."""
    visit = visits(**WIDE)
    page = visit.load("three_way")
    replayed(page)
    assert box(page, ".transport")["bottom"] <= 120
    assert page.locator(".transport button:visible").all_inner_texts()[-2:] == ["Branch", "New run with these settings"]
    assert not {"Play", "Step", "Pause", "Stop"} & set(page.locator(".transport button").all_inner_texts())
    expect(page.get_by_text("Round 3 of 5")).to_be_visible()
    newest, log = box(page, ".conversation > :last-child"), box(page, ".conversation")
    assert log["top"] <= newest["bottom"] <= log["bottom"] + 1 <= 901
    assert box(page, ".chart .canvas")["bottom"] <= 900
    left, right = (page.locator(side).bounding_box() for side in (".cockpit > .left", ".cockpit > .right"))
    assert left
    assert right
    assert left["x"] + left["width"] <= right["x"]
    drawing = box(page, ".chart .canvas")
    assert drawing["bottom"] - drawing["top"] >= 0.75 * (log["bottom"] - log["top"])


def test_the_first_fields_of_the_form_stand_side_by_side(visits: Callable[..., Visit]) -> None:
    """Society, seats and personas were below each other, and the right half of the screen was empty."""
    visit = visits(**WIDE)
    page = visit.open("?scenario=three_way")
    visit.planned()
    first = page.locator(".group").first
    tops = {page.locator(".field", has_text=name).bounding_box()["y"] for name in ("Society", "Seats, in", "Set of")}
    assert len(tops) == 1
    inside = first.locator(".field").evaluate_all(
        "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
    )
    assert inside >= 0.75 * 1440


def test_the_bar_of_the_form_is_low_says_an_error_once_and_covers_no_field(visits: Callable[..., Visit]) -> None:
    """With an error it took a quarter of the window, and a button was cut in half."""
    visit = visits()
    page = visit.open("?scenario=three_way&personas=/tmp/people.csv")
    expect(page.locator(".wrong")).to_contain_text("--allow-files FOLDER")
    expect(page.locator(".wrong")).to_have_count(1)
    bar = box(page, ".bar")
    assert bar["bottom"] - bar["top"] <= 90
    covered = page.evaluate("""() => [...document.querySelectorAll('.form :is(input, select, button), .model input')]
      .filter(one => { one.focus(); const bar = document.querySelector('.bar').getBoundingClientRect();
        return one.checkVisibility() && one.getBoundingClientRect().bottom > bar.top + 1; }).map(one => one.outerHTML)""")
    assert covered == []


def test_a_server_is_asked_for_calmly_and_a_refusal_is_said_once(visits: Callable[..., Visit]) -> None:
    """To choose `A server` showed two errors about an address that nobody had typed."""
    visit = visits()
    page = visit.open("?scenario=three_way")
    visit.planned()
    page.get_by_role("radio", name="A server").check()
    expect(page.locator(".plan")).to_contain_text("Enter the address of the server")
    expect(page.locator(".wrong")).to_have_count(0)
    page.get_by_label("Address of the server").fill("http://127.0.0.1:8/v1")
    page.get_by_label("Address of the server").blur()
    expect(page.locator(".bar .wrong")).to_contain_text("start the page again with --trust 127.0.0.1:8 (")
    expect(page.locator(".wrong")).to_have_count(1)


def test_every_button_of_a_row_of_your_runs_is_seen(visits: Callable[..., Visit]) -> None:
    """Delete was beyond the right edge, and the longest button had five lines."""
    visit = visits()
    page = visit.open("?runs")
    page.locator(".runs tbody tr").first.wait_for()
    boxes = [one.bounding_box() for one in page.locator(".runs .actions button").all()]
    assert max(one["x"] + one["width"] for one in boxes if one) <= 1280
    assert max(one["height"] for one in boxes if one) <= 40


def test_a_network_is_seen_whole_beside_its_conversation_and_below_its_chart(visits: Callable[..., Visit]) -> None:
    """The lower half of the drawing was below the window."""
    visit = visits(**WIDE)
    page = visit.load("network")
    drawn(page)
    page.locator(".network .node").first.wait_for()
    drawing = box(page, ".network > svg")
    assert drawing["bottom"] <= 900
    assert drawing["bottom"] - drawing["top"] >= 250
    assert box(page, ".conversation")["bottom"] <= 900


def test_a_phone_shows_the_first_finding_without_scrolling(visits: Callable[..., Visit]) -> None:
    visit = visits(viewport={"width": 390, "height": 844})
    page = visit.load("three_way")
    drawn(page)
    assert box(page, ".lead")["bottom"] <= 844


def test_the_table_of_rooms_is_sorted_and_opens_a_conversation(visits: Callable[..., Visit]) -> None:
    """Show me the room that moved most."""
    visit = visits(**WIDE)
    page = visit.load("three_way")
    panel = visit.view("Rooms")
    panel.locator("tbody tr").first.wait_for()
    column = panel.locator("tbody tr td:nth-child(2)")
    panel.get_by_role("button", name="moved (points)").click()
    numbers = [float(text) for text in column.all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)
    panel.get_by_role("button", name="moved (points)").click()
    assert [float(text) for text in column.all_inner_texts()] == numbers[::-1]
    room = panel.locator("tbody tr").last.get_by_role("button")
    title = room.inner_text()
    room.click()
    expect(page.get_by_role("region", name="Conversation").get_by_role("combobox", name="Room")).to_have_value(title)


def test_the_gallery_is_searched_and_narrowed_by_tags(visits: Callable[..., Visit]) -> None:
    visit = visits(**WIDE)
    page = visit.open()
    page.locator(".card").first.wait_for()
    expect(page.get_by_role("heading", name="What moves opinions, and by which law?")).to_be_visible()
    page.get_by_placeholder("a word of a scenario").fill("echo chamber")
    expect(page.locator(".card h4")).to_have_text(["Echo chambers"])
    page.get_by_placeholder("a word of a scenario").fill("")
    page.get_by_role("button", name="mediator", exact=True).click()
    page.get_by_text("4 of ").wait_for()
    assert page.locator(".card .time", has_text="about").count() == 4
    page.get_by_placeholder("a word of a scenario").fill("nothing has this word")
    page.get_by_text("No scenario has this").wait_for()


def test_a_branch_without_a_change_cannot_start(visits: Callable[..., Visit]) -> None:
    visit = visits(**WIDE)
    page = visit.open("?branch=runs/three_way")
    page.get_by_text("Choose a change first").wait_for()
    start = page.get_by_role("button", name="Start the branch")
    expect(start).to_have_attribute("aria-disabled", "true")
    page.get_by_label("Temperature").fill("0.5")
    page.get_by_label("Temperature").blur()
    page.get_by_text("new replies").first.wait_for()
    expect(start).to_have_attribute("aria-disabled", "false")


def test_a_run_is_printed_as_one_document(visits: Callable[..., Visit]) -> None:
    """The page scrolls in a box of its own, so that print once gave one screen."""
    visit = visits(**WIDE)
    page = visit.load("three_way")
    drawn(page)
    page.locator(".findings li").first.wait_for()
    page.emulate_media(media="print")
    inner = "one => [one.scrollHeight, one.clientHeight]"
    assert page.locator(".conversation").evaluate(f"{inner}") == page.locator(".conversation").evaluate(
        "one => [one.clientHeight, one.clientHeight]"
    )
    pages = page.pdf(format="A4").count(b"/Type /Page\n") or len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    assert pages >= 2
