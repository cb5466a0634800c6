"""A social medium of four people, by hand: who is shown what, what acts do, and what is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from data_checks import check_each

from parley.analysis.tables import tables
from parley.analysis.transcript import text as transcript
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Acted, Event, Linked, Shown, Unlinked, Utterance
from parley.model.recorder import MemoryRecorder, from_line, to_line
from parley.model.run_folder import make_header
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario, load_preset

LINE = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0)])
nx.set_node_attributes(LINE, dict(enumerate(["republican", "democrat"] * 2)), "party")
"""Each follows the next one; the fourth follows the first."""
TRAVEL = [["post", *["nothing"] * 3], [*["nothing"] * 3, "share 1"], ["nothing", "nothing", "like", "nothing"]]
FOUR = {"repetitions": 1, "reference": "", "rounds": 3, "survey": "never", "order": "fixed", "activation": "every",
        "recommender": "chronological", "asks": 1}  # fmt: skip


def medium(**settings: Any) -> Scenario:
    return load_preset("platform").with_settings({**FOUR, "size": 4, "graph": "complete", **settings})


class Script:
    """Answers acts by name and round: `acts[round][place]` is an act, or an act and the number of a post."""

    def __init__(self, acts: Sequence[Sequence[str]]):
        self.acts, self.turn, self.prompts = acts, 0, list[tuple[str, str]]()
        self.names: list[str] = []

    def __call__(self, request: Request) -> str | Reply:
        name = self._name(request)
        self.prompts.append((request.purpose, request.messages[-1].content))
        if request.purpose == "act":
            self.turn += 1
            self._now = {**getattr(self, "_now", {}), name: self.acts[(self.turn - 1) // 4][(self.turn - 1) % 4]}
            return self._now[name].split()[0]
        if request.purpose == "target":
            return self._now[name].split()[1]
        if request.purpose == "search":
            return "wind turbines"
        return f"{name} says so."

    def _name(self, request: Request) -> str:
        system = request.messages[0].content
        return next(name for name in self.names if name in system)


def run(acts: Sequence[Sequence[str]], **settings: Any) -> tuple[Script, list[Event], Scenario, DebateModel]:
    """Run the four people on the ring of `LINE` with a script."""
    script, recorder = Script(acts), MemoryRecorder()
    model = DebateModel(
        medium(rounds=len(acts), **settings), topology=LINE, backend=Fake(script), recorder=recorder, keep_going=True
    )
    script.names = [agent.name for agent in model.agents]
    model.run()
    assert model.error is None
    return script, recorder.events, model.setup, model


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def done(events: list[Event]) -> list[tuple[int, int, str | None, int | None]]:
    return [(act.round, act.agent, act.act, act.target) for act in of(Acted, events)]


def shown(events: list[Event]) -> dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    return {(one.round, one.agent): (one.posts, one.scores, one.carriers) for one in of(Shown, events)}


def test_a_post_travels_along_shares_and_collects_votes() -> None:
    """Person 1 posts (turn 1). Who follows 1 is 4: it shares the post (turn 8). Who follows 4 is 3: it likes it (turn 11).

    Person 2 follows 3, who shared nothing, and sees nothing.
    """
    _, events, _, model = run(
        [["post"] + ["nothing"] * 3, ["nothing"] * 3 + ["share 1"], ["nothing"] * 2 + ["like", "nothing"]]
    )
    assert shown(events) == {(2, 4): ((1,), (0,), (1,)), (3, 3): ((1,), (0,), (4,))}
    assert [act for act in done(events) if act[2] != "nothing"] == [
        (1, 1, "post", None),
        (2, 4, "repost", 1),
        (3, 3, "like", 1),
    ]
    (post,) = model.rooms[0].society.wall.posts.values()  # type: ignore[union-attr]
    assert (post.author, post.votes, post.voters, post.reposts) == (1, 1, {3: 1}, {4: 2})
    assert [(said.iteration, said.agent, said.form) for said in of(Utterance, events)] == [(1, 1, "post")]


def test_links_change_before_the_next_round() -> None:
    """4 unfollows 1 in round 2, and is not shown its second post in round 3; 3 follows 1, whose post 4 had shared."""
    acts = [
        ["post", "nothing", "nothing", "nothing"],
        ["post", "nothing", "nothing", "share"],
        ["nothing", "nothing", "follow 1", "unfollow"],
        ["nothing"] * 4,
    ]
    _, events, _, _ = run(acts)
    links = [(type(one), one.round, one.pairs) for one in events if isinstance(one, Linked | Unlinked) and one.round]
    assert links == [(Unlinked, 4, ((4, 1),)), (Linked, 4, ((3, 1),))]
    assert shown(events)[3, 4] == ((5,), (0,), (1,))
    assert (4, 4) not in shown(events)
    assert shown(events)[4, 3] == ((5,), (0,), (1,))


def test_a_reply_reaches_its_author_and_who_follows_the_replier() -> None:
    """4 replies to 1 (turn 8): it is shown to 1, whose post it answers, and to 3, who follows 4. The prompt quotes the post."""
    script, events, _, _ = run([["post"] + ["nothing"] * 3, ["nothing"] * 3 + ["reply"], ["nothing"] * 4])
    assert {who: one[0] for (round_, who), one in shown(events).items() if round_ == 3} == {1: (8,), 3: (8,)}
    (asked,) = [prompt for purpose, prompt in script.prompts if purpose == "speech" and "reply to the post" in prompt]
    assert "says so." in asked.split("reply to the post")[1]
    assert [said.form for said in of(Utterance, events)] == ["post", "comment"]


def test_who_is_muted_is_not_shown_again() -> None:
    _, events, _, _ = run([["post"] + ["nothing"] * 3, ["post", "nothing", "nothing", "mute"], ["nothing"] * 4])
    assert set(shown(events)) == {(2, 4)}


def test_a_search_finds_posts_of_strangers_and_leads_to_one_more_choice() -> None:
    """2 cannot see 1's post, searches for its words, and likes what it found."""

    class Searching(Script):
        def __call__(self, request: Request) -> str | Reply:
            if request.purpose == "speech":
                return "Wind turbines for everyone."
            if request.purpose == "act" and self.turn == 8:
                return "like"
            return super().__call__(request)

    recorder, script = (
        MemoryRecorder(),
        Searching([["post"] + ["nothing"] * 3, ["nothing", "search", "nothing", "nothing"]]),
    )
    model = DebateModel(medium(rounds=2), topology=LINE, backend=Fake(script), recorder=recorder, keep_going=True)
    script.names = [agent.name for agent in model.agents]
    model.run()
    found = [one for one in of(Shown, recorder.events) if one.source == "search"]
    assert [(one.agent, one.posts, one.carriers) for one in found] == [(2, (1,), (1,))]
    acts = [act for act in of(Acted, recorder.events) if act.agent == 2 and act.round == 2]
    assert [(act.act, act.query, act.target) for act in acts] == [("search", "wind turbines", None), ("like", None, 1)]
    assert "search" not in acts[1].offered


