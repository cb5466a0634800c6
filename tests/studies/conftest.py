"""Studies are tested on the runs and records of the tests of analysis."""

from ..analysis.conftest import header, held, ran, record, reported

__all__ = ["header", "held", "ran", "record", "reported"]
