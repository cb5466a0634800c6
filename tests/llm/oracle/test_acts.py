"""The planted law of acts: probabilities by hand, and the planted parameters found again in a record."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from data_checks import check_each
from scipy.optimize import minimize

from parley.analysis.tables import Tables, tables
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.act_law import ActLaw
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.laws import Laws
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

SEVERE = "I think climate change is a severe problem."
NEGLIGIBLE = "I think climate change is a negligible problem."
Options = dict[str, tuple[int, ...]]
PERSONA = "You are Ann, a Democrat."


def ask(purpose: str, answers: tuple[str, ...], options: Options, posts: list[tuple[str, int]], **law: float) -> Reply:
    facts = {"topic": "climate change", "acts": tuple(options), "posts": posts, "options": options}
    request = Request(
        (Message("system", PERSONA), Message("user", "What do you do?")),
        Sampling(1.0),
        5,
        answers,
        purpose,
        facts=facts,  # type: ignore[arg-type]
    )
    (reply,) = Oracle(laws=Laws(acts=ActLaw(**law))).complete([request])
    return reply


def gap(text: str) -> float:
    """The distance of Ann's attitude from the grade of a post."""
    bank = topic_bank("climate_change")
    assert bank is not None
    grade = bank.grade(text)
    assert grade is not None
    return abs(grade - Oracle().start(PERSONA, "climate_change"))


def test_probabilities_are_those_of_the_formula() -> None:
    """Two posts, like or nothing: exp(-0.5 - 0.3 d + herd s) each, against 1."""
    posts = [(SEVERE, 1), (NEGLIGIBLE, 0)]
    reply = ask("act", ("like", "nothing"), {"like": (1, 2), "nothing": ()}, posts, herd=0.7)
    weights = [math.exp(-0.5 - 0.3 * gap(SEVERE) + 0.7), math.exp(-0.5 - 0.3 * gap(NEGLIGIBLE))]
    assert reply.answers is not None
    assert reply.answers["like"] == pytest.approx(sum(weights) / (1 + sum(weights)))
    chosen = ask("target", ("1", "2"), {"like": (1, 2)}, posts, herd=0.7)
    assert chosen.answers is not None
    assert chosen.answers["1"] == pytest.approx(weights[0] / sum(weights))


@check_each(("act", "sign"), [("like", 1), ("repost", 1), ("dislike", -1), ("follow", 0), ("mute", 0)])
def test_the_score_moves_votes_and_shares_alone(act: str, sign: int) -> None:
    law = ActLaw(herd=0.5)
    assert law.utility(act, 3.0, 4) - law.utility(act, 3.0, 0) == pytest.approx(0.5 * sign)
    assert law.utility(act, 3.0, -4) - law.utility(act, 3.0, 0) == pytest.approx(-0.5 * sign)


def test_a_post_that_cannot_be_read_is_never_chosen() -> None:
    reply = ask("target", ("1", "2"), {"like": (1, 2)}, [("Colourless green ideas.", 9), (SEVERE, 0)])
    assert (reply.text, reply.answers, reply.notes) == ("2", {"1": 0.0, "2": 1.0}, {"unread": 1})
    nothing = ask("target", ("1",), {"like": (1,)}, [("Colourless green ideas.", 0)])
    assert nothing.failure is not None
    assert nothing.failure.name == "no_known_sentence"


def test_the_law_is_part_of_the_identity_where_it_is_not_the_default() -> None:
    """Otherwise a journal would answer herd=1 from a run with herd=0. Runs with the default keep the identity that they had."""
    assert "acts" not in open_spec("oracle").identity
    assert open_spec("oracle,herd=1").identity["acts"]["herd"] == 1


def estimates(found: Tables) -> tuple[float, float]:
    """Homophily and herd by maximum likelihood, from who was shown which post, with which score, and liked it or did nothing."""
    bank, texts = topic_bank("climate_change"), found.utterances.set_index("iteration")["text"]
    assert bank is not None
    oracle = found.attitudes.set_index(["agent", "round"])["attitude"]
    feeds = dict(iter(found.exposures.groupby(["round", "agent"])))
    choices = []
    for row in found.acts[found.acts["act"].isin(["like", "nothing"])].itertuples():
        feed = feeds.get((row.round, row.agent))
        if feed is None or (row.agent, row.round - 1) not in oracle.index:
            continue
        gaps = np.array([abs(bank.grade(texts[post]) - oracle[row.agent, row.round - 1]) for post in feed["iteration"]])
        liked = list(feed["iteration"]).index(row.target) if row.act == "like" else -1
        assert row.act == "nothing" or row.target in json.loads(row.options)
        choices.append((gaps, np.sign(feed["score"].to_numpy()), liked))

    def loss(parameters: np.ndarray) -> float:
        constant, homophily, herd = parameters
        total = 0.0
        for gaps, signs, liked in choices:
            utilities = constant - homophily * gaps + herd * signs
            total += np.log(1 + np.exp(utilities).sum()) - (utilities[liked] if liked >= 0 else 0.0)
        return total

    _, homophily, herd = minimize(loss, np.array([0.0, 0.0, 0.0]), method="Nelder-Mead").x
    return float(homophily), float(herd)


def test_planted_homophily_and_herd_are_found_in_a_record() -> None:
    """From the tables alone: exposures, scores, acts and ratings. Attitudes are known to about a quarter of a point."""
    fields = {"size": 60, "rounds": 5, "repetitions": 1, "survey": "rounds", "activation": "every", "seeded": 0.33}
    fields |= {"acts": "post,like,nothing", "llm": "oracle,herd=0.8,homophily=0.4,kappa=0,mu=0"}
    recorder, setup = MemoryRecorder(), load_preset("herd_effect", fields)
    model = DebateModel(setup, recorder=recorder)
    model.run()
    homophily, herd = estimates(tables([make_header(setup, (), model.backend), *recorder.events]))
    assert homophily == pytest.approx(0.4, abs=0.12)
    assert herd == pytest.approx(0.8, abs=0.3)
