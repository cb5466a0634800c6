"""Sides of a split that share nothing: no participant, no session and no question, by id or by words, is on two of them.

Sessions that share a participant or a question hang together and go to one side. Which chunk goes where is drawn with the
seed, the largest chunks first, each to the side that lacks most. Episodes on held-out questions (`iid_test`, `ood_test`) are
never trained on while there are others: the shares that come out (`described`) may then differ from those asked for. `check`
says what leaks, whoever made the split.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from parley.agents.representative import line
from parley.analysis.deliberation.episode import Episode
from parley.llm.errors import UserError
from parley.llm.randomness import stream

TRAIN = "train"
SHARES = {TRAIN: 0.8, "validation": 0.1, "test": 0.1}
Split = Mapping[str, tuple[Episode, ...]]
"""The episodes of each side, in the order of the file."""
TRACES: Mapping[str, Callable[[Episode], Iterable[str]]] = {
    "session": lambda episode: [episode.session],
    "participant": lambda episode: episode.participants,
    "question": lambda episode: [episode.question.id],
    "wording": lambda episode: [line(episode.question.question).casefold()],
    "episode": lambda episode: [episode.id],
}
"""What an episode would be known again by."""


def split(episodes: Sequence[Episode], seed: int, shares: Mapping[str, float] = SHARES) -> Split:
    """Each episode on one side, the sides about as large as `shares` say.

    Errors: UserError when a side of a share above 0 stays empty, with what holds the episodes together.
    """
    chunks = sorted(together(episodes), key=lambda chunk: min(episode.id for episode in chunk))
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
    check(found)
    return found


def described(sides: Split) -> str:
    """The shares that came out: `288 episodes: train 192 (67%), validation 48 (17%), test 48 (17%)`."""
    whole = sum(map(len, sides.values()))
    counts = [f"{name} {len(kept)} ({len(kept) / whole:.0%})" for name, kept in sides.items()]
    return f"{whole} episodes: {', '.join(counts)}"


def _held_out(chunk: Sequence[Episode]) -> bool:
    """All on questions that were put aside when the questions were written."""
    return all(episode.question.split != TRAIN for episode in chunk)


def check(sides: Split) -> None:
    """Errors: UserError naming the first thing that is on two sides."""
    for kind, traces in TRACES.items():
        seen: dict[str, str] = {}
        for name, kept in sides.items():
            for trace in {trace for episode in kept for trace in traces(episode)}:
                if seen.setdefault(trace, name) != name:
                    raise UserError(f"the split leaks: {kind} {trace} is in {seen[trace]} and in {name}")


def together(episodes: Sequence[Episode]) -> list[list[Episode]]:
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
