"""What came out of a run, its branches, comparisons and files, in a real browser. What a model or a user wrote stays text."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PATIENCE, PAYLOADS, Server, Visit, browser, needs_chromium, visits  # noqa: F401
from playwright.sync_api import expect

from parley.analysis.formatting import plain
from parley.analysis.run_comparison import compare_runs
from parley.analysis.run_comparison_page import named_runs, sentences
from parley.analysis.run_report import write_report
from parley.analysis.tables import load
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

pytestmark = needs_chromium
BASE = {"llm": "oracle", "topic": "racism", "repetitions": 6, "rounds": 3}
RUNS = {
    "parent": ("three_way", BASE),
    "seed7": ("three_way", {**BASE, "seed": 7}),
    "echo": ("echo_chamber", {**BASE, "repetitions": 1, "rounds": 1}),
}
FAKED = {"topic": "racism", "repetitions": 1, "rounds": 2}
WORDS = {"interventions": [{"kind": "message", "round": 2, "by": "Ann", "text": PAYLOADS[1]}]}
SMALL = "?scenario=three_way&topic=racism&repetitions=1&rounds=3"
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of the oracle, one in which every line is an attack, and one in which no rating can be read."""
    folder, attacks = tmp_path_factory.mktemp("home"), cycle(PAYLOADS)

    def attack(request: Request) -> str:
        return request.answers[0] if request.answers else next(attacks)

    for name, (preset, settings) in RUNS.items():
        scenario = load_preset(preset).with_settings(settings)
        run_scenario(RunSpec(scenario, folder / "runs" / name, tuple(settings)))
        write_report(folder / "runs" / name)
    for name, backend, more in (("attack", Fake(attack), WORDS), ("silent", Fake(lambda request: "perhaps"), {})):
        scenario = load_preset("three_way").with_settings({**FAKED, **more})
        run_scenario(RunSpec(scenario, folder / "runs" / name, (*FAKED, *more)), backend=backend)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    server = Server(home)
    yield server.address
    server.end()


def findings(visit: Visit) -> list[str]:
    """The sentences of the view, once they are there."""
    visit.page.locator(".lead:not([role=status])").first.wait_for()
    return visit.page.locator(".lead, .caution, .findings li").all_inner_texts()


@pytest.mark.thorough
def test_a_finished_run_opens_with_its_findings(visits: Callable[..., Visit], home: Path) -> None:
    """The first thing that a reader sees is a sentence of summary.md and the chart, not a form or a table."""
    visit = visits()
    visit.load("parent")
    expect(visit.page.get_by_role("tab", name="What came out")).to_have_attribute("aria-selected", "true")
    said = findings(visit)
    short = (
        (home / "runs/parent/summary.md").read_text(encoding="utf-8").partition("## In short")[2].partition("\n## ")[0]
    )
    assert said == [plain(line[2:]) for line in short.split("\n") if line.startswith("- ")]
    assert any(re.search(r"Republicans (began|moved) \d\.\d", text) for text in said)
    visit.page.locator(".chart .canvas[data-round='3'] svg").wait_for()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("echo", "This run has 1 room per topic and group. With fewer than 5 rooms there is no interval"),
        ("silent", "ratings are missing, so nothing can be said about opinions. Reasons: no_number"),
    ],
)
def test_a_run_that_shows_nothing_says_so(visits: Callable[..., Visit], name: str, says: str) -> None:
    """One room, or no readable rating, must not look like a result."""
    visit = visits()
    visit.load(name)
    visit.view("What came out")
    assert any(says in sentence for sentence in findings(visit)[:2])
    assert visit.page.locator(".chart").count() == (name == "echo")


def test_a_run_under_way_says_what_is_known_so_far(visits: Callable[..., Visit]) -> None:
    """Findings of a run that goes on are marked, and the order of the tabs is the same when it ends (it changed)."""
    visit = visits()
    visit.first_round(SMALL)
    visit.titles()
    before = visit.page.get_by_role("tab").all_inner_texts()
    visit.page.get_by_text("So far, up to round 1 of 3. The findings may still change.").wait_for()
    findings(visit)
    visit.press("Play")
    visit.status("Finished.")
    expect(visit.page.get_by_text("So far, up to round")).to_have_count(0)
    after = [title for title in before if title != "Step in"]
    assert visit.page.get_by_role("tab").all_inner_texts() == after != before
    assert before[0] == "What came out"


