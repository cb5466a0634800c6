"""Cases of representation: a participant at the critique step, with all that a representative may be told.

Sides of a split that share nothing: no participant, no session and no question, by id or by words, is on two of them.

Sessions that share a participant or a question hang together and go to one side. Which chunk goes where is drawn with
the seed, the largest chunks first, each to the side that lacks most. Episodes on held-out questions (`iid_test`,
`ood_test`) are never trained on while there are others: the shares that come out (`describe_split`) may then differ
from those asked for. `check` says what leaks, whoever made the split.

Representatives before their model: what each would have written, journaled, so that a killed one goes on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from parley.agents.representative import (
    OTHERS,
    TOKENS,
    Critique,
    CritiqueBrief,
    OtherOpinion,
    Representative,
    knowledge_line,
    same_question,
)
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Backend, Sampling
from parley.llm.seeding import derive, stream


@dataclass(frozen=True)
class RepresentationCase:
    """One participant in one episode. `critique` is what the participant wrote, None when that is missing."""

    episode: str
    session: str
    participant: str
    brief: CritiqueBrief
    critique: str | None

    @property
    def key(self) -> str:
        """Names the case: `e1 ann`."""
        return f"{self.episode} {self.participant}"


@dataclass(frozen=True)
class Cases:
    """The cases of some episodes, and why other voices are none (reason: count)."""

    cases: tuple[RepresentationCase, ...]
    left_out: dict[str, int]


def representation_cases(episodes: Sequence[Episode], written: bool = True) -> Cases:
    """A case for each voice with an opinion and a draft, and with `written` a critique; in the order of the episodes.

    The others are the participant's episodes of the same session on other questions, in their order, OTHERS at most.
    """
    past: dict[tuple[str, str], list[tuple[Episode, Voice]]] = defaultdict(list)
    for episode in episodes:
        for voice in episode.voices:
            past[episode.session, voice.participant].append((episode, voice))
    found: list[RepresentationCase] = []
    left_out: Counter[str] = Counter()
    for episode in episodes:
        for voice in episode.voices:
            if missing := _missing(episode, voice, written):
                left_out[missing] += 1
            else:
                found.append(_case(episode, voice, past[episode.session, voice.participant]))
    return Cases(tuple(found), dict(left_out))


def strangers(found: Sequence[RepresentationCase], seed: int) -> dict[str, RepresentationCase]:
    """By key the case of another participant of the same episode, drawn with the seed: what a stranger would be told.

    Who is alone has none.
    """
    tables: dict[str, list[RepresentationCase]] = defaultdict(list)
    for case in found:
        tables[case.episode].append(case)
    drawn = {}
    for seated in tables.values():
        for place, case in enumerate(seated):
            others = seated[:place] + seated[place + 1 :]
            if others:
                drawn[case.key] = stream(seed, "stranger", case.key).choice(others)
    return drawn


def _missing(episode: Episode, voice: Voice, written: bool) -> str:
    if voice.opinion is None:
        return f"no opinion ({voice.reasons['opinion']})"
    if episode.draft is None:
        return f"no draft ({episode.reasons['draft']})"
    return f"no critique ({voice.reasons['critique']})" if written and voice.critique is None else ""


def _case(episode: Episode, voice: Voice, past: Sequence[tuple[Episode, Voice]]) -> RepresentationCase:
    assert voice.opinion is not None
    assert episode.draft is not None
    others = [
        OtherOpinion(before.question, said.opinion, said.critique, said.position)
        for before, said in past
        if not same_question(before.question, episode.question)
    ]
    brief = CritiqueBrief(episode.question, voice.opinion, episode.draft, voice.demographics, tuple(others[:OTHERS]))
    return RepresentationCase(episode.id, episode.session, voice.participant, brief, voice.critique)


TRAIN = "train"
SHARES = {TRAIN: 0.8, "validation": 0.1, "test": 0.1}
Split = Mapping[str, tuple[Episode, ...]]
"""The episodes of each side, in the order of the file."""
TRACES: Mapping[str, Callable[[Episode], Iterable[str]]] = {
    "session": lambda episode: [episode.session],
    "participant": lambda episode: episode.participants,
    "question": lambda episode: [episode.question.id],
    "wording": lambda episode: [knowledge_line(episode.question.question).casefold()],
    "episode": lambda episode: [episode.id],
}
"""What an episode would be known again by."""


def split_cases(episodes: Sequence[Episode], seed: int, shares: Mapping[str, float] = SHARES) -> Split:
    """Each episode on one side, the sides about as large as `shares` say.

    Errors: UserError when a side of a share above 0 stays empty, with what holds the episodes together.
    """
    chunks = sorted(linked_cases(episodes), key=lambda chunk: min(episode.id for episode in chunk))
    stream(seed, "split").shuffle(chunks)
    sides: dict[str, list[Episode]] = {name: [] for name in shares}
    some = not all(map(_held_out, chunks))
    for chunk in sorted(chunks, key=len, reverse=True):
        open_ = [name for name in shares if not (some and name == TRAIN and _held_out(chunk))]
        lacks = {name: shares[name] * len(episodes) - len(sides[name]) for name in open_}
        sides[max(lacks, key=lambda name: lacks[name])] += chunk
    if empty := [name for name, share in shares.items() if share and not sides[name]]:
        raise UserError(
            f"nothing is left for {', '.join(empty)}: {len(episodes)} episodes hang together in {len(chunks)} chunks by "
            "participants and questions that they share; more sessions, on questions of their own, can be split"
        )
    places = {episode.id: place for place, episode in enumerate(episodes)}
    found = {name: tuple(sorted(kept, key=lambda one: places[one.id])) for name, kept in sides.items()}
    check_split(found)
    return found


def describe_split(sides: Split) -> str:
    """The shares that came out: `288 episodes: train 192 (67%), validation 48 (17%), test 48 (17%)`."""
    whole = sum(map(len, sides.values()))
    counts = [f"{name} {len(kept)} ({len(kept) / whole:.0%})" for name, kept in sides.items()]
    return f"{whole} episodes: {', '.join(counts)}"


def _held_out(chunk: Sequence[Episode]) -> bool:
    """All on questions that were put aside when the questions were written."""
    return all(episode.question.split != TRAIN for episode in chunk)


def check_split(sides: Split) -> None:
    """Errors: UserError naming the first thing that is on two sides."""
    for kind, traces in TRACES.items():
        seen: dict[str, str] = {}
        for name, kept in sides.items():
            for trace in {trace for episode in kept for trace in traces(episode)}:
                if seen.setdefault(trace, name) != name:
                    raise UserError(f"the split leaks: {kind} {trace} is in {seen[trace]} and in {name}")


def linked_cases(episodes: Sequence[Episode]) -> list[list[Episode]]:
    """Chunks of episodes that are linked by what they share, directly or through others."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(node: tuple[str, str]) -> tuple[str, str]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for episode in episodes:
        first = ("episode", episode.id)
        for kind, traces in TRACES.items():
            for trace in traces(episode):
                parent[root((kind, trace))] = root(first)
    chunks: dict[tuple[str, str], list[Episode]] = defaultdict(list)
    for episode in episodes:
        chunks[root(("episode", episode.id))].append(episode)
    return list(chunks.values())


