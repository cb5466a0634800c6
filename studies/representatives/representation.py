"""What a representative may know, and what it writes.

`split_cases` divides episodes into sides that share nothing: no participant, session or question (by id or by words) is
on two of them. Sessions that share a participant or a question are linked and go to one side. Which chunk goes where is
drawn with the seed, the largest chunks first, each to the side that lacks most. Episodes on held-out questions
(`iid_test`, `ood_test`) are not trained on while there are others. Where the shares that result are not those asked for,
`describe_split` says why. `check_split` says what leaks in any split.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import networkx as nx

from parley.agents import representative
from parley.agents.representative import Critique, CritiqueBrief, OtherOpinion
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Backend, Sampling
from parley.llm.seeding import derive, stream


@dataclass(frozen=True)
class RepresentationCase:
    """One participant in one episode. critique: what the participant wrote; None when that is missing."""

    episode: str
    session: str
    participant: str
    brief: CritiqueBrief
    critique: str | None

    @property
    def key(self) -> str:
        """The name of the case: `e1 ann`."""
        return f"{self.episode} {self.participant}"


@dataclass(frozen=True)
class Cases:
    """The cases of some episodes, and why other voices are no case (reason: count)."""

    cases: tuple[RepresentationCase, ...]
    left_out: dict[str, int]


def representation_cases(episodes: Sequence[Episode], written: bool = True) -> Cases:
    """Return a case for each voice with an opinion and a draft (and with `written` a critique), in the order of the
    episodes.

    A brief holds the participant's episodes of the same session on other questions, in their order, OTHERS at most.
    """
    past: dict[tuple[str, str], list[tuple[Episode, Voice]]] = defaultdict(list)
    voices = [(episode, voice) for episode in episodes for voice in episode.voices]
    for episode, voice in voices:
        past[episode.session, voice.participant].append((episode, voice))
    cases: list[RepresentationCase] = []
    left_out: Counter[str] = Counter()
    for episode, voice in voices:
        if voice.opinion is None:
            left_out[f"no opinion ({voice.reasons['opinion']})"] += 1
        elif episode.draft is None:
            left_out[f"no draft ({episode.reasons['draft']})"] += 1
        elif written and voice.critique is None:
            left_out[f"no critique ({voice.reasons['critique']})"] += 1
        else:
            others = tuple(
                OtherOpinion(before.question, past_voice.opinion, past_voice.critique, past_voice.position)
                for before, past_voice in past[episode.session, voice.participant]
                if not representative.same_question(before.question, episode.question)
            )[: representative.OTHERS]
            brief = CritiqueBrief(episode.question, voice.opinion, episode.draft, voice.demographics, others)
            cases.append(RepresentationCase(episode.id, episode.session, voice.participant, brief, voice.critique))
    return Cases(tuple(cases), dict(left_out))


def strangers(cases: Sequence[RepresentationCase], seed: int) -> dict[str, RepresentationCase]:
    """Return by key the case of another participant of the same episode, drawn with the seed; none for a single participant."""
    by_episode: dict[str, list[RepresentationCase]] = defaultdict(list)
    for case in cases:
        by_episode[case.episode].append(case)
    drawn = {}
    for group in by_episode.values():
        for place, case in enumerate(group):
            if others := group[:place] + group[place + 1 :]:
                drawn[case.key] = stream(seed, "stranger", case.key).choice(others)
    return drawn


TRAIN = "train"
SHARES = {TRAIN: 0.8, "validation": 0.1, "test": 0.1}
TOLERANCE = 0.05
"""A share of the episodes may be so far from the one asked for before a report says why."""
Split = Mapping[str, tuple[Episode, ...]]
"""The episodes of each side, in the order of the file."""
TRACES: Mapping[str, Callable[[Episode], Iterable[str]]] = {
    "session": lambda episode: [episode.session],
    "participant": lambda episode: episode.participants,
    "question": lambda episode: [episode.question.id],
    "wording": lambda episode: [representative.knowledge_line(episode.question.question).casefold()],
    "episode": lambda episode: [episode.id],
}
"""By what an episode could be recognised."""


def split_cases(episodes: Sequence[Episode], seed: int, shares: Mapping[str, float] = SHARES) -> Split:
    """Put each episode on one side; the sides are about as large as `shares` say.

    Errors: UserError when a side with a share above 0 stays empty, with what links the episodes.
    """
    chunks = sorted(linked_cases(episodes), key=lambda chunk: min(episode.id for episode in chunk))
    stream(seed, "split").shuffle(chunks)
    sides: dict[str, list[Episode]] = {name: [] for name in shares}
    trainable = not all(map(_is_held_out, chunks))
    for place, chunk in enumerate(sorted(chunks, key=len, reverse=True)):
        allowed = [name for name in shares if not (trainable and name == TRAIN and _is_held_out(chunk))]
        without = [name for name, share in shares.items() if share and not sides[name]]
        if len(chunks) - place <= len(without):  # the last chunks go where there is none yet
            allowed = [name for name in allowed if name in without] or allowed
        lacks = {name: shares[name] * len(episodes) - len(sides[name]) for name in allowed}
        sides[max(lacks, key=lambda name: lacks[name])] += chunk
    if empty := [name for name, share in shares.items() if share and not sides[name]]:
        raise UserError(
            f"no episode is left for {', '.join(empty)}: the {len(episodes)} episodes share participants and questions and form "
            f"only {len(chunks)} separate groups. Add sessions with other participants and other questions"
        )
    places = {episode.id: number for number, episode in enumerate(episodes)}
    split = {name: tuple(sorted(side, key=lambda episode: places[episode.id])) for name, side in sides.items()}
    check_split(split)
    return split


def describe_split(sides: Split) -> str:
    """Return the resulting shares: `40 episodes: train 32 (80%), validation 4 (10%), test 4 (10%)`.

    Where one of them is more than TOLERANCE away from the share asked for, the text says so, and why.
    """
    total = sum(map(len, sides.values()))
    counts = [f"{name} {len(side)} ({len(side) / total:.0%})" for name, side in sides.items()]
    sentence = f"{total} episodes: {', '.join(counts)}"
    apart = max(abs(len(side) / total - SHARES[name]) for name, side in sides.items())
    if apart <= TOLERANCE:
        return sentence
    wanted = ", ".join(f"{name} {share:.0%}" for name, share in SHARES.items())
    return f"{sentence}. The requested shares were {wanted}: {_why_apart(sides)}"


def _why_apart(sides: Split) -> str:
    """Return why a split does not have the shares asked for, and what to do."""
    chunks = linked_cases([episode for side in sides.values() for episode in side])
    total, kept = sum(map(len, chunks)), sum(len(chunk) for chunk in chunks if _is_held_out(chunk))
    if kept < total and kept / total - (1 - SHARES[TRAIN]) > TOLERANCE:
        return (
            f"{kept} of the {total} episodes are on questions reserved for validation and test. Add episodes on training "
            "questions, or leave out episodes on reserved questions"
        )
    largest = max(map(len, chunks))
    return (
        f"sessions that share a participant or a question stay together, and form {len(chunks)} separate groups, the largest "
        f"with {largest} episodes. Add sessions with other participants and other questions"
    )


def _is_held_out(chunk: Sequence[Episode]) -> bool:
    """Return whether all episodes are on questions that were held out when the questions were written."""
    return all(episode.question.split != TRAIN for episode in chunk)


def check_split(sides: Split) -> None:
    """Errors: UserError naming the first thing that is on two sides."""
    for kind, traces in TRACES.items():
        seen: dict[str, str] = {}
        for name, side in sides.items():
            for trace in {trace for episode in side for trace in traces(episode)}:
                if seen.setdefault(trace, name) != name:
                    raise UserError(
                        f"the split is not clean: {kind} {trace} is in both {seen[trace]} and {name}: put all "
                        f"episodes of this {kind} into one part"
                    )


def linked_cases(episodes: Sequence[Episode]) -> list[list[Episode]]:
    """Return chunks of episodes that are linked by what they share, directly or through others."""
    graph = nx.Graph(
        (("episode", episode.id), (kind, trace))
        for episode in episodes
        for kind, traces in TRACES.items()
        for trace in traces(episode)
    )
    by_id = {episode.id: episode for episode in episodes}
    chunks = ({name for kind, name in chunk if kind == "episode"} for chunk in nx.connected_components(graph))
    return [[episode for name, episode in by_id.items() if name in chunk] for chunk in chunks]


class Author(NamedTuple):
    """Who writes as a representative: the model, the name of its adapter, what it knows, its temperature."""

    spec: str
    adapter: str = ""
    knows: str = ""
    temperature: float = 1.0
    tokens: int = representative.TOKENS


class WritingOrder(NamedTuple):
    """An order for a critique: of whose draft, knowing whom (another case: a stranger), and which repetition."""

    case: RepresentationCase
    told: RepresentationCase
    number: int = 0

    @property
    def key(self) -> str:
        return f"{self.case.key} {self.told.participant} {self.number}"


def open_authors(author: Author) -> Backend:
    """Open the author's model. Errors: UserError if it does not have the adapter: every critique would fail."""
    backend = open_spec(author.spec)
    adapters: Mapping[str, object] = dict(backend.identity).get("adapters", {})
    if author.adapter and author.adapter not in adapters:
        raise unknown_name("adapter", author.adapter, adapters)
    return backend


def write_texts(
    orders: Sequence[WritingOrder], author: Author, seed: int, desk: CallDesk, backend: Backend | None = None
) -> list[Critique]:
    """Return a critique for each order, journaled in the desk's folder. backend: the author's model, if it is open."""
    asking = [write_one(order, author, seed) for order in orders]
    model = backend or open_authors(author)
    return desk.ask(asking, author.spec, f"critiques {author.spec}", _silence_reason, model)


def _silence_reason(critique: Critique) -> str | None:
    return critique.reason if critique.text is None else None


def write_one(order: WritingOrder, author: Author, seed: int) -> Conversation[Critique]:
    """Return a conversation that returns the critique."""
    sampling = Sampling(author.temperature, author.tokens)
    speaker = representative.Representative(order.told.brief, author.knows, sampling, author.adapter)
    critique_seed = derive(seed, "representative", author.knows, order.key)
    return speaker.absorb_text((yield from ask(speaker.compose_critique(critique_seed))))


def read_texts(orders: Sequence[WritingOrder], critiques: Sequence[Critique]) -> Mapping[str, str]:
    """Return by case key the critiques that have a text."""
    return {
        order.case.key: critique.text
        for order, critique in zip(orders, critiques, strict=True)
        if critique.text is not None
    }
