"""The panel about an agent, the search fields and the questions, in a real browser. Every line of these runs is an attack."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PAYLOADS, Server, Visit, browser, needs_chromium, visits  # noqa: F401
from playwright.sync_api import Page, expect

from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.files import JOURNAL
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sent_requests import sent_requests

RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism,abortion", "repetitions": 2, "rounds": 2},
    "echo_chamber": {"topic": "racism", "repetitions": 1, "rounds": 1},
    "network": {"size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2", "reference": ""},
    "representatives": {"repetitions": 1, "episodes": 2},
}
TURNED = "\u202eturned round\u202c"
pytestmark = needs_chromium


def answer(attacks: Iterator[str], request: Request) -> str:
    return request.answers[0] if request.answers else next(attacks)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, attacks = tmp_path_factory.mktemp("home"), itertools.cycle([*PAYLOADS, TURNED])
    for preset, settings in RUNS.items():
        scenario = load_preset(preset).with_settings(settings)
        task = RunSpec(scenario, folder / "runs" / preset, tuple(settings))
        run_scenario(task, backend=Fake(lambda request: answer(attacks, request)))
    task = RunSpec(load_preset("two_way", {"topic": "racism", "repetitions": 1, "rounds": 1}), folder / "runs" / "bare")
    run_scenario(task, backend=Fake(lambda request: answer(attacks, request)))
    (folder / "runs" / "bare" / JOURNAL).unlink()
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


def panel(page: Page) -> Any:
    found = page.get_by_role("dialog", name="About ")
    found.wait_for()
    return found


def names(place: Any) -> Any:
    """The names in a view: buttons that open a panel."""
    return place.locator("button.name")


@pytest.mark.parametrize(
    ("run", "view"),
    [
        ("three_way", "Conversation"),
        ("echo_chamber", "Groups"),
        ("three_way", "Surveys"),
        ("network", "Network"),
        ("representatives", "Deliberation"),
    ],
)
def test_a_name_in_any_view_opens_its_person(visits: Callable[..., Visit], run: str, view: str) -> None:
    visit = visits()
    visit.load(run)
    shown = visit.view(view)
    if view == "Network":
        shown.locator("g .node").nth(2).hover()
    name = names(shown).first
    text = name.inner_text()
    name.click()
    about = panel(visit.page)
    title = about.get_by_role("heading", level=2).inner_text()
    assert text.startswith(title)
    about.get_by_text("1 of ", exact=False).first.wait_for(state="attached")
    assert "Party" in about.inner_text()


def test_the_prompt_shown_is_the_prompt_sent(visits: Callable[..., Visit], home: Path) -> None:
    """Letter for letter, for every prompt of an agent, with its reply; and what is copied is what was sent."""
    visit = visits()
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.load("three_way")
    names(visit.view("Conversation")).first.click()
    about = panel(visit.page)
    about.get_by_role("combobox", name="Prompt").wait_for()
    room = "racism/republican+democrat+default/000"
    for number, exchange in enumerate(sent_requests(home / "runs" / "three_way").of(room, 1)):
        assert exchange.request
        assert exchange.reply
        if number:
            about.get_by_role("button", name="Next", exact=True).click()
        said = about.locator(".prompt .exact").evaluate_all("all => all.map(one => one.textContent)")
        assert said == [*(message.content for message in exchange.request.messages), exchange.reply.text]
        about.get_by_role("button", name="Copy prompt").click()
        about.get_by_text("Prompt copied.").wait_for()
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied == "\n".join(f"[{role}]\n{text}" for role, text in exchange.request.messages)
    expect(about.get_by_role("button", name="Next", exact=True)).to_have_attribute("aria-disabled", "true")


def test_text_of_a_model_stays_text_and_cannot_turn_the_page_round(visits: Callable[..., Visit]) -> None:
    """Markup is shown as it is, and U+202E acts only inside its own text."""
    visit = visits()
    visit.load("three_way")
    visit.view("Conversation")
    names(visit.page.locator(".conversation")).nth(1).click()
    about = panel(visit.page)
    about.get_by_label("Search the prompts").fill("turned")
    about.get_by_text(re.compile("prompts contain|Nothing found")).wait_for()
    about.get_by_text("Heard by ", exact=False).click()
    assert "<" in about.locator(".heard").inner_text()
    assert about.locator("script, iframe, img").count() == 0
    held = "one => getComputedStyle(one).unicodeBidi"
    for one in about.locator(".exact, .said").all():
        assert one.evaluate(held) == "isolate"


def test_search_in_the_prompts_marks_counts_and_says_when_nothing_is_there(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("three_way")
    names(visit.view("Conversation")).first.click()
    about = panel(visit.page)
    find = about.get_by_label("Search the prompts")
    find.fill("answer with the number only")
    about.get_by_text("prompts contain").wait_for()
    assert about.locator("mark").first.inner_text().lower() == "answer with the number only"
    find.fill("no such words anywhere")
    about.get_by_text("Nothing found: no prompt or reply contains").wait_for()


def test_the_panel_by_keyboard_alone(visits: Callable[..., Visit]) -> None:
    """Enter on a name opens it and takes the focus there; Esc closes it and gives the focus back."""
    visit = visits()
    visit.load("three_way")
    name = names(visit.view("Conversation")).first
    name.focus()
    visit.page.keyboard.press("Enter")
    about = panel(visit.page)
    expect(about.get_by_role("heading", level=2)).to_be_focused()
    visit.page.keyboard.press("Tab")
    expect(about.get_by_role("button", name="Close (Esc)")).to_be_focused()
    visit.page.keyboard.press("Escape")
    about.wait_for(state="detached")
    expect(name).to_be_focused()


def test_a_network_by_keyboard(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("network")
    visit.view("Network").get_by_role("application").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.page.keyboard.press("Enter")
    about = panel(visit.page)
    about.get_by_text("Heard by ", exact=False).click()
    about.locator(".heard").get_by_text("Round 1").wait_for()
    about.locator(".heard button.name").first.click()  # from one person to another
    expect(about.get_by_role("heading", level=2)).to_be_focused()
    visit.page.keyboard.press("Escape")
    about.wait_for(state="detached")
    expect(visit.page.get_by_role("application")).to_be_focused()


def test_a_folder_without_a_journal_says_so(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("bare")
    names(visit.view("Conversation")).first.click()
    panel(visit.page).get_by_text("journal.sqlite does not exist").wait_for()


def test_rooms_are_found_by_their_words_and_by_the_keyboard(visits: Callable[..., Visit]) -> None:
    """The title begins with what differs, and debates come before the rooms of a single agent."""
    visit = visits()
    visit.load("three_way")
    shown = visit.view("Conversation")
    room = shown.get_by_role("combobox", name="Room")
    assert room.input_value() == "Room 1, Racism"
    room.click()
    assert [one.split(",")[0] for one in shown.get_by_role("option").all_inner_texts()][:2] == ["Room 1", "Room 2"]
    room.fill("abortion 2")
    visit.page.keyboard.press("Enter")
    expect(room).to_have_value("Room 2, Banning partial-birth abortion")
    room.fill("no such room")
    shown.get_by_text("Nothing found for").wait_for()
    visit.page.keyboard.press("Escape")
    shown.get_by_role("button", name="Previous: Room").click()
    expect(room).to_have_value("Room 1, Banning partial-birth abortion")
    assert visit.view("Surveys").get_by_role("combobox", name="Room").input_value() == "Room 1, Racism"


def test_the_search_is_over_all_rooms(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("three_way")
    shown = visit.view("Conversation")
    find = shown.get_by_label("Search all rooms")
    find.fill("HEADING")
    shown.get_by_text(re.compile(r"\d+ lines in [2-4] rooms contain “HEADING”")).wait_for()
    assert {one.lower() for one in shown.locator("mark").all_inner_texts()} == {"heading"}
    shown.get_by_role("button", name="Open this room").last.click()
    expect(find).to_have_value("")
    assert shown.get_by_role("combobox", name="Room").input_value() != "Room 1, Racism"
    find.fill("no such words")
    shown.get_by_text("Nothing found: no line in any room contains “no such words”.").wait_for()


def test_a_phone_shows_the_panel_whole(visits: Callable[..., Visit]) -> None:
    visit = visits(viewport={"width": 390, "height": 844})
    visit.load("three_way")
    names(visit.view("Conversation")).first.click()
    about = panel(visit.page)
    about.get_by_role("combobox", name="Prompt").wait_for()
    box = about.bounding_box()
    assert box
    assert (box["x"], box["width"]) == (0, 390)
    assert about.evaluate("one => one.scrollWidth <= one.clientWidth")
    about.locator(".answer").scroll_into_view_if_needed()
    expect(about.get_by_role("button", name="Close (Esc)")).to_be_in_viewport()
    about.get_by_role("button", name="Close (Esc)").click()
    about.wait_for(state="detached")


@pytest.mark.thorough
def test_questions_are_listed_at_once_with_what_they_wait_for(visits: Callable[..., Visit]) -> None:
    """A reader who sees nothing clicks again."""
    visit = visits()
    page = visit.page
    visit.first_round("?scenario=three_way&topic=racism&repetitions=1&rounds=3&llm=oracle")
    names(visit.view("Conversation")).first.click()
    about = panel(page)
    about.get_by_role("combobox", name="Prompt").wait_for()
    assert about.get_by_role("combobox", name="Prompt").locator("option").count() == 3
    about.get_by_label("Question").fill("What do you <b>think</b>?")
    about.get_by_role("button", name="Ask", exact=True).click()
    about.locator(".asked").get_by_text("What do you <b>think</b>?").wait_for()
    about.locator(".asked .turn").wait_for()
    visit.press("Step")
    visit.status("Paused after round 2 of 3")
    expect(about.get_by_role("combobox", name="Prompt").locator("option")).to_have_count(5)
    page.keyboard.press("Escape")
    shown = visit.view("Interview")
    shown.get_by_text("What do you <b>think</b>?").wait_for()
    shown.get_by_role("combobox", name="Agent").fill("default")
    page.keyboard.press("Enter")
    expect(shown.get_by_role("combobox", name="Agent")).to_have_value(re.compile(", Default"))
