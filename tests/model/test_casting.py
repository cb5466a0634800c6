"""Who meets whom: the derangement, the same people on every topic and in every arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.persona import Persona
from parley.llm.errors import UserError
from parley.model import attendance
from parley.model.casting import _seat_around_circles, seat_rooms
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_blocks import People


def test_over_forty_rooms_each_persona_has_each_seat_once_and_never_meets_itself() -> None:
    """D5 row 2: a seeded derangement gives 40 pairs, each persona once in each seat."""
    scenario = load_preset("echo_chamber").with_settings({"topic": "racism"})
    pairs = [
        [place.persona.id for place in table.places]
        for table in seat_rooms(scenario)
        if table.group == "republican+republican"
    ]
    assert len(pairs) == 40
    assert all(first != second for first, second in pairs)
    for seat in (0, 1):
        assert set(Counter(pair[seat] for pair in pairs).values()) == {1}


def test_the_same_people_meet_on_every_topic_and_with_or_without_a_default() -> None:
    """Conditions are compared on the same personas, so a difference is not one of casting."""
    seen: dict[tuple[str, int], set[tuple[str, ...]]] = {}
    for table in seat_rooms(load_preset("echo_chamber").with_settings({"repetitions": 5})):
        partisans = tuple(place.persona.id for place in table.places if place.persona.party != "default")
        if partisans:
            seen.setdefault((partisans[0].split("_")[0], table.repetition), set()).add(partisans)
    assert len(seen) == 10
    assert all(len(people) == 1 for people in seen.values())


def test_another_seed_casts_others(small: Callable[..., Scenario]) -> None:
    first, second = (list(seat_rooms(small(seed=seed))) for seed in (1, 2))
    assert first != second
    assert list(seat_rooms(small(seed=1))) == first


def test_a_room_can_be_had_alone(small: Callable[..., Scenario]) -> None:
    """Leaving out topics or repetitions changes nothing in the rooms that stay (named streams)."""
    some = {table.room: table for table in seat_rooms(small(topic="racism", repetitions=2))}
    more = {table.room: table for table in seat_rooms(small(topic="gun_violence,racism", repetitions=4))}
    assert some.items() <= more.items()


def test_those_asked_outside_are_told_of_the_people_of_a_room(small: Callable[..., Scenario]) -> None:
    """Each stands for the Default that would have sat there: one a repetition, alone in its room, told who is there."""
    rooms = list(seat_rooms(small("two_way")))
    assert [(table.group, len(table.places)) for table in rooms] == [("reference", 1)] * 2 + [
        ("republican+democrat", 2)
    ] * 2
    for outside, inside in zip(rooms[:2], rooms[2:], strict=True):
        assert outside.present == inside.present == tuple(place.persona for place in inside.places)


def test_beyond_the_personas_the_same_people_meet_in_other_company() -> None:
    """Rooms of a second lap are not copies of the first: 120 repetitions give 120 different pairs."""
    for preset, settings in (("two_way", {}), ("echo_chamber", {"default_agent": "without", "parties": "democrat"})):
        scenario = load_preset(preset).with_settings(
            {"topic": "racism", "repetitions": 120, "reference": "", **settings}
        )
        pairs = {tuple(place.persona.id for place in table.places) for table in seat_rooms(scenario)}
        assert len(pairs) == 120
        assert all(len(set(pair)) == 2 for pair in pairs)


def test_as_men_and_as_women_the_same_people_meet() -> None:
    """A difference between the two is one of gender, not of casting; nobody meets itself as the other gender."""
    scenario = load_preset("two_way").with_settings(
        {"topic": "racism", "repetitions": 6, "personas": "simple", "reference": ""}
    )

    def met(seats: str) -> list[tuple[str, ...]]:
        return [
            tuple(place.persona.name for place in table.places)
            for table in seat_rooms(scenario.with_settings({"seats": seats}))
        ]

    men = met("republican:male,democrat:male")
    assert men == met("republican:female,democrat:female")
    assert len(set(men)) == 6
    assert all(one != other for one, other in met("republican:male,republican:female"))


def test_more_seats_than_personas_is_told() -> None:
    scenario = load_preset("echo_chamber").with_settings({"size": 41})
    with pytest.raises(UserError, match="too few personas"):
        list(seat_rooms(scenario))


def test_a_fixed_cast_sits_in_every_room_and_nobody_meets_themselves() -> None:
    """The UCL study's Sam, Alex and Taylor; a second Republican is Riley, whichever variant of them sits there."""
    scenario = load_preset("structured_debate").with_settings(
        {
            "topic": "racism",
            "personas": "simple",
            "cast": "fixed",
            "seats": "default:female,republican:male,republican,republican:female,democrat",
        }
    )
    rooms = list(seat_rooms(scenario))
    assert len(rooms) == 10
    for table in rooms:
        assert [place.persona.name for place in table.places] == ["Sam", "Alex", "Riley", "Morgan", "Taylor"]
        assert [place.persona.gender for place in table.places] == ["female", "male", "", "female", ""]
        seats = ["default female", "republican male", "republican", "republican female", "democrat"]
        assert [place.seat for place in table.places] == seats
    with pytest.raises(UserError, match="too few personas for 4 seats with cast=fixed or cast=listed"):
        list(seat_rooms(scenario.with_settings({"seats": "democrat,democrat,democrat,democrat"})))


