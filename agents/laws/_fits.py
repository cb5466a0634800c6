"""What laws that were fitted to a recorded run have in common: they read their people and their captions from the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from parley.llm.seeding import digest


class FromFit:
    """The part of a law that reads `fit`, one topic of a file of `run.py study surrogate` or `run.py study fit-law`."""

    fit: Mapping[str, Any]

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        """Name, share of all people and quantiles of the first attitudes (0-10) of each party of the run."""
        return tuple([(name, party["share"], tuple(party["starts"])) for name, party in self.fit["parties"].items()])

    @property
    def report_lines(self) -> tuple[str, ...]:
        """The lines of the report on the fit, in Markdown."""
        return tuple(self.fit["told"])

    @property
    def digest(self) -> str:
        """A digest of the fit: another fit is another law."""
        return digest(json.dumps(self.fit, sort_keys=True)).hex()
