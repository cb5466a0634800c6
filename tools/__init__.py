"""Makes what Parley comes with, in a checkout: none of it is in the installed package."""

import run  # noqa: F401  (`parley` is this checkout, whatever is installed)
