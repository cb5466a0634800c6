"""What rules have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from parley.environments._social_graph import Feed, Links, SocialGraph

if TYPE_CHECKING:
    from parley.environments.base import Turn


class Rule(ABC):
    """`by_attitude`: it needs ratings after every round. `varies`: chance decides how many speak.

    `changing`: whom one hears varies. `lasting`: rounds that what was said can be shown for (0: there is no wall).
    """

    by_attitude: ClassVar[bool] = False
    varies: ClassVar[bool] = False
    changing: ClassVar[bool] = False
    lasting: int = 0

    @abstractmethod
    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        """The turns of a round."""

    def feeds(self, society: SocialGraph, round_: int) -> Iterator[Feed]:
        """What is shown to whom after the turns."""
        return iter(())


def concurrent_batches(speakers: Sequence[int], links: Links) -> Iterator[list[int]]:
    """Those who speak one after another, in lots that can be asked at once: no link joins two people of a lot.

    Whoever is linked, in one direction or both, to somebody earlier in the order is in a later lot than that one, so everybody
    has heard what it would have heard had they spoken one by one.
    """
    lot: dict[int, int] = {}
    found: list[list[int]] = []
    for speaker in speakers:
        lot[speaker] = max([lot[other] for other in links.touching(speaker) if other in lot], default=-1) + 1
        if lot[speaker] == len(found):
            found.append([])
        found[lot[speaker]].append(speaker)
    yield from found


def in_batches(lots_: Iterable[Iterable[Turn]]) -> Iterator[Turn]:
    """The turns of each lot together."""
    for lot in lots_:
        for number, turn in enumerate(lot):
            yield turn._replace(together=number > 0)
