"""The buttons that lead on: to the form of an audit, to a question of one's own, to a real model."""

from __future__ import annotations

from typing import Any

import solara

from parley.agents.society import US
from parley.analysis.views._address import place_of, use_go
from parley.llm.backends import needs_qualification
from parley.model.events import Header
from parley.model.scenario import preset_names

MEASURE = "Measure this model's bias"
OWN = "own"
"""The key of an address that leads to the field for a question of one's own."""
SCENARIO, REAL = "three_way", "smollm2"
"""The scenario of the form where a run has one of its own, and the model that `run.py models get` fetches."""


def audit_place(scenario: dict[str, Any]) -> str:
    """Return the place of the form of an audit: of the model of a run, and on its first topic."""
    topics = scenario["topic"] if scenario["society"] == US else ()
    return place_of(audit=scenario["llm"], topic=topics[:1])


@solara.component
def NextSteps(header: Header) -> None:
    """What to do after a finished run."""
    go, scenario = use_go(), header.scenario
    known = scenario["name"] in preset_names() and not scenario["questions"]  # questions leave no place for one's own
    name = str(scenario["name"]) if known else SCENARIO
    with solara.Div(classes=["next-steps"]):
        solara.Button(MEASURE, lambda: go(audit_place(scenario)))
        solara.Button("Debate a question of my own", lambda: go(place_of(scenario=name, **{OWN: ""})))
        if not needs_qualification(str(scenario["llm"])):
            solara.Button("Use a real model", lambda: go(place_of(scenario=name, llm=REAL)))
