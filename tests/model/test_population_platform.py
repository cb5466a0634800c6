"""A population on a social medium: feeds by hand, acts by the planted law, the same measures as a run on the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from scipy.sparse import csr_array

import run
from parley.agents.laws import open_law
from parley.agents.laws.surrogate import Surrogate
from parley.analysis.metrics._posts import media
from parley.analysis.metrics.spread import measure
from parley.analysis.surrogate import report
from parley.analysis.tables import tables
from parley.environments.sparse_platforms import PLATFORMS, Posts, open_platform
from parley.llm.backends.oracle.act_law import ActLaw
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.population import PopulationModel
from parley.model.population_platform import PopulationMedium, choose_act_law
from parley.model.population_record import LINKS, ToParquet
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

PEOPLE = 4
NO = np.zeros(PEOPLE, dtype=np.bool_)
ALL = csr_array(np.ones((PEOPLE, PEOPLE)) - np.eye(PEOPLE))
STILL = open_law("degroot")


def certain(*acts: str) -> ActLaw:
    """A law that makes one act far more probable than all others."""
    return ActLaw(0.0, 0.0, {"nothing": 0.0} | dict.fromkeys(acts, 40.0))


def medium(law: ActLaw, spec: str = "chronological") -> PopulationMedium:
    platform = open_platform(spec)
    assert platform
    return PopulationMedium(platform, law, PEOPLE, np.zeros(PEOPLE))


def after(one: PopulationMedium, step: int, law: ActLaw, graph: csr_array = ALL, silent: np.ndarray = NO) -> Any:
    one.law, one.acts = law, tuple(law.constants)
    opinions = np.array([2.0, 4.0, 6.0, 8.0])
    visits = one.run_round(step, opinions, graph, silent, NO, STILL, np.random.default_rng(step))
    one.forget_old_posts(step - one.platform.lasting + 1)
    return visits


def links(*pairs: tuple[int, int]) -> csr_array:
    sources, targets = np.array(pairs).T
    return csr_array((np.ones(len(pairs)), (sources, targets)), shape=(PEOPLE, PEOPLE))


def test_a_feed_has_the_posts_of_those_whom_one_follows_once() -> None:
    """0 follows 1, and 2 follows 0: each is shown the other's post and no other; nothing is shown twice; old posts vanish."""
    one, graph = medium(certain("post", "nothing")), links((0, 1), (2, 0))
    assert len(after(one, 1, certain("post"), graph).readers) == 0
    assert one.written == PEOPLE
    assert one.posts.grade.tolist() == [2, 4, 6, 8]
    visits = after(one, 2, ActLaw(0, 0, {"nothing": 0.0}), graph)
    assert list(zip(visits.readers.tolist(), one.posts.author[visits.posts].tolist(), strict=True)) == [(0, 1), (2, 0)]
    for step in (3, 4):
        assert len(one.posts.number) == PEOPLE
        assert len(after(one, step, ActLaw(0, 0, {"nothing": 0.0}), graph).readers) == 0
    assert len(one.posts.number) == 0


def test_muted_and_silent_people_are_not_shown() -> None:
    """Everyone follows everyone; posts of who is silent are shown to no one; after a mute the author is not shown again."""
    one = medium(certain("post"))
    after(one, 1, certain("post"))
    silent = np.array([True, True, False, False])
    visits = after(one, 2, ActLaw(0, 0, {"nothing": 0.0}), silent=silent)
    assert set(one.posts.author[visits.posts].tolist()) == {2, 3}
    after(one, 3, certain("mute"))
    muted = set(one._muted.tolist())
    assert len(muted) == PEOPLE
    one._read = np.empty(0, dtype=np.int64)
    visits = after(one, 3, ActLaw(0, 0, {"nothing": 0.0}))
    shown = set((visits.readers * PEOPLE + one.posts.author[visits.posts]).tolist())
    assert shown.isdisjoint(muted)
    assert shown


def test_shares_make_a_tree_along_who_follows_whom() -> None:
    """A chain 3 -> 2 -> 1 -> 0 of who follows whom: the post of 0 goes from hand to hand, so the tree is as deep as the chain."""
    one, chain = medium(certain("post"), "chronological,lasting=2"), links((1, 0), (2, 1), (3, 2))
    after(one, 1, ActLaw(0, 0, {"nothing": 0.0, "post": 40.0}), chain)
    for step in (2, 3, 4):
        visits = after(one, step, certain("repost"), chain)
        oldest = one.posts.number[visits.posts] == 0 if len(one.posts.number) else np.zeros(0)
        assert len(visits.readers) >= int(np.sum(oldest))
    found = one.measure_trees()
    assert (found["largest"], found["depth"], found["breadth"]) == (4, 3, 1)
    assert found["scale"] == (4 + 3 + 2 + 1) / 4


def test_an_answer_is_shown_to_whom_it_answers() -> None:
    """1 follows 0 and answers; 0 follows no one and is shown the answers all the same."""
    one, graph = medium(certain("post")), links((1, 0))
    after(one, 1, certain("post"), graph)
    after(one, 2, certain("reply"), graph)
    visits = after(one, 3, ActLaw(0, 0, {"nothing": 0.0}), graph)
    assert one.posts.author[visits.posts[visits.readers == 0]].tolist() == [1]


