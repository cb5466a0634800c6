"""The settings of Solara's server, for both pages that it serves (app.py, _seat.py)."""

import warnings

from solara.server import compress, settings


def settle() -> None:
    """Set title, mode and compression, and turn usage reports off."""
    settings.theme.show_banner, settings.theme.title = False, "Parley"
    settings.main.mode = "production"  # otherwise its page may hold a frame from elsewhere
    settings.telemetry.mixpanel_enable = False
    compress.GZIP_LEVEL = 4  # its files are 7% larger than with level 9, and ready in a quarter of the time
    # at every visit; there is no frame around the page
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
