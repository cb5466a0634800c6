"""The page in headless Chromium: how soon it can be used, how soon its views open, whether a run blocks it.

    python benchmarks/app.py [PEOPLE]      (1000; needs the [app] and [browser] extras, and Chromium)

First paint is from the request to a button that can be pressed, in a new browser of a server that is up (bar: 3 s). A redraw is
from a key on the slider of rounds to the network of that round (bar: 1 s). On a machine with other work, read the processor
time: that of the server's process, and that of the page's main thread in the browser.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from parley.analysis.network_plot import layout
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


class Work:
    """Processor time of a server and of a page's main thread, in seconds, since this was made."""

    def __init__(self, server: int, page: Page):
        self.server, self.client = psutil.Process(server), page.context.new_cdp_session(page)
        self.client.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.before = self.now()

    def now(self) -> tuple[float, float]:
        times = self.server.cpu_times()
        metrics = {metric["name"]: metric["value"] for metric in self.client.send("Performance.getMetrics")["metrics"]}
        return times.user + times.system, metrics["TaskDuration"]

    def __str__(self) -> str:
        server, browser = (after - before for after, before in zip(self.now(), self.before, strict=True))
        return f"processor: server {server:.2f} s, browser {browser:.2f} s"


def print_time(name: str, seconds: list[float], bar: str = "") -> None:
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


def started(browser: Any, home: str) -> None:
    """From the command `run.py --ui` to a button that can be pressed, in a browser that is open."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    before = time.perf_counter()
    with served(home, ["--ui", "--port", "0"]) as (server, address):
        page.goto(address)
        page.get_by_role("button", name="Explore an example run").wait_for()
        seconds, times = time.perf_counter() - before, psutil.Process(server).cpu_times()
        print_time(
            "first page after the command",
            [seconds],
            f"bar 4 s; processor of the server {times.user + times.system:.2f} s",
        )
    page.context.close()


@contextmanager
def served(home: str, options: list[str]) -> Iterator[tuple[int, str]]:
    """Serve the page in a folder; its process and its address."""
    command = [sys.executable, str(ROOT / "run.py"), *options]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = re.search(r"(http://127.0.0.1:\d+/)\S*(token=\S+)", server.stdout.readline())
        assert address
        yield server.pid, f"{address[1]}?{address[2]}"
        server.terminate()


def pages(browser: Any, server: int, address: str, people: int) -> None:
    print_time("first paint, no cache", [fresh(browser, address) for _ in range(TIMES)], "bar 3 s")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(300_000)
    ready(page, address)
    print_time("first paint, again in the same tab", [timed(lambda: ready(page, address)) for _ in range(TIMES)])
    ready(page, f"{address}&runs")
    print_time(f"open a run of {people:,} people", [timed(lambda: opened(page))])
    work = Work(server, page)
    print_time(
        "its network for the first time, with the layout", [timed(lambda: network(page, people))], f"bar 2 s; {work}"
    )
    page.get_by_role("slider", name="Up to round").focus()
    steps = [("ArrowLeft", 1), ("ArrowRight", 2)] * TIMES
    print_time(
        "its network in another round",
        [timed(lambda key=key, to=to: redrawn(page, key, to)) for key, to in steps],
        "bar 1 s",
    )
    work = Work(server, page)
    print_time("its Export", [timed(lambda: view(page, "Export"))], f"bar 0.3 s; {work}")
    print_time("the lists of tables and figures in Export", [timed(page.get_by_label("Figure", exact=True).wait_for)])
    ready(page, f"{address}&run=runs/many")
    page.get_by_role("tab", name="Attitudes").click()
    page.locator(".canvas[data-round='6']").wait_for()
    page.get_by_role("slider").first.focus()
    work = Work(server, page)
    steps = [("ArrowLeft", 5), ("ArrowLeft", 4), ("ArrowRight", 5), ("ArrowRight", 6)] * 4
    seconds = [timed(lambda key=key, to=to: drawn(page, key, to)) for key, to in steps]
    print_time("a step of 480 agents in Attitudes", seconds, f"bar 0.1 s; of 16 steps, {work}")


def drawn(page: Page, key: str, round_: int) -> None:
    """Move the slider of rounds by a key, and wait for the chart of that round."""
    page.keyboard.press(key)
    page.locator(f".canvas[data-round='{round_}']").wait_for()


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
    ready(page, f"{address}&scenario=three_way&llm=oracle&repetitions=40")
    page.locator(".plan", has_text="160 rooms").wait_for()
    page.get_by_role("button", name="Start a new run").click()
    page.get_by_text("Running round").wait_for()
    print_time(
        "a view while 160 rooms debate",
        [timed(lambda title=title: view(page, title)) for title in ("Calls", "Interview") * 3],
    )


def view(page: Page, title: str) -> None:
    page.get_by_role("tab", name=title, exact=True).click()
    page.get_by_role("tabpanel", name=title, exact=True).wait_for()


def laid_out(people: int) -> None:
    graph = nx.random_partition_graph([people // 2] * 2, 10 / people, 2.5 / people, seed=1)
    ends = np.array(graph.edges()).reshape(-1, 2)
    print_time("the layout alone", [timed(lambda: layout(people, ends[:, 0], ends[:, 1]))])
    print_time("the layout by networkx", [timed(lambda: nx.spring_layout(graph, seed=0, iterations=60))])


def main(people: int = 1000) -> None:
    settings = {"size": people, "repetitions": 1, "rounds": 2, "llm": "oracle", "reference": ""}
    with tempfile.TemporaryDirectory() as home:
        run_scenario(
            RunSpec(load_preset("network").with_settings(settings), Path(home) / "runs" / "network", tuple(settings))
        )
        many = {"llm": "oracle", "repetitions": 40, "rounds": 6}
        run_scenario(RunSpec(load_preset("three_way").with_settings(many), Path(home) / "runs" / "many", tuple(many)))
        laid_out(people)
        os.environ["XDG_CACHE_HOME"] = home
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for _ in range(TIMES):
                started(browser, home)
            with served(home, ["--scenario", "three_way", "--llm", "oracle", "--ui", "--port", "0"]) as (
                server,
                address,
            ):
                pages(browser, server, address, people)
                busy(browser, address)
            browser.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
