"""Desks for workers in threads of one process, which exchange replies."""

from __future__ import annotations

from queue import SimpleQueue

from parley.llm.exchange import Posted


class Together:
    """The desk of a worker in a thread of this process."""

    def __init__(self) -> None:
        self.others, self.came = list[Together](), SimpleQueue[Posted]()

    def post(self, replies: Posted) -> None:
        for other in self.others:
            other.came.put(replies)

    def take(self, wait: bool) -> Posted:
        replies = self.came.get(timeout=60) if wait else []
        while not self.came.empty():
            replies = [*replies, *self.came.get()]
        return replies


def together(number: int) -> list[Together]:
    """Return the desks of so many workers."""
    desks = [Together() for _ in range(number)]
    for desk in desks:
        desk.others = [other for other in desks if other is not desk]
    return desks
