"""The planted law of an online community: how often posts break a rule, and how often members follow a rule that they read.

A post breaks a rule of the bank (banks/<code>/community.toml) with the probability

    (breaks + provokes if the last post of the thread breaks a rule, at most 1) * (1 - obeys if members read the rule)

for each rule by itself. Members reply with the probability REPLIES. So a rule that members read lowers the share of posts that
break it by breaks * obeys, and by 0 where obeys is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.errors import UserError

REPLIES = 0.5


class CommunityLaw(NamedTuple):
    """The planted law; see the top of this file. obeys: share of posts that follow a rule which they would break otherwise."""

    breaks: float = 0.3
    obeys: float = 0.0
    provokes: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a probability that is none."""
        if not all(0 <= value <= 1 for value in self):
            raise UserError("oracle: breaks, obeys and provokes must be from 0 to 1, as in oracle,obeys=0.5")

    def probability(self, stated: bool, provoked: bool) -> float:
        """Return the probability that a post breaks a rule.

        >>> CommunityLaw(0.4, 0.5).probability(stated=True, provoked=False)
        0.2
        """
        return min(1.0, self.breaks + self.provokes * provoked) * (1 - self.obeys * stated)


USUAL = CommunityLaw()
"""The law unless other numbers are planted."""
