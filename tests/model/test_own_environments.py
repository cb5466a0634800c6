"""A user's own class made from an environment, of Parley or of a study, runs as that environment does."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

import parley
from parley.environments import ENVIRONMENTS
from parley.llm.trust import trust
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.scenario import Scenario, load_preset, preset_names, read_preset

SMALL = {"repetitions": 1, "rounds": 1, "llm": "oracle"}
FURTHER = {"platform": {"size": 30}, "network": {"size": 20, "interventions": ()}, "story": {"size": 20}}
MINE = """from dataclasses import dataclass

from parley.environments import environment_class


@dataclass(frozen=True)
class Mine(environment_class("NAME")):
    pass
"""


def recorded(scenario: Scenario) -> list[str]:
    recorder = MemoryRecorder()
    DebateModel(scenario, recorder=recorder).run()
    return [to_line(event) for event in recorder.events]


@pytest.mark.thorough
@check_each("name", ENVIRONMENTS.names())
def test_a_class_made_from_an_environment_runs_like_it(name: str, tmp_path: Path) -> None:
    """The model finds rounds and seats by what an environment is, and never by its name."""
    file = tmp_path / "mine.py"
    file.write_text(MINE.replace("NAME", name), encoding="utf-8")
    trust(str(file))
    preset = next(one for one in preset_names() if read_preset(one).environment_spec.name == name)
    scenario = load_preset(preset, SMALL | FURTHER.get(name, {}))
    mine = scenario.with_settings({"environment": f"{file}:Mine", **scenario.environment_spec.options})
    assert recorded(mine) == recorded(scenario)
    assert ENVIRONMENTS.file(name) is None
    assert ENVIRONMENTS.file(f"{file}:Mine") == file


@pytest.mark.thorough
@check_each("name", ["game", "herding", "story", "two_answers"])
def test_its_report_knows_the_environment_that_it_is_made_from(name: str, tmp_path: Path) -> None:
    """Metrics of a study read the options of their environment; a class of the user's with one more option was a traceback."""
    file = tmp_path / "mine.py"
    file.write_text(MINE.replace("NAME", name).replace("    pass", "    further: int = 1"), encoding="utf-8")
    trust(str(file))
    preset = next(one for one in preset_names() if read_preset(one).environment_spec.name == name)
    scenario = load_preset(preset, SMALL | FURTHER.get(name, {}))
    mine = scenario.with_settings({"environment": f"{file}:Mine", **scenario.environment_spec.options, "further": 2})
    run = parley.run(mine, out=tmp_path / "run", progress=False)
    assert "## In short" in (run.folder / "summary.md").read_text(encoding="utf-8")
