"""The players of games: they compose requests for expectations and moves, and read replies strictly.

The prompt has the rules, all earlier moves, and a closed question (`Request.answers`), so that a backend can tell the probability
of each answer. Rules and moves are the beginning of what a player remembers, so that its private notes (`think`) know them; an
answer is not remembered by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS, read_choice, read_number
from parley.agents.language import Language, language_of_study
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request
from parley.model.agent_factory import SeatedAgent, seat_and_topic, speaks_as
from parley.model.casting import RoomSeating

from .environment import Game
from .rules import ACCEPT, LEAVE, PACKAGES, REFUSE, TRIPLED, Setting, answers, kind_of, package_points

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

SELF, OTHER = "self", "other"
"""Whose moves an expectation is about."""


class GameFacts(Facts, total=False):
    """What prompts to players state."""

    left: int  # the rounds to play, this one included
    game: str  # trust, prisoners, public_goods, negotiation
    announced: bool  # whether players know the number of rounds
    move: str  # the kind of move: sent, returned, choice, contributed, offer, response
    ahead: int  # the round of the move
    imposed: int  # what the player is known to do, 0 to 10
    received: Sequence[float]  # the mean move of the others in each round so far in which it is known
    points: Sequence[float]  # what each of the nine packages gives the player
    offered: int  # the package to answer; 0: none
    reflected: bool  # whether a private note of the player is in the prompt


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


class Shown(NamedTuple):
    """An earlier move, as all players see it."""

    round: int
    name: str
    kind: str
    value: float


class Position(NamedTuple):
    """What a player knows when it moves: the kind of its move, its place, the round, the last round, and the moves so far."""

    kind: str
    place: int
    round: int
    last: int
    history: tuple[Shown, ...]

    def now(self, kind: str) -> float | None:
        """Return the move of this kind that was made in this round."""
        return next((shown.value for shown in self.history if shown.round == self.round and shown.kind == kind), None)


class Answer(NamedTuple):
    """A move or an expectation, or None and a reason. shares: the probability of each allowed answer, if the backend tells it."""

    value: float | None
    reason: str | None
    raw: str | None
    shares: tuple[float, ...] | None = None
    covered: float | None = None
    how: str = "strict"


class Player(SeatedAgent):
    """A player of a game. place: its place among the players, from 0."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        rules = cast(Game, model.environment)
        self.place, self.players = number, tuple([seat.persona.name for seat in seating.places])
        self.setting = Setting(
            rules.game,
            rules.end == "announced",
            model.setup.rounds,
            rules.factor,
            rules.imposed if rules.beliefs == "imposed" else None,
        )
        self.texts = own_words(topic.language)
        others = [name for other, name in enumerate(self.players) if other != number]
        opening = _describe_rules(self.texts, self.setting, self.players, number, topic.language.join(others))
        adapter, voice = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, model.style, opening, others, adapter, voice)
        self.assign_seat(seating, number)
        self._facts |= GameFacts(game=self.setting.game, announced=self.setting.announced)
        self._begun = ""

    @property
    def other(self) -> str:
        """The others in words."""
        return self.topic.language.join(self._others)

    def instruction(self, form: str) -> str:
        return self.texts.words("game_think")

    def begin(self) -> None:
        """Take in what the player is known to do, where beliefs are imposed. Before any move."""
        if self.setting.imposed is not None:
            imposed = self.texts.fill(f"game_imposed_{self.kind}", value=self.setting.imposed)
            self.memory.opening = f"{self.memory.opening} {imposed}"
            self._facts |= GameFacts(imposed=self.setting.imposed)
        self._begun = self.memory.opening

    @property
    def kind(self) -> str:
        """The kind of move of this player; of a negotiation that of its first round."""
        return kind_of(self.setting.game, self.place)

    def observe(self, history: Sequence[Shown]) -> None:
        """See all moves of the rounds so far."""
        language = self.texts
        if not self._begun:
            self.begin()
        rounds = dict.fromkeys(shown.round for shown in history)
        lines = [
            f"{language.fill('game_round', round=number)} "
            + "; ".join(_shown(language, shown) for shown in history if shown.round == number)
            + "."
            for number in rounds
        ]
        self.memory.opening = "\n\n".join(filter(None, [self._begun, "\n".join(lines)]))

    def compose_expectation(self, about: str, kind: str, round_: int, seed: int, again: bool = False) -> Request:
        """Ask what the player itself (`self`) or the others (`other`) will do in a round, before the game."""
        question = self.texts.fill(f"game_expect_{about}_{kind}", round=round_, other=self.other)
        facts = GameFacts(about=about, move=kind, ahead=round_, left=self.setting.last - round_ + 1)
        return self._closed("expectation", question, tuple(map(str, range(11))), facts, seed, again)

    def compose_move(self, position: Position, seed: int, again: bool = False) -> Request:
        """Ask for a move."""
        kind, language = position.kind, self.texts
        slots: dict[str, Any] = {"round": position.round, "other": self.other}
        sent, offered = position.now("sent"), position.now("offer")
        if kind == "returned" and sent is not None:
            slots |= {"sent": f"{sent:g}", "pot": f"{TRIPLED * sent:g}"}
        if kind == "response" and offered is not None:
            slots |= {"package": f"{offered:g}", "terms": _terms(language, int(offered), self.place)}
        facts = GameFacts(
            move=kind,
            ahead=position.round,
            left=self.setting.last - position.round + 1,
            received=self._received(position),
            points=[package_points(number)[self.place] for number in answers("offer")] if self.place < 2 else [],
            offered=int(offered or 0),
            reflected=self.note.text is not None,
        )
        allowed = OPTIONS if kind == "choice" else tuple(map(str, answers(kind)))
        return self._closed("move", language.fill(f"game_ask_{kind}", **slots), allowed, facts, seed, again)

    def _received(self, position: Position) -> list[float]:
        """Return the mean move of the others in each round, in order; of a negotiation nothing."""
        if self.setting.game == "negotiation":
            return []
        by_round: dict[int, list[float]] = {}
        for shown in position.history:
            if shown.name != self.name:
                by_round.setdefault(shown.round, []).append(shown.value)
        return [sum(values) / len(values) for values in by_round.values()]

    def _closed(
        self, purpose: str, question: str, allowed: tuple[str, ...], facts: GameFacts, seed: int, again: bool
    ) -> Request:
        prompt = self.topic.language.prompt("reask").fill(survey=question) if again else question
        sampling = self.style.sampling._replace(max_tokens=ANSWER_TOKENS, stop=())
        return self._request(purpose, self._chat(self._noted(prompt)), sampling, seed, facts, answers=allowed)

    def absorb_answer(self, reply: Reply, kind: str, expectation: bool = False) -> Answer:
        """Read a move or an expectation; nothing else is taken for a number."""
        if reply.failure:
            return Answer(None, reply.failure.name, None)
        if kind == "choice" and not expectation:
            option, reason = read_choice(reply.text, OPTIONS)
            value = None if option is None else 10.0 if option == "A" else 0.0
        else:
            allowed = tuple(range(11)) if expectation else answers(kind)
            value, reason = read_number(reply.text, allowed)
        shares = tuple(reply.answers.values()) if reply.answers else None
        how = f"strict, {reply.way}" if reply.way else "strict"
        return Answer(value, reason, reply.text, shares, reply.covered, how)


