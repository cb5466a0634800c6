"""Preregistration: a changed plan is refused, another test is exploratory, and nothing is claimed where nothing is."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import run
from parley.llm.errors import UserError
from parley.studies.claims import registration
from parley.studies.claims.claim import Claim, load_claim
from parley.studies.claims.confirmation import claim_sentence, make_look
from parley.studies.claims.registration import Registration, canonical, hash_plan, read_registration
from parley.studies.claims.stamp import (
    Attempt,
    NotedMeasure,
    note_begun,
    replaced_debates,
    seen_file,
    why_exploratory,
)

TEXT = """
claim = "Agents of one party agree more."
scenario = "two_way"
settings = ["rounds=1", "survey=ends"]
outcome = "polarisation"
expected = "less"
smallest = 1
contrast.first = ["environment=groups"]
population = { topics = ["racism"], models = ["oracle"], personas = ["simple"] }
"""
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def claim(tmp_path: Path) -> Claim:
    (tmp_path / "claim.toml").write_text(TEXT, encoding="utf-8")
    return load_claim(tmp_path / "claim.toml")


@pytest.fixture
def plan(claim: Claim, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(registration.register(claim, (6, 8), 0.0, 0, LONG_AGO), encoding="utf-8")
    return path


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in a plan, also of empty lists and tables."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from leaves(one, (*path, key))


def mutations(plan: dict[str, Any], renewed: bool = False) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield copies of a plan with one value changed, and with one removed: every value of the plan, and of what it froze
    (with a renewed hash only of that) every 20th.
    """
    paths = list(leaves(plan))
    frozen = [path for path in paths if path[0] == "frozen" and len(path) > 1]
    places = [path for path in frozen if len(path) == 2] + [path for path in frozen if len(path) > 2][::20]
    places += [] if renewed else [path for path in paths if path[0] != "frozen"]
    for path in places:
        for remove in (False, True):
            changed = copy.deepcopy(plan)
            inside: Any = changed
            for key in path[:-1]:
                inside = inside[key]
            if remove:
                del inside[path[-1]]
            else:
                inside[path[-1]] = other(inside[path[-1]])
            yield path, changed


def other(value: Any) -> Any:
    """Return another value of the same kind where there is one."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else [*value, "x"] if isinstance(value, list) else {**value, "x": 1}


@pytest.mark.thorough
def test_every_mutation_is_refused(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No value of a plan can be changed or removed; with a renewed hash, nothing that it froze. One line names what differs."""
    original = json.loads(plan.read_text(encoding="utf-8"))
    read_registration(plan)  # as it is, it is accepted
    monkeypatch.setattr(registration, "freeze", lambda *_: copy.deepcopy(original["frozen"]))
    read_registration(plan)
    refused = 0
    for path, changed in mutations(original):
        plan.write_text(canonical(changed), encoding="utf-8")
        with pytest.raises(UserError) as error:
            read_registration(plan)
        assert "\n" not in str(error.value), path
        refused += 1
    for path, changed in mutations(original, renewed=True):
        plan.write_text(canonical({**changed, "hash": hash_plan(changed)}), encoding="utf-8")
        with pytest.raises(UserError) as error:
            read_registration(plan)
        assert str(path[1]) in str(error.value), path
        refused += 1
    plan.write_text(canonical(original).replace("\n", "\n "), encoding="utf-8")
    with pytest.raises(UserError, match="hash or its form"):
        read_registration(plan)
    assert refused >= 150, "each value outside of the sources, and one of 20 source files"


