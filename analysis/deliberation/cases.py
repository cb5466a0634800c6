"""Cases of representation: a participant at the critique step, with all that a representative may be told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from parley.agents.representative import OTHERS, Brief, Other, same
from parley.analysis.deliberation.episode import Episode, Voice
from parley.llm.randomness import stream


@dataclass(frozen=True)
class Case:
    """One participant in one episode. `critique` is what the participant wrote, None when that is missing."""

    episode: str
    session: str
    participant: str
    brief: Brief
    critique: str | None

    @property
    def key(self) -> str:
        """Names the case: `e1 ann`."""
        return f"{self.episode} {self.participant}"


@dataclass(frozen=True)
class Cases:
    """The cases of some episodes, and why other voices are none (reason: count)."""

    cases: tuple[Case, ...]
    left_out: dict[str, int]


def cases(episodes: Sequence[Episode], written: bool = True) -> Cases:
    """A case for each voice with an opinion and a draft, and with `written` a critique; in the order of the episodes.

    The others are the participant's episodes of the same session on other questions, in their order, OTHERS at most.
    """
    past: dict[tuple[str, str], list[tuple[Episode, Voice]]] = defaultdict(list)
    for episode in episodes:
        for voice in episode.voices:
            past[episode.session, voice.participant].append((episode, voice))
    found: list[Case] = []
    left_out: Counter[str] = Counter()
    for episode in episodes:
        for voice in episode.voices:
            if missing := _missing(episode, voice, written):
                left_out[missing] += 1
            else:
                found.append(_case(episode, voice, past[episode.session, voice.participant]))
    return Cases(tuple(found), dict(left_out))


def strangers(found: Sequence[Case], seed: int) -> dict[str, Case]:
    """By key the case of another participant of the same episode, drawn with the seed: what a stranger would be told.

    Who is alone has none.
    """
    tables: dict[str, list[Case]] = defaultdict(list)
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


def _case(episode: Episode, voice: Voice, past: Sequence[tuple[Episode, Voice]]) -> Case:
    assert voice.opinion is not None
    assert episode.draft is not None
    others = [
        Other(before.question, said.opinion, said.critique, said.position)
        for before, said in past
        if not same(before.question, episode.question)
    ]
    brief = Brief(episode.question, voice.opinion, episode.draft, voice.demographics, tuple(others[:OTHERS]))
    return Case(episode.id, episode.session, voice.participant, brief, voice.critique)