def _describe_rules(language: Language, setting: Setting, players: Sequence[str], seat: int, others: str) -> str:
    """Return the rules as a player reads them: what is played, with whom, for how many rounds, who it is."""
    length = language.fill("game_length", rounds=setting.last) if setting.announced else language.words("game_unknown")
    slots: dict[str, Any] = {"other": others, "length": length}
    if setting.game == "trust":
        slots |= {"first": players[0], "second": players[1], "own": players[seat]}
    if setting.game == "public_goods":
        slots |= {"players": len(players), "factor": f"{setting.factor:g}"}
    if setting.game == "negotiation":
        packages = [f"{number}: {_terms(language, number, seat)}" for number in answers("offer")]
        slots |= {"packages": "; ".join(packages)}
    return language.prompt(f"game_{setting.game}").fill(**slots)


def _terms(language: Language, package: int, seat: int) -> str:
    """Return a package in words, with the points of the player and of the other."""
    first, second = PACKAGES[package - 1]
    points = package_points(package)
    prices, dates = language.entry("game_prices"), language.entry("game_dates")
    own_points, others = f"{points[seat]:g}", f"{points[1 - seat]:g}"
    return language.fill("game_package", price=prices[first], date=dates[second], own=own_points, others=others)


def _shown(language: Language, move: Shown) -> str:
    """Return a move in words."""
    words: dict[float, str] = {ACCEPT: "accepted", REFUSE: "refused", LEAVE: "left"}
    if move.kind == "response":
        return language.fill(f"game_{words[move.value]}", name=move.name)
    value = ("A" if move.value else "B") if move.kind == "choice" else f"{move.value:g}"
    return language.fill(f"game_moved_{move.kind}", name=move.name, value=value)
