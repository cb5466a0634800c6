"""The page in headless Chromium: how soon it can be used, how soon 1,000 people are drawn anew, whether a run blocks it.

    python benchmarks/app.py [PEOPLE]      (1000; needs the [app] and [browser] extras, and Chromium)

First paint is from the request to a button that can be pressed, in a new browser of a server that is up (bar: 3 s). A redraw is
from a key on the slider of rounds to the network of that round (bar: 1 s). It is wall time, so keep the machine quiet.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from parley.analysis.network_layout import layout
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

ROOT = Path(__file__).resolve().parent.parent
TIMES = 5
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def told(name: str, seconds: list[float], bar: str = "") -> None:
    print(
        f"{name:<58} {statistics.median(seconds):6.2f} s  (of {len(seconds)}: {min(seconds):.2f} to {max(seconds):.2f}) {bar}"
    )


def ready(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Your runs").wait_for()


def redrawn(page: Page, key: str, round_: int) -> None:
    """Move the slider of rounds by a key, and wait for the drawing of that round."""
    page.keyboard.press(key)
    page.get_by_role("application", name=f"after round {round_}").wait_for()


def pages(browser: Any, address: str, people: int) -> None:
    told("first paint, no cache", [fresh(browser, address) for _ in range(TIMES)], "bar 3 s")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(300_000)
    ready(page, address)
    told("first paint, again in the same tab", [timed(lambda: ready(page, address)) for _ in range(TIMES)])
    ready(page, f"{address}?runs")
    told(f"open a run of {people:,} people", [timed(lambda: opened(page))])
    told("its network for the first time, with the layout", [timed(lambda: network(page, people))])
    page.get_by_role("slider", name="Up to round").or_(page.locator("[role=slider]").nth(1)).first.focus()
    steps = [("ArrowLeft", 1), ("ArrowRight", 2)] * TIMES
    told(
        "its network in another round",
        [timed(lambda key=key, to=to: redrawn(page, key, to)) for key, to in steps],
        "bar 1 s",
    )


def fresh(browser: Any, address: str) -> float:
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    seconds = timed(lambda: ready(page, address))
    page.context.close()
    return seconds


def opened(page: Page) -> None:
    page.get_by_role("button", name="Open runs/network").click()
    page.get_by_text("Finished.").wait_for()
    page.get_by_role("tab", name="Network").wait_for()


def network(page: Page, people: int) -> None:
    page.get_by_role("tab", name="Network").click()
    page.locator(".person").nth(people - 1).wait_for()


def busy(browser: Any, address: str) -> None:
    """How long a tab takes to answer while a run of the same server is on its way, without a rest."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(300_000)
    ready(page, f"{address}?scenario=three_way&llm=oracle&repetitions=40")
    page.locator(".plan", has_text="160 rooms").wait_for()
    page.get_by_role("button", name="Start a new run").click()
    page.get_by_text("Running round").wait_for()
    told(
        "a view while 160 rooms debate",
        [timed(lambda title=title: view(page, title)) for title in ("Calls", "Interview") * 3],
    )


def view(page: Page, title: str) -> None:
    page.get_by_role("tab", name=title, exact=True).click()
    page.get_by_role("tabpanel", name=title, exact=True).wait_for()


def laid_out(people: int) -> None:
    graph = nx.random_partition_graph([people // 2] * 2, 10 / people, 2.5 / people, seed=1)
    ends = np.array(graph.edges()).reshape(-1, 2)
    told("the layout alone", [timed(lambda: layout(people, ends[:, 0], ends[:, 1]))])
    told("the layout by networkx", [timed(lambda: nx.spring_layout(graph, seed=0, iterations=60))])


def main(people: int = 1000) -> None:
    settings = {"size": people, "repetitions": 1, "rounds": 2, "llm": "oracle", "reference": ""}
    with tempfile.TemporaryDirectory() as home:
        run_scenario(
            RunSpec(load_preset("network").with_settings(settings), Path(home) / "runs" / "network", tuple(settings))
        )
        laid_out(people)
        command = [
            sys.executable,
            str(ROOT / "run.py"),
            "--scenario",
            "three_way",
            "--llm",
            "oracle",
            "--ui",
            "--port",
            "0",
        ]
        with (
            subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True) as server,
            sync_playwright() as playwright,
        ):
            assert server.stdout is not None
            address = re.search(r"http://127.0.0.1:\d+/", server.stdout.readline())
            assert address
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            pages(browser, address[0], people)
            busy(browser, address[0])
            browser.close()
            server.terminate()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
