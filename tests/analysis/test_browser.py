"""The page and the report in a real browser, headless: every view, no error on its console, nothing asked of another machine.

Every line of the runs that are opened is an attack; a dialog that opens is one that worked.
"""

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

from parley.analysis.html_report import write
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

ACTS = "post,reply,quote,repost,nothing"
RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism", "repetitions": 1, "rounds": 2},
    "echo_chamber": {"topic": "racism", "repetitions": 1, "rounds": 1},
    "network": {"size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2", "reference": ""},
    "representatives": {"repetitions": 1, "episodes": 2},
    "intervention": {"topic": "racism", "repetitions": 1, "rounds": 4},
    "platform": {
        "topic": "racism",
        "size": 6,
        "repetitions": 1,
        "rounds": 3,
        "graph": "ring,degree=2",
        "activation": "every",
        "acts": ACTS,
    },
    "herding": {"topic": "two_options", "repetitions": 1, "rounds": 2},
}
ALWAYS = {"What came out", "Surveys", "Calls", "Interview", "Export"}
DEBATE = ALWAYS | {"Distribution", "Compare"}
SHOWN = {
    "three_way": DEBATE,
    "echo_chamber": DEBATE | {"Groups", "Rooms"},
    "network": DEBATE,
    "representatives": ALWAYS | {"Deliberation"},
    "intervention": DEBATE,
    "platform": DEBATE | {"Feed", "Acts", "Cascades"},
    "herding": (ALWAYS | {"Choices"}) - {"Surveys"},
}
SAID = {"representatives": "Deliberation", "platform": "Acts", "herding": ""}
"""The view that has lines of the model; in a debate the conversation. Choices have letters alone."""
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs in which every line is an attack."""
    folder, attacks = tmp_path_factory.mktemp("home"), itertools.cycle(PAYLOADS)

    def answer(request: Request) -> str:
        return request.answers[0] if request.answers else next(attacks)

    for preset, settings in RUNS.items():
        scenario = load_preset(preset).with_settings(settings)
        run_scenario(RunSpec(scenario, folder / "runs" / preset, tuple(settings)), backend=Fake(answer))
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


@pytest.mark.parametrize("name", RUNS)
def test_every_view_of_a_loaded_run(visits: Callable[..., Visit], name: str) -> None:
    """Whatever a model said is text, in every view; nothing of it is run or fetched."""
    visit = visits()
    visit.load(name)
    assert visit.titles() == SHOWN[name]
    for title in sorted(SHOWN[name]):
        assert visit.view(title).inner_text(), title
    where = SAID.get(name, "Conversation")
    said = visit.view(where).inner_text() if where else ""
    assert "<script>alert(1)</script>" in said or not where
    assert ("Intervention: " in said) == (name == "intervention")


def test_a_deliberation_step_by_step(visits: Callable[..., Visit]) -> None:
    """In the last episode of a session the critiques are written by representatives, and it says so."""
    visit = visits()
    visit.load("representatives")
    panel = visit.view("Deliberation")
    assert "written by a representative" not in panel.inner_text()
    visit.choose("Question of a group", "2. ")
    panel.get_by_text("written by a representative").first.wait_for()
    told = panel.inner_text()
    assert re.search("Opinions.*Draft.*Critiques.*Revision", told, re.DOTALL)
    assert "<script>alert(1)</script>" in told


def test_a_run_under_way_in_every_view_and_stepped_into(visits: Callable[..., Visit]) -> None:
    visit = visits()
    page = visit.page
    visit.first_round("?scenario=network&size=8&graph=ring,degree%3D2&repetitions=1&rounds=3&llm=oracle&reference=")
    assert visit.titles() == SHOWN["network"] | {"Step in"}
    for title in sorted(SHOWN["network"]):
        assert visit.view(title).inner_text(), title
    visit.view("Step in")
    page.get_by_label("Message", exact=True).fill("<b>Think</b> of the cost.")
    page.get_by_role("button", name="Send before the next round").click()
    page.get_by_text("Before round 2: Ann says to all agents: “<b>Think</b> of the cost.”").wait_for()
    visit.view("Interview")
    page.get_by_label("Question").fill("What do you think?")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("To ", exact=False).first.wait_for()
    visit.press("Play")
    visit.status("Finished. 3 rounds")
    visit.view("Conversation").get_by_text("Ann, to all agents: <b>Think</b> of the cost.").wait_for()


def test_a_network_tells_who_is_who(visits: Callable[..., Visit]) -> None:
    """With the pointer, and with the keyboard alone."""
    visit = visits()
    visit.load("network")
    panel = visit.view("Network")
    assert panel.locator("g .node").count() == 8
    about = panel.locator(".about")
    panel.locator("g .node").nth(2).hover()
    first = about.inner_text()
    assert "Attitude by round: 0: " in first
    panel.get_by_role("application").focus()
    visit.page.keyboard.press("ArrowRight")
    about.get_by_text("Attitude by round").wait_for()
    assert about.inner_text() != first


def test_a_feed_a_tree_and_choices_follow_the_round(visits: Callable[..., Visit]) -> None:
    """Before the first round nothing is shown; names open the panel of their agent; the keyboard alone moves the round."""
    visit = visits()
    page = visit.page
    for run, title in (("platform", "Feed"), ("platform", "Cascades"), ("herding", "Choices")):
        visit.load(run)
        panel = visit.view(title)
        lines = panel.get_by_role("log")
        lines.locator("h3").first.wait_for()
        page.get_by_role("slider", name="Up to round").focus()
        page.keyboard.press("Home")
        expect(lines.locator("h3")).to_have_count(0)
        page.keyboard.press("End")
        lines.locator("h3").first.wait_for()
        lines.get_by_role("button").first.click()
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Escape")


def test_next_steps_lead_to_their_field(visits: Callable[..., Visit]) -> None:
    """`Debate a question of my own` opened the top of the form, and the audit measured another topic than the user's."""
    visit, own = visits(), "Should cities ban cars?"
    page = visit.load("three_way")
    visit.press("Debate a question of my own")
    field = page.get_by_label("Or ask a question of your own")
    field.wait_for()
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    visit.load("three_way")
    visit.press("Measure this model's bias")
    field.wait_for()
    expect(page.get_by_label("Topic", exact=True)).to_have_value("racism")
    field.fill(own)
    field.press("Enter")
    page.get_by_text("Agents are asked").wait_for()
    expect(page.get_by_label("Topic", exact=True)).to_have_value(own)


