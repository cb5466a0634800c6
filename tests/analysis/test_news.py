"""News that people believe or not (fake_news): by hand, and as planted; by topic, and by trait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from standins import opinionated

import run  # noqa: F401  (`parley` is this checkout)
from parley.agents.traits import level_names, trait_names
from parley.analysis.metrics import applies, believers_by_topic, believers_by_trait, contagion
from parley.analysis.plots import contagion_figure
from parley.analysis.tables import Tables, load, tables
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Header
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset

PEOPLE = {"republican 1": [6, 4, None, 8], "republican 2": [4, 6, 7, 2], "democrat": [2, 5, 5, None]}


def test_believers_by_hand(held: Callable[..., Tables]) -> None:
    """Of 6, 4, 2 one believes; then 4, 6, 5: one caught, one recovered; then a missing one is neither, and moves nowhere."""
    found = contagion.compute(held(PEOPLE, topic="blackout"))
    assert found[["susceptible", "infected", "missing"]].to_numpy().tolist() == [
        [2, 1, 0],
        [2, 1, 0],
        [1, 1, 1],
        [1, 1, 1],
    ]
    assert found["caught"].fillna(-1).tolist() == [-1, 1, 0, 0]
    assert found["recovered"].fillna(-1).tolist() == [-1, 1, 0, 1]
    assert found["reason"].iloc[0] == "fewer than 5 rooms; caught: no survey before; recovered: no survey before"


def test_a_survey_that_nobody_answers_counts_nobody(held: Callable[..., Tables]) -> None:
    """Nobody rated is no number, not nobody infected."""
    found = contagion.compute(held({"republican": [6, None, 6]}, topic="blackout"))
    assert found["infected"].isna().tolist() == [False, True, False]
    assert found["caught"].isna().all()


def test_topics_of_debates_have_no_believers(held: Callable[..., Tables]) -> None:
    other = held(PEOPLE, topic="racism")
    assert not applies(contagion, other)
    assert len(contagion.compute(other)) == 0


def spoken(scenario: Scenario, law: str, line: str) -> Tables:
    """A run in which everybody says the same line, and rates by the known-truth speaker."""
    oracle, recorder = open_spec(law), MemoryRecorder()
    backend = Fake(lambda request: oracle.complete([request])[0] if request.answers else line)
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    header = Header(1, scenario.to_dict(), (), {"backend": "fake"}, {}, "", "", {})
    return tables([header, *recorder.events])


def test_a_refutation_has_the_planted_effect_on_believers() -> None:
    """Where only the refutation (grade 0) says anything, belief b becomes (1 - kappa)^n b after n of them: the counts follow
    from the first survey alone, to the person.
    """
    settings = {"repetitions": 2, "memory": "whole", "reflect": 0, "traits": "", "size": 20, "believers": 0}
    scenario = load_preset("fake_news").with_settings(settings)
    found = spoken(scenario, "oracle,kappa=0.3,mu=0,sigma=0", "Nothing from me.")
    first = found.attitudes[found.attitudes["round"] == 0]
    assert (first["expected"] > 5).sum() > 4
    counts = contagion.compute(found).set_index("round")
    for round_, refuted in ((3, 0), (4, 1), (6, 1), (7, 2), (9, 2)):
        belief = (first["expected"] * 0.7**refuted).groupby(first["room"])
        near = belief.apply(lambda known: (abs(known - 5) < 0.51).sum()).sum() / 2  # a rating is a whole number
        planted = belief.apply(lambda known: (known > 5).sum()).mean()
        assert abs(counts.loc[round_, "infected"] - planted) <= near
    assert counts["caught"].dropna().eq(0).all()
    assert counts.loc[4, "recovered"] > 0
    assert counts.loc[[5, 6, 8, 9], "recovered"].eq(0).all()


def test_the_figure_has_both_counts_and_the_refutations(ran: Callable[..., Path]) -> None:
    """Two lines told by marker and line style, and an upright one before each refutation, in steps."""
    folder = ran("fake_news", topic="blackout", rounds=5, size=10, repetitions=2)
    found = load(folder)
    (axis,) = contagion_figure(found, contagion.compute(found)).axes
    assert [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 2] == [3.5]
    looks = {(line.get_linestyle(), line.get_marker()) for line in axis.lines if len(line.get_xdata()) > 2}
    assert {("-", "s"), ("--", "o")} <= looks


def on_items(held: Callable[..., Tables], rooms: dict[str, list[list[list[float]]]]) -> Tables:
    """Tables of rooms on several items of news: by item, for each repetition the ratings of each agent."""
    parts = []
    for topic, repetitions in rooms.items():
        seats = [{f"labour {number}": ratings for number, ratings in enumerate(people)} for people in repetitions]
        parts.append(held(*seats, topic=topic))
    frames = {name: pd.concat([getattr(part, name) for part in parts]) for name in ("agents", "attitudes")}
    return replace(parts[0], **frames)


def repeated(ends: list[list[float]]) -> list[list[list[float]]]:
    """One room per repetition: two agents who start at 0, and end as given."""
    return [[[0, one] for one in end] for end in ends]


def test_believers_by_topic_by_hand(held: Callable[..., Tables]) -> None:
    """On one item both of two agents begin to believe in 4 of 5 repetitions, on the other none: .45 from the mean."""
    found = believers_by_topic.compute(
        on_items(held, {"council": repeated([[9, 9]] * 4 + [[9, 1]]), "comet": repeated([[1, 1]] * 5)})
    ).set_index("what")
    assert found.loc["council", ["believers", "gain", "difference"]].tolist() == pytest.approx([0.9, 0.9, 0.45])
    assert found.loc["comet", "difference"] == pytest.approx(-0.45)
    assert found["verdict"].to_dict() == {"council": "more", "comet": "less"}
    assert set(found["kind"]) == {"item"}  # a subject with one item each says nothing more
    told = believers_by_topic.headline(found.reset_index())
    assert "council (45 percentage points more)" in told


def test_who_refuses_at_the_end_changes_no_share_of_believers(held: Callable[..., Tables]) -> None:
    """Nobody changes, and those who do not believe one of the items refuse at the end: belief grows on neither item."""
    still, refusing = [[[9, 9], [1, 1]]] * 5, [[[9, 9], [1, None]]] * 5
    found = believers_by_topic.compute(on_items(held, {"council": refusing, "comet": still})).set_index("what")
    assert found["gain"].tolist() == [0, 0]
    assert found["missing"].tolist() == [5, 0]
    assert found.loc["council", "believers"] == 1


def test_topics_alike_have_no_verdict(held: Callable[..., Tables]) -> None:
    """The same ratings on two items of a subject and one of another: no difference, and no subject stands out."""
    ends = repeated([[9, 1], [9, 9], [1, 1], [9, 1], [1, 9]])
    found = believers_by_topic.compute(on_items(held, {"council": ends, "ballot": ends, "comet": ends}))
    assert found["kind"].tolist() == ["item"] * 3 + ["subject"] * 2
    assert (found["verdict"] == "").all()
    assert (found["difference"] == 0).all()
    assert "because nothing varies" in believers_by_topic.headline(found)


def test_few_repetitions_and_one_item_have_no_verdict(held: Callable[..., Tables]) -> None:
    few = on_items(held, {"council": repeated([[9, 9]] * 4), "comet": repeated([[1, 1]] * 4)})
    found = believers_by_topic.compute(few)
    assert (found["verdict"] == "").all()
    assert found["difference_low"].isna().all()
    assert not applies(believers_by_topic, held({"labour": [0, 9]}, topic="council"))


def tempered(held: Callable[..., Tables], rng: np.random.Generator, slope: float, rooms: int = 10) -> Tables:
    """Ten rooms of 15 from 40 personas, each with traits and a leaning; belief grows by `slope` a level of openness."""
    base, levels = held({"labour": [5, 5]}, topic="bridge"), level_names()
    traits, leaning = rng.integers(0, 5, (40, 5)), rng.normal(0, 0.7, 40)
    rows, people, seats = [], [], []
    for room in range(rooms):
        for agent, persona in enumerate(rng.choice(40, 15, replace=False)):
            keys = {"room": f"r{room}", "agent": agent, "topic": "bridge", "group": "g", "repetition": room}
            named = {name: levels[level] for name, level in zip(trait_names(), traits[persona], strict=True)}
            people.append(keys | named | {"belief": "susceptible"})
            seats.append(keys | {"persona": f"p{persona}", "party": "labour"})
            end = 5 + slope * traits[persona][0] + leaning[persona] + rng.normal(0, 1) + room / 10
            rows += [keys | {"round": day, "attitude": value} for day, value in ((0, 5.0), (1, end))]
    attitudes = pd.DataFrame(rows).assign(probe="attitude", expected=np.nan, party="labour")
    return replace(base, attitudes=attitudes, characters=pd.DataFrame(people), agents=pd.DataFrame(seats))


def test_a_planted_trait_is_found_and_no_other(held: Callable[..., Tables]) -> None:
    """Openness moves belief by .6 a level; the other four do nothing; personas that sit in several rooms are one person each."""
    found = believers_by_trait.compute(tempered(held, np.random.default_rng(3), 0.6)).set_index("trait")
    assert found["verdict"].to_dict() == dict.fromkeys(trait_names(), "") | {"openness": "more"}
    assert found.loc["openness", "effect_low"] < 0.6 < found.loc["openness", "effect_high"]
    assert found["rooms"].eq(10).all()


def test_intervals_of_traits_leave_out_a_persona_in_all_rooms() -> None:
    """The interval is that of a regression with a number for each room, fitted again without one persona (or room) at a time:
    with the old means of rooms, it left out the truth in 12% of sets with three people in a room.
    """
    rng, names = np.random.default_rng(8), trait_names()
    traits, persona = (
        rng.integers(0, 5, (20, 5)).astype(float),
        np.concatenate([rng.permutation(20)[:3] for _ in range(30)]),
    )
    room, change = np.repeat(np.arange(30), 3), rng.normal(0, 1, 20)[persona] + rng.normal(0, 1, 90)
    people = pd.DataFrame(traits[persona], columns=names).assign(group="g", room=room, persona=persona, change=change)
    model = np.column_stack([traits[persona], np.eye(30)[room]])

    def width(unit: np.ndarray) -> float:
        left = [np.linalg.lstsq(model[unit != one], change[unit != one])[0][0] for one in np.unique(unit)]
        return float(np.sqrt((len(left) - 1) * np.var(left)))

    by_hand = t(20 - 5 - 2).ppf(0.975) * max(width(room), width(persona))
    row = believers_by_trait.trait_rows(people)[0]
    assert row["effect_high"] - row["effect"] == pytest.approx(by_hand)


@pytest.mark.thorough
def test_without_a_planted_trait_alarms_are_rare(held: Callable[..., Tables]) -> None:
    """Without an effect about 5 of 100 runs may claim any trait (Holm), although personas differ and sit in several rooms."""
    rng = np.random.default_rng(5)
    claimed = [believers_by_trait.compute(tempered(held, rng, 0.0))["verdict"].ne("").any() for _ in range(8)]
    assert sum(claimed) <= 2


def test_few_rooms_say_nothing_of_traits(held: Callable[..., Tables]) -> None:
    found = believers_by_trait.compute(tempered(held, np.random.default_rng(1), 2.0, rooms=4))
    assert (found["verdict"] == "").all()
    assert "With fewer than 5 rooms, it is unknown" in believers_by_trait.headline(found)


def test_traits_that_go_together_have_no_effects_of_their_own(held: Callable[..., Tables]) -> None:
    """Two traits with the same levels share one effect, which belongs to neither; four personas are too few and are named."""
    tables = tempered(held, np.random.default_rng(3), 2.0)
    twins = replace(tables, characters=tables.characters.assign(neuroticism=tables.characters["openness"]))
    found = believers_by_trait.compute(twins)
    assert found["effect"].isna().all()
    assert (found["verdict"] == "").all()
    assert "because traits are correlated" in believers_by_trait.headline(found)
    few = replace(
        tables, agents=tables.agents.assign(persona=[f"p{number % 4}" for number in range(len(tables.agents))])
    )
    assert "With fewer than 5 personas, it is unknown" in believers_by_trait.headline(believers_by_trait.compute(few))


def test_believers_are_seeded_and_all_are_told(ran: Callable[..., Path]) -> None:
    """A fifth of a room believes at the start and says so in the survey; the same seats on every item; the rest do not."""
    found = load(ran("fake_news", topic="bridge,council", rounds=4, size=10, repetitions=2))
    told = found.characters.merge(found.attitudes[found.attitudes["round"] == 0], on=["room", "agent"])
    assert (told.groupby("room")["belief"].apply(lambda one: (one == "believer").sum()) == 2).all()
    assert ((told["attitude"] > 5) == (told["belief"] == "believer")).all()
    seats = (
        found.characters[found.characters["belief"] == "believer"].groupby(["topic", "repetition"])["seat"].apply(set)
    )
    assert seats["bridge"].to_dict() == seats["council"].to_dict()


def test_what_people_are_told_is_in_their_prompt() -> None:
    """Believer and susceptible read the same rumour, and what they think of it."""
    asked = []

    def answer(request: Request) -> str:
        asked.append(request)
        return opinionated(request)

    settings = {"topic": "bridge", "size": 4, "rounds": 1, "interventions": (), "repetitions": 1, "believers": 0.25}
    DebateModel(load_preset("fake_news", settings), backend=Fake(answer)).run()
    first = [request.messages[1].content for request in asked if request.purpose == "survey"][:4]
    assert sum("You are convinced that it is true." in text for text in first) == 1
    assert sum("You do not believe it." in text for text in first) == 3
    assert all("is about to collapse. Engineers found deep cracks" in text for text in first)
