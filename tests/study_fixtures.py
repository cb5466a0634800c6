"""Fixtures of the tests of studies, which are beside each study: those of all tests, of records, and of the oracle."""

import run  # noqa: F401, I001  (first: `parley` is this checkout, whatever is installed)
from oracle_fixtures import *  # noqa: F403
from record_fixtures import *  # noqa: F403
from shared_fixtures import *  # noqa: F403
