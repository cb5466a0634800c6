"""Runs in a real browser: they outlive their tab and their server, are found again, and are not lost by accident."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlparse

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PAYLOADS, Server, Visit, browser, needs_chromium, trusting, visits  # noqa: F401
from loopback import Act, Loopback
from playwright.sync_api import expect

from parley.llm.backends.fake import Fake
from parley.model.files import RECORD
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

pytestmark = needs_chromium
SMALL = "?scenario=three_way&topic=racism&repetitions=1&rounds=2"
LONG = "?scenario=three_way&topic=racism&repetitions=20&rounds=9"
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


def stepped(visit: Visit, query: str = SMALL) -> str:
    """Start a run paused, and run its first round; return its folder."""
    visit.open(query)
    visit.page.get_by_text("Limits and options").click()
    visit.page.get_by_label("Start paused").check()
    visit.planned()
    visit.press("Start a new run")
    folder = visit.folder()
    visit.status("Ready.")
    visit.press("Step")
    visit.status("Paused after round 1 of")
    return folder


def journaled(folder: Path) -> list[bytes]:
    """The keys of all requests that were sent, one for each time."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as database:
        return [key for (key,) in database.execute("SELECT key FROM outcomes")]


def test_a_reload_and_a_closed_tab_leave_the_run_alone(visits: Callable[..., Visit], home: Path) -> None:
    """An accidental F5 used to end the run, and nothing on the page could go on with it."""
    visit = visits()
    folder = stepped(visit)
    visit.page.reload()
    visit.status("Paused after round 1 of 2")
    visit.page.close()
    other = visits()
    other.open("?runs")
    expect(other.page.locator("tr", has_text=folder)).to_contain_text("paused")
    other.press(f"Open {folder}")
    other.status("Paused after round 1 of 2")
    other.press("Play")
    other.status("Finished. 2 rounds, 15 replies.")
    for name in ("summary.md", "transcript.md", "tables", "figures"):
        assert (home / folder / name).exists(), name


def test_two_tabs_see_the_same_run(visits: Callable[..., Visit]) -> None:
    one, other = visits(), visits()
    folder = stepped(one)
    other.open(f"?run={folder}")
    other.status("Paused after round 1 of 2")
    other.press("Step")
    for visit in (one, other):
        visit.status("Finished. 2 rounds, 15 replies.")


def test_a_new_run_does_not_replace_one_that_is_going_on(visits: Callable[..., Visit]) -> None:
    visit = visits()
    first = stepped(visit)
    visit.press("New run with these settings")
    visit.page.get_by_text("run is going on").or_(visit.page.get_by_text("runs are going on")).wait_for()
    visit.page.locator("#field-seed").evaluate("field => field.closest('details').open = true")
    visit.page.locator("#field-seed").fill("7")
    visit.page.locator("#field-seed").blur()
    visit.page.get_by_text("Changed: Random seed").wait_for()
    visit.planned()
    visit.press("Start a new run")
    visit.status("Finished.")
    assert visit.folder() != first
    expect(visit.page.locator(".facts")).to_contain_text("seed 7")
    visit.open(f"?run={first}")
    visit.status("Paused after round 1 of 2")


@pytest.mark.thorough
def test_a_killed_server_says_what_to_do_and_its_run_is_resumed(
    visits: Callable[..., Visit], tmp_path: Path, browser: object
) -> None:
    """kill -9 in the middle of a run: the page says so, and no reply is requested twice."""
    server = Server(tmp_path)
    visit = visits()
    visit.enter(server.address)
    folder = stepped(visit, LONG)
    server.kill()
    visit.page.get_by_role("alertdialog", name="The server has stopped").wait_for()
    expect(visit.page.get_by_text("python run.py --ui")).to_be_visible()
    before, orphan, visit = journaled(tmp_path / folder), visit, visits()
    orphan.page.close()  # a tab that reloads by itself when the server is back cannot be sent elsewhere at the same time
    orphan.wrong.clear()  # what a browser says of a server that is gone
    again = Server(tmp_path, server.port)
    try:
        visit.enter(again.address)
        visit.open(f"?run={folder}")
        visit.status("Unfinished. Resume goes on from here")
        visit.open("?runs")
        expect(visit.page.locator("tr", has_text=folder)).to_contain_text("unfinished")
        visit.press(f"Resume {folder}")
        visit.status("Finished. 9 rounds")
    finally:
        visit.page.close()
        again.end()
        visit.wrong.clear()  # what a browser says of a server that is gone
    after = journaled(tmp_path / folder)
    assert len(before) > 100
    assert len(after) == len(set(after))
    assert set(before) <= set(after)
    settings = {"topic": "racism", "repetitions": 20, "rounds": 9, "llm": "oracle"}
    whole = run_scenario(RunSpec(load_preset("three_way").with_settings(settings), tmp_path / "whole", tuple(settings)))
    assert (tmp_path / folder / RECORD).read_bytes() == whole.record.read_bytes()


