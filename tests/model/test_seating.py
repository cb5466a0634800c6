"""Who meets whom: the derangement, the same people on every topic and in every arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from llm.errors import UserError
from model.scenario import Scenario, load_preset
from model.seating import tables


def test_over_forty_rooms_each_persona_has_each_seat_once_and_never_meets_itself() -> None:
    """D5 row 2: a seeded derangement gives 40 pairs, each persona once in each seat."""
    scenario = load_preset("echo_chamber").with_settings({"topics": "racism"})
    pairs = [
        [place.persona.id for place in table.places]
        for table in tables(scenario)
        if table.group == "republican+republican"
    ]
    assert len(pairs) == 40
    assert all(first != second for first, second in pairs)
    for seat in (0, 1):
        assert set(Counter(pair[seat] for pair in pairs).values()) == {1}


def test_the_same_people_meet_on_every_topic_and_with_or_without_a_default() -> None:
    """Conditions are compared on the same personas, so a difference is not one of casting."""
    seen: dict[tuple[str, int], set[tuple[str, ...]]] = {}
    for table in tables(load_preset("echo_chamber").with_settings({"repetitions": 5})):
        partisans = tuple(place.persona.id for place in table.places if place.persona.party != "default")
        if partisans:
            seen.setdefault((partisans[0].split("_")[0], table.repetition), set()).add(partisans)
    assert len(seen) == 10
    assert all(len(people) == 1 for people in seen.values())


def test_another_seed_casts_others(small: Callable[..., Scenario]) -> None:
    first, second = (list(tables(small(seed=seed))) for seed in (1, 2))
    assert first != second
    assert list(tables(small(seed=1))) == first


def test_a_room_can_be_had_alone(small: Callable[..., Scenario]) -> None:
    """Leaving out topics or repetitions changes nothing in the rooms that stay (named streams)."""
    some = {table.room: table for table in tables(small(topics="racism", repetitions=2))}
    more = {table.room: table for table in tables(small(topics="gun_violence,racism", repetitions=4))}
    assert some.items() <= more.items()


def test_those_asked_outside_are_told_of_the_people_of_a_room(small: Callable[..., Scenario]) -> None:
    """Each stands for the Default that would have sat there: one a repetition, alone in its room, told who is there."""
    rooms = list(tables(small("two_way")))
    assert [(table.group, len(table.places)) for table in rooms] == [("reference", 1)] * 2 + [
        ("republican+democrat", 2)
    ] * 2
    for outside, inside in zip(rooms[:2], rooms[2:], strict=True):
        assert outside.present == inside.present == tuple(place.persona for place in inside.places)


def test_beyond_the_personas_the_same_people_meet_in_other_company() -> None:
    """Rooms of a second lap are not copies of the first: 120 repetitions give 120 different pairs."""
    for preset, settings in (("two_way", {}), ("echo_chamber", {"default_agent": "without", "parties": "democrat"})):
        scenario = load_preset(preset).with_settings(
            {"topics": "racism", "repetitions": 120, "reference": "", **settings}
        )
        pairs = {tuple(place.persona.id for place in table.places) for table in tables(scenario)}
        assert len(pairs) == 120
        assert all(len(set(pair)) == 2 for pair in pairs)


def test_as_men_and_as_women_the_same_people_meet() -> None:
    """A difference between the two is one of gender, not of casting; nobody meets itself as the other gender."""
    scenario = load_preset("two_way").with_settings(
        {"topics": "racism", "repetitions": 6, "personas": "simple", "reference": ""}
    )

    def met(seats: str) -> list[tuple[str, ...]]:
        return [
            tuple(place.persona.name for place in table.places)
            for table in tables(scenario.with_settings({"seats": seats}))
        ]

    men = met("republican:male,democrat:male")
    assert men == met("republican:female,democrat:female")
    assert len(set(men)) == 6
    assert all(one != other for one, other in met("republican:male,republican:female"))


def test_more_seats_than_personas_is_told() -> None:
    scenario = load_preset("echo_chamber").with_settings({"size": 41})
    with pytest.raises(UserError, match="too few personas"):
        list(tables(scenario))


def test_a_fixed_cast_sits_in_every_room_and_nobody_meets_themselves() -> None:
    """The UCL study's Sam, Alex and Taylor; a second Republican is Riley, whichever variant of them sits there."""
    scenario = load_preset("structured_debate").with_settings(
        {"topics": "racism", "seats": "default:female,republican:male,republican,republican:female,democrat"}
    )
    rooms = list(tables(scenario))
    assert len(rooms) == 10
    for table in rooms:
        assert [place.persona.name for place in table.places] == ["Sam", "Alex", "Riley", "Morgan", "Taylor"]
        assert [place.persona.gender for place in table.places] == ["female", "male", "", "female", ""]
        seats = ["default female", "republican male", "republican", "republican female", "democrat"]
        assert [place.seat for place in table.places] == seats
    with pytest.raises(UserError, match="too few personas for 4 seats with a fixed cast"):
        list(tables(scenario.with_settings({"seats": "democrat,democrat,democrat,democrat"})))


def test_copies_are_one_person_in_every_seat(small: Callable[..., Scenario]) -> None:
    """Another person in each repetition; names differ, backstories too in the name alone; two parties have no copy."""
    rooms = [
        table
        for table in tables(small("echo_chamber", cast="copies", default_agent="without"))
        if len(table.places) > 1
    ]
    for table in rooms:
        assert len({place.persona.id for place in table.places}) == 1
        assert len({place.persona.name for place in table.places}) == len(table.places)
    with pytest.raises(UserError, match="cast=copies seats one person in every seat"):
        list(tables(small("two_way", cast="copies")))
