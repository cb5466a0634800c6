"""The page in the browser: `python run.py --scenario NAME --ui`, or `solara run app.py` (docs/app.md). Wiring only.

The server answers before the page is imported: `python run.py --ui` imports it while the browser reads Solara's own files.
"""

import warnings
from typing import Any

import pandas  # noqa: F401  (whole, before a page is drawn: Solara looks for its DataFrame as soon as an import of it has begun)
import solara
from solara.server import compress, settings

settings.theme.show_banner, settings.theme.title = False, "Parley"
settings.main.mode = "production"  # otherwise its page may hold a frame from elsewhere
settings.telemetry.mixpanel_enable = False
compress.GZIP_LEVEL = 4  # its files are 7% larger than with level 9, and ready in a quarter of the time
warnings.filterwarnings(
    "ignore", message="Cookies with samesite=none"
)  # at every visit; there is no frame around the page

__all__ = ["Page"]


@solara.component
def Page() -> Any:
    from parley.analysis.views import page

    return page.Page()