def test_a_changed_world_is_named(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another prompt, model or source since the registration is refused, with its name."""
    frozen = json.loads(plan.read_text(encoding="utf-8"))["frozen"]
    for place in (("sources", "model"), ("prompts", "first"), ("models", "oracle"), ("versions", "numpy")):
        now = copy.deepcopy(frozen)
        now[place[0]][place[1]] = other(now[place[0]][place[1]])
        monkeypatch.setattr(registration, "freeze", lambda *_, now=now: now)
        with pytest.raises(UserError, match=f"{place[0]}.{place[1]}"):
            read_registration(plan)


def test_the_stamp(plan: Path, tmp_path: Path) -> None:
    """Another n, another model, an older folder and a result seen before are exploratory; the plan itself is not."""
    planned: Registration = read_registration(plan)
    attempt = Attempt((6, 8), "oracle", tmp_path / "run")

    def reasons(one: Attempt) -> str:
        return "; ".join(why_exploratory(planned, plan, one))

    assert reasons(attempt) == ""
    assert "6 are not those registered (6,8)" in reasons(replace(attempt, looks=(6,)))
    assert "oracle,kappa=0.3 is not among" in reasons(replace(attempt, model="oracle,kappa=0.3"))
    (tmp_path / "run").mkdir()
    label = tmp_path / "run" / "sweep.json"
    label.touch()
    assert reasons(attempt) == ""
    os.utime(label, (0, 0))
    assert "older" in reasons(attempt)
    os.utime(label)
    note_begun(plan, attempt)  # before a result: a test that was begun and killed counts
    assert reasons(attempt) == ""  # the same test again
    assert "begun before, with another" in reasons(replace(attempt, folder=tmp_path / "again"))
    label.unlink()
    assert "folder is gone" in reasons(attempt)


def test_debates_that_are_run_again_are_seen(plan: Path, tmp_path: Path) -> None:
    """A run that is removed and run again with other numbers is noticed, also if no test was finished; a failure that is asked
    again, or the same numbers, are not.
    """
    attempt, values = Attempt((6, 8), "oracle", tmp_path / "run"), [1.0, np.nan]
    measure = NotedMeasure(lambda run: pd.DataFrame({"value": values}), attempt, seen_file(plan))
    note_begun(plan, attempt)
    measure(attempt.folder / "arm" / "0")
    measure(attempt.folder / "arm" / "0")
    values[1] = 2.0
    measure(attempt.folder / "arm" / "0")
    assert replaced_debates(plan) == 0
    assert len(seen_file(plan).read_text(encoding="utf-8").splitlines()) == 3
    values[0] = 1.5
    measure(attempt.folder / "arm" / "0")
    assert replaced_debates(plan) == 1


def test_a_test_that_was_killed_is_seen(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that is begun and stopped is on the list before anything is run: it can be continued, not begun again elsewhere."""

    def stop(*_: object) -> None:
        raise UserError("stopped")

    monkeypatch.setattr("parley.studies.claims.command.measure_cells", stop)
    assert run.main(["study", "confirm", str(plan), "--out", str(tmp_path / "first")]) == 2
    planned = read_registration(plan)
    assert why_exploratory(planned, plan, Attempt((6, 8), "oracle", tmp_path / "first")) == []
    assert "begun before" in why_exploratory(planned, plan, Attempt((6, 8), "oracle", tmp_path / "second"))[0]


def test_a_part_of_a_plan_has_its_keys_and_no_others(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that the program does not know cannot be in a plan, nor a value that no command gives, with a new hash either."""
    original = json.loads(plan.read_text(encoding="utf-8"))
    monkeypatch.setattr(registration, "freeze", lambda *_: copy.deepcopy(original["frozen"]))
    for section, key, value in (("exclusions", "outliers", 2), ("stopping", "fewest", 3), ("exclusions", "missing_topics", -1.0),
                                ("stopping", "looks", [8, 6]), ("stopping", "looks", [6.5, 8])):  # fmt: skip
        changed = copy.deepcopy(original)
        changed[section][key] = value
        plan.write_text(canonical({**changed, "hash": hash_plan(changed)}), encoding="utf-8")
        with pytest.raises(UserError, match=section if key not in original[section] else "do not fit"):
            read_registration(plan)


def drawn(rng: np.random.Generator, mean: float, units: int = 20) -> pd.DataFrame:
    """Return differences of two topics in each unit; units differ by SD 1."""
    seeds = np.repeat(np.arange(units), 2)
    values = mean + np.repeat(rng.normal(size=units), 2) + rng.normal(size=2 * units)
    return pd.DataFrame({"seed": seeds, "topic": ["a", "b"] * units, "difference": values})


def test_nothing_is_claimed_where_nothing_is(claim: Claim) -> None:
    """Superiority without an effect, and equivalence with an effect as large as the bound, in at most 5%; both find a truth."""
    alike = replace(claim, expected="equivalent", smallest=1.0)
    for which, null, truth in ((claim, 0.0, -1.5), (alike, 1.0, 0.0)):
        rng = np.random.default_rng(1)
        false = [make_look(which, drawn(rng, null), 0.0).decides(0.05) for _ in range(120)]
        found = [make_look(which, drawn(rng, truth), 0.0).decides(0.05) for _ in range(30)]
        assert np.mean(false) < 0.05 + 2.5 * 0.02
        assert np.mean(found) > 0.8


def test_an_effect_below_the_smallest_of_interest_is_called_so(claim: Claim) -> None:
    """An effect of -1 with a narrow interval is found, and is not 3; where the smallest of interest is 0.5 it is supported."""
    rows = drawn(np.random.default_rng(2), -1.0, 100)
    small = claim_sentence(replace(claim, smallest=3.0), [make_look(claim, rows, 0.0)], 0.05)
    assert small.startswith(
        "The direction of the claim is supported, but the effect is smaller than the smallest effect of interest: the mean"
    )
    enough = replace(claim, smallest=0.5)
    assert claim_sentence(enough, [make_look(enough, rows, 0.0)], 0.05).startswith("The claim is supported: the mean")


def test_an_interval_that_the_claim_excludes_is_named(claim: Claim) -> None:
    """The other side of 0, or beyond the bound: not supported, which is more than unknown. Where nothing is, in at most 2.5%."""
    alike, rows = replace(claim, expected="equivalent", smallest=0.5), drawn(np.random.default_rng(2), 3.0, 40)
    said = [claim_sentence(one, [make_look(one, rows, 0.0)], 0.05) for one in (claim, alike)]
    assert said[0].startswith(
        "The claim is not supported, and the 95% interval lies on the other side of 0: the mean effect"
    )
    assert said[1].startswith("The claim is not supported, and the 95% interval lies beyond 0.50 of 0: the mean effect")
    rng = np.random.default_rng(4)
    null = [claim_sentence(claim, [make_look(claim, drawn(rng, 0.0), 0.0)], 0.05) for _ in range(200)]
    assert np.mean(["not supported" in one for one in null]) < 0.025 + 2.5 * 0.011


def test_exclusions_and_unknown_results(claim: Claim) -> None:
    """A unit with too many topics missing is left out; too few units, or many left out, give no verdict."""
    rows = drawn(np.random.default_rng(2), -3.0)
    rows.loc[0, "difference"] = np.nan
    strict, lenient = make_look(claim, rows, 0.0), make_look(claim, rows, 0.5)
    assert (int(strict.units["excluded"].sum()), int(lenient.units["excluded"].sum())) == (1, 0)
    assert strict.mean == pytest.approx(rows[rows["seed"] > 0].groupby("seed")["difference"].mean().mean())
    few = make_look(claim, rows[rows["seed"] < 6], 0.0)
    assert claim_sentence(claim, [few], 0.05) == (
        "It is unknown whether the claim holds, because there are 5 units with a number, but at least 6 are needed."
    )
    rows.loc[rows["seed"] < 5, "difference"] = np.nan
    assert "5 of 20 units are excluded" in claim_sentence(claim, [make_look(claim, rows, 0.5)], 0.05)
    same = rows.assign(difference=0.0)
    assert "because all units have the same effect" in claim_sentence(claim, [make_look(claim, same, 0.0)], 0.05)


@pytest.mark.thorough
def test_from_registration_to_report(
    claim: Claim, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is run and stamped, a repeated command asks nothing and writes the same report, another n is exploratory."""
    monkeypatch.chdir(tmp_path)
    assert run.main(["study", "register", "claim.toml", "--units", "6", "--out", "own.json"]) == 0
    assert run.main(["study", "register", "claim.toml", "--units", "6", "--out", "own.json"]) == 2
    assert run.main(["study", "confirm", "own.json", "--workers", "1"]) == 0
    page = (tmp_path / "own" / "confirmation.md").read_bytes()
    assert b"**confirmatory**" in page
    assert b"The claim is supported" in page
    assert (tmp_path / "own.seen.jsonl").exists()
    capsys.readouterr()
    assert run.main(["study", "confirm", "own.json", "--workers", "1"]) == 0
    assert "0 calls were made" in capsys.readouterr().out
    assert (tmp_path / "own" / "confirmation.md").read_bytes() == page
    assert run.main(["study", "confirm", "own.json", "--workers", "1", "--units", "7", "--out", "more"]) == 0
    assert "exploratory: units 7 are not those registered (6)" in capsys.readouterr().out