def test_two_runs_on_the_same_axes(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("three_way")
    panel = visit.view("Compare")
    panel.get_by_label("Compare with runs/intervention").check()
    panel.get_by_role("img").first.wait_for()
    told = panel.get_by_role("region", name="What differs").inner_text()
    assert "fine-tuned adapters" not in told  # the same in both
    assert "interventions" in told


def test_files_are_handed_out(visits: Callable[..., Visit]) -> None:
    visit = visits()
    visit.load("three_way")
    panel = visit.view("Export")
    for button, head in (("Figure (SVG)", b"<?xml"), ("Table (CSV)", b'"room"'), ("Transcript", b"# three")):
        with visit.page.expect_download() as caught:
            panel.get_by_role("button", name=button).click()
        assert caught.value.path().read_bytes().startswith(head), button


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(23, 23, 27)")])
def test_light_and_dark_by_keyboard_alone(visits: Callable[..., Visit], scheme: str, paper: str) -> None:
    """Everything is reached with Tab, in the order in which it stands, and one sees where one is."""
    visit = visits(color_scheme=scheme)
    page = visit.open("?scenario=three_way&topic=racism&repetitions=1&rounds=1&llm=oracle")
    page.wait_for_function(
        "paper => getComputedStyle(document.querySelector('.v-application')).backgroundColor === paper", arg=paper
    )
    visit.planned()
    page.get_by_text("Limits and options").focus()
    page.keyboard.press("Tab")
    if focused(page)[0] != "Start a new run":  # the words of the plan, which scroll where they are many
        page.keyboard.press("Tab")
    assert focused(page) == ("Start a new run", True)
    page.keyboard.press("Enter")
    visit.status("Finished. 1 round,")
    page.get_by_role("tab", name="Distribution").focus()
    page.keyboard.press("Tab")
    assert focused(page) == ("Surveys", True)
    page.keyboard.press("Enter")
    page.get_by_role("tabpanel", name="Surveys").wait_for()
    visit.view("Conversation")
    last = page.get_by_role("log").locator("p").last
    last.scroll_into_view_if_needed()
    assert last.evaluate(ON_TOP)


ON_TOP = """line => {
  const box = line.getBoundingClientRect();
  return line.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2));
}"""


def focused(page: Page) -> tuple[str, bool]:
    """The text of what has the focus, and whether one sees that it has."""
    told = page.evaluate("[document.activeElement.innerText, getComputedStyle(document.activeElement).outlineWidth]")
    return told[0].strip(), float(told[1].removesuffix("px")) >= 2


@pytest.mark.thorough
@pytest.mark.parametrize("name", RUNS)
def test_a_report_in_the_browser(visits: Callable[..., Visit], home: Path, name: str) -> None:
    """On a phone's width nothing sticks out; nothing runs; who was represented and what came from outside is told."""
    path = write([home / "runs" / name], home / f"{name}.html")
    visit = visits()
    visit.page.set_viewport_size({"width": 390, "height": 800})
    visit.page.goto(path.as_uri())
    for fold in visit.page.locator("summary").all():
        fold.click()
    said = visit.page.locator("main").inner_text()
    assert "<script>alert(1)</script>" in said or name == "herding"
    assert visit.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert ("(by a representative)" in said) == (name == "representatives")
    assert ("Intervention: " in said) == (name == "intervention")
    assert visit.page.locator("script, iframe, a[href^=http]").count() == 0
