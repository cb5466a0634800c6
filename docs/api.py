"""Pages that are made of Python: the reference of all public names, from their docstrings, and the notebook as a page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence

import parley

GROUPS: Mapping[str, Sequence[str]] = {
    "Make and load": ("run", "load", "Run"),
    "Measure a model": ("audit", "AuditCard"),
    "Vary and compare": ("sweep", "Sweep", "branch", "compare", "Comparison"),
    "Scenarios": ("preset_names", "load_preset", "Scenario"),
    "Models of Mesa": ("DebateModel", "Agent", "PopulationModel"),
    "Interventions": ("Intervention", "Message", "Moderator", "Shock", "FactCheck", "Join", "Leave", "Mute"),
    "Language models": ("Backend", "Request", "Reply", "Failure"),
    "Errors and trust": ("UserError", "trust"),
}
"""Every public name, under a heading."""
MEMBERS: Mapping[str, Sequence[str]] = {
    "Run": ("metric", "plots", "plot", "report", "summary", "topology"),
    "AuditCard": ("plot", "report"),
    "Sweep": ("plots", "plot", "summary", "report"),
    "Comparison": ("plot", "report"),
    "Scenario": ("with_settings",),
    "DebateModel": ("run", "step", "add_intervention", "over"),
    "Agent": ("instruction",),
    "PopulationModel": ("run", "step"),
    "Backend": ("identity", "in_flight", "seedless", "complete"),
}
"""What is documented of a class in addition to its own docstring."""
INTRODUCTION = """# API

Everything that `import parley` gives, from the docstrings of the code. Attitudes are on an axis from 0 to 10; a missing rating is
NaN or None with a reason, never a number. Below five rooms, blocks or seeds an interval is NaN: no verdict. docs/library.md shows
the names at work, and docs/first_steps.md is a notebook from import to figure.
"""


def api_page() -> str:
    """The reference, in Markdown with directives of Sphinx's autodoc."""
    return "\n".join([INTRODUCTION, *(line for title, names in GROUPS.items() for line in _group(title, names))])


def _group(title: str, names: Sequence[str]) -> Iterator[str]:
    yield f"## {title}\n"
    for name in names:
        found = getattr(parley, name)
        kind = "autoclass" if inspect.isclass(found) else "autofunction"
        # a class whose own name is another one is documented under that: under this one it would be an alias without a text
        place = f"parley.{name}" if found.__name__ == name else f"{found.__module__}.{found.__qualname__}"
        members = [f"   :members: {', '.join(MEMBERS[name])}"] if name in MEMBERS else []
        yield "\n".join([f"### {name}\n", "```{eval-rst}", f".. {kind}:: {place}", *members, "```\n"])


def notebook_page(name: str, notebook: str) -> str:
    """A notebook as Markdown: its text, its code, and a link to the file, which is for whoever wants to run it.

    >>> notebook_page("a.ipynb", '{"cells": [{"cell_type": "code", "source": ["import parley"]}]}').splitlines()[-3:]
    ['```python', 'import parley', '```']
    """
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook)["cells"]]
    told = [f"```python\n{source}\n```" if kind == "code" else source for kind, source in cells]
    first, *rest = told if cells[0][0] == "markdown" else ["", *told]
    link = f"This page is a notebook: {{download}}`{name} <{name}>`."
    return "\n\n".join(filter(None, [first, link, *rest])) + "\n"
