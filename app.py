"""The page in the browser: `solara run app.py` (docs/app.md). Wiring only."""

from analysis.views.page import Page

__all__ = ["Page"]