@check_each(
    ("act", "target", "reason"),
    [
        ("I like Ann's way", "1", "unclear_answer"),
        ("", "1", "empty"),
        ("share and like", "1", "several_answers"),
        ("like", "both", "target_no_number"),
    ],
)
def test_what_cannot_be_read_has_no_effect_and_a_reason(act: str, target: str, reason: str) -> None:
    """Two posts are shown; the reply is asked for once (asks=1), and no vote is invented."""

    class Vague(Script):
        def __call__(self, request: Request) -> str | Reply:
            self.turn += self.turn == 4 and request.purpose == "act"
            if self.turn < 5 or request.purpose not in ("act", "target"):
                return super().__call__(request)
            return act if request.purpose == "act" else target

    recorder, script = MemoryRecorder(), Vague([["post"] * 4])
    model = DebateModel(
        medium(rounds=2, reach="all"), topology=LINE, backend=Fake(script), recorder=recorder, keep_going=True
    )
    script.names = [agent.name for agent in model.agents]
    model.run()
    late = [one for one in of(Acted, recorder.events) if one.round == 2]
    assert {one.reason for one in late} == {reason}
    assert all(one.target is None for one in late)
    assert all(not post.votes for post in model.rooms[0].society.wall.posts.values())  # type: ignore[union-attr]
    assert f"4 of 8 acts (50%: {reason} 4)" in model.tally.line


def test_a_model_that_refuses_leaves_missing_acts_and_no_post() -> None:
    """`--llm fake` refuses every closed question: nothing happens, and everything is counted."""
    recorder = MemoryRecorder()
    model = DebateModel(medium(llm="fake", rounds=1), recorder=recorder, keep_going=True)
    model.run()
    assert [(act.act, act.reason) for act in of(Acted, recorder.events)] == [(None, "unscripted")] * 4
    assert not of(Utterance, recorder.events)