def test_acts_have_the_probabilities_of_the_law() -> None:
    """20,000 people who each read one post: the share of every act is within four standard errors of the planted law."""
    size, law = 20_000, ActLaw(0.3, 1.0)
    platform = open_platform("random")
    assert platform
    one = PopulationMedium(platform, law, size, np.zeros(size))
    graph = csr_array((np.ones(size), (np.arange(size), np.roll(np.arange(size), 1))), shape=(size, size))
    opinions, silent = np.tile([3.0, 7.0], size // 2), np.zeros(size, dtype=np.bool_)
    one.acts, acts = ("post",), one.acts
    one.run_round(1, opinions, graph, silent, silent, STILL, np.random.default_rng(0))
    one.acts = acts
    one.posts.votes[:] = 1
    visits = one.run_round(2, opinions, graph, silent, silent, STILL, np.random.default_rng(1))
    assert len(visits.readers) == size
    possible = [act for act in acts if act != "follow"]
    weights = {act: np.exp(law.utility(act, 4.0, 1)) for act in possible}
    weights |= {act: np.exp(law.constants[act]) for act in ("post", "nothing")}
    for place, act in enumerate(acts):
        share, expected = (visits.acts == place).mean(), weights.get(act, 0.0) / sum(weights.values())
        assert abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / size)


def test_recommenders_rank_as_those_of_a_platform() -> None:
    """Three posts for one reader at 5: hot takes the one with most votes, homophilous the nearest, chronological the newest."""
    posts = Posts(
        *[np.arange(3), np.array([1, 2, 3]), np.array([1, 1, 2]), np.array([1, 1, 2])],
        *[np.zeros(3), np.array([200, 0, 0]), np.full(3, -1)],
    )
    opinions, readers, generator = np.array([5.0, 9, 4.5, 1]), np.zeros(3, dtype=np.int64), np.random.default_rng(0)
    best = {
        spec: int(np.argmax(PLATFORMS.open(spec).scores(readers, np.arange(3), posts, opinions, generator)))
        for spec in ("hot", "homophilous", "chronological", "hot,hours=100")
    }
    assert best == {"hot": 0, "homophilous": 1, "chronological": 2, "hot,hours=100": 2}


def model(**settings: Any) -> PopulationModel:
    made = PopulationModel(
        "degroot", **{"agents": 300, "steps": 5, "rng": 1, "platform": "hot,activation=clock"} | settings
    )
    made.run()
    return made


def test_opinions_move_only_by_what_is_read() -> None:
    """In the first step there is no post, so no opinion moves; later only those move who were shown one."""
    made = PopulationModel("degroot", agents=300, steps=3, rng=1, platform="hot")
    made.step()
    before = made.opinions
    made.step()
    assert made.visits is not None
    assert set(np.flatnonzero(before != made.opinions)) <= set(made.visits.readers.tolist())
    assert (before != made.opinions).any()
    start = PopulationModel("degroot", agents=300, steps=3, rng=1).opinions
    assert (start == before).all()


def test_the_same_seed_gives_the_same_acts_and_links(tmp_path: Path) -> None:
    """Two runs write the same bytes, and who begins to follow is in links.parquet."""
    files = []
    for name in ("a", "b"):
        recorder = ToParquet(tmp_path / name, 1, {})
        made = model(recorder=recorder, platform="hot,lasting=5")
        recorder.close()
        files.append((tmp_path / name / LINKS).read_bytes())
    assert files[0] == files[1]
    frame = made.datacollector.get_model_vars_dataframe()
    assert pd.read_parquet(tmp_path / "a" / LINKS)["added"].sum() == frame["follow"].iloc[:-1].sum() > 0


@check_each(
    ("settings", "message"),
    [
        ({"platform": "interest"}, "does not work in a population"),
        ({"platform": "hot,acts=(post,search,nothing)"}, "write no texts, so acts cannot have search"),
        ({"platform": "hot,acts=(post,like)"}, "acts must have nothing and another act"),
        ({"platform": "hot,acts=(nothing,jump)"}, "acts of hot is .*, but must be a list of post, reply, .*nothing"),
        ({"platform": "hot,homophily=-1000"}, "homophily is -1000, but must be between -20 and 20"),
        ({"platform": "hot,herd=1e6"}, "herd is .*, but must be between -20 and 20"),
        ({"platform": "hot,activation=hawkes"}, "activation must be every, poisson or clock"),
        ({"platform": "hot", "feed": "hot"}, "leave out --feed"),
        ({"platform": "hot", "dimensions": 2}, "leave out --dimensions"),
        ({"platform": "hot", "interventions": "message round=1 value=8"}, "leave out the message"),
    ],
)
def test_what_a_platform_cannot_do_is_refused_in_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((UserError, ValueError), match=message):
        model(**settings)


