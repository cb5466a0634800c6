"""One round of a game, as a generator: expectations before the first one, moves in turn, points.

Players who move at the same time are asked at the same time. A missing move is seen by no one; the round then pays no known
points. A negotiation that has ended has no further moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from parley.environments.base import Turn, concurrent_turns
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Request
from parley.model.events import Event
from parley.model.room import RoomState, record_call
from parley.model.round import ScheduledTurn, prepare

from .environment import Game
from .events import Expected, Moved, Settled
from .players import OTHER, SELF, Answer, Player, Position, Shown
from .rules import KINDS, Play, ending, ending_points, kind_of, round_points, summary_outcome


class Due(NamedTuple):
    """A move that is due: its number, the player, the kind of move and its place in the round."""

    iteration: int
    agent: int
    turn: Turn
    kind: str
    place: int


class Asked(NamedTuple):
    """An answer, how often it was asked for, and the unreadable replies before it."""

    answer: Answer
    asked: int = 0
    earlier: tuple[str | None, ...] = ()


def run_game_round(room: RoomState, rules: Game, turns: Iterator[Turn], last: int) -> Conversation[list[Event]]:
    """Run a round of the game; none in a room whose negotiation has ended. last: the number of rounds."""
    events: list[Event] = []
    if _course(room).outcome:
        return events
    if room.round == 1 and rules.beliefs != "none":
        yield from _ask_expectations(room, rules, last, events)
    place = 0
    for wave in concurrent_turns(turns):
        due = []
        for turn in wave:
            room.iteration += 1
            due.append(Due(room.iteration, turn.speaker, turn, kind_of(rules.game, place), place))
            place += 1
        yield from _move(room, due, last, events)
    _settle(room, rules, last, events)
    return events


def _ask_expectations(room: RoomState, rules: Game, last: int, events: list[Event]) -> Conversation[None]:
    """Ask every player what it and the others will do in the rounds of the horizon that the game has."""
    for number in room.members:
        _player(room, number).observe(())
    kinds = KINDS[rules.game]
    for round_ in [ahead for ahead in rules.horizon if ahead <= last]:
        for about in (SELF, OTHER):
            pairs = []
            for number in room.members:
                own_kind = _player(room, number).kind
                pairs.append(
                    (number, own_kind if about == SELF or len(kinds) == 1 else kinds[1 - kinds.index(own_kind)])
                )
            answers = yield from ask_all_until(
                room, [_expectation(room, *pair, about, round_) for pair in pairs], events
            )
            for (number, kind), answered in zip(pairs, answers, strict=True):
                made, place = answered.answer, (room.id, room.round, number)
                read = (
                    made.value,
                    made.reason,
                    made.shares,
                    made.covered,
                    made.raw,
                    made.how,
                    answered.asked,
                    answered.earlier,
                )
                fields: list[Any] = [*place, about, kind, round_, *read]
                events.append(Expected(*fields))


class Question(NamedTuple):
    """A closed question to a player, composed anew for every attempt; a reason where it is not asked."""

    agent: int
    kind: str
    expectation: str = ""
    about: str = ""
    round: int = 0
    position: Position | None = None
    reason: str | None = None
    iteration: int = 0

    def compose(self, player: Player, seed: int, again: bool) -> Request:
        if self.position is not None:
            return player.compose_move(self.position, seed, again)
        return player.compose_expectation(self.about, self.kind, self.round, seed, again)


def _expectation(room: RoomState, agent: int, kind: str, about: str, round_: int) -> Question:
    name = f"expectation {about} {round_}"
    return Question(agent, kind, name, about, round_, reason=_player(room, agent).blocked_reason(Game.form))


def ask_all_until(room: RoomState, questions: Sequence[Question], events: list[Event]) -> Conversation[list[Asked]]:
    """Ask questions at the same time, and those again whose reply cannot be read, as often as the run allows."""
    answers = [Asked(Answer(None, question.reason or "empty", None)) for question in questions]
    open_ = [number for number, question in enumerate(questions) if question.reason is None]
    for attempt in range(room.context.asks):
        if not open_:
            break
        requests = []
        for number in open_:
            question = questions[number]
            seed = room.seed(question.agent, question.expectation or "move", attempt, question.iteration)
            requests.append(question.compose(_player(room, question.agent), seed, attempt > 0))
        replies = yield from ask_all(requests)
        still = []
        for number, request, reply in zip(open_, requests, replies, strict=True):
            question, before = questions[number], answers[number]
            record_call(events, room, question.agent, request, reply)
            answer = _player(room, question.agent).absorb_answer(reply, question.kind, bool(question.expectation))
            earlier = (*before.earlier, before.answer.raw) if attempt else ()
            answers[number] = Asked(answer, attempt + 1, earlier)
            if answer.value is None and not reply.failure:
                still.append(number)
        open_ = still
    return answers


def _move(room: RoomState, due: Sequence[Due], last: int, events: list[Event]) -> Conversation[None]:
    """Let the players move who are due at the same time; private notes first."""
    history = _known(room)
    questions = []
    for move in due:
        position = Position(move.kind, move.place, room.round, last, history)
        player = _player(room, move.agent)
        player.observe(history)
        reason = player.blocked_reason(Game.form) or _unasked(position)
        questions.append(Question(move.agent, move.kind, position=position, reason=reason, iteration=move.iteration))
    thinking = [
        ScheduledTurn(move.iteration, move.agent, move.turn, Game.form, room.members[move.agent])
        for move, question in zip(due, questions, strict=True)
        if question.reason is None and room.members[move.agent].prepares
    ]
    if thinking:
        yield from prepare(room, thinking, events)
    answers = yield from ask_all_until(room, questions, events)
    for move, (answer, calls, earlier) in zip(due, answers, strict=True):
        _course(room).plays.append(Play(room.round, move.agent, move.kind, answer.value))
        read = (answer.value, answer.reason, answer.shares, answer.covered, answer.raw, answer.how)
        events.append(Moved(room.id, room.round, move.iteration, move.agent, move.kind, *read, calls, earlier))


def _unasked(position: Position) -> str | None:
    """Return why a player has no move to make, or None."""
    if position.kind == "response" and position.now("offer") is None:
        return "no_offer"
    if position.kind == "returned":
        sent = position.now("sent")
        return "no_offer" if sent is None else "nothing_sent" if sent == 0 else None
    return None


def _settle(room: RoomState, rules: Game, last: int, events: list[Event]) -> None:
    """Record what each player gets, and how the game ended, if it did."""
    now = {play.agent: play for play in _course(room).plays if play.round == room.round}
    package: int | None = None
    if rules.game == "negotiation":
        outcome, package = ending(list(now.values()), room.round == last)
        points: Sequence[float | None] = ending_points(outcome, package) if outcome else (None, None)
        _course(room).outcome = outcome
    else:
        points = round_points(rules.game, [now[number].value for number in room.members], rules.factor)
        outcome = summary_outcome(rules.game, _course(room).plays) if room.round == last else ""
    ended = bool(outcome) or room.round == last
    events.append(Settled(room.id, room.round, tuple(room.members), tuple(points), outcome or None, package, ended))


def _known(room: RoomState) -> tuple[Shown, ...]:
    """The moves of a room that could be read, as all players see them."""
    names = {number: member.name for number, member in room.members.items()}
    return tuple(
        [
            Shown(play.round, names[play.agent], play.kind, play.value)
            for play in _course(room).plays
            if play.value is not None
        ]
    )


@dataclass(slots=True)
class Course:
    """The moves of a room so far, and how its negotiation ended ("": it goes on)."""

    plays: list[Play] = field(default_factory=list)
    outcome: str = ""


def _course(room: RoomState) -> Course:
    course: Course = room.kept.setdefault("game", Course())
    return course


def _player(room: RoomState, agent: int) -> Player:
    return cast(Player, room.members[agent])
