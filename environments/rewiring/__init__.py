"""How links change between rounds. A module defines one frozen dataclass whose fields are the options of `rewiring = "nearer"`.

`changes(society, round_)` gives the links that vanish before a round and those that appear, by the attitudes of the last survey.
"""
