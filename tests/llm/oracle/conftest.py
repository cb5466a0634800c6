from oracle_fixtures import *  # noqa: F403
