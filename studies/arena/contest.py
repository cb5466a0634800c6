"""The arena: which message persuades a panel of personas most, and does rewriting make messages more persuasive?

Every persona compares messages in pairs, each pair in both orders. Counterpart of PersuasionArena (Measuring and Improving
Persuasiveness of Large Language Models, 2024). README.md lists the departures. The unit is the person for the scores of
messages, and the message for what rewriting gains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import pandas as pd

from parley.agents.language import Language, load_language
from parley.agents.persuasion import Reader, read_message
from parley.agents.speech import Speech
from parley.analysis.formatting import count_table
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.persuasion.comparisons import Match, ask_readers, compare, draw_people, member_name
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream
from parley.studies.arena import measures as rewritings
from parley.studies.arena.writer import FEWEST_MESSAGES, Aim, Writer


@dataclass(frozen=True)
class Arena:
    """What is compared by whom. texts: messages by id; where there are none, `count` messages are written first.

    pairs: pairs that each person compares (0: all). whom: you or group (agents/persuasion.py). rewrite: also test rewritings.
    """

    aim: str
    texts: Mapping[str, str] = field(default_factory=dict)
    count: int = 6
    personas: str = "voters"
    panel: int = 20
    pairs: int = 0
    whom: str = "you"
    words: int = 60
    temperature: float = 1.0
    rewrite: bool = False
    seed: int = 0
    language: str = "en"

    def __post_init__(self) -> None:
        if not self.texts and self.count < FEWEST_MESSAGES:
            raise UserError(f"--write must be at least {FEWEST_MESSAGES}, because messages are compared in pairs")

    @property
    def spoken(self) -> Language:
        """The language of the prompts."""
        return load_language(self.language)

    @property
    def calls(self) -> int:
        """The most calls: to write, both orders of each pair, and the same for each rewriting next to its message."""
        count = len(self.texts) or self.count
        pairs = min(self.pairs, math.comb(count, 2)) if self.pairs else math.comb(count, 2)
        rewritten = count * len(rewritings.FORMS) * (1 + 2 * self.panel) if self.rewrite else 0
        return (0 if self.texts else count) + 2 * self.panel * pairs + rewritten

    def readers(self) -> list[Reader]:
        """Return the panel."""
        people = draw_people(self.personas, self.panel, self.seed)
        return [Reader(person, self.spoken, self.whom, self.temperature) for person in people]


class Outcome(NamedTuple):
    """All messages that were compared, how many were not written and why, the comparisons, and those of rewritings."""

    texts: dict[str, str]
    unwritten: list[str]
    comparisons: pd.DataFrame
    rewritten: Sequence[rewritings.Rewriting] = ()
    blind: pd.DataFrame | None = None


def draw_matches(readers: Sequence[Reader], ids: Sequence[str], pairs: int, seed: int) -> list[Match]:
    """Return the matches of each reader: all pairs of messages, or `pairs` of them drawn anew for each reader (0: all)."""
    every = list(combinations(ids, 2))
    matches = []
    for reader in readers:
        few = 0 < pairs < len(every)
        chosen = stream(seed, "pairs", member_name(reader.person)).sample(every, pairs) if few else every
        matches += [Match(reader, *pair) for pair in chosen]
    return matches


def run_arena(arena: Arena, panel: str, writer: str, desk: CallDesk) -> Outcome:
    """Return what the panel answers. panel, writer: models. Errors: UserError for too few messages; Unreadable."""
    readers = arena.readers()
    texts, unwritten = (dict(arena.texts), []) if arena.texts else _write_messages(arena, writer, desk)
    if len(texts) < FEWEST_MESSAGES:
        raise UserError(
            f"{writer} wrote {len(texts)} of {arena.count} messages ({count_table(unwritten)}): name another --writer, "
            "or give a file with messages"
        )

    def compared(matches: Sequence[Match], texts: Mapping[str, str], title: str) -> pd.DataFrame:
        conversations = [compare(match, texts, arena.aim, arena.seed) for match in matches]
        return ask_readers(matches, conversations, panel, desk, title)

    comparisons = compared(draw_matches(readers, list(texts), arena.pairs, arena.seed), texts, "comparisons")
    if not arena.rewrite:
        return Outcome(texts, unwritten, comparisons)
    author, forms = Writer(arena.spoken, arena.words), rewritings.FORMS
    conversations = [
        rewritings.rewrite(author, arena.aim, *message, form, arena.seed) for message in texts.items() for form in forms
    ]
    written = desk.ask(conversations, writer, "rewritings", lambda rewriting: rewriting.reason or None)
    every = texts | {rewriting.id: rewriting.text for rewriting in written if rewriting.text is not None}
    blind = compared(rewritings.rewriting_matches(readers, written), every, "comparisons of rewritings")
    return Outcome(texts, unwritten, comparisons, written, blind)


def _write_messages(arena: Arena, writer: str, desk: CallDesk) -> tuple[dict[str, str], list[str]]:
    """Return the messages that the writer wrote, by id, and the reasons of those that are missing."""
    author = Writer(arena.spoken, arena.words)

    def write_one(number: int) -> Conversation[Speech]:
        seed = derive(arena.seed, "message", number)
        return read_message((yield from ask(author.compose_message(Aim(arena.aim), seed))))

    numbers = range(1, arena.count + 1)
    written = desk.ask([write_one(number) for number in numbers], writer, "messages", lambda message: message.reason)
    texts = {
        f"m{number}": message.text for number, message in zip(numbers, written, strict=True) if message.text is not None
    }
    return texts, [message.reason for message in written if message.reason]
