"""Representatives before their model: what each would have written, journaled, so that a killed one goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parley.agents.representative import TOKENS, Critique, Representative
from parley.analysis.deliberation.cases import Case
from parley.analysis.kept import Desk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import unknown
from parley.llm.randomness import derive
from parley.llm.request import Backend, Sampling


class Author(NamedTuple):
    """Who writes as a representative: the model, what it calls its adapter, what it is told, at what temperature."""

    spec: str
    adapter: str = ""
    knows: str = ""
    temperature: float = 1.0
    tokens: int = TOKENS


class Order(NamedTuple):
    """A critique that is wanted: for whose draft, told of whom (another case: a stranger), the how-manieth."""

    case: Case
    told: Case
    number: int = 0

    @property
    def key(self) -> str:
        return f"{self.case.key} {self.told.participant} {self.number}"


def opened(author: Author) -> Backend:
    """The author's model. Errors: UserError where it has no such adapter: every critique would fail."""
    backend = open_spec(author.spec)
    known: Mapping[str, object] = dict(backend.identity).get("adapters", {})
    if author.adapter and author.adapter not in known:
        raise unknown("adapter", author.adapter, known)
    return backend


def write(
    orders: Sequence[Order], author: Author, seed: int, desk: Desk, backend: Backend | None = None
) -> list[Critique]:
    """A critique for each order, kept in the folder of the desk. backend: the author's, if it is open."""
    asked = [one(order, author, seed) for order in orders]
    return desk.ask(asked, author.spec, f"critiques {author.spec}", _silent, backend or opened(author))


def _silent(critique: Critique) -> str | None:
    """Why there is none."""
    return critique.reason if critique.text is None else None


def one(order: Order, author: Author, seed: int) -> Conversation[Critique]:
    """A conversation that returns the critique."""
    sampling = Sampling(author.temperature, author.tokens)
    speaker = Representative(order.told.brief, author.knows, sampling, author.adapter)
    own = derive(seed, "representative", author.knows, order.key)
    return speaker.absorb_critique((yield from ask(speaker.compose_critique(own))))


def texts(orders: Sequence[Order], found: Sequence[Critique]) -> Mapping[str, str]:
    """By case key, the critiques that there are."""
    return {order.case.key: one.text for order, one in zip(orders, found, strict=True) if one.text is not None}
