"""Acts on a social medium: a planted law of choice, with known parameters.

An act and the post that it is about are one choice among all of them: option k has the probability exp(u_k) / sum exp(u), a
conditional logit (McFadden 1974). With d the distance in points between the speaker's attitude and the grade of a post, and s
the sign of the score that is shown (-1, 0, 1), the utilities are

    nothing             0
    post, search        their constant
    reply, quote        their constant, for each post
    like, repost        constant - homophily * d + herd * s, for each post
    dislike             constant - homophily * (10 - d) - herd * s, for each post
    follow              constant - homophily * d, for each post by a stranger
    unfollow, mute      constant - homophily * (10 - d), for each post that it can be about

So the log odds of liking a post against doing nothing fall by `homophily` with each point of distance, and rise by `herd` with a
score above 0. A post whose grade cannot be read is never chosen. `herd` is 0 unless it is planted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CONSTANTS = {
    "nothing": 0.0, "post": -0.5, "search": -4.0, "reply": -3.0, "quote": -4.0, "like": -0.5, "repost": -1.5,
    "dislike": -0.5, "follow": -2.0, "unfollow": -2.0, "mute": -3.0,
}  # fmt: skip
HOMOPHILY, HERD = 0.3, 0.0
NEAR = frozenset({"like", "repost", "follow"})
"""Acts toward posts that are near the own attitude."""
FAR = frozenset({"dislike", "unfollow", "mute"})
"""Acts toward posts that are far from it."""
SIGNS = {"like": 1, "repost": 1, "dislike": -1}
"""The direction in which a score moves an act."""
ALONE = frozenset({"post", "search", "nothing"})
"""Acts that are about no post."""
WIDTH = 10.0
"""Width of the axis of attitudes."""


@dataclass(frozen=True)
class ActLaw:
    """The planted law; see the top of this file. `constants` by act, in logits."""

    homophily: float = HOMOPHILY
    herd: float = HERD
    constants: Mapping[str, float] = field(default_factory=lambda: dict(CONSTANTS))

    def utility(self, act: str, distance: Any, score: Any) -> Any:
        """Return the utility of an act about a post at a distance (points), with the score that is shown; numbers, or arrays.

        >>> round(ActLaw(homophily=0.3, herd=1.0).utility("like", 2.0, 5), 2)
        -0.1
        """
        sign = (score > 0) * 1 - (score < 0) * 1
        gap = distance if act in NEAR else WIDTH - distance if act in FAR else 0.0
        return self.constants[act] - self.homophily * gap + self.herd * SIGNS.get(act, 0) * sign


PLANTED = ActLaw()
"""The law unless other parameters are set."""


def plant_acts(
    herd: float = HERD,
    homophily: float = HOMOPHILY,
    repost: float = CONSTANTS["repost"],
    follow: float = CONSTANTS["follow"],
) -> ActLaw:
    """Return the law with these numbers. repost, follow: the constants of these acts."""
    return ActLaw(homophily, herd, CONSTANTS | {"repost": repost, "follow": follow})
