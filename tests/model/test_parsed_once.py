"""A run reads its scenario once: it is neither validated nor built again on its way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import run
from parley.environments.groups import Groups
from parley.model import validation
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SETTINGS = {"llm": "oracle", "repetitions": 1, "rounds": 1, "topic": "racism"}


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a scenario was validated, its environment built and its entries for parties read."""
    counted = Counter[str]()

    def count(owner: Any, name: str, what: str) -> None:
        original = getattr(owner, name)

        def counting(*given: Any, **named: Any) -> Any:
            counted[what] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counting)

    count(validation, "check_scenario", "validations")
    count(Groups, "__init__", "environments")
    count(Scenario, "_by_party", "readings")
    return counted


def test_a_run_validates_its_scenario_once_and_builds_one_environment(counts: Counter[str], tmp_path: Path) -> None:
    """An environment built again may read its graph from a file that has changed since."""
    run_scenario(RunSpec(load_preset("echo_chamber", SETTINGS), tmp_path))
    assert counts == {"validations": 1, "environments": 1, "readings": 2}


@pytest.mark.thorough
def test_so_does_the_command_with_its_report(counts: Counter[str], tmp_path: Path) -> None:
    command = "--scenario echo_chamber --llm oracle --repetitions 1 --rounds 1 --topic racism --out"
    assert run.main([*command.split(), str(tmp_path / "run")]) == 0
    assert (counts["validations"], counts["environments"]) == (1, 1)


def test_a_scenario_with_other_settings_keeps_its_environment() -> None:
    """Only an option of the environment makes another one."""
    preset = load_preset("echo_chamber")
    assert preset.with_settings({}) is preset
    assert preset.with_settings({"rounds": 2}).environment is preset.environment
    assert preset.with_settings({"size": 3}).environment is not preset.environment
