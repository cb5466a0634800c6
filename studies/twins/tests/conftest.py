from study_fixtures import *  # noqa: F403
