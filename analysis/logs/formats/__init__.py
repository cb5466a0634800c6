"""The formats of logs, one file each. A format has ABOUT (one line: what is read) and `read(paths, given) -> Log`.

A format of your own is one more file here, an entry point of the group `parley.logs`, or a file given by its path.
"""

from __future__ import annotations

from parley.llm.registry import Registry

FORMATS = Registry("format of a log", __name__, "parley.logs", ("ABOUT", "read"), shared=(), whole=True)
