"""The exam of an environment: each check is a promise of `parley.environments.base.Environment`, and takes its class.

`parley.testing.check_environment` runs all checks. The dataclass is made with its defaults and, for every option that
is a closed choice (a Literal, or the parts of a registry), with each value of that choice. Some checks are different
for networks, as they say.
"""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, is_dataclass
from itertools import zip_longest
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from parley.environments._social_graph import Links, Post, SocialGraph
from parley.environments.base import MEDIATOR, Environment, Group, Networked, Room, Turn, concurrent_turns
from parley.llm.registry import Registry, UserError

SIZES, ROUNDS = range(1, 7), range(1, 6)
"""Of tables."""
POPULATION, LATER = 31, (1, 3)
"""The size of a network, and the rounds that are looked at."""
Kind = Callable[..., Environment]


def variants(kind: Kind) -> Iterator[Environment]:
    """Yield the environment with its defaults, and once for each value of each closed choice."""
    yield kind()
    for option, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is Literal:
            yield from (kind(**{option: value}) for value in get_args(hint))
        if get_origin(hint) is Annotated:
            yield from (kind(**{option: value}) for value in choices(get_args(hint)[1]))


def choices(registry: Registry) -> Iterator[str]:
    """Yield the parts of a registry that need no option."""
    for name in registry.names():
        with suppress(UserError):
            registry.get(name)
            yield name


def networked(environment: Environment) -> bool:
    return any(group.networked for group in environment.groups())


def mediated(environment: Environment) -> bool:
    return any(group.mediated for group in environment.groups())


def silent(environment: Environment) -> int:
    """Return how many of the last seats only listen."""
    return int(getattr(environment, "silent", 0))


