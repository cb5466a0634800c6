"""The settings of Solara's server, for both pages that it serves (app.py, _seat.py)."""

import os
import warnings

from solara.server import compress, settings

KEPT = "5m"
"""How long a tab that has gone without a word is kept, so that it can come back: each has threads and open files."""


def settle() -> None:
    """Set title, mode, compression and how long a lost tab is kept, and turn usage reports off."""
    settings.theme.show_banner, settings.theme.title = False, "Parley"
    settings.main.mode = "production"  # otherwise its page may hold a frame from elsewhere
    settings.main.root_path = (
        ""  # otherwise a header of the first visitor decides from where all others load the scripts
    )
    settings.telemetry.mixpanel_enable = False
    settings.kernel.cull_timeout = os.environ.get("SOLARA_KERNEL_CULL_TIMEOUT", KEPT)
    compress.GZIP_LEVEL = 4  # its files are 7% larger than with level 9, and ready in a quarter of the time
    # at every visit; there is no frame around the page
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
