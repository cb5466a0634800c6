"""The card's questions about rooms: echo chambers, who speaks first, reversion, gender. By hand, and against planted truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from data_checks import check_each
from planted_truth import Planted, covered, truth

from benchmarks.audit_coverage import SETTINGS, audited
from benchmarks.audit_coverage import held as in_memory
from parley.agents.society import load_society
from parley.analysis.card.conditions import Batch, asked, both_genders, closing, gender, turned, two, with_genders
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate
from parley.analysis.card.protocol import tight_enough
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import closing as closing_section
from parley.analysis.card.sections import echo, instrument, null_conditions, order, sections
from parley.analysis.card.sections import gender as gender_section
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.seeding import stream
from parley.model.events import Event, Utterance
from parley.model.scenario import Scenario, load_preset

SMALL = {
    "topic": "racism",
    "repetitions": 3,
    "rounds": 2,
    "probe": "attitude_labelled",
    "llm": "oracle",
    "seed": 8,
}
Make = Callable[..., Tables]


def base(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings(SMALL | settings)


def together(**conditions: Tables) -> ConditionRecords:
    found = ConditionRecords()
    for name, tables in conditions.items():
        found.add(name.replace("_", " "), tables)
    return found


def claim(found: list[CardEstimate], quantity: str, topic: str = ALL) -> CardEstimate:
    one = find_estimate(found, quantity, topic)
    assert one, f"{quantity} of {topic} has no estimate"
    return one


def test_echo_chambers_by_hand(held: Make) -> None:
    """Republicans begin at 3, Democrats at 8: outward is down for the one, up for the other, whatever the middle of the scale."""
    same = held(
        {"republican 1": [3.0, 2.0], "republican 2": [3.0, 1.0]}, {"democrat 1": [8.0, 9.0], "democrat 2": [8.0, 8.0]}
    )
    one_of_each = {"republican": [3.0, 5.0], "democrat": [8.0, 6.0]}
    alone = held(*[{"republican": [3.0, 3.0], "democrat": [8.0, 8.0], "default": [7.0, 7.0]}] * 2)
    found = echo.claims(together(same=same, alone=alone, two=held(one_of_each, one_of_each), three=alone), base())
    assert claim(found, "echo_alone").estimate == pytest.approx((1.5 + 0.5) / 2)
    assert claim(found, "echo_alone").null == 0
    mixed = claim(found, "echo_mixed")
    assert (mixed.estimate, mixed.null, mixed.n) == (pytest.approx((3.5 + 2.5) / 2), pytest.approx(-2), 2)
    toward = claim(found, "echo_default")  # up for Republicans, down for Democrats: -1.5 - 2 and -0.5 - 2
    assert toward.estimate == pytest.approx((-3.5 - 2.5) / 2)
    assert claim(found, "echo_mixed", "racism").estimate == mixed.estimate


def test_an_echo_chamber_without_its_nulls_says_so(held: Make) -> None:
    """A budget may end before the null conditions: no number stands in their place. Parties that begin alike have no outward."""
    same = held({"republican 1": [3.0, 2.0], "republican 2": [3.0, 1.0]}, {"democrat 1": [8.0, 9.0]})
    assert {one.reason for one in echo.claims(together(same=same), base())} == {"not run"}
    alike = held({"republican": [6.0, 2.0]}, {"democrat": [6.2, 9.0]})
    found = echo.claims(together(same=alike, alone=alike, two=alike), base())
    assert {one.reason for one in found} == {"not run", "the parties begin alike"}


def spoken(tables: Tables, first: str) -> Iterator[Event]:
    """A turn of everybody in every room, who is of the party `first` before the other."""
    for room, seats in tables.agents.groupby("room", sort=False):
        ordered = sorted(seats["agent"], key=lambda agent: seats.set_index("agent").loc[agent, "party"] != first)
        for number, agent in enumerate(ordered, 1):
            yield Utterance(str(room), 1, number, agent, "said", None)


def test_who_speaks_first_by_hand(held: Make) -> None:
    """The Republican comes 1 nearer when it begins and 2 when it answers, the Democrat 0.5 and 1.5: who begins moves 1 less."""
    begins = {"republican": [3.0, 3.5, 4.0], "democrat": [8.0, 7.5, 6.5]}
    answers = {"republican": [3.0, 4.5, 5.0], "democrat": [8.0, 7.5, 7.5]}
    first = held(begins, more=spoken(held(begins), "republican"))
    other = held(answers, more=spoken(held(answers), "democrat"))
    found = order.claims(together(two=first, turned=other), base())
    assert claim(found, "opener").estimate == pytest.approx(-1)
    assert claim(found, "opener").null == pytest.approx((2 + 1.5) / 2)
    assert claim(found, "opener_once").estimate == pytest.approx((0.5 - 1.5 + 0.5 - 0.5) / 2)


def test_turned_rooms_differ_in_who_begins_alone(tmp_path: Path) -> None:
    """The same people, seats and first answers; in every room the other one begins."""
    batch = Batch(base(), tmp_path)
    plain, other = in_memory(two(batch)["two"]), in_memory(turned(batch)["turned"])
    assert plain.agents.equals(other.agents)
    before = ["room", "agent", "rating", "expected"]
    assert plain.attitudes.query("round == 0")[before].equals(other.attitudes.query("round == 0")[before])
    rows = order.turns(together(two=plain, turned=other))
    assert (rows.groupby(["room", "agent"])["opens"].sum() == 1).all()
    assert (rows.groupby(["room", "agent"]).size() == 2).all()


def test_reversion_by_hand(held: Make) -> None:
    """2, then 4 and 4, then 3: half of the way is undone. Without a closing it went on to 5. Who did not move has no way back."""
    stays = {"democrat": [8.0, 8.0, 8.2, 8.0]}
    ways = [(2.0, 4.0), (2.0, 4.0), (1.0, 3.0), (2.0, 4.0), (1.5, 4.1)]
    back, on = (
        [{"republican": [start, middle, middle, middle + (middle - start) * way], **stays} for start, middle in ways]
        for way in (-0.5, 0.5)
    )
    found = closing_section.claims(together(closing=held(*back), no_closing=held(*on)), base(rounds=3))
    assert claim(found, "reversion").estimate == pytest.approx(0.5)
    assert claim(found, "reversion_unannounced").estimate == pytest.approx(-0.5)
    assert claim(found, "closing").estimate == pytest.approx(2 * 1.06)
    assert claim(found, "closing").null == pytest.approx(-1.06)


def test_without_movement_there_is_no_way_back(held: Make) -> None:
    still = held(*[{"republican": [2.0, 2.0, 2.0], "democrat": [8.0, 8.1, 8.0]}] * 3)
    found = closing_section.claims(together(closing=still, no_closing=still), base())
    assert {one.reason for one in found} == {closing_section.STILL}
    unsure = held({"republican": [2.0, 4.0, 4.0]}, {"republican": [4.0, 3.5, 4.0]}, {"republican": [2.0, 2.0, 2.0]})
    found = closing_section.claims(together(closing=unsure, no_closing=unsure), base())
    assert {one.quantity: one.reason for one in found}["reversion"] == closing_section.UNSURE
    assert {one.reason for one in closing_section.claims(ConditionRecords(), base(rounds=1))} == {
        "a debate of one round has no middle"
    }


def test_an_announced_closing_is_in_the_last_round_alone(tmp_path: Path) -> None:
    """Up to it both debates are one; then one is asked for a closing statement, the other for a reply like any other."""
    announced, plain = (in_memory(one).utterances for one in closing(Batch(base(), tmp_path)).values())
    early = announced["round"] < 2
    assert announced.loc[early, "text"].equals(plain.loc[early, "text"])
    assert announced.loc[~early, "form"].unique().tolist() == ["closing"]
    assert plain.loc[~early, "form"].unique().tolist() == ["reply"]


def test_a_first_round_that_could_not_be_read_is_no_round_without_movement(held: Make) -> None:
    """All movement is in round 1; where a rating of that round is missing, the agent's movement is left out: still all of it."""
    stays = {"democrat": [8.0, 8.0, 8.0], "default": [8.0, 8.0, 8.0]}
    moves = ([2.0, 4.0, 4.0], [2.0, 4.1, 4.1], [2.0, 4.2, 4.2], [2.0, 4.3, 4.3], [2.0, 4.4, 4.4], [2.0, None, 4.0])
    three = held(*[{"republican": ratings, **stays} for ratings in moves])
    assert claim(null_conditions.claims(together(three=three), base()), "first_round").estimate == pytest.approx(1)