def test_absent_and_muted_people_do_nothing_unasked() -> None:
    """An intervention that silences a person silences its acts; nothing is asked and nothing counted as missing."""
    recorder = MemoryRecorder()
    silent = medium(rounds=1, interventions="mute round=1 to='republican 1'", llm="oracle")
    model = DebateModel(silent, recorder=recorder)
    model.run()
    (muted,) = [act for act in of(Acted, recorder.events) if act.reason]
    assert (muted.reason, muted.asked) == ("muted", 0)


def test_every_person_is_asked_with_the_exact_answers_and_their_probabilities_are_kept() -> None:
    """The oracle tells the probability of each act and of each post: they are recorded and sum to 1."""
    recorder = MemoryRecorder()
    fields = {"graph": "ring,degree=4", "size": 12, "repetitions": 1, "rounds": 4, "llm": "oracle"}
    model = DebateModel(load_preset("platform", fields), recorder=recorder)
    model.run()
    acts = of(Acted, recorder.events)
    assert acts
    for act in acts:
        assert sum(act.probabilities) == pytest.approx(1)
        assert len(act.probabilities) == len(act.offered)
        if act.target_probabilities:
            assert sum(act.target_probabilities) == pytest.approx(1)
            assert act.target in act.options


def test_the_record_reads_back_and_the_tables_hold_every_act_and_exposure() -> None:
    _, events, setup, model = run(
        [["post"] + ["nothing"] * 3, ["nothing"] * 3 + ["share 1"], ["nothing"] * 2 + ["like", "nothing"]]
    )
    assert [from_line(to_line(event)) for event in events] == events
    found = tables([make_header(setup, (), model.backend), *events])
    assert len(found.acts) == 12
    exposures = found.exposures[["round", "agent", "place", "iteration", "score", "carrier", "source"]]
    assert exposures.to_numpy().tolist() == [[2, 4, 1, 1, 0, 1, "feed"], [3, 3, 1, 1, 0, 4, "feed"]]
    assert found.heard[["round", "agent", "iteration"]].to_numpy().tolist() == [[2, 4, 1], [3, 3, 1]]
    told = transcript(found)
    assert "sees 1; repost: post 1 of" in told
    assert "sees 1; like: post 1 of" in told


def test_the_same_seed_gives_the_same_record_and_another_one_does_not(tmp_path: Path) -> None:
    def record(seed: int) -> list[str]:
        recorder = MemoryRecorder()
        fields = {"size": 16, "repetitions": 2, "rounds": 4, "llm": "oracle", "seed": seed, "seeded": 0.2}
        DebateModel(load_preset("platform", fields), recorder=recorder).run()
        return [to_line(event) for event in recorder.events]

    assert record(3) == record(3) != record(4)


def test_conditions_seat_the_same_people_on_the_same_links() -> None:
    """Only the recommender differs between the groups of one repetition."""
    fields = {"size": 12, "repetitions": 2, "rounds": 1, "llm": "oracle", "survey": "rounds"}
    fields |= {"graph": "random,degree=4", "recommender": "random", "against": "homophilous,bridging"}
    model = DebateModel(load_preset("platform", fields))
    by_repetition: dict[int, list[Any]] = {}
    for room in model.rooms:
        if room.society:
            places = list(room.members)
            links = {(places.index(a), places.index(b)) for a, b in room.society.links.pairs}
            by_repetition.setdefault(room.repetition, []).append(([one.name for one in room.members.values()], links))
    assert [len(rooms) for rooms in by_repetition.values()] == [3, 3]
    for rooms in by_repetition.values():
        assert rooms[0] == rooms[1] == rooms[2]
    assert by_repetition[0][0][1] != by_repetition[1][0][1]


def test_a_dry_run_counts_the_choices() -> None:
    """It answers the first act that is offered, a post: two choices of four are asked, an act and its text."""
    plan = plan_run(medium(rounds=2, llm="oracle"))
    assert (plan.acts, plan.replies, plan.others) == (8, 8, 0)


@check_each(
    ("fields", "words"),
    [
        ({"acts": "post,like"}, "acts must have nothing and another act"),
        ({"acts": "post,nothing,shout"}, "acts"),
        ({"recommender": "best"}, "unknown recommender 'best'"),
        ({"against": "chronological"}, "against must name recommenders that differ"),
        ({"recommender": "homophilous"}, "set survey=rounds"),
        ({"seeded": 0.9}, "seeded is 0.9, but must be between 0 and 0.5"),
        ({"also": "attitude:turns"}, "after every turn"),
    ],
)
def test_a_wrong_option_is_one_line(fields: Mapping[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        medium(**fields)
