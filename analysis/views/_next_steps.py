"""The buttons that lead on: to the form of an audit, to a question of one's own, to a real model."""

from __future__ import annotations

from urllib.parse import urlencode

import solara

from parley.analysis.views._address import use_go
from parley.model.events import Header
from parley.model.scenario import preset_names

LABEL = "Measure the bias of this model"
SCENARIO, REAL = "three_way", "smollm2"
"""The scenario of the form where a run has one of its own, and the model that `run.py models get` fetches."""


def audit_place(llm: str) -> str:
    """Return the place of the form of an audit; "" for the model that the form begins with."""
    return f"?audit={llm}" if llm else "?audit"


@solara.component
def MeasureButton(llm: str, label: str = LABEL) -> None:
    """The button that opens the form of an audit of a model."""
    go = use_go()
    solara.Button(label, lambda: go(audit_place(llm)))


@solara.component
def NextSteps(header: Header) -> None:
    """What to do after a finished run."""
    go, scenario = use_go(), header.scenario
    name = str(scenario["name"]) if scenario["name"] in preset_names() else SCENARIO
    with solara.Div(classes=["next-steps"]):
        MeasureButton(str(scenario["llm"]))
        solara.Button("Debate a question of my own", lambda: go(f"?{urlencode({'scenario': name})}"))
        solara.Button("Use a real model", lambda: go(f"?{urlencode({'scenario': name, 'llm': REAL})}"))