def room(size: int, environment: Environment | None = None) -> Room:
    """Return a room whose ids are no seat numbers; every reshuffle gives the same other order.

    A network has the links of its graph, one member without a known attitude, and a post by each member.
    """
    seated = tuple(range(11, 11 + 3 * size, 3))
    turned = seated[size // 2 :] + seated[: size // 2]
    society = None
    if environment and networked(environment):
        parties = environment.groups()[0].seats[:size]
        pairs = cast(Networked, environment).links(parties, random.Random(1))
        links = Links(seated, [(seated[source], seated[target]) for source, target in pairs])
        society = SocialGraph(
            links, lambda member: None if member == seated[-1] else member % 11, lambda *name: random.Random(repr(name))
        )
        society.wall.keep([Post(number, member, 1) for number, member in enumerate(seated, 1)], 0)
    return Room(seated, turned[::-1], lambda: turned, society)


def sizes(environment: Environment) -> Iterator[int]:
    """Yield the sizes of room that the environment can seat."""
    for size in SIZES[silent(environment) :]:
        with suppress(ValueError):
            if "seats" in get_type_hints(type(environment)):
                cast(Any, type(environment))(seats=("second",) * size)
            yield size


def rounds(kind: Kind) -> Iterator[tuple[Environment, Room, int, list[Turn]]]:
    """Yield the rounds of every variant, in rooms of every size that it can seat."""
    for environment in variants(kind):
        network = networked(environment)
        for size in [POPULATION] if network else sizes(environment):
            for round_ in LATER if network else ROUNDS:
                place = room(size, environment)
                yield environment, place, round_, list(environment.turns(place, round_))


def every_member_speaks_exactly_once_a_round(kind: Kind) -> None:
    """If the environment says `often`, all members speak equally often. In a network, some may stay silent by chance."""
    for environment, place, round_, turns in rounds(kind):
        spoken = Counter(turn.speaker for turn in turns if turn.speaker != MEDIATOR)
        if networked(environment):
            assert set(spoken.values()) <= {1}, (environment, round_)
            assert set(spoken) <= set(place.seated), (environment, round_)
            every = getattr(environment, "activation", "every").startswith("every")
            assert cast(Networked, environment).varies or not every or set(spoken) == set(place.seated), (
                environment,
                round_,
            )
        else:
            times = max(spoken.values()) if getattr(environment, "often", False) else 1
            speakers = place.seated[: len(place.seated) - silent(environment)]
            assert spoken == dict.fromkeys(speakers, times), (environment, round_)


def a_mediator_speaks_once_and_last_where_there_is_one(kind: Kind) -> None:
    for environment, _, round_, turns in rounds(kind):
        assert [turn.speaker for turn in turns].count(MEDIATOR) == mediated(environment), (environment, round_)
        assert mediated(environment) == (turns[-1].speaker == MEDIATOR)


def hearers_are_exactly_the_others_or_the_mediator_alone(kind: Kind) -> None:
    """Only the mediator hears the members of its group, and all of them hear it. At other tables all others hear a
    speaker, or some of them if the environment says `narrow`. In a network only members with a link to the speaker hear
    it.
    """
    for environment, place, _, turns in rounds(kind):
        for turn in turns:
            assert len(turn.hearers) == len(set(turn.hearers))
            if place.society:
                assert set(turn.hearers) <= set(place.society.links.heard_by[turn.speaker]), (environment, turn)
            elif mediated(environment) and turn.speaker != MEDIATOR:
                assert turn.hearers == (MEDIATOR,), (environment, turn)
            else:
                present, seated = {*turn.hearers, turn.speaker} - {MEDIATOR}, set(place.seated)
                narrow = getattr(environment, "narrow", False)
                assert present <= seated if narrow else present == seated, (environment, turn)
                assert turn.hearers or len(seated) == 1
                assert turn.speaker not in turn.hearers, (environment, turn)


def what_goes_together_is_of_one_form(kind: Kind) -> None:
    """Turns at the same time ask different members for the same form."""
    for _, _, _, turns in rounds(kind):
        assert not any(turn.together for turn in turns[:1])
        for batch in concurrent_turns(turns):
            assert len({turn.form for turn in batch}) == 1
            assert len({turn.speaker for turn in batch}) == len(batch), batch


def turns_are_plain_turns(kind: Kind) -> None:
    for _, _, _, turns in rounds(kind):
        assert all(type(turn) is Turn and type(turn.hearers) is tuple for turn in turns)


def same_room_and_round_give_the_same_turns(kind: Kind) -> None:
    for environment, place, round_, turns in rounds(kind):
        assert list(environment.turns(place, round_)) == turns, environment


def rooms_do_not_disturb_each_other(kind: Kind) -> None:
    """All rooms advance together, so two iterators of one environment are used in turns."""
    for environment in variants(kind):
        size = POPULATION if networked(environment) else 4
        first, second = (environment.turns(room(size, environment), round_) for round_ in (1, 2))
        mixed = list(zip_longest(first, second))
        assert [turn for turn, _ in mixed if turn] == list(environment.turns(room(size, environment), 1))
        assert [turn for _, turn in mixed if turn] == list(environment.turns(room(size, environment), 2))


def links_feeds_and_changes_are_those_of_a_network_and_the_same_every_time(kind: Kind) -> None:
    """Links join different members, each once. A feed has posts by members whom the reader hears, unless the
    environment says `everyone`. Rewiring keeps the
    number of links of each hearer.
    """
    for environment, place, round_, _ in rounds(kind):
        if not place.society:
            continue
        network, links = cast(Networked, environment), place.society.links
        assert len(set(links.pairs)) == len(links.pairs)
        assert all(source != target for source, target in links.pairs)
        feeds = list(network.feeds(place, round_))
        assert feeds == list(network.feeds(place, round_))
        for feed in feeds:
            authors = [place.society.wall.posts[iteration].author for iteration in feed.iterations]
            assert getattr(network, "everyone", False) or set(authors) <= set(links.hears[feed.reader]), environment
        removed, added = network.rewired(place, round_)
        assert (removed, added) == network.rewired(place, round_)
        assert sorted(source for source, _ in removed) == sorted(source for source, _ in added), environment
        assert set(removed) <= set(links.pairs)
        assert not set(added) & set(links.pairs)


def groups_have_people_and_names_of_their_own(kind: Kind) -> None:
    for environment in variants(kind):
        groups = environment.groups()
        assert groups, environment
        assert len({group.name for group in groups}) == len(groups), environment
        for group in groups:
            assert type(group) is Group
            assert group.name
            assert group.seats, environment
            assert all(type(party) is str and party for party in group.seats)
            assert "/" not in group.name, "a group's name is a part of its room's"


def groups_are_the_same_every_time(kind: Kind) -> None:
    for environment in variants(kind):
        assert environment.groups() == environment.groups()


def options_are_a_frozen_dataclass_with_defaults(kind: Kind) -> None:
    environment: Any = kind()
    assert is_dataclass(kind)
    assert pickle.loads(pickle.dumps(environment)) == environment
    for field in fields(kind):
        try:
            setattr(environment, field.name, getattr(environment, field.name))
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{field.name} can be changed: write @dataclass(frozen=True)")


def empty_lists_are_refused(kind: Kind) -> None:
    """An environment without anyone to seat is a ValueError at once, not an empty table of results."""
    for option, hint in get_type_hints(kind).items():
        if get_origin(hint) is tuple and getattr(kind(), option):
            message = "it is accepted"
            try:
                kind(**{option: ()})
            except ValueError as error:
                message = str(error)
            assert option[:4] in message, f"{option}=() must be a ValueError that names {option}: {message}"


CHECKS: list[Callable[[Kind], None]] = [
    every_member_speaks_exactly_once_a_round,
    a_mediator_speaks_once_and_last_where_there_is_one,
    hearers_are_exactly_the_others_or_the_mediator_alone,
    what_goes_together_is_of_one_form,
    turns_are_plain_turns,
    same_room_and_round_give_the_same_turns,
    rooms_do_not_disturb_each_other,
    links_feeds_and_changes_are_those_of_a_network_and_the_same_every_time,
    groups_have_people_and_names_of_their_own,
    groups_are_the_same_every_time,
    options_are_a_frozen_dataclass_with_defaults,
    empty_lists_are_refused,
]