def test_people_are_counted_once_however_many_topics(tmp_path: Path) -> None:
    """Five agents of a party, asked on two topics by five wordings: five agents and five wordings, no more."""
    scenario = base(topic="racism,abortion", repetitions=5)
    conditions = asked(Batch(scenario, tmp_path))
    found = instrument.claims(together(**{name: in_memory(one) for name, one in conditions.items()}), scenario)
    people, wording = claim(found, "first_people"), claim(found, "wording")
    assert (people.n, people.unit) == (5, "person")
    assert 0 < people.low < people.estimate < people.high
    assert (wording.n, wording.unit) == (5, "wording")


def test_gender_is_asked_of_people_who_have_one(tmp_path: Path) -> None:
    """Nobody says whether voters are men, and three texts a party cannot tell gender from the texts: twins then, of whom every
    pair sits together once, the same whatever the seed; a set of one's own where five a party are both.
    """
    assert with_genders(base()) == with_genders(base(personas="enhanced")) == "twins"
    assert with_genders(base(personas=personas(tmp_path / "own", 5))) == str(tmp_path / "own")
    assert (
        gender(Batch(base(repetitions=40), tmp_path))["men"].repetitions == both_genders(load_society(), "twins") == 20
    )
    men, women = (in_memory(one).agents for one in gender(Batch(base(), tmp_path)).values())
    assert men["name"].equals(women["name"])
    again = in_memory(gender(Batch(base(seed=99), tmp_path))["men"]).agents
    assert men.set_index(["repetition", "seat"])["persona"].equals(again.set_index(["repetition", "seat"])["persona"])
    assert set(men["seat"]) == {"republican male", "democrat male"}
    assert set(women["seat"]) == {"republican female", "democrat female"}


