"""The page in the browser: `python run.py --scenario NAME --ui`, or `solara run app.py` (docs/app.md). Wiring only."""

import warnings

from solara.server import settings

from parley.analysis.views.page import Page

settings.theme.show_banner, settings.theme.title = False, "Parley"
settings.main.mode = "production"  # otherwise its page may hold a frame from elsewhere
settings.telemetry.mixpanel_enable = False
warnings.filterwarnings(
    "ignore", message="Cookies with samesite=none"
)  # at every visit; there is no frame around the page

__all__ = ["Page"]
