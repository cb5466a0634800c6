"""What people did at each step of recorded sessions, and what they were sent.

Of a run folder also the requests are known (derived again from record and journal), so that the same person can be asked the same
once more. Of other episodes only texts and ratings are known: a vote is then the order of the ratings of draft and revision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parley.agents.representative import BALLOT, OPINION, VOTE, CritiqueBrief
from parley.agents.social_choice import Places, read_ranking
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.deliberation.episode_readers import read_any
from parley.environments.base import MEDIATOR
from parley.llm.request import Message, Request
from parley.model.branching import recorded_scenario
from parley.model.events import Header, Seated
from parley.model.files import RECORD
from parley.model.recorder import read_lines
from parley.model.scenario import Scenario
from parley.model.sent_requests import Exchange, sent_requests
from parley.studies.representatives.representation import RepresentationCase, representation_cases, strangers

WORDS = 75
"""Words of an opinion that a representative is asked for, where no run says how many the person was asked for."""
RATED = "vote, by ratings"
"""The step of a vote that follows from the ratings of draft and revision."""


class StepCase(NamedTuple):
    """What one person did at one step.

    session, episode: with the name of the run, if there are several. brief, stranger: what the representatives of this person and
    of another one of the group may know at the step. statements: those that were ranked, as shown; of an opinion those on which
    it is compared. text, order: what the person did. request: what the person was sent; None where that is unknown.
    """

    step: str
    session: str
    episode: Episode
    voice: Voice
    round: int
    brief: CritiqueBrief
    stranger: CritiqueBrief
    statements: tuple[str, ...]
    text: str = ""
    order: Places = ()
    request: Request | None = None
    words: int = WORDS

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.step, self.session, self.episode.id, self.voice.participant, self.round


class Sessions(NamedTuple):
    """The steps of the sessions at a path. scenario: that of a run, None of other episodes."""

    cases: tuple[StepCase, ...]
    scenario: Scenario | None
    header: Header | None = None


class _Ballot(NamedTuple):
    """A ballot or vote of a person: the first request, the statements as shown, the last order that could be read."""

    request: Request
    order: Places | None


def read_sessions(path: Path, seed: int, prefix: str = "") -> Sessions:
    """Return the steps of all people at a path who have an opinion, a draft and a group. prefix: before session names.

    seed: of the stranger that each person is compared with. Errors: UserError, as `read_any` and `sent_requests`.
    """
    episodes = {episode.id: episode for episode in read_any(path)}
    cases = representation_cases(list(episodes.values()), written=False).cases
    others, header = strangers(cases, seed), None
    sent: Mapping[tuple[str, str], Sequence[Exchange]] = {}
    if (path / RECORD).is_file():
        header = next(event for event in read_lines(path / RECORD) if isinstance(event, Header))
        sent = _exchanges(path)
    voices = {(episode.id, voice.participant): voice for episode in episodes.values() for voice in episode.voices}
    steps = [
        step
        for case in cases
        if (stranger := others.get(case.key))
        for step in _steps(
            prefix, episodes[case.episode],
            [voices[person_case.episode, person_case.participant] for person_case in (case, stranger)],
            (case, stranger), sent.get((case.episode, case.participant), ()),
        )
    ]  # fmt: skip
    return Sessions(tuple(steps), recorded_scenario(header, path) if header else None, header)


def _steps(
    prefix: str,
    episode: Episode,
    voices: Sequence[Voice],
    cases: tuple[RepresentationCase, RepresentationCase],
    sent: Sequence[Exchange],
) -> Iterator[StepCase]:
    """Yield the steps of one person in one episode. voices, cases: of the person and of the stranger."""
    voice, place = voices[0], (f"{prefix}{episode.session}", episode, voices[0])
    blank = [replace(case.brief, opinion="", draft="", critique="") for case in cases]
    opinion_request = next(
        (exchange.request for exchange in sent if exchange.request and exchange.request.facts.get("form") == OPINION),
        None,
    )
    compared = [episode.question.statement, episode.question.against, episode.draft, episode.revision]
    words = opinion_request.facts.get("words", WORDS) if opinion_request else WORDS
    shown = tuple(dict.fromkeys(filter(None, compared)))
    yield StepCase(OPINION, *place, 1, blank[0], blank[1], shown, voice.opinion or "", (), opinion_request, words)
    first, later = (cases[0].brief, cases[1].brief), tuple(map(_with_critique, cases, voices))
    ballots = _ballots(sent)
    for (step, round_), (request, order) in ballots.items():
        if order is not None:
            brief, other = later if step == VOTE or round_ > 1 else first
            yield StepCase(step, *place, round_, brief, other, tuple(request.facts["candidates"]), "", order, request)
    if not any(step == VOTE for step, _ in ballots) and (rated := _rated(episode, voice)):
        yield StepCase(RATED, *place, 2, later[0], later[1], *rated)


def _with_critique(case: RepresentationCase, voice: Voice) -> CritiqueBrief:
    """Return what a representative may know after the critique of the draft."""
    return replace(case.brief, critique=voice.critique or "")


def _rated(episode: Episode, voice: Voice) -> tuple[tuple[str, ...], str, Places] | None:
    """Return draft and revision with the order of their ratings; None without both, or if the texts are the same."""
    texts = tuple(getattr(episode, name) for name in STATEMENTS)
    draft, revision = (voice.agreement.get(name) for name in STATEMENTS)
    if None in texts or draft is None or revision is None or texts[0] == texts[1]:
        return None
    order: Places = ((0, 1),) if draft == revision else (0, 1) if draft > revision else (1, 0)
    return texts, "", order


def _ballots(sent: Sequence[Exchange]) -> dict[tuple[str, int], _Ballot]:
    """Return a person's ballots and votes by step and round."""
    ballots: dict[tuple[str, int], _Ballot] = {}
    for call, request, reply in ((exchange.call, exchange.request, exchange.reply) for exchange in sent):
        if request is not None and request.purpose == "ballot":
            key = (BALLOT if call.agent == MEDIATOR else VOTE, call.round)
            order = read_ranking(reply.text, len(request.facts["candidates"])).order if reply else None
            first = ballots.get(key, _Ballot(request, None))
            ballots[key] = _Ballot(first.request, order if order is not None else first.order)
    return ballots


def _exchanges(path: Path) -> dict[tuple[str, str], list[Exchange]]:
    """Return what each member itself was sent, by room and persona, its ballots on candidates among them.

    The mediator asks for those; the member is the one whose system message they begin with.
    """
    sent, exchanges = sent_requests(path), defaultdict[tuple[str, str], list[Exchange]](list)
    openings: dict[tuple[str, Message], str] = {}
    rooms = dict.fromkeys(event.room for event in read_lines(path / RECORD) if isinstance(event, Seated))
    for event in read_lines(path / RECORD):
        if isinstance(event, Seated) and event.agent != MEDIATOR:
            for exchange in sent.of(event.room, event.agent):
                if exchange.request is not None and not exchange.represented:
                    exchanges[event.room, event.persona].append(exchange)
                    openings[event.room, exchange.request.messages[0]] = event.persona
    for room in rooms:
        for exchange in sent.of(room, MEDIATOR):
            if exchange.request is not None and (persona := openings.get((room, exchange.request.messages[0]))):
                exchanges[room, persona].append(exchange)
    return dict(exchanges)
