"""The page in the browser: `python run.py --ui` (docs/app.md). Wiring only.

`solara run app.py` would serve it without its guard.

The server answers before the page is imported: `python run.py --ui` imports it while the browser reads Solara's own files.
"""

from typing import Any

import pandas  # noqa: F401  (whole, before a page is drawn: Solara looks for its DataFrame as soon as an import of it has begun)
import solara

from parley.analysis.views._settings import settle
from parley.llm import trust
from parley.llm.errors import UserError

if not trust.gate().closed:
    raise UserError("start the page with python run.py --ui: another server would answer any web page that asks it")
settle()

__all__ = ["Page"]


@solara.component
def Page() -> Any:
    from parley.analysis.views import page

    return page.Page()
