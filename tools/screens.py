"""Takes pictures of the page: 25 places, each wide, on a phone and in the dark, to be looked at after a change.

python -m tools.screens FOLDER [PLACE ...]   makes small runs in FOLDER/home, once, then FOLDER/*.png and FOLDER/index.html
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from parley.analysis.run_report import write_report
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

ROOT = Path(__file__).parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
}
RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "climate_change,racism", "repetitions": 6, "rounds": 5},
    "network": {"size": 60, "repetitions": 1, "rounds": 4},
    "stages": {"repetitions": 1},
    "consensus": {"repetitions": 2},
    "intervention": {"topic": "racism", "repetitions": 5, "rounds": 4},
    "platform": {"topic": "racism", "size": 12, "repetitions": 1, "rounds": 6, "graph": "ring,degree=4"},
    "herding": {"topic": "two_options", "repetitions": 5, "rounds": 2},
}
"""The runs that are shown: each has the name of its scenario, and is on the rule-based speaker."""
CARD = [
    "audit",
    "--llm",
    "oracle",
    "--topic",
    "racism",
    "--blocks",
    "2",
    "--sections",
    "bias,pull",
    "--out",
    "runs/card",
]
SEAT = [
    "--scenario", "consensus", "--llm", "oracle", "--llm", "labour=person,at=page", "--society", "uk", "--repetitions", "1",
    "--set", "episodes=1", "--set", "size=2", "--port", "0",
]  # fmt: skip
STILL = """() => document.readyState === 'complete' && document.querySelectorAll('.page, .page *').length
  && document.getAnimations().every(one => one.effect.getTiming().iterations === Infinity)
  && !document.querySelector('[class*=fade-enter], [class*=fade-leave], [class*=transition-enter]')"""
"""The page has faded in: a half-transparent text has too little contrast."""
PATIENCE = 60_000


class Place(NamedTuple):
    """A place of the page: its address, and what a reader does there before looking."""

    query: str
    act: Callable[[Page], None] = lambda page: None


def tab(name: str) -> Callable[[Page], None]:
    """Return the act that opens a view of a run and waits for what it draws."""

    def act(page: Page) -> None:
        page.get_by_role("tab", name=name, exact=True).click()
        page.get_by_role("tabpanel", name=name, exact=True).wait_for()
        drawn(page)

    return act


def drawn(page: Page) -> None:
    """Wait until findings and charts are there."""
    for text in ("Computing the findings", "Computing the table", "Comparing the runs", "Listing the tables"):
        page.get_by_text(text).first.wait_for(state="hidden")
    for canvas in page.locator(".view .canvas").all():
        canvas.locator("> *").first.wait_for()


def unfolded(page: Page) -> None:
    """Unfold everything in the form, once its plan is there."""
    page.locator(".plan", has_text=re.compile(r"\d rooms?, ")).wait_for()
    for fold in page.locator("summary").all():
        fold.click()


def replayed(page: Page) -> None:
    """Stop the replay in the middle of the third round."""
    drawn(page)
    page.get_by_label("Up to round").press("Home")
    for _ in range(2):
        page.get_by_role("button", name="Next round").click()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.locator(".words", has_text="Round 3 of").wait_for()
    page.wait_for_function("window.parleyClock.at > 2.5")
    page.get_by_role("button", name="Pause replay", exact=True).click()


def stepped(page: Page) -> None:
    """Start the run of the form paused, and run its first two rounds."""
    page.locator(".plan", has_text=re.compile(r"\d rooms?, ")).wait_for()
    page.get_by_text("Limits and options").click()
    page.get_by_label("Start paused").check()
    page.get_by_role("button", name="Start a new run", exact=True).click()
    for round_ in (1, 2):
        page.get_by_role("button", name="Step", exact=True).click()
        page.locator(".status", has_text=f"Paused after round {round_}").wait_for()
    drawn(page)


def stepping_in(page: Page) -> None:
    """Open the fields of an intervention of a run that goes on."""
    stepped(page)
    tab("Step in")(page)


def whole_gallery(page: Page) -> None:
    """Show all scenarios, and begin at the first."""
    page.get_by_role("button", name=re.compile("Show all")).first.click()
    page.locator(".gallery").first.scroll_into_view_if_needed()


def first_tables(page: Page) -> None:
    """Show the tables of the first stage."""
    drawn(page)
    page.get_by_label("Up to round").press("Home")
    page.get_by_role("button", name="Next round").click()
    page.get_by_label("Seats", exact=True).select_option("Stage 1: rooms")
    page.locator(".network .used").first.wait_for(state="attached")
    page.locator(".network").scroll_into_view_if_needed()


def agent(page: Page) -> None:
    """Open the panel of an agent."""
    drawn(page)
    page.locator(".conversation button.name").first.click()
    page.locator(".person h2").wait_for()


PLACES: dict[str, Place] = {
    "start": Place(""),
    "gallery": Place("", whole_gallery),
    "form": Place("?scenario=three_way", lambda page: page.locator(".plan", has_text="room").wait_for()),
    "form-advanced": Place("?scenario=network", unfolded),
    "runs": Place("?runs", lambda page: page.locator("h1").wait_for()),
    "outcome": Place("?run=runs/three_way", drawn),
    "replay": Place("?run=runs/three_way", replayed),
    "rooms": Place("?run=runs/three_way", tab("Rooms")),
    "distribution": Place("?run=runs/three_way", tab("Distribution")),
    "surveys": Place("?run=runs/three_way", tab("Surveys")),
    "calls": Place("?run=runs/three_way", tab("Calls")),
    "export": Place("?run=runs/three_way", tab("Export")),
    "agent": Place("?run=runs/three_way", agent),
    "network": Place("?run=runs/network", drawn),
    "places": Place("?run=runs/stages", first_tables),
    "interventions": Place("?run=runs/intervention", drawn),
    "medium": Place("?run=runs/platform", tab("Feed")),
    "deliberation": Place("?run=runs/consensus", tab("Deliberation")),
    "choices": Place("?run=runs/herding", drawn),
    "step-in": Place("?scenario=three_way&rounds=5", stepping_in),
    "running": Place("?scenario=three_way&rounds=5", stepped),
    "compare": Place("?compare=runs/three_way&compare=runs/intervention", drawn),
    "branch": Place("?branch=runs/three_way", lambda page: page.locator(".bar").wait_for()),
}
"""The places of the page. The page of a seat and a bias card have addresses of their own."""


class Server:
    """A command that serves a page, as a user starts it. found: what its first lines say, by the pattern for each."""

    def __init__(self, home: Path, command: list[str], *patterns: str):
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "run.py"), *command], cwd=home, stdout=subprocess.PIPE, text=True
        )
        self.found = [self._line(pattern) for pattern in patterns]

    def _line(self, pattern: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if match := re.search(pattern, line):
                return match[1]
        raise AssertionError(f"no line of the server has {pattern}")

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=20)


@contextmanager
def served(home: Path, command: list[str], *patterns: str) -> Iterator[list[str]]:
    """Yield what a server says, and end it."""
    server = Server(home, command, *patterns)
    try:
        yield server.found
    finally:
        server.end()


def make_runs(home: Path, runs: Mapping[str, Mapping[str, Any]] = RUNS) -> None:
    """Make the runs that are shown, on the rule-based speaker; those that are there are kept."""
    for preset, settings in runs.items():
        folder = home / "runs" / preset
        if not (folder / "record.jsonl").exists():
            given = {"llm": "oracle", **settings}
            run_scenario(RunSpec(load_preset(preset).with_settings(given), folder, tuple(given)))


def still(page: Page) -> None:
    page.wait_for_function(STILL)


def take(browser: Browser, address: str, folder: Path, places: Mapping[str, Place]) -> None:
    """Take a picture of each place in each look; one that cannot be reached is said, and the others are taken."""
    for look, options in LOOKS.items():
        page = browser.new_page(**options)
        page.set_default_timeout(PATIENCE)
        page.goto(address)  # with the token, which the browser keeps; then the page opens itself anew without it
        page.get_by_role("navigation", name="Places").wait_for()
        for name, place in places.items():
            try:
                page.goto(address.partition("?")[0] + place.query)
                page.get_by_role("navigation", name="Places").wait_for()
                place.act(page)
                still(page)
            except Exception as error:  # noqa: BLE001  the picture shows what is wrong
                print(f"{name}, {look}: {str(error).splitlines()[0]}")
            page.screenshot(path=folder / f"{name}-{look}.png")
        page.close()


def take_others(browser: Browser, home: Path, folder: Path) -> None:
    """Take pictures of the page of a seat, before and after its code, and of a bias card."""
    shutil.rmtree(home / "seat", ignore_errors=True)
    with served(home, [*SEAT, "--out", "seat"], r"(http://127\.0\.0\.1:\d+/)", r"code +(\w+)") as (address, code):
        for look, options in LOOKS.items():
            page = browser.new_page(**options)
            page.goto(address)
            page.get_by_label("Code of your seat").wait_for()
            still(page)
            page.screenshot(path=folder / f"seat-code-{look}.png")
            page.get_by_label("Code of your seat").fill(code)
            page.get_by_role("button", name="Enter").click()
            with suppress(Exception):
                page.locator("form .turn").first.wait_for(timeout=PATIENCE)
            still(page)
            page.screenshot(path=folder / f"seat-{look}.png")
            page.close()
    if not (home / "runs" / "card" / "card.html").exists():
        subprocess.run([sys.executable, str(ROOT / "run.py"), *CARD], cwd=home, check=True, stdout=subprocess.DEVNULL)
    for look, options in LOOKS.items():
        page = browser.new_page(**options)
        page.goto((home / "runs" / "card" / "card.html").resolve().as_uri())
        page.screenshot(path=folder / f"card-{look}.png")
        page.close()


def index(folder: Path) -> str:
    """Return a page with all pictures, one place a row."""
    names = sorted({path.stem.rpartition("-")[0] for path in folder.glob("*.png")})
    rows = "".join(
        f"<h2>{html.escape(name)}</h2><p>"
        + "".join(f'<img src="{html.escape(name)}-{look}.png" alt="{look}" height="420"> ' for look in LOOKS)
        + "</p>"
        for name in names
    )
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>The page</title><body>{rows}</body></html>'


def main(words: list[str]) -> None:
    folder, names = Path(words[0]), words[1:]
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    make_runs(home)
    for run in RUNS:
        if not (home / "runs" / run / "summary.md").exists():  # a list of runs tells what each found
            write_report(home / "runs" / run)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        chosen = {name: place for name, place in PLACES.items() if not names or name in names}
        with served(home, ["--ui", "--port", "0"], r"(http://127\.0\.0\.1:\d+/\S*token=\S+)") as (address,):
            take(browser, address, folder, chosen)
        if not names:
            take_others(browser, home, folder)
        browser.close()
    (folder / "index.html").write_text(index(folder), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
