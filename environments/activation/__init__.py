"""Who speaks in a round. A module defines one frozen dataclass whose fields are the options of `activation = "share,share=0.3"`.

`active(members, round_, society)` gives those who speak; the same room and round give the same people. Whoever is not active is
asked for no utterance, but hears and is surveyed. `varies`: chance decides how many they are.
"""

from __future__ import annotations

from parley.llm.registry import Registry

ACTIVATION = Registry("activation", __name__, "parley.activation", ("active",), shared=())