def test_a_listed_cast_takes_the_next_of_the_file_whatever_the_seed() -> None:
    """So that conditions with a seed each have the same people in a repetition; nobody sits twice before all of a party have."""

    def names(seats: str, seed: int = 0) -> list[tuple[str, ...]]:
        settings = {"topic": "racism", "personas": "twins", "cast": "listed", "seats": seats, "seed": seed}
        rooms = seat_rooms(load_preset("structured_debate").with_settings({**settings, "repetitions": 12}))
        return [tuple(place.persona.name for place in table.places) for table in rooms]

    pairs = names("republican:male,republican:male")
    assert pairs == names("republican:female,republican:female", seed=7)
    assert len({name for pair in pairs[:10] for name in pair}) == 20
    assert pairs[10:] == pairs[:2]
    assert [one[:2] for one in names("republican,republican,default")] == pairs
    with pytest.raises(UserError, match="too few personas for 21 seats with cast=fixed or cast=listed"):
        names(",".join(["democrat"] * 21))


def test_a_block_keeps_the_people_of_a_repetition_apart() -> None:
    """Rooms of one and of two Democrats have the same people in a repetition, and nobody of one sits in another."""

    def democrats(seats: str) -> list[set[str]]:
        settings = {"topic": "racism", "cast": "listed", "block": 2, "seats": seats, "repetitions": 6}
        rooms = seat_rooms(load_preset("three_way").with_settings(settings))
        return [{place.persona.id for place in table.places if place.persona.party == "democrat"} for table in rooms]

    alone, two = democrats("republican,democrat"), democrats("democrat,democrat")
    assert all(one < both for one, both in zip(alone, two, strict=True))
    assert len(set.union(*two)) == 12
    with pytest.raises(UserError, match="block only works with cast=listed"):
        load_preset("three_way").with_settings({"block": 2})
    with pytest.raises(UserError, match="block is -1, but must be a finite number of at least 0"):
        load_preset("three_way").with_settings({"block": -1, "cast": "listed"})


def test_every_cast_says_why_somebody_has_no_seat() -> None:
    """A run of few repetitions would end in a traceback after its last reply."""
    casts = get_args(get_type_hints(People)["cast"])
    assert set(casts) <= set(attendance.WHY)
    few = load_preset("structured_debate").with_settings({"repetitions": 2, "topic": "racism"})
    assert "6 of 60 personas take part" in attendance.attendance_lines(
        attendance.planned_attendance(few), few.people.cast
    )


def test_copies_are_one_person_in_every_seat(small: Callable[..., Scenario]) -> None:
    """Another person in each repetition; names differ, backstories too in the name alone; two parties have no copy."""
    rooms = [
        table
        for table in seat_rooms(small("echo_chamber", cast="copies", default_agent="without"))
        if len(table.places) > 1
    ]
    for table in rooms:
        assert len({place.persona.id for place in table.places}) == 1
        assert len({place.persona.name for place in table.places}) == len(table.places)
    with pytest.raises(UserError, match="gives the same persona to every seat, so all seats must be of"):
        list(seat_rooms(small("two_way", cast="copies")))


def written(folder: Path, sizes: Mapping[str, int]) -> str:
    """A set of personas with so many of each party; the path that a scenario takes."""
    for party, size in sizes.items():
        people = [f'[[persona]]\nname = "{party}{number}"\nbackstory = "You."\n' for number in range(size)]
        (folder / f"{party}.toml").write_text("".join(people), encoding="utf-8")
    return f"{folder}/"


