"""Studies are tested on the runs and records of the tests of analysis, and on the known-truth speaker."""

from ..analysis.conftest import header, held, ran, record, reported
from ..llm.oracle.conftest import asked, line, oracle, turn

__all__ = ["asked", "header", "held", "line", "oracle", "ran", "record", "reported", "turn"]