def test_a_run_is_deleted_only_after_two_questions(visits: Callable[..., Visit], home: Path) -> None:
    visit = visits()
    going, done = stepped(visit), visit.start(SMALL)
    visit.status("Finished.")
    visit.open("?runs")
    expect(visit.page.get_by_role("button", name=f"Open {going}")).to_be_visible()
    assert visit.page.get_by_role("button", name=f"Delete {going}").count() == 0
    visit.press(f"Delete {done}")
    visit.press("Delete")
    assert (home / done).exists()
    visit.press("Keep it")
    visit.press(f"Delete {done}")
    visit.press("Delete")
    visit.page.get_by_text("will be gone for good").wait_for()
    visit.press("Delete for good")
    visit.page.get_by_role("button", name=f"Open {done}").wait_for(state="detached")
    assert not (home / done).exists()
    assert (home / going).exists()


def test_the_table_is_filtered_and_sorted(visits: Callable[..., Visit], home: Path) -> None:
    for name, preset in (("alpha", "two_way"), ("beta", "three_way")):
        settings = {"topic": "abortion", "repetitions": 1, "rounds": 1, "llm": "oracle"}
        run_scenario(RunSpec(load_preset(preset).with_settings(settings), home / "runs" / name, tuple(settings)))
    visit = visits()
    page = visit.open("?runs")
    page.get_by_label("Filter").fill("abortion ")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="What", exact=True).click()
    expect(rows.first).to_contain_text("A debate of two")
    page.get_by_role("button", name="What", exact=True).click()
    expect(rows.first).to_contain_text("A three-way debate")
    page.get_by_label("Filter").fill("no such run")
    expect(rows).to_have_count(0)


def test_on_a_phone_the_page_fits_and_opening_a_run_shows_it(visits: Callable[..., Visit]) -> None:
    """The panel of settings used to cover the page, and opening a run changed nothing on the screen."""
    visit = visits(**PHONE)
    page = visit.page
    folder = visit.start(SMALL)
    visit.status("Finished.")
    for query in ("", "?new", "?runs", f"?run={folder}"):
        visit.open(query)
        page.locator("h1").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), query
    visit.open("?runs")
    visit.press(f"Open {folder}")
    expect(page.locator("h1")).to_be_in_viewport()
    expect(page.get_by_role("tab", name="Distribution")).to_be_in_viewport()


def test_a_run_is_started_and_stepped_by_keyboard_alone(visits: Callable[..., Visit]) -> None:
    """A button that takes its own focus away sends who has no mouse back to the top of the page, at every step."""
    visit = visits()
    page = visit.open(SMALL)
    visit.planned()
    page.get_by_text("Limits and options").focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    visit.planned()
    page.keyboard.press("Tab")
    if page.evaluate("document.activeElement.innerText") != "Start a new run":  # a plan that scrolls
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    visit.status("Ready.")
    page.get_by_role("button", name="Step").focus()
    page.keyboard.press("Enter")
    visit.status("Paused after round 1 of 2")
    assert page.evaluate("document.activeElement.innerText") == "Step"
    page.keyboard.press("Enter")
    visit.status("Finished.")
    assert page.evaluate("document.activeElement.closest('.transport') !== null")
    names = page.evaluate("[...document.querySelectorAll('button')].map(one => one.innerText || one.ariaLabel)")
    assert all(names)


def test_the_first_screen_starts_a_scenario_with_one_click_and_has_an_example(visits: Callable[..., Visit]) -> None:
    visit = visits()
    page = visit.open()
    visit.press("Explore an example run")
    assert visit.folder() == "runs/example"
    visit.status("Finished.")
    expect(page.get_by_text("rule-based").first).to_be_visible()
    visit.place("Start").click()
    visit.press("Start A debate of two")
    assert visit.folder() != "runs/example"
    visit.status("Finished.")
    expect(page.locator("h1")).to_contain_text("A debate of two")


