"""Measures of a platform: by hand on a few posts, silent where nothing is there, and the planted truth found again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis.metrics import applies, metrics
from parley.analysis.metrics._posts import Medium, media
from parley.analysis.metrics.herd_effect import effects, headline
from parley.analysis.metrics.recommender_effect import control
from parley.analysis.metrics.recommender_effect import headline as parted
from parley.analysis.metrics.spread import levels, measure, nearness
from parley.analysis.metrics.tree_shape import chance_shape
from parley.analysis.metrics.tree_shape import measure as shape_of
from parley.analysis.statistics.intervals import mean_interval
from parley.analysis.tables import Tables, tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.backends.oracle.act_law import CONSTANTS
from parley.model.debate import DebateModel
from parley.model.events import Acted, Event, Rated, Seated, Shown, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

ROOM, GROUP = "climate_change/2 republican+2 democrat/000", "2 republican+2 democrat"


def people(room: str = ROOM, group: str = GROUP, first: int = 1) -> list[Event]:
    parties = ["republican", "democrat"] * 2
    return [
        Seated(first + place, room, "climate_change", group, 0, f"{party} {place // 2 + 1}", party, "x", f"P{place}")
        for place, party in enumerate(parties)
    ]


def record(events: Iterable[Event], preset: str = "platform") -> Tables:
    scenario = load_preset(preset, {"llm": "oracle"})
    model = DebateModel(load_preset("two_way", {"llm": "oracle", "repetitions": 1, "topic": "racism"}))
    return tables([make_header(scenario, (), model.backend), *events])


def post(iteration: int, agent: int, round_: int, seeded: int = 0) -> list[Event]:
    return [
        Acted(ROOM, round_, iteration, agent, "post", None, seeded=seeded),
        Utterance(ROOM, round_, iteration, agent, "Words.", None, None, "post"),
    ]


def act(iteration: int, agent: int, round_: int, what: str, target: int, reason: str | None = None) -> Acted:
    return Acted(ROOM, round_, iteration, agent, what, reason, None if reason else target)


def seen(agent: int, round_: int, posts: tuple[int, ...], carriers: tuple[int, ...]) -> Shown:
    return Shown(ROOM, round_, agent, posts, (0,) * len(posts), carriers, "feed")


def medium(*events: Event | list[Event]) -> Medium:
    flat = [one for event in events for one in (event if isinstance(event, list) else [event])]
    (found,) = media(record([*people(), *flat]))
    return found


def test_scores_are_the_last_votes_of_people_without_the_one_from_outside() -> None:
    """2 changes its vote on post 1 to a dislike; a vote whose post could not be read counts for nothing."""
    found = medium(
        *[post(1, 1, 1, seeded=1), post(2, 2, 1)],
        *[act(3, 2, 2, "like", 1), act(4, 3, 2, "like", 1), act(5, 4, 2, "like", 0, reason="target_no_number")],
        *[act(6, 2, 3, "dislike", 1), act(7, 3, 3, "dislike", 2)],
    )
    assert found.scores.to_dict() == {1: 0.0, 2: -1.0}
    assert found.posts["seeded"].to_dict() == {1: 1, 2: 0}
    assert found.unread.tolist() == [2]


def test_the_herd_effect_by_hand() -> None:
    """Scores: up 2; none 1 and 0; down -1. Up: 2 - 0.5; down: -1 - 0.5.

    Views: 3; 2 and 2; 1. Rates: up 100 (2/3 - 1/4); down 100 (-1 - 1/4).
    """
    found = medium(
        *[post(1, 1, 1, seeded=1), post(2, 1, 1), post(3, 2, 1), post(4, 2, 1, seeded=-1)],
        *[seen(2, 2, (1, 2), (1, 1)), seen(3, 2, (1, 2, 3), (1, 1, 2)), seen(4, 2, (1, 3, 4), (1, 2, 2))],
        *[act(5, 2, 2, "like", 1), act(6, 3, 2, "like", 1), act(7, 3, 3, "like", 2), act(8, 4, 2, "dislike", 4)],
    )
    results = {name: result.value for name, result in effects(found).items()}
    assert results == pytest.approx({"up": 1.5, "down": -1.5, "up_rate": 100 * (2 / 3 - 1 / 4), "down_rate": -125})


def test_without_a_control_the_herd_effect_is_missing_with_its_reason() -> None:
    found = effects(medium(post(1, 1, 1, seeded=1)))
    assert found["up"] == (None, "no post without a vote from outside")
    assert found["down"] == (None, "no post with a vote from outside")
    unseen = effects(medium(post(1, 1, 1, seeded=1), post(2, 1, 1)))
    assert unseen["up"].value == 0
    assert unseen["up_rate"] == (None, "posts were not shown")


@check_each(
    ("carriers", "expected"),
    [
        ({}, Counter({0: 1})),
        ({1: 7, 2: 7, 3: 7}, Counter({1: 3, 0: 1})),
        ({1: 7, 2: 1, 3: 1, 4: 2}, Counter({0: 1, 1: 1, 2: 2, 3: 1})),
        ({1: 9}, Counter({0: 1, 1: 1})),
        ({1: 2, 2: 1}, Counter({0: 1, 1: 1, 2: 1})),
    ],
)
def test_a_tree_hangs_every_sharer_below_its_carrier(carriers: dict[int, int], expected: Counter[int]) -> None:
    """The author is 7. Somebody whose carrier is not in the tree hangs below the author; a circle ends."""
    found = levels(7, carriers)
    assert found.total() == len(carriers) + 1
    if carriers != {1: 2, 2: 1}:
        assert found == expected


def test_spread_by_hand() -> None:
    """2 shares post 1 (round 2, from its author), 3 and 4 have it from 2: 4 people, depth 2, breadth 2. No one shares post 2."""
    found = medium(
        *[post(1, 1, 1), post(2, 2, 1)],
        *[seen(2, 2, (1,), (1,)), act(3, 2, 2, "repost", 1)],
        *[seen(3, 3, (1,), (2,)), seen(4, 3, (1, 2), (2, 2)), act(4, 3, 3, "repost", 1), act(5, 4, 3, "repost", 1)],
    )
    by_round = [{name: result.value for name, result in measure(found, round_).items()} for round_ in (1, 2, 3)]
    assert by_round == [
        {
            "views": 0,
            "scale": 1,
            "largest": 1,
            "depth": 0,
            "breadth": 1,
            "sharing": None,
            "reproduction": 0,
            "nearer": None,
        },
        {
            "views": 0.5,
            "scale": 1.5,
            "largest": 2,
            "depth": 1,
            "breadth": 1,
            "sharing": 100,
            "reproduction": 1 / 3,
            "nearer": None,
        },
        {
            "views": 2,
            "scale": 2.5,
            "largest": 4,
            "depth": 2,
            "breadth": 2,
            "sharing": 75,
            "reproduction": 3 / 5,
            "nearer": None,
        },
    ]


def test_missing_acts_are_those_up_to_the_round() -> None:
    """An act of round 3 that could not be read is missing from round 3 on, not from the first."""
    table = record(
        [*people(), *post(1, 1, 1), *[act(2, 2, 2, "like", 1), act(3, 3, 3, "like", 0, reason="target_no_number")]]
    )
    assert metrics()["spread"].compute(table)["missing"].tolist() == [0, 0, 1]


def test_how_much_nearer_shared_posts_are_by_hand() -> None:
    """4, at 7, is shown posts of 1 (at 2) and 2 (at 6), 5 and 1 points away, and shares the one of 2: nearer by 3 - 1.

    3 shares the only post of its feed, which says nothing. Ratings of a round before count, not those of the same round.
    """
    found = medium(
        *[post(1, 1, 1), post(2, 2, 1)],
        *[seen(4, 2, (1, 2), (1, 2)), act(3, 4, 2, "repost", 2), seen(3, 2, (1,), (1,)), act(4, 3, 2, "repost", 1)],
    )
    levels = pd.DataFrame({0: [2.0, 6.0, 5.0, 7.0], 2: [9.0, 9.0, 9.0, 9.0]}, index=found.room.attitudes.index)
    rated_room = replace(found, room=replace(found.room, attitudes=levels))
    assert nearness(rated_room, 2).value == 2
    assert nearness(rated_room, 1).value is None


def spread_on_the_oracle(spec: str) -> tuple[Tables, pd.Series]:
    settings = {"llm": spec, "repetitions": 6, "rounds": 6, "size": 30}
    scenario, recorder = load_preset("spread").with_settings(settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    found = tables([make_header(scenario, (), model.backend), *recorder.events])
    return found, metrics()["spread"].compute(found).iloc[-1]


@pytest.mark.thorough
def test_the_planted_probability_of_sharing_is_found_and_opinions_only_where_they_matter() -> None:
    """On the oracle with repost=-1 and no homophily, the law says how probable a share is in each feed; the interval over
    rooms holds its mean, and shared posts are not nearer than others. With homophily=0.8 they are.
    """
    found, last = spread_on_the_oracle("oracle,homophily=0,repost=-1")
    length = found.exposures.groupby(["room", "round", "agent"]).size()
    weight, rest = np.exp(-1), np.exp(CONSTANTS["like"])
    chance = weight / (1 + np.exp(CONSTANTS["post"]) + length * (weight + rest))
    assert last["sharing_low"] < 100 * (chance * length).sum() / length.sum() < last["sharing_high"]
    assert last["nearer_low"] < 0 < last["nearer_high"]
    assert spread_on_the_oracle("oracle,homophily=0.8,repost=0")[1]["nearer_low"] > 0


def test_a_round_before_any_post_is_missing_with_its_reason() -> None:
    nothing = Acted(ROOM, 1, 1, 1, "nothing", None)
    found = metrics()["spread"].compute(record([*people(), nothing, *post(2, 1, 2)]))
    assert "scale: no post yet; largest: no post yet; depth: no post yet" in found["reason"].to_list()[0]
    assert found["scale"].to_list()[1] == 1


def test_the_mean_shape_of_random_trees_by_hand() -> None:
    """Sharers in rounds 1, 2, 3 are a chain (depth 3) with probability 1/6, deep 2 with 4/6, and 1 with 1/6: 2 on average."""
    assert chance_shape([1, 2, 3], np.random.default_rng(1), 20_000).depth == pytest.approx(2, abs=0.02)
    assert chance_shape([4, 4], np.random.default_rng(1)) == (1, 2)


def grown(number: int, rule: str) -> Medium:
    """Six posts of agent 0, each shared by three people in each of four rounds, who have it by a rule."""
    rng = np.random.default_rng([number, len(rule)])
    rows = [(post, round_, 3 * round_ + place) for post in range(6) for round_ in range(1, 5) for place in range(3)]
    done = pd.DataFrame(rows, columns=["target", "round", "agent"]).assign(act="repost")
    before = [3 * round_ for _, round_, _ in rows]  # the first of a round
    chosen = {"author": [0] * len(rows), "latest": [place - 1 if place > 3 else 0 for place in before],
              "random": [int(rng.choice([0, *range(3, place)])) for place in before]}[rule]  # fmt: skip
    shown = done.rename(columns={"target": "iteration"}).assign(carrier=chosen)
    posts = pd.DataFrame({"round": 0, "author": 0, "seeded": 0}, index=range(6))
    return Medium(SimpleNamespace(name=f"{rule} {number}"), posts, done, shown, 0)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_chains_are_deeper_than_random_trees_broadcasts_broader_and_random_trees_neither() -> None:
    """Of 24 intervals over 10 rooms whose posts come through anyone, 95% include 0: at most 4 do not."""
    for rule, depth, breadth in (("latest", 1, -1), ("author", -1, 1)):
        found = shape_of(grown(1, rule))
        assert np.sign([found["depth_more"].value, found["breadth_more"].value]).tolist() == [depth, breadth]
    wrong = 0
    for number in range(24):
        rooms = [shape_of(grown(10 * number + room, "random"))["depth_more"].value for room in range(10)]
        low, high = mean_interval(np.array(rooms))
        wrong += not low <= 0 <= high
    assert wrong <= 4


def test_posts_that_no_one_shares_after_another_have_no_shape() -> None:
    found = shape_of(medium(post(1, 1, 1), seen(2, 2, (1,), (1,)), act(2, 2, 2, "repost", 1)))
    assert (found["trees"].value, found["depth_more"]) == (0, (None, "no post was shared by one person after another"))


def rated(room: str, first: int, before: list[float], after: list[float | None]) -> list[Event]:
    return [
        Rated(
            *(room, round_, round_, first + place, "attitude", value, value, None, None),
            *("empty" if value is None else None, "", "strict", 1),
        )
        for round_, values in ((0, before), (1, after))
        for place, value in enumerate(values)
    ]


def test_recommenders_are_compared_with_the_same_people_under_random() -> None:
    """2, 8, 2, 8 have variance 12. Control: ends 4, 6, 4, 6 (4/3): -32/3. Homophilous: no change. Difference 32/3; gap 6 - 2."""
    events: list[Event] = []
    ends = {"random": [4, 6, 4, 6], "homophilous": [2, 8, 2, 8], "hot": [4, 6, 4, None]}
    for place, (name, after) in enumerate(ends.items()):
        group = f"{GROUP} under {name}"
        room, first = f"climate_change/{group}/000", 10 * place + 1
        events += [*people(room, group, first), *rated(room, first, [2, 8, 2, 8], list(after))]
    found = metrics()["recommender_effect"].compute(record(events)).set_index("group")
    row = found.loc[f"{GROUP} under homophilous"]
    assert (row["variance"], row["distance"], row["rooms"]) == pytest.approx((32 / 3, 4, 1))
    assert row["reason"].startswith("fewer than 5 rooms")
    assert "With fewer than 5 rooms, it is unknown" in parted(found.reset_index())
    missing = found.loc[f"{GROUP} under hot"]
    assert missing["missing"] == 1
    assert missing["variance"] == pytest.approx((4 / 3 - 12) - (4 / 3 - 12), abs=2)
    assert f"{GROUP} under random" not in found.index


def test_the_control_is_the_random_recommender_or_else_the_first() -> None:
    groups = [f"{GROUP} under {name}" for name in ("hot", "random", "bridging")]
    assert control(groups) == groups[1]
    assert control([groups[2], groups[0]]) == groups[2]


def run(preset: str, **fields: Any) -> Tables:
    setup, recorder = load_preset(preset, fields), MemoryRecorder()
    model = DebateModel(setup, recorder=recorder)
    model.run()
    return tables([make_header(setup, (), model.backend), *recorder.events])


def herd(seed: int, llm: str) -> pd.DataFrame:
    fields = {"size": 20, "rounds": 6, "repetitions": 8, "seed": seed, "llm": llm}
    return metrics()["herd_effect"].compute(run("herd_effect", **fields))


def apart(seed: int, llm: str, **fields: Any) -> pd.DataFrame:
    small = {"size": 20, "rounds": 5, "repetitions": 6, "seed": seed, "llm": llm, **fields}
    return metrics()["recommender_effect"].compute(run("group_polarisation", **small))


def excluded(found: pd.DataFrame, name: str) -> int:
    """How many intervals do not hold 0."""
    return int(((found[f"{name}_low"] > 0) | (found[f"{name}_high"] < 0)).sum())


def test_a_planted_herd_is_found() -> None:
    found = herd(0, "oracle,herd=1")
    assert (found["up_low"] > 0).all()
    assert (found["down_high"] < 0).all()
    assert (found["up_rate_low"] > 0).all()
    assert "Posts with an outside vote for them ended" in headline(found)
    assert "above posts without" in headline(found)
    assert "below posts without" in headline(found)


@pytest.mark.parametrize(("rooms", "reason"), [(8, "no variation"), (3, "fewer than 5 rooms")])
def test_what_is_unknown_has_its_reason(rooms: int, reason: str) -> None:
    """Eight rooms in which nothing differs are not too few of them."""
    why = reason if rooms < 5 else f"up: {reason}; variance: {reason}"
    row = {
        "group": "a under hot",
        "up_low": np.nan,
        "down_low": 0.1,
        "variance_low": np.nan,
        "variance_high": np.nan,
        "reason": why,
    }
    frame = pd.DataFrame([row])
    assert headline(frame) == unknown_sentence("whether votes from outside changed the scores of posts", reason)
    asked = 'whether opinions end further apart under the recommender "hot" than under the control'
    assert parted(frame) == unknown_sentence(asked, reason)


@pytest.mark.thorough
def test_a_recommender_of_near_opinions_keeps_people_apart_where_posts_move_them() -> None:
    """The oracle is drawn toward what it reads, so those who read only near opinions meet less."""
    found = apart(0, "oracle", size=30, rounds=6).set_index("group")
    near = found[found.index.str.endswith("homophilous")]
    assert (near["variance_low"] > 0).all()
    assert (near["distance_low"] > 0).all()


@pytest.mark.thorough
def test_where_nobody_looks_at_scores_no_herd_is_found() -> None:
    """12 seeds with herd=0: at the level of 5%, one of 12 intervals excludes 0; more than 3 have a probability of .2%."""
    found = pd.concat([herd(seed, "oracle") for seed in range(12)])
    for name in ("up", "down", "up_rate", "down_rate"):
        assert excluded(found, name) <= 3, name


@pytest.mark.thorough
def test_where_posts_move_nobody_no_recommender_differs() -> None:
    """12 seeds with kappa=0, two recommenders each; the bar is that of the test above."""
    found = pd.concat([apart(seed, "oracle,kappa=0") for seed in range(12)])
    for _, part in found.groupby("group"):
        for name in ("variance", "distance"):
            assert excluded(part, name) <= 3, name


def test_a_run_without_votes_from_outside_or_conditions_has_no_such_tables() -> None:
    """A claim that nothing supports is not made: the summary leaves the metric out."""
    plain = record([*people(), *post(1, 1, 1)])
    assert applies(metrics()["spread"], plain)
    assert not applies(metrics()["herd_effect"], plain)
    assert not applies(metrics()["recommender_effect"], plain)
