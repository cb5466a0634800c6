"""The button that opens the form of an audit: on the first screen, and on each finished run."""

from __future__ import annotations

import solara

from parley.analysis.views._address import use_go

LABEL = "Measure the bias of this model"


def audit_place(llm: str) -> str:
    """Return the place of the form of an audit; "" for the model that the form begins with."""
    return f"?audit={llm}" if llm else "?audit"


@solara.component
def MeasureButton(llm: str, label: str = LABEL) -> None:
    """The button that opens the form of an audit of a model."""
    go = use_go()
    solara.Button(label, lambda: go(audit_place(llm)))
