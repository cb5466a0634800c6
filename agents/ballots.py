"""Ballots: how every member ranks candidate statements, as the mediator predicts it or as the member itself says.

Both kinds are asked for alike: each ballot shows the candidates in an order drawn for it, an unreadable ballot is asked for again
in other words at a temperature above 0, and after ATTEMPTS replies it is missing with its reason.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from parley.agents.mediators.base import MediatorBrief, Ranking, Seed, ask_until_usable
from parley.agents.social_choice import LETTERS, Places, read_ranking
from parley.llm.driver import Conversation
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request

RANKING_TOKENS = 150
Texts = Mapping[int, str]
"""Candidate statements by number."""


def ask_predicted(brief: MediatorBrief, seed: Seed, texts: Texts) -> Conversation[tuple[Ranking, ...]]:
    """Ask the mediator's model how every member who wrote anything would rank the candidates."""
    writers = [place for place, member in enumerate(brief.members) if member.opinion or member.critique]

    def request(place: int, shown: Sequence[int], attempt: int) -> Request:
        return _predicted(brief, seed, texts, place, shown, attempt)

    return _ask(writers, "ballot", seed, texts, request)


def ask_own(brief: MediatorBrief, seed: Seed, texts: Texts) -> Conversation[tuple[Ranking, ...]]:
    """Ask every member who can be asked to rank the candidates itself. Errors: UserError where no member can be asked."""
    if brief.own_ballot is None:
        raise UserError("members of recorded episodes are not agents, so they cannot vote: set ballots=predicted")
    ballot = brief.own_ballot

    def request(place: int, shown: Sequence[int], attempt: int) -> Request:
        ballot_request = ballot(
            place, [texts[number] for number in shown], seed("own_ranking", place, attempt), attempt > 0
        )
        assert ballot_request is not None
        return ballot_request

    able = [place for place in range(len(brief.members)) if ballot(place, list(texts.values()), 0, False) is not None]
    return _ask(able, "own_ballot", seed, texts, request)


def renumbered(order: Places, number: Callable[[int], int]) -> Places:
    """Return the same ballot with other numbers for the candidates."""
    return tuple(tuple(map(number, place)) if isinstance(place, tuple) else number(place) for place in order)


def lettered(texts: Sequence[str]) -> str:
    """Return the statements in lines such as `A: ...`."""
    return "\n".join(f"{letter}: {text}" for letter, text in zip(LETTERS, texts, strict=False))


def _ask(
    places: Sequence[int], stream: str, seed: Seed, texts: Texts, request: Callable[[int, Sequence[int], int], Request]
) -> Conversation[tuple[Ranking, ...]]:
    """Ask all ballots at once. stream: the name of the draw that orders the candidates of each."""
    shown = {place: random.Random(seed(stream, place)).sample(list(texts), len(texts)) for place in places}
    rankings = yield from ask_until_usable(
        places,
        lambda place, attempt: request(place, shown[place], attempt),
        lambda place, reply, before: _read_ballot(place, shown[place], reply, before),
        lambda ranking: ranking.order is not None,
    )
    return tuple(rankings.values())


def _predicted(
    brief: MediatorBrief, seed: Seed, texts: Texts, place: int, shown: Sequence[int], attempt: int
) -> Request:
    """Return the request for the predicted ranking of one member, of the candidates in the order shown."""
    member = brief.members[place]
    language = brief.question.place.language
    lines = [f"{language.words('opinion')}: {member.opinion}"] if member.opinion else []
    if brief.previous is not None and member.critique:
        lines.append(language.fill("last_statement", statement=brief.previous))
        lines.append(language.fill("critique_of_it", critique=member.critique))
    listed = [texts[number] for number in shown]
    slots = {"number": len(shown), "question": brief.question.question}
    text = language.prompt("ranking").fill(**slots, known="\n".join(lines), statements=lettered(listed))
    facts: Facts = {
        "opinion": member.opinion or "",
        "critiques": [member.critique] if brief.previous is not None and member.critique else [],
        "candidates": listed,
    }
    named = seed("ranking", place, attempt)
    if not attempt:
        return brief.request(text, RANKING_TOKENS, named, "ranking", facts, temperature=0.0)
    again = language.prompt("reask").fill(survey=text)
    return brief.request(again, RANKING_TOKENS, named, "ranking", facts, temperature=brief.sampling.temperature or 1.0)


def _read_ballot(place: int, shown: Sequence[int], reply: Reply, before: Ranking | None) -> Ranking:
    """Read a ranking by the candidates' numbers. before: the result of the attempt before."""
    earlier = (*before.earlier, before.raw) if before else ()
    ranking = read_ranking(reply.text, len(shown))
    reason = reply.failure.name if reply.failure else ranking.reason
    order = None if ranking.order is None else renumbered(ranking.order, shown.__getitem__)
    return Ranking(place, order, reason, reply.text, len(earlier) + 1, earlier)
