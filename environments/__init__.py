"""Floor 2, environments: who sits with whom, whose turn it is, and who hears it.

An environment gets ids and returns turns; it knows neither text nor a language model. Each is a module of this folder,
or your own (llm/registry.py).
"""

from __future__ import annotations

from typing import Any

from parley.llm.registry import Registry, UserError

ENVIRONMENTS = Registry(
    what="environment",
    package=__name__,
    group="parley.environments",
    needs=("groups", "turns"),
    frozen=True,
    studies="environments",
    shared=(
        "base",
        "activation",
        "edge_table",
        "gexf",
        "given_graph",
        "edge_columns",
        "graph_files",
        "graphs",
        "link_attributes",
        "link_timetable",
        "mapped_graph",
        "margins",
        "place_kinds",
        "raking",
        "recommenders",
        "rewiring",
        "rules",
        "sparse_feeds",
        "sparse_graphs",
        "sparse_links",
        "sparse_platforms",
        "survey_table",
        "text_columns",
        "topologies",
    ),
)


def environment_class(name: str) -> Any:
    """Return the dataclass of an environment. Errors: UserError if the name is unknown, or no text."""
    if not isinstance(name, str):
        raise UserError(f"environment is {name!r}, but must be a name such as round_table or ./mine.py:Mine")
    return ENVIRONMENTS.find(name)
