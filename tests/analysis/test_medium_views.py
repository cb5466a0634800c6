"""A social medium and choices one after another on the page: feeds, acts, trees and choices, by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")

from parley.analysis.feeds import post_trees, tree_words, visits
from parley.analysis.tables import Tables, load, tables
from parley.analysis.views import acts, cascades, feed, views
from parley.model.events import Acted, Event, Seated, Shown, Utterance
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset
from parley.studies.herding import view as choices
from parley.studies.herding.choice_rows import room_periods
from parley.studies.herding.events import Decided, StateDrawn

ROOM = "climate_change/3 democrat/000"
ATTACK = "<script>alert(1)</script>"


def made(*events: Event) -> Tables:
    """The tables of a room of Ann, Bob, Cid and Dan on a platform."""
    seats = [
        Seated(number, ROOM, "climate_change", "4 democrat", 0, f"democrat {number}", "democrat", "x", name)
        for number, name in enumerate(("Ann", "Bob", "Cid", "Dan"), 1)
    ]
    header = make_header(
        load_preset("platform", {"llm": "oracle"}), (), SimpleNamespace(identity={"backend": "oracle"})
    )
    return tables([header, *seats, *events])


def wrote(at: int, agent: int, round_: int, text: str, act: str = "post", target: int | None = None) -> list[Event]:
    return [
        Acted(ROOM, round_, at, agent, act, None, target),
        Utterance(ROOM, round_, at, agent, text, None, None, "post"),
    ]


@pytest.fixture
def medium() -> Tables:
    """Ann posts; Bob answers and Cid shares; Dan shares through Cid; Dan's second act cannot be read."""
    return made(
        *wrote(1, 1, 1, ATTACK),
        Shown(ROOM, 2, 2, (1,), (0,), (1,), "feed"),
        Shown(ROOM, 2, 3, (1,), (0,), (1,), "feed"),
        *wrote(2, 2, 2, "I do not agree.", "reply", 1),
        Acted(ROOM, 2, 3, 3, "repost", None, 1),
        Shown(ROOM, 3, 4, (1, 2), (4, 0), (3, 2), "feed"),
        Acted(ROOM, 3, 4, 4, "repost", None, 1),
        Acted(ROOM, 3, 5, 1, None, "several_answers"),
        *wrote(6, 3, 3, "Alone."),
    )


def test_a_feed_is_what_one_person_was_shown_and_did(medium: Tables) -> None:
    """Dan: not there in rounds 1 and 2; in round 3 Ann's post through Cid, then Bob's, and he shares the first."""
    first, second, third = visits(medium, ROOM, 4)
    assert (first.active, second.active, third.active) == (False, False, True)
    assert [(post.post, post.score, post.carrier) for post in third.posts] == [(1, 4, 3), (2, 0, -1)]
    assert third.acts == ("shares post 1 by Ann",)
    told = [
        f"{line['name']}{line['who']}{line['text']}"
        for line in feed.feed_lines(medium, ROOM, 4, [first, second, third])
    ]
    assert told[:2] == ["Round 1", "This person was not there in this round."]
    assert f"Ann (Democrat 1), post 1, score 4, shared by Cid: {ATTACK}" in told
    assert told[-1] == "Dan shares post 1 by Ann"
    moments = [line["at"] for line in feed.feed_lines(medium, ROOM, 4, [first, second, third])]
    assert moments == sorted(moments), "a replay shows them in this order"
    assert visits(medium, ROOM, 1)[2].acts == ("(act missing: several_answers)",)


def test_acts_are_counted_and_missing_ones_too(medium: Tables) -> None:
    assert acts.act_counts(medium.acts) == "6 acts: post 2, reply 1, repost 2. Missing: 1."
    rows = acts.act_rows(medium, ROOM, medium.acts)
    assert [row[2] for row in rows][1] == "replies to post 1 by Ann: I do not agree."
    assert acts.act_counts(medium.acts.iloc[:0]) == "0 acts. Missing: 0."


def test_trees_have_answers_and_shares_under_their_post(medium: Tables) -> None:
    """Post 1 with Cid's share, Dan's share below it, and Bob's answer; the other post stays alone. After round 1 it is alone."""
    tree, alone = post_trees(medium, ROOM, 3)
    assert [(node.depth, node.kind, node.agent) for node in tree] == [
        (0, "post", 1), (1, "share", 3), (2, "share", 4), (1, "reply", 2),
    ]  # fmt: skip
    assert tree[0].views == 3
    assert tree_words(tree) == "1 post, 2 shares, 1 reply"
    assert [node.post for node in alone] == [6]
    assert [len(one) for one in post_trees(medium, ROOM, 1)] == [1]
    assert cascades.trees_words(post_trees(medium, ROOM, 1)) == "1 post, none with an answer or a share."
    assert post_trees(made(), ROOM, 3) == []
    heads = [line["text"] for line in cascades.tree_lines(medium, ROOM, [tree, alone]) if line["tag"] == "h3"]
    assert heads == ["Tree 1: 1 post, 2 shares, 1 reply", "Posts without an answer or a share: 1"]


def test_choices_in_order_with_signals_and_where_a_bayesian_follows() -> None:
    """Signals A A B, choices A A A: from place 3 on a Bayesian follows (two signals of one kind outweigh its own)."""
    room = "two_options/3 default/000"
    seats = [
        Seated(number, room, "two_options", "3 default", 0, f"default {number}", "default", "x", f"P{number}")
        for number in (1, 2, 3)
    ]

    def choice(place: int, signal: str, act: str | None) -> Decided:
        return Decided(room, 1, place, place, place, 0.5, 0.7, 0.0, signal, act, None if act else "unclear", raw=ATTACK)

    header = make_header(load_preset("herding", {"llm": "oracle"}), (), SimpleNamespace(identity={"backend": "oracle"}))
    chosen = tables(
        [header, *seats, StateDrawn(room, 1, "A", 0.5), choice(1, "A", "A"), choice(2, "A", "A"), choice(3, "B", "A")]
    )
    (period,) = room_periods(chosen, room)
    assert [row.cell for row in period.rows] == ["A", "A", "A*"]
    assert period.result == "3 of 3 chose right"
    assert period.follows == (3, "A")
    assert choices.period_row(period, 4) == ["1", "A", "A", "A", "A*", "", "3 of 3 chose right"]
    lines = choices.choice_lines(chosen, room, [period])
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    unread = tables([header, *seats, StateDrawn(room, 1, "A", 0.5), choice(1, "A", None)])
    (period,) = room_periods(unread, room)
    assert period.result == "0 of 0 chose right, 1 missing"
    assert (
        f"no readable choice (unclear), own signal A (right 70 times in 100). It replied: “{ATTACK}”"
        == period.rows[0].text
    )


@pytest.mark.thorough
def test_only_runs_that_have_them_show_these_views(ran: Callable) -> None:
    """A debate has no feed and no choices; people who choose one after another have no conversation."""
    own = {"Feed", "Acts", "Cascades", "Choices"}
    shown = {
        preset: {view.TITLE for view in views() if view.shows(load(ran(preset, **settings)))}
        for preset, settings in {
            "two_way": {}, "platform": {"size": 12, "graph": "ring,degree=2", "repetitions": 1},
            "herding": {"topic": "two_options"},
        }.items()
    }  # fmt: skip
    assert shown["two_way"] & own == set()
    assert shown["platform"] & own == {"Feed", "Acts", "Cascades"}
    assert shown["herding"] & (own | {"Conversation"}) == {"Choices"}
