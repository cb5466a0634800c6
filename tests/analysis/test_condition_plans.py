"""--dry-run of the commands that compare conditions: the plan is what a run asks, and planning asks and writes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import run

SMALL = ("--topic", "racism", "--repetitions", "1", "--rounds", "1", "--llm", "oracle")
JUDGED = {
    "honesty": ("--rounds", "2", "--set", "memory=last:2"),
    "refutation": ("--topic", "blackout", "--rounds", "5"),
    "bets": ("--judge", "oracle"),
    "prior-beliefs": ("--compare", "oracle", "--panel", "2"),
}


def test_the_planned_calls_are_those_of_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The oracle's ratings can be read at once, so no call is repeated: all conditions together ask the planned number."""
    command = ["study", "arguments", *SMALL, "--out", str(tmp_path / "runs")]
    assert run.main([*command, "--dry-run"]) == 0
    assert not (tmp_path / "runs").exists()
    *_, planned, _, _ = [line for line in capsys.readouterr().out.splitlines() if line]
    assert planned.startswith("in all")
    assert run.main(command) == 0
    asked = sum(int(found) for found in re.findall(r"(\d+) calls asked", capsys.readouterr().out))
    assert planned.split()[-2] == f"{asked:,}"


def test_a_judge_is_named_and_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more in JUDGED.items():
        assert run.main(["study", name, *SMALL, *more, "--out", str(tmp_path / name), "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert (
            "in addition, oracle judges the statements; this plan does not include the calls, tokens and cost of oracle"
            in out
        ), name
    assert not any(tmp_path.iterdir())


def test_a_training_has_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run.main(["study", "prior-beliefs", "--llm", "pocket", "--compare", "oracle", "--train", "dpo", "--dry-run"])
        == 2
    )
    assert "leave out --train" in capsys.readouterr().err


SERVER = "openai:some,base_url=https://lab.example/v1"
ASKING = {
    "arena": ("at most 246 calls", "--panel", "8"),
    "rehearse": ("at most 251 calls", "--audience", "15", "--topic", "racism"),
    "conjoint": ("calls", "--respondents", "2"),
    "choose-side": ("calls", "--respondents", "2", "--topic", "racism"),
    "community": ("30 posts", "--judge", "oracle", "--rooms", "1"),
    "evolve": ("calls", "planted"),
}


@pytest.mark.parametrize("command", ASKING)
def test_a_plan_of_questions_names_the_servers(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where prompts and keys will go is known before anything is sent, in commands without a debate as well.

    arena: 6 messages that are written, 8 readers, 15 pairs, both orders. rehearse: 3 ways, 3 * 2 + 2 candidates, 30 readers.
    """
    planned, *more = ASKING[command]
    assert run.main(["study", command, *more, "--llm", SERVER, "--out", str(tmp_path / "none"), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert planned in shown
    assert shown.splitlines()[-1] == "lab.example gets no key"
    assert not any(tmp_path.iterdir())
