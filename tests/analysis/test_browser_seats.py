"""Two people in two browsers: each holder enters with its own code, answers, and sees nothing of the other."""

# ruff: noqa: F811  (fixtures are imported, and are parameters of the tests)
from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import PATIENCE, RUN, Visit, browser, needs_chromium  # noqa: F401
from playwright.sync_api import Browser, expect

from parley.model import events
from parley.model.recorder import read_lines

pytestmark = [needs_chromium, pytest.mark.thorough]
ATTACK = '<img src="http://evil.example/x.png" onerror="alert(1)">'
SECRETS = {"conservative": f"Anne keeps a red bicycle. {ATTACK}", "labour": "Ben owns a blue boat."}


class Run:
    """A run with two people in the page, as a user starts it."""

    def __init__(self, folder: Path):
        self.folder = folder
        command = [sys.executable, str(RUN), "--scenario", "consensus", "--llm", "oracle", "--out", str(folder)]
        for seat in SECRETS:
            command += ["--llm", f"{seat}=person,at=page"]
        command += ["--llm", "representative=fake", "--society", "uk", "--repetitions", "1", "--port", "0"]
        command += [part for one in ("episodes=1", "size=2", "mediator=majority") for part in ("--set", one)]
        self.process = subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.PIPE, text=True)
        self.address, self.codes = self._line(r"(http://127\.0\.0\.1:\d+/)")[0], dict[str, str]()
        for _ in SECRETS:
            code, seat = self._line(r"code +(\w+) +(.+)")
            self.codes[seat] = code

    def _line(self, pattern: str) -> tuple[str, ...]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.search(pattern, line):
                return found.groups()
        raise AssertionError(pattern)


class Holder:
    """The browser of one person: everything that reaches it is kept."""

    def __init__(self, browser: Browser, address: str):
        self.visit = Visit(browser.new_context().new_page(), address)
        self.page, self.received = self.visit.page, list[str]()
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._keep))
        self.page.goto(address)

    def _keep(self, payload: Any) -> None:
        self.received.append(payload if isinstance(payload, str) else bytes(payload).decode("utf-8", "replace"))

    def enter(self, code: str) -> None:
        self.page.get_by_label("Code of your seat").fill(code)
        self.page.get_by_role("button", name="Enter").click()

    def asked(self, words: str) -> None:
        expect(self.page.locator("form .turn").last).to_contain_text(words, timeout=PATIENCE)

    def write(self, text: str) -> None:
        self.page.get_by_label("Your answer").fill(text)
        self.press("Send")

    def choose(self, answer: str) -> None:
        self.page.get_by_role("radio", name=answer, exact=True).check()
        self.press("Send")

    def own_lines(self) -> str:
        """Download the own lines."""
        with self.page.expect_download() as saved:
            self.press("Save my lines")
        return json.dumps(json.loads(Path(saved.value.path()).read_text(encoding="utf-8")))

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path / "run")
    yield run
    run.process.kill()
    run.process.communicate(timeout=20)


def test_two_people_in_two_browsers_see_only_their_own(browser: Browser, started: Run) -> None:
    """Consent, opinion, critique and ratings of two people. One leaves, is represented, comes back. A wrong code waits."""
    holders = {seat: Holder(browser, started.address) for seat in SECRETS}
    anne, ben = holders["conservative"], holders["labour"]
    anne.enter("WRONGCODE2")
    expect(anne.page.get_by_role("alert")).to_contain_text("opens no seat", timeout=PATIENCE)
    anne.enter(started.codes["conservative"])
    expect(anne.page.get_by_role("alert")).to_contain_text("Wait")
    anne.page.wait_for_timeout(1100)  # the pause after a wrong code is part of what is tested
    for seat, one in holders.items():
        one.enter(started.codes[seat])
        one.asked("Do you agree to take part?")
        one.choose("I agree")
    for one, position in ((anne, "6"), (ben, "5")):
        one.asked("Answer with one number from 1 to 7")
        one.choose(position)
    for seat, one in holders.items():
        one.asked("Write your opinion")
        one.write(SECRETS[seat])
    ben.asked("Write your critique")
    ben.press("Leave for now")
    ben.press("I am back")
    anne.asked("Write your critique")
    anne.write("It is too short.")
    for rating in ("7", "4", "3"):
        for one in holders.values():
            one.asked("Answer with one number from 1 to 7")
            before = one.page.locator("details li").count()
            one.choose(rating)
            expect(one.page.locator("details li")).to_have_count(before + 1, timeout=PATIENCE)
    for one in holders.values():
        one.asked("How do you describe your gender")
        one.press("Leave for now")
    files = {seat: one.own_lines() for seat, one in holders.items()}
    for one in holders.values():
        assert one.visit.wrong == []  # after the last Finish the server ends
        one.press("Finish")
    assert started.process.wait(60) == 0
    for seat, one in holders.items():
        (other,) = SECRETS.keys() - {seat}
        everything = "".join(one.received) + one.page.content() + files[seat]
        assert SECRETS[seat][:20] in files[seat]
        assert SECRETS[seat][:20] in everything
        for private in (SECRETS[other][:20], started.codes[other], f'"{other}"'):
            assert private not in everything, private
        one.page.context.close()
    check_record(list(read_lines(started.folder / "record.jsonl")))


def check_record(record: list[events.Event]) -> None:
    """Both people are recorded like members, and the second one's critique is by its representative."""
    seats = {one.agent: one.seat for one in record if isinstance(one, events.Seated)}
    said = {(seats[one.agent], one.form): one.text for one in record if isinstance(one, events.Utterance) and one.agent}
    assert said["labour", "opinion"] == SECRETS["labour"]
    assert said["conservative", "critique"] == "It is too short."
    assert said["labour", "critique"] == "I hear you."
    rated = [(seats[one.agent], one.rating) for one in record if isinstance(one, events.Rated)]
    assert [value for seat, value in rated if seat == "labour"] == [5, 7, 4, 3]
    taken = [
        (one.by, one.reason) for one in record if isinstance(one, events.Occupied) and seats[one.agent] == "labour"
    ]
    assert taken == [("person", ""), ("representative", "left"), ("person", ""), ("representative", "left")]