def cast_of(sizes: Sequence[int], seats: Sequence[int], repetitions: int) -> list[dict[str, list[str]]]:
    """Who of each party sits in each repetition: parties of these sizes, with so many seats each, on circles."""
    names = [f"party{number}" for number in range(len(sizes))]
    kinds = tuple(name for name, number in zip(names, seats, strict=True) for _ in range(number))
    circles = {
        name: [Persona(f"{name}_{number:02}", name, f"{name}{number}", "") for number in range(size)]
        for name, size in zip(names, sizes, strict=True)
    }
    return [
        {name: [one.persona.id for one in places if one.persona.party == name] for name in names}
        for places in (_seat_around_circles(kinds, repetition, circles) for repetition in range(repetitions))
    ]


PARTIES = st.lists(
    st.integers(1, 12).flatmap(lambda size: st.tuples(st.just(size), st.integers(1, min(size, 4)))),
    min_size=1,
    max_size=4,
)


@given(PARTIES)
def test_whatever_the_sizes_each_seat_has_each_persona_once_a_lap(parties: list[tuple[int, int]]) -> None:
    """Sets of different sizes once left personas without a seat for ever: 1 and 2, one of the two; 1, 6, 6: 1, 3 and 2."""
    sizes, seats = zip(*parties, strict=True)
    rooms = cast_of(sizes, seats, 3 * max(sizes))
    for number, (size, taken) in enumerate(parties):
        mine = [room[f"party{number}"] for room in rooms]
        assert all(len(set(people)) == taken for people in mine)
        for lap in range(len(mine) // size):
            for place in range(taken):
                assert len({people[place] for people in mine[lap * size : (lap + 1) * size]}) == size


@given(st.integers(1, 8), st.integers(1, 8))
def test_two_parties_meet_in_every_combination(first: int, second: int) -> None:
    """Over as many rooms as there are pairs each pair meets once, whatever the sizes: nobody's company depends on the count."""
    rooms = cast_of((first, second), (1, 1), first * second)
    assert len({(*room["party0"], *room["party1"]) for room in rooms}) == first * second


def test_equal_sizes_are_seated_as_ever() -> None:
    """Published records stay reproducible: place (r + lap * party + taken * (1 + lap)) on the circle, as before."""
    for repetition, room in enumerate(cast_of((7, 7, 7), (2, 1, 2), 21)):
        lap = repetition // 7
        for party in range(3):
            for taken, id_ in enumerate(room[f"party{party}"]):
                assert id_ == f"party{party}_{(repetition + lap * party + taken * (1 + lap)) % 7:02}"


def test_two_of_one_name_are_named(tmp_path: Path) -> None:
    """Two parties may have an Ann: the line says which seats, and what to do, before anything is asked."""
    for party in ("cdu", "spd"):
        (tmp_path / f"{party}.toml").write_text('[[persona]]\nname = "Ann"\nbackstory = "You."\n', encoding="utf-8")
    scenario = load_preset("three_way").with_settings(
        {"personas": f"{tmp_path}/", "seats": "cdu,spd", "topic": "racism", "reference": ""}
    )
    with pytest.raises(UserError, match=r"two personas called Ann \(cdu and spd\) would meet in repetition 1: rename"):
        list(seat_rooms(scenario))


@check_each(
    ("settings", "line"),
    [
        ({"repetitions": 5}, "all 8 personas take part (CDU 3, SPD 5)"),
        ({"repetitions": 4}, "7 of 8 personas take part (CDU 3, SPD 4 of 5); not used: spd"),
        ({"repetitions": 4}, "repetitions=5 would use all"),
        ({"repetitions": 9, "cast": "fixed"}, "2 of 8 personas take part (CDU 1 of 3, SPD 1 of 5)"),
        ({"repetitions": 9, "cast": "fixed"}, "cast=fixed uses the first personas of a party in every room"),
    ],
)
def test_a_plan_says_who_has_no_seat_and_why(tmp_path: Path, settings: dict[str, object], line: str) -> None:
    """A persona that never sits is no finding about it: the dry run counts and names them before anything is asked."""
    personas = written(tmp_path, {"cdu": 3, "spd": 5})
    base = {"personas": personas, "seats": "cdu,spd", "topic": "racism", "reference": ""}
    scenario = load_preset("three_way").with_settings(base | settings)
    assert line in attendance.attendance_lines(attendance.planned_attendance(scenario), scenario.people.cast)


def test_a_party_asked_beforehand_needs_a_file(tmp_path: Path) -> None:
    """`network` asks the Default beforehand, which a set of one's own seldom has: the line says how to leave it out."""
    personas = written(tmp_path, {"cdu": 3, "spd": 3})
    with pytest.raises(
        UserError, match=r"reference=default: .* no default\.toml.*set reference= \(empty\) to skip that survey"
    ):
        load_preset("network").with_settings({"personas": personas, "parties": "cdu,spd"})
