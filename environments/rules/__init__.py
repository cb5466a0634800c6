"""Who meets whom in a round. A module defines one frozen dataclass, a `Rule`, with the options of `rule = "posts,length=3"`.

Ids in, turns out: `turns(society, speakers, round_, together)` are the turns of those who are active, in the order of speaking;
`together`: simultaneous, so that nobody hears anybody before it has spoken itself. A rule with a wall says in `feeds` what is
shown to whom after that.
"""

from __future__ import annotations

from parley.llm.registry import Registry

RULES = Registry("rule", __name__, "parley.rules", ("turns", "feeds"), shared=())