def test_the_form_says_what_a_run_needs_and_asks_before_a_big_one(visits: Callable[..., Visit]) -> None:
    """100,000 repetitions used to be "ready, 0 of 44,400,000 calls", without a question."""
    visit = visits()
    page = visit.open("?scenario=three_way&repetitions=100000")
    page.get_by_text("400,000 rooms, 1,200,000 agents, 13,200,000 replies").wait_for()
    visit.press("Start a new run")
    page.get_by_role("alertdialog").get_by_text("13,200,000 replies").wait_for()
    visit.press("No")
    for topic in ("climate change", "gun violence", "illegal immigration", "racism"):
        page.get_by_label(topic).uncheck()
    page.get_by_text("choose at least one topic").wait_for()
    page.get_by_label("racism").check()
    page.get_by_text("100,000 rooms").wait_for()


def test_a_question_of_ones_own_is_typed_into_the_form(visits: Callable[..., Visit]) -> None:
    """The first thing that a researcher tries. What agents will be asked is shown before the run; a comma divides nothing."""
    line = "Should cities ban cars, vans and lorries?"
    visit = visits()
    page = visit.open("?scenario=three_way&repetitions=1&rounds=1")
    page.get_by_label("Or ask a question of your own").fill(line.removesuffix("?"))
    visit.press("Add")
    page.get_by_text(f'How much do you agree that the answer to "{line}" is yes?').wait_for()
    expect(page.get_by_label(line)).to_be_checked()
    expect(page.get_by_label("racism")).not_to_be_checked()
    assert (
        page.get_by_text("Save as a file to edit").get_attribute("download")
        == "should_cities_ban_cars_vans_and_lorries.toml"
    )
    visit.planned()
    visit.press("Start a new run")
    visit.status("Finished.")
    expect(page.locator("h1")).to_contain_text(line)
    visit.open("?scenario=three_way")
    page.get_by_label("Or ask a question of your own").fill("Which cars should cities ban?")
    visit.press("Add")
    page.get_by_text("a debate needs a yes-or-no question").first.wait_for()


def test_seats_are_chosen_and_not_typed(visits: Callable[..., Visit]) -> None:
    """Codes of parties between commas had to be known by heart."""
    visit = visits()
    page = visit.open("?scenario=three_way&topic=racism&repetitions=2")
    visit.planned()
    visit.press("Add to Seats, in speaking order")
    page.get_by_label("Seats, in speaking order, 4").select_option("default")
    page.locator(".plan", has_text="8 agents").wait_for()
    for _ in range(2):
        page.get_by_label("Seats, in speaking order, 1").select_option("")
    page.locator(".plan", has_text="4 agents").wait_for()
    expect(page.get_by_label(re.compile("^Seats, in speaking order, "))).to_have_count(2)


def test_a_limit_of_the_form_stops_the_run(visits: Callable[..., Visit]) -> None:
    visit = visits()
    page = visit.open(SMALL)
    page.get_by_text("Limits and options").click()
    page.get_by_label("Stop after replies").fill("10")
    page.get_by_label("Stop after replies").blur()
    visit.planned()
    visit.press("Start a new run")
    visit.status("Stopped in round")
    page.get_by_text("--max-calls 10").wait_for()
    visit.press("Resume")
    visit.status("Finished. 2 rounds, 15 replies.")