def test_a_planned_intervention_is_in_words_and_can_be_taken_back(visits: Callable[..., Visit], home: Path) -> None:
    """What was sent by mistake must not reach the agents."""
    visit = visits()
    visit.first_round(SMALL)
    visit.view("Step in")
    for text in ("Think of the cost.", "Think of the cause."):
        visit.page.get_by_label("Message", exact=True).fill(text)
        visit.page.get_by_role("button", name="Send before the next round").click()
        visit.page.get_by_text(f"Before round 2: Ann says to all agents: “{text}”").wait_for()
    visit.press("Take back: Before round 2: Ann says to all agents: “Think of the cost.”")
    expect(visit.page.locator(".planned li")).to_have_count(1)
    folder = visit.folder()
    visit.press("Play")
    visit.status("Finished.")
    assert list(load(home / folder).interventions["text"]) == ["Think of the cause."]
    assert visit.page.get_by_role("button", name="Take back").count() == 0


def test_a_branch_from_a_round_shows_its_cost_runs_and_shows_its_effect(
    visits: Callable[..., Visit], home: Path
) -> None:
    """Earlier rounds are not requested again; the effect is paired with the parent; the tree leads to both."""
    visit = visits()
    visit.load("parent")
    visit.press("Branch")
    page = visit.page
    page.get_by_text("Choose a change first").wait_for()
    page.get_by_label("First round that changes").select_option("3")
    page.get_by_text("Add an intervention before round 3").wait_for()
    page.get_by_label("Temperature").fill("0.2")
    page.get_by_label("Temperature").blur()
    page.get_by_text("Add an intervention before round 3").click()
    page.get_by_label("Message", exact=True).fill(PAYLOADS[1])
    page.get_by_role("button", name="Add", exact=True).click()
    changes = page.locator(".changes li")
    expect(changes).to_have_count(2, timeout=PATIENCE)
    assert f"Before round 3: Ann says to all agents: “{PAYLOADS[1]}”" in changes.all_inner_texts()
    page.locator(".plan", has_text="Rounds before 3 are taken from the parent. Then 36 new replies").wait_for()
    visit.press("Start the branch")
    folder = visit.folder()
    visit.status("Finished. 3 rounds")
    page.get_by_role("heading", name="Compared with its parent").wait_for()
    effects = page.get_by_role("region", name="Effects of the branch").inner_text()
    assert len(re.findall(r"-?\d\.\d\d \(-?\d\.\d\d to -?\d\.\d\d\)", effects)) >= 2
    page.locator(".chart .key", has_text="Republican, parent").wait_for()
    tables, parent = load(home / folder), load(home / "runs/parent")
    assert (tables.header.branch["parent"], tables.header.branch["round"]) == ("../parent", 3)
    asked = [frame.loc[frame["round"] < 3, "text"].tolist() for frame in (tables.utterances, parent.utterances)]
    assert asked[0] == asked[1]
    tree = page.locator(".tree li")
    assert tree.count() >= 2
    assert "all agents speak with temperature 0.2" in tree.nth(1).inner_text()
    page.locator(".tree a", has_text="parent").click()
    visit.page.wait_for_url("**/?run=runs/parent")
    assert (home / folder / "summary.md").read_text(encoding="utf-8").count("Compared with its parent") == 1


def test_the_form_of_a_branch_says_why_none_is_possible(visits: Callable[..., Visit]) -> None:
    """An error belongs to the form, in one line, before anything is started."""
    visit = visits()
    visit.open("?runs")
    visit.press("Branch runs/seed7")
    visit.page.get_by_text("Add an intervention").click()
    visit.page.get_by_label("Sender", exact=True).fill("<b>")
    visit.page.get_by_label("Message", exact=True).fill("x")
    visit.page.get_by_role("button", name="Add", exact=True).click()
    expect(visit.page.locator(".start .wrong")).to_contain_text("must be a name of 1 to 4 words", timeout=PATIENCE)
    expect(visit.page.get_by_role("button", name="Start the branch", exact=True)).to_have_attribute(
        "aria-disabled", "true"
    )
    visit.page.locator(".planned").get_by_role("button").click()
    visit.page.get_by_text("Choose a change first").wait_for()
    visit.open("?branch=/etc")
    expect(visit.page.get_by_role("alert")).to_contain_text("/etc is not in runs/")