class Author(NamedTuple):
    """Who writes as a representative: the model, what it calls its adapter, what it is told, at what temperature."""

    spec: str
    adapter: str = ""
    knows: str = ""
    temperature: float = 1.0
    tokens: int = TOKENS


class WritingOrder(NamedTuple):
    """A critique that is wanted: for whose draft, told of whom (another case: a stranger), the how-manieth."""

    case: RepresentationCase
    told: RepresentationCase
    number: int = 0

    @property
    def key(self) -> str:
        return f"{self.case.key} {self.told.participant} {self.number}"


def open_authors(author: Author) -> Backend:
    """The author's model. Errors: UserError where it has no such adapter: every critique would fail."""
    backend = open_spec(author.spec)
    known: Mapping[str, object] = dict(backend.identity).get("adapters", {})
    if author.adapter and author.adapter not in known:
        raise unknown_name("adapter", author.adapter, known)
    return backend


def write_texts(
    orders: Sequence[WritingOrder], author: Author, seed: int, desk: CallDesk, backend: Backend | None = None
) -> list[Critique]:
    """A critique for each order, kept in the folder of the desk. backend: the author's, if it is open."""
    asked = [write_one(order, author, seed) for order in orders]
    return desk.ask(asked, author.spec, f"critiques {author.spec}", _silent, backend or open_authors(author))


def _silent(critique: Critique) -> str | None:
    """Why there is none."""
    return critique.reason if critique.text is None else None


def write_one(order: WritingOrder, author: Author, seed: int) -> Conversation[Critique]:
    """A conversation that returns the critique."""
    sampling = Sampling(author.temperature, author.tokens)
    speaker = Representative(order.told.brief, author.knows, sampling, author.adapter)
    own = derive(seed, "representative", author.knows, order.key)
    return speaker.absorb_critique((yield from ask(speaker.compose_critique(own))))


def read_texts(orders: Sequence[WritingOrder], found: Sequence[Critique]) -> Mapping[str, str]:
    """By case key, the critiques that there are."""
    return {order.case.key: one.text for order, one in zip(orders, found, strict=True) if one.text is not None}
