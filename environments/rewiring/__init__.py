"""How links change between rounds. A module defines one frozen dataclass whose fields are the options of `rewiring = "nearer"`.

`changes(society, round_)` gives the links that vanish before a round and those that appear, by the attitudes of the last survey.
"""

from __future__ import annotations

from parley.llm.registry import Registry

REWIRING = Registry("rewiring", __name__, "parley.rewiring", ("changes",), shared=())
