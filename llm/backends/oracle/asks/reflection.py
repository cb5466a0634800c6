"""What it concludes from what was said: a line for each who spoke, where they stand by the mean of what they said."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.reading import Reading
from parley.llm.backends.oracle.standing import said_line, share_of
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 4
_KNOWS = re.compile(r"^Look back on\b.*\b(\d+) insights\b", re.I)


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.ask) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    found = _KNOWS.search(reading.ask)
    assert found is not None
    said: dict[str, list[float]] = defaultdict(list)
    for name, text in reading.heard:
        share = share_of(reading, text)
        if share is not None:
            said[name].append(share)
    if not said:
        return Reply.failed("nothing_to_conclude", "no line could be read")
    means = [(name, sum(shares) / len(shares)) for name, shares in said.items()][: int(found[1])]
    lines = [f"By what {name} says: {said_line(reading, mean)}" for name, mean in means]
    return Reply("\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)))