@pytest.mark.thorough
def test_a_model_is_checked_when_it_is_chosen(visits: Callable[..., Visit], tmp_path: Path) -> None:
    """A wrong model used to be "ready", and failed at Play. A server or folder that the start did not name is refused."""
    with (
        Loopback(lambda body, time: Act()) as server,
        trusting(
            tmp_path, "--trust", urlparse(server.url).netloc, "--trust", "127.0.0.1:9", "--allow-files", "."
        ) as address,
    ):
        visit = visits()
        visit.enter(address)
        page = visit.open(SMALL)
        page.get_by_role("radio", name="A local folder").check()
        page.get_by_label("Path of the folder").fill("/etc")
        page.get_by_label("Path of the folder").blur()
        page.get_by_text("opens only files that were named when it was started").first.wait_for()
        page.get_by_label("Path of the folder").fill("./nowhere")
        page.get_by_label("Path of the folder").blur()
        page.get_by_text("neither a folder here nor a downloaded model").or_(
            page.get_by_text("a local model needs")
        ).first.wait_for()
        page.get_by_role("radio", name="Other").check()
        page.get_by_label("Model", exact=True).fill("gpt4")
        page.get_by_label("Model", exact=True).blur()
        page.get_by_text("write openai:gpt4").first.wait_for()
        page.get_by_role("radio", name="A server").check()
        page.get_by_label("Address of the server").fill("http://127.0.0.1:8/v1")
        page.get_by_label("Address of the server").blur()
        visit.press("Test the server")
        page.get_by_text("names the server 127.0.0.1:8").first.wait_for()
        page.get_by_label("Address of the server").fill("http://127.0.0.1:9/v1")
        page.get_by_label("Address of the server").blur()
        visit.press("Test the server")
        page.get_by_text("check that the server runs at this address").wait_for()
        page.get_by_label("Address of the server").fill(server.url)
        page.get_by_label("Address of the server").blur()
        visit.press("Test the server")
        page.get_by_text("lists 2 models").wait_for()
        page.get_by_label("Model", exact=True).select_option("echo")
        page.get_by_text("price not known").wait_for()
        visit.press("Start a new run")
        page.get_by_role("alertdialog").get_by_text("no price is known").wait_for()
        page.close()


@pytest.mark.thorough
def test_text_of_a_model_and_of_a_header_stays_text(visits: Callable[..., Visit], home: Path) -> None:
    attack = PAYLOADS[1]
    settings = {"topic": "racism", "repetitions": 1, "rounds": 1}
    scenario = load_preset("three_way").with_settings(settings)
    backend = Fake(lambda request: request.answers[0] if request.answers else attack)
    run_scenario(RunSpec(scenario, home / "runs" / "attack", tuple(settings)), backend=backend)
    odd = home / "runs" / "<img src=x onerror=alert(1)>"
    run_scenario(RunSpec(scenario, odd, tuple(settings)), backend=backend)
    visit = visits()
    page = visit.load("attack")
    assert attack in visit.view("Conversation").inner_text()
    visit.open("?runs")
    expect(page.get_by_role("rowheader", name=re.compile("<img src=x"))).to_be_visible()
    visit.open(f"?run=../{attack}")
    page.get_by_text("is not in runs/").wait_for()
    assert page.locator("img[src=x], iframe").count() == 0


def test_a_study_is_one_row_that_opens_its_report_in_a_frame_where_nothing_runs(
    visits: Callable[..., Visit], home: Path
) -> None:
    """A card, a claim, a population opened with "cannot read the record", and an active button Resume."""
    settings = {"topic": "abortion", "repetitions": 1, "rounds": 1, "llm": "oracle"}
    card = home / "runs" / "card"
    run_scenario(RunSpec(load_preset("two_way").with_settings(settings), card / "batch-1" / "three", tuple(settings)))
    (card / "card.json").write_text("{}")
    (card / "card.md").write_text("# Bias card: mine\n\n## In short\n\n- It leans left.\n")
    far = '<a href="#far">Further down</a>' + "<p>line</p>" * 200 + '<p id="far">Here</p>'
    (card / "card.html").write_text(f"<html><body><h1>Bias card: mine</h1>{far}{''.join(PAYLOADS)}</body></html>")
    visit = visits()
    page = visit.open("?runs")
    rows = page.locator("tbody tr", has_text="runs/card")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("It leans left.")
    visit.press("Open runs/card")
    report = page.frame_locator("iframe.report")
    report.get_by_role("heading", name="Bias card: mine").wait_for()
    report.get_by_text("Further down").click()
    expect(report.locator("#far")).to_be_in_viewport()
    assert page.get_by_role("button", name="Resume").count() == 0
    page.locator("summary", has_text="Runs of this study").click()
    page.get_by_role("button", name="three: A debate of two").click()
    visit.status("Finished.")
    refused = ("(csp)", "Content Security Policy", "sandboxed")
    visit.wrong = [said for said in visit.wrong if not any(why in said for why in refused)]


def test_a_folder_that_is_not_there_says_so(visits: Callable[..., Visit], home: Path) -> None:
    visit = visits()
    page = visit.open("?run=runs/nothing")
    page.get_by_text("There is no folder runs/nothing").wait_for()
    assert page.get_by_role("button", name="Resume").count() == 0
