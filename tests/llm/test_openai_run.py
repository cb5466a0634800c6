"""Whole debates over a real connection: what a user of an endpoint sees, and what stands in the record."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import run
from parley.analysis.tables import load
from parley.model import events
from parley.model.files import JOURNAL, RECORD
from parley.model.recorder import read_lines

from .loopback import Act, Body, Loopback, completed, digest, likely, problem, said

ROOT = Path(run.__file__).parent
SMALL = ["--scenario", "three_way", "--topic", "racism", "--repetitions", "2", "--rounds", "2"]


PROBES = 6
"""Questions of the probe: a word, a number, a line that goes on (in two forms), and a line of a poem with top_k of 1 (twice)."""


def is_of_the_probe(body: Body) -> bool:
    return any(words in str(body) for words in ("Is the sky", "legs has a dog", "blackbird"))


def person(body: Body, time: int = 1) -> Act:
    """A debater with likeliest tokens, who thinks first, and whose line is busy at every fifth first call."""
    if time == 1 and int(digest(body)[-1], 16) % 5 == 0 and not is_of_the_probe(body):
        return problem(503, "busy", retry_after_ms="1")
    if body.get("logprobs"):
        rating = "4" if "legs has a dog" in str(body) else "7"
        return said(rating, logprobs=likely((rating, {rating: 0.75, "5": 0.25})))
    return said(f"{digest(body)}.", message={"reasoning_content": "Let me see."})


def command(server: Loopback, folder: Path, *more: str) -> list[str]:
    return [
        *SMALL,
        "--llm",
        "openai:echo,thinking=0",
        "--base-url",
        server.url,
        "--no-qualify",
        "--out",
        str(folder),
        *more,
    ]


def parrot(body: Body, time: int = 1) -> Act:
    """A completion model: it writes its turn, then all turns to come, surveys and answers included; it knows no stop."""
    own = "7" if body["prompt"].rpartition("\n\n")[2].startswith("Answer:") else f"{digest(body)}."
    rest = body["prompt"].rpartition("\n\n")[0].split("\n\n")[-1]
    survey = "Privately, and apart from the debate: How big a problem is racism? Answer with one number from 0 to 10."
    return completed(f" {own}\n\n{rest}\n\nMe: And more.\n\n{survey}\n\nAnswer: 7")


def test_a_completion_model_that_goes_on(tmp_path: Path) -> None:
    """No prompt of the run holds a survey but as its own last question, no line holds more than a turn, and all is readable."""
    folder = tmp_path / "run"
    with Loopback(parrot) as server:
        spec = ["--llm", "openai:parrot,api=completions,closed=text", "--base-url", server.url, "--set", "reader=paper"]
        assert run.main([*SMALL, *spec, "--set", "probe=attitude", "--out", str(folder)]) == 0
        prompts = [
            body["prompt"] for body in server.asked if "How big" in body["prompt"] or "next reply" in body["prompt"]
        ]
    lines = load(folder).utterances["text"]
    assert lines.str.fullmatch(r"I say \w+\.").all()
    assert all(asked.count("Privately") == asked.rpartition("\n\n")[2].startswith("Answer:") for asked in prompts)


def test_a_debate_over_an_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ratings with their distribution and the way they were read, thoughts apart, what was found shown, the key nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234567890")
    folder = tmp_path / "run"
    with Loopback(person) as server:
        assert run.main(command(server, folder)) == 0
        assert server.keys == {"Bearer sk-very-secret-1234567890"}
    tables = load(folder)
    assert set(tables.attitudes["how"]) == {"strict, logprobs"}
    assert (
        "| how ratings were read | strict, logprobs: 18; probability of the allowed answers: median 100%, lowest 100% |"
        in (folder / "summary.md").read_text()
    )
    assert set(tables.attitudes["rating"]) == {7.0}
    assert set(tables.attitudes["expected"]) == {6.5}
    assert tables.calls["failure"].isna().all()
    found = list(read_lines(folder / RECORD))
    thoughts = [event for event in found if isinstance(event, events.Thought)]
    speeches = [event for event in found if isinstance(event, events.Called) and event.purpose == "speech"]
    assert {event.key for event in thoughts} == {event.key for event in speeches}
    assert {event.text for event in thoughts} == {"Let me see."}
    assert not any("Let me see" in str(body) for body in server.asked), "nobody hears what a model thinks"
    assert "closed questions by the 20 likeliest tokens" in capsys.readouterr().out
    for path in folder.rglob("*"):
        assert not path.is_file() or b"sk-very-secret" not in path.read_bytes(), path


@pytest.mark.thorough
def test_a_budget_stops_and_the_same_command_asks_only_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a server that has moved, too. Every question is answered once; the record is that of a run that was never stopped."""
    with Loopback(person) as server:
        assert run.main(command(server, tmp_path / "whole")) == 0
        undisturbed = len(server.asked)
        server.asked.clear()
        server.times.clear()
        assert run.main(command(server, tmp_path / "stopped", "--max-calls", "20")) == 2
        assert "--max-calls 20 is spent" in capsys.readouterr().err
        first = len(server.asked)
    with Loopback(person) as moved:
        assert run.main(command(moved, tmp_path / "stopped")) == 0
        assert first + len(moved.asked) == undisturbed + PROBES
        answered = [json.dumps(body) for body in server.asked + moved.asked if not is_of_the_probe(body)]
    assert max(Counter(answered).values()) <= 2, "once busy, once answered"
    whole, stopped = (list(read_lines(tmp_path / name / RECORD))[1:] for name in ("whole", "stopped"))
    assert whole == stopped


