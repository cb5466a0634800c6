"""The page in the browser: `solara run app.py`, or `python run.py --scenario echo_chamber --ui`. Wiring only."""

from analysis.views.page import Page

__all__ = ["Page"]
