"""A sweep before an endpoint: its limits and the budget hold for all workers together."""

from __future__ import annotations

from pathlib import Path

import pytest

import run
from parley.analysis.tables import load

from .loopback import Act, Body, Loopback, digest, likely, said

pytestmark = pytest.mark.thorough


def person(body: Body, time: int = 1) -> Act:
    """A debater with likeliest tokens."""
    if body.get("logprobs"):
        rating = "4" if "legs has a dog" in str(body) else str(int(digest(body)[-1], 16) % 7 + 1)
        return said(rating, logprobs=likely((rating, {rating: 0.75})))
    return said(f"{digest(body)}.")


def test_limits_and_budget_hold_for_all_workers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two workers have two of four requests each; what the budget allows is asked and not one more, and later only the rest."""
    design = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "2", "--seeds", "0:4"]
    design.append("--no-qualify")  # whose questions would be counted as well
    with Loopback(person, slow=0.005) as server:
        model = ["--llm", "openai:echo,thinking=0,in_flight=4", "--base-url", server.url]
        command = ["sweep", *design, *model, "--out", str(tmp_path / "sweep")]
        assert run.main([*command, "--workers", "2", "--max-calls", "40"]) == 2
        assert "the budget --max-calls 40 is spent (40 calls" in capsys.readouterr().err
        assert len(debated(server)) == 40
        assert run.main([*command, "--workers", "9"]) == 0
        assert "4 workers at most, not 9: the model takes 4 requests at a time" in capsys.readouterr().out
    assert server.most <= 4
    tables = [load(tmp_path / "sweep" / "cells" / "all" / f"seed-{seed}") for seed in range(4)]
    assert len(debated(server)) == sum(len(each.calls) for each in tables) == 4 * 22
    assert all(each.calls["failure"].isna().all() for each in tables)


def test_a_sweep_stops_at_a_server_that_tells_no_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers in processes of their own, too, tell the one limit that it cannot work; what is on its way is all that is asked."""

    def silent(body: Body, time: int) -> Act:
        act = person(body)
        return Act(body=act.body.replace(b'"usage"', b'"unusual"'))

    design = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "2", "--seeds", "0:4"]
    with Loopback(silent) as server:
        model = ["--llm", "openai:echo,thinking=0,in_flight=4", "--base-url", server.url]
        command = ["sweep", *design, *model, "--out", str(tmp_path / "sweep"), "--workers", "2"]
        assert run.main([*command, "--max-tokens", "100000"]) == 2
        assert "does not report token use, so --max-tokens 100000 cannot work" in capsys.readouterr().err
    assert len(debated(server)) <= 4


def debated(server: Loopback) -> list[Body]:
    """What was asked beside the probes of the workers."""
    return [body for body in server.asked if "Is the sky" not in str(body) and "legs has a dog" not in str(body)]
