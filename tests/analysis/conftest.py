from record_fixtures import *  # noqa: F403