def test_the_law_of_acts_is_that_of_the_fit_or_planted() -> None:
    """A fit to a run in which no one acts says nothing of acts, and is refused; with both numbers given, the law is planted."""
    debate, medium_run = (
        Surrogate(fit={"parties": {}}),
        Surrogate(
            fit={
                "parties": {},
                "acts": {"homophily": [0.2, 0.1, 0.3], "constants": {"nothing": [0, None, None], "like": [1, 0, 2]}},
            }
        ),
    )
    plain, given = open_platform("hot"), open_platform("hot,homophily=0.5,herd=1")
    assert plain
    assert given
    with pytest.raises(UserError, match="was fitted to a run without a platform"):
        choose_act_law(plain, debate)
    assert choose_act_law(given, debate) == ActLaw(0.5, 1.0)
    assert choose_act_law(plain, STILL) == ActLaw()
    assert choose_act_law(plain, medium_run) == ActLaw(0.2, 0.0, {"nothing": 0, "like": 1})
    assert PopulationMedium(plain, choose_act_law(plain, medium_run), 4, np.zeros(4)).acts == ("like", "nothing")


def test_a_fit_in_which_no_one_did_nothing_needs_another_act_alone() -> None:
    """Without an act that is about no post, a person with an empty feed could not choose."""
    law, platform = ActLaw(constants={"post": 0.0, "like": 1.0}), open_platform("hot,acts=(like,nothing)")
    assert platform
    with pytest.raises(UserError, match="add post to acts"):
        PopulationMedium(platform, law, 4, np.zeros(4))


@pytest.mark.parametrize("more", [["--steps", "1"], ["--steps", "2", "--platform", "hot,acts=(like,nothing)"]])
def test_before_the_first_post_is_read_measures_are_missing(more: list[str], tmp_path: Path) -> None:
    """After one step no post was read; without the act of posting there is no tree: a dash each, and no crash."""
    words = ["population", "--law", "degroot", "--agents", "50", "--platform", "hot", *more]
    assert run.main([*words, "--out", str(tmp_path)]) == 0
    summary = (tmp_path / "summary.md").read_text()
    assert "| distance to the people read, in points, on average | – | – |" in summary
    assert ("| people in the largest tree | – |" in summary) == ("2" in more)


def test_the_command_reports_acts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run.py population --platform` writes a summary with acts and trees."""
    words = ["population", "--law", "degroot", "--agents", "200", "--steps", "4", "--platform", "hot"]
    assert run.main([*words, "--out", str(tmp_path / "p")]) == 0
    summary = (tmp_path / "p" / "summary.md").read_text()
    assert "The law of acts is planted" in summary
    assert "people in the largest tree" in summary


@pytest.mark.thorough
def test_the_population_agrees_with_the_oracle_on_the_same_graph(tmp_path: Path) -> None:
    """The law of acts fitted to ten rooms on the oracle covers the planted homophily and herd; people moved by it, on
    the same graph, do the same acts, and posts spread as far: within four standard errors, over rooms and seeds.
    """
    size, rounds, generator = 30, 5, np.random.default_rng(5)
    pairs = [(one, int(other)) for one in range(size) for other in generator.choice(size, 6, replace=False)]
    graph = nx.DiGraph([(one, other) for one, other in pairs if one != other])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    acts = "post,reply,quote,repost,like,dislike,follow,unfollow,mute,nothing"
    settings = {"llm": "oracle,herd=1", "repetitions": 10, "rounds": rounds, "size": size, "memory": "whole"}
    settings |= {
        "graph": f"file,path={tmp_path / 'g.graphml'}",
        "acts": acts,
        "activation": "every",
        "survey": "rounds",
    }
    scenario, recorder = load_preset("platform").with_settings(settings), MemoryRecorder()
    debate = DebateModel(scenario, recorder=recorder)
    debate.run()
    record = tables([make_header(scenario, (), debate.backend), *recorder.events])
    fitted = report.surrogate(record)
    law = fitted["topics"]["climate_change"]["acts"]
    for name, planted in (("homophily", 0.3), ("herd", 1.0)):
        assert law[name][1] < planted < law[name][2]
    report.write(fitted, tmp_path / "s.json")
    done = record.acts.groupby(["room", "act"]).size().unstack(fill_value=0) / (size * rounds)
    trees = [{name: one.value for name, one in measure(room, rounds).items()} for room in media(record)]
    real = pd.concat([done.reset_index(drop=True), pd.DataFrame(trees)], axis=1)
    simulated = []
    for seed in range(20):
        people = PopulationModel(
            f"surrogate:{tmp_path / 's.json'}",
            graph,
            agents=size,
            steps=rounds,
            rng=seed,
            platform=f"hot,acts=({acts})",
        )
        people.run()
        frame = people.datacollector.get_model_vars_dataframe()
        assert people.medium
        shares = {act: frame[act].sum() / frame["visits"].sum() for act in people.medium.acts if act in real}
        simulated.append(shares | {name: frame[name].iloc[-1] for name in trees[0] if name in frame})
    drawn = pd.DataFrame(simulated)
    real = real[drawn.columns]
    error = np.sqrt(real.var() / len(real) + drawn.var() / len(drawn))
    assert ((real.mean() - drawn.mean()).abs() <= 4 * error).all()