@pytest.mark.thorough
def test_ticked_runs_are_compared(visits: Callable[..., Visit], home: Path) -> None:
    """The sentence is that of `run.py compare`; differences have intervals, and the page says why they are not paired."""
    visit = visits()
    visit.open("?runs")
    visit.page.get_by_label("Tick runs/parent", exact=True).check()
    visit.page.get_by_label("Tick runs/seed7", exact=True).check()
    visit.press("Compare 2 runs")
    runs = named_runs([home / "runs" / name for name in ("parent", "seed7")])
    lead = visit.page.locator(".lead")
    expect(lead).to_have_text(sentences(runs, compare_runs(runs))[0])
    differences = visit.page.get_by_role("region", name="Differences").inner_text()
    assert re.search(r"-?\d\.\d\d \(-?\d\.\d\d to -?\d\.\d\d\)", differences)
    assert visit.page.get_by_text("compared as independent rooms, because the seeds differ").count() == 1
    assert "seed\t0\t7" in visit.page.get_by_role("region", name="What differs").inner_text()
    visit.page.locator(".chart .key", has_text=f"Republican, {list(runs)[1]}").wait_for()
    with visit.page.expect_download() as caught:
        visit.press("Report of the comparison (HTML)")
    assert caught.value.path().read_text(encoding="utf-8").startswith("<!doctype html>")


def test_runs_without_common_groups_say_so(visits: Callable[..., Visit]) -> None:
    """On the same topic, other groups are no reason for an empty chart without a word."""
    visit = visits()
    visit.load("parent")
    visit.view("Compare")
    visit.page.get_by_label("Compare with runs/echo").check()
    expect(visit.page.locator(".view .lead")).to_contain_text("both are on Racism, but other groups debate")
    assert visit.page.locator(".view .chart").count() == 0
    visit.page.get_by_label("Compare with runs/seed7").check()
    visit.page.get_by_text("No difference between parent and seed7").or_(
        visit.page.get_by_text("seed7 moved")
    ).first.wait_for()


def saved(visit: Visit, button: str) -> bytes:
    with visit.page.expect_download() as caught:
        visit.page.get_by_role("button", name=button, exact=True).click()
    return caught.value.path().read_bytes()


def test_everything_can_be_exported(visits: Callable[..., Visit], home: Path) -> None:
    """The files are those of the run folder, and the command is that of its summary."""
    visit = visits(permissions=["clipboard-read", "clipboard-write"])
    visit.load("parent")
    visit.view("Export")
    assert saved(visit, "Report (one HTML file)").startswith(b"<!doctype html>")
    names = zipfile.ZipFile(io.BytesIO(saved(visit, "Run folder (zip)"))).namelist()
    assert {"parent/record.jsonl", "parent/summary.md", "parent/tables/attitudes.csv"} <= set(names)
    assert "parent/journal.sqlite" not in names
    visit.page.get_by_text("With the journal").click()
    visit.page.wait_for_timeout(300)
    assert "parent/journal.sqlite" in zipfile.ZipFile(io.BytesIO(saved(visit, "Run folder (zip)"))).namelist()
    assert saved(visit, "Table (CSV)") == (home / "runs/parent/tables/attitudes.csv").read_bytes()
    frame = pd.read_parquet(io.BytesIO(saved(visit, "Table (Parquet)")))
    assert len(frame) == len(load(home / "runs/parent").attitudes)
    for kind, head in (("PNG", b"\x89PNG"), ("SVG", b"<?xml"), ("PDF", b"%PDF")):
        assert saved(visit, f"Figure ({kind})").startswith(head)
    visit.press("Copy the command")
    visit.page.get_by_text("The command was copied.").wait_for(state="attached")
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied in (home / "runs/parent/summary.md").read_text(encoding="utf-8")
    assert copied.startswith("python run.py --scenario three_way")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "query", ["?run=runs/attack", "?branch=runs/attack", "?compare=runs/attack&compare=runs/parent"]
)
def test_an_attack_stays_text_and_fits_a_phone(visits: Callable[..., Visit], query: str) -> None:
    """Nothing that a model wrote is run or fetched (the fixture looks for that), and no place is wider than a phone."""
    visit = visits(**PHONE)
    page = visit.open(query)
    page.get_by_text("Findings").or_(page.get_by_text("What changes")).or_(
        page.get_by_text("What differs")
    ).first.wait_for(state="attached")
    for title in ("Compare", "Export") if "run=" in query else ():
        visit.view(title)
    assert page.locator("iframe, main script, img[onerror], svg[onload]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