def test_a_server_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*SMALL, "--llm", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--out", str(tmp_path / "run")]
    assert run.main(asked) == 2
    assert "check that the server is running and that the address is" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert run.main([*SMALL, "--base-url", "http://127.0.0.1:9/v1"]) == 2


@pytest.mark.thorough
def test_an_interrupt_ends_at_once_and_loses_nothing(tmp_path: Path) -> None:
    """The server falls silent in the middle. Ctrl-C ends the run while calls are on their way; then the rest is asked."""
    silent, go_on = threading.Event(), threading.Event()

    def plan(body: Body, time: int) -> Act:
        if go_on.is_set() or len(server.asked) < 15:
            return person(body, time=2)
        silent.set()
        return Act(hang=True)

    with Loopback(plan) as server:
        asked = [sys.executable, str(ROOT / "run.py"), *command(server, tmp_path / "run")]
        pipe, heard = (
            subprocess.PIPE,
            partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )  # a job in the background ignores it
        with subprocess.Popen(asked, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, preexec_fn=heard) as process:
            assert silent.wait(60)
            process.send_signal(signal.SIGINT)
            _, said_last = process.communicate(timeout=20)
        assert process.returncode == 130
        assert said_last.strip().startswith("run.py: interrupted. Every answer that came in is saved")
        with closing(sqlite3.connect(tmp_path / "run" / JOURNAL)) as journal:
            kept = journal.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0]
        server.asked.clear()
        go_on.set()
        assert run.main(command(server, tmp_path / "run")) == 0
        again = [body for body in server.asked if "Is the sky" not in str(body) and "legs has a dog" not in str(body)]
    assert kept >= 6, "the first survey at least"
    assert len(again) == 30 - kept
    calls = load(tmp_path / "run").calls
    assert (len(calls), calls["failure"].isna().all()) == (30, True)


@pytest.mark.thorough
def test_killed_again_and_again_nothing_is_lost_and_nothing_asked_twice(tmp_path: Path) -> None:
    """kill -9 at three places. What the journal holds is not asked again, and the record is that of an undisturbed run."""
    here = threading.Event()

    def plan(body: Body, time: int) -> Act:
        if len(server.asked) < most:
            return person(body, time=2)
        here.set()
        return Act(hang=True)

    most = 999
    with Loopback(plan) as server:
        assert run.main(command(server, tmp_path / "whole")) == 0
        kept: set[str] = set()
        for stop_at in (9 + PROBES, 8 + PROBES, 8 + PROBES):
            most = stop_at
            server.asked.clear()
            here.clear()
            asked = [sys.executable, str(ROOT / "run.py"), *command(server, tmp_path / "run")]
            with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                try:
                    assert here.wait(60)
                finally:  # or the test would wait for a command that waits for an answer
                    process.kill()
            assert not kept & {f"{digest(body)}." for body in server.asked}, "answered in an earlier sitting"
            kept, before = _kept(tmp_path / "run"), kept
            assert kept >= before
        assert kept
        server.asked.clear()
        most = 999
        assert run.main(command(server, tmp_path / "run")) == 0
        assert not kept & {f"{digest(body)}." for body in server.asked}
    whole, killed = (list(read_lines(tmp_path / name / RECORD))[1:] for name in ("whole", "run"))
    assert whole == killed


def _kept(folder: Path) -> set[str]:
    """What was said, as far as the journal holds it."""
    with closing(sqlite3.connect(folder / JOURNAL)) as journal:
        rows = journal.execute("SELECT json_extract(reply, '$.text') FROM outcomes WHERE purpose = 'speech'")
        return {text for (text,) in rows}


@pytest.mark.thorough
def test_a_server_that_tells_no_usage_stops_what_limits_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither `0 tokens` nor `cost 0`: with a limit the run stops at once, without one the summary says what is not known."""

    def silent(body: Body, time: int) -> Act:
        act = person(body, time=2)
        return replace(act, body=json.dumps({**json.loads(act.body), "usage": None}).encode())

    with Loopback(silent) as server:
        asked = command(server, tmp_path / "run", "--price", "1,2")
        assert run.main([*asked, "--max-cost", "9"]) == 2
        assert "does not report token use, so --max-cost 9.0 cannot work" in capsys.readouterr().err
        assert len(server.asked) < 30
        assert run.main([*asked, "--max-calls", "99"]) == 0
    summary = (tmp_path / "run" / "summary.md").read_text()
    assert "asked (the server reported no tokens)" in summary
    assert "| cost | unknown: the server reported no tokens |" in summary
    assert set(load(tmp_path / "run").calls["uncounted"]) == {1}