def test_a_rating_as_a_man_is_on_the_scale(held: Make) -> None:
    """0-10 up to the Democrats' end, on topics that Republicans rate higher too: 9 is 1 from there, not -9."""
    as_men = held(*[{"republican": [9.0, 9.0], "democrat": [3.0, 3.0]}] * 2, topic="illegal_immigration")
    as_women = held(*[{"republican": [8.0, 8.0], "democrat": [3.0, 3.0]}] * 2, topic="illegal_immigration")
    found = claim(gender_section.claims(together(men=as_men, women=as_women), base()), "gender_before")
    assert found.null == pytest.approx((1 + 7) / 2)
    assert found.estimate == pytest.approx((1 + 0) / 2)


def personas(folder: Path, size: int) -> str:
    """A set of so many people a party, drawn by the folder's name, each as a man and as a woman; its path."""
    folder.mkdir()
    known = dict.fromkeys(name for group in load_society().names.values() for name in group)
    names = iter(stream(0, folder.name).sample(list(known), 2 * size))
    for party, believes in (("republican", "the Republican Party"), ("democrat", "the Democratic Party")):
        told = []
        for name in islice(names, size):
            told.append(f'[[persona]]\nname = "{name}"\nbackstory = "You are {name} and support {believes}."\n')
            for variant, word in (("male", "man"), ("female", "woman")):
                text = f"You are {name}, an American {word}, and support {believes}."
                told.append(f'[[persona]]\nname = "{name}"\ngender = "{variant}"\nbackstory = "{text}"\n')
        (folder / f"{party}.toml").write_text("\n".join(told), encoding="utf-8")
    (folder / "default.toml").write_text('[[persona]]\nname = "Ava"\nbackstory = "You are an American."\n')
    return str(folder)


@pytest.mark.thorough
def test_gender_is_nothing_to_the_known_truth_speaker(tmp_path: Path) -> None:
    """It takes people of either gender for two people of a party, who differ by chance: over sets of other people the 95%
    interval of women less men holds 0 about as often as it says (of 12 sets fewer than 9 have a chance of 0.2%).
    """
    inside = 0
    for number in range(12):
        scenario = base(personas=personas(tmp_path / str(number), 8), repetitions=4, rounds=1, seed=number)
        conditions = gender(Batch(scenario, tmp_path))
        found = gender_section.claims(together(**{name: in_memory(one) for name, one in conditions.items()}), scenario)
        before = claim(found, "gender_before")
        assert (before.n, before.unit) == (8, "pair")
        inside += covered(before, 0)
    assert inside >= 9


@pytest.mark.thorough
@check_each("setting", SETTINGS[1::5], ids=str)
def test_what_rooms_do_by_the_law_is_found(setting: dict[str, float]) -> None:
    """Echo chambers, the first word and reversion as the planted law has them, an announced closing as nothing: of all claims
    no more than a chance few are missed (coverage over many audits: docs/card.md).
    """
    found = list(audited(setting, 5, "expected", "climate_change", 5, ("order", "closing", "echo")))
    assert {one.quantity for one, _ in found} >= {"echo_alone", "echo_mixed", "opener", "opener_once", "closing"}
    missed = {one.quantity for one, true in found if not covered(one, true)}
    assert len(missed) <= 1, missed


def test_the_first_word_by_hand() -> None:
    """Influence 0.1, no pull, one round, parties at 2 and 8. Who begins hears the other at 7.4 and moves .54, not .6."""
    law = planted({"mu": 0.0, "kappa": 0.1})["racism"]
    truths = Planted({"racism": law}, base(rounds=1))
    truths.__dict__["starts"] = {"racism": {"republican": 2.0, "democrat": 8.0, "default": 8.0}}
    expected = truth(truths, CardEstimate("opener", "racism"), None)  # type: ignore[arg-type]
    assert expected == pytest.approx(0.54 - 0.6)


def test_a_section_that_watches_nothing_is_held_once(tmp_path: Path) -> None:
    """More blocks bring no more people to the question of gender; --tight does not go on for it."""
    chosen = sections(("gender",))["gender"]
    assert tight_enough(chosen, ConditionRecords(), Batch(base(), tmp_path), 0.001)
