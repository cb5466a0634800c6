"""The main figure of a run, of debates or of private deliberations, up to a round."""

from __future__ import annotations

from matplotlib.figure import Figure

from parley.analysis.deliberation import consensus_report
from parley.analysis.deliberation.position_change import measure_movement
from parley.analysis.deliberation.run_episodes import episodes_of_events
from parley.analysis.metrics import trajectory
from parley.analysis.plots import attitudes
from parley.analysis.summary import caption
from parley.analysis.tables import Tables
from parley.analysis.views._session import Shown
from parley.model.events import Event, Header


def main(shown: Shown) -> Figure:
    """Draw the main figure of the report, up to the round."""
    if consensus_report.deliberates(shown.tables):
        return consensus(shown)
    points = trajectory.compute(shown.tables)
    points = points[points["round"] <= shown.round]
    return attitudes(shown.tables, points, shown.tables.groups, caption(shown.tables, points))


def consensus(shown: Shown) -> Figure:
    """Draw agreement, change of position and group agreement."""
    episodes = episodes_of_events(until(shown))
    results = measure_movement(episodes)
    return consensus_report.draw_consensus(episodes, results, consensus_report.consensus_caption(shown.tables, results))


def until(shown: Shown) -> list[Event]:
    """Return the record up to the round."""
    return [event for event in shown.events if isinstance(event, Header) or getattr(event, "round", 0) <= shown.round]


def drawable(tables: Tables) -> bool:
    """Return whether there is a main figure."""
    return bool(tables.header.scenario["survey"] != "never") and bool(tables.groups)
