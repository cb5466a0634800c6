"""The page in the browser: `python run.py --scenario NAME --ui`, or `solara run app.py` (docs/app.md). Wiring only.

The server answers before the page is imported: `python run.py --ui` imports it while the browser reads Solara's own files.
"""

from typing import Any

import pandas  # noqa: F401  (whole, before a page is drawn: Solara looks for its DataFrame as soon as an import of it has begun)
import solara

from parley.analysis.views._settings import settle
from parley.llm import trust

settle()
if not trust.gate().closed:  # started by `solara run`, without a command line of Parley
    trust.use_gate(trust.Gate(closed=True))

__all__ = ["Page"]


@solara.component
def Page() -> Any:
    from parley.analysis.views import page

    return page.Page()
