"""The fit of acts: its options have the probabilities that the oracle tells, and it finds planted numbers and no others."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from parley.agents.act_names import ACTS
from parley.analysis.surrogate.act_choices import Choices, collect_choices, fit_acts, fit_choices
from parley.analysis.surrogate.fit import graded_lines, run_transitions
from parley.analysis.surrogate.report import choose_grader
from parley.analysis.tables import Tables, tables
from parley.llm.backends.oracle.act_law import CONSTANTS
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

TOPIC = "climate_change"


@cache
def on_the_oracle(spec: str) -> Tables:
    settings = {"llm": spec, "repetitions": 5, "rounds": 5, "size": 16, "memory": "whole", "activation": "every"}
    scenario, recorder = load_preset("platform").with_settings(settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def collected(record: Tables, heard: str = "grades") -> Choices:
    grade = choose_grader(TOPIC, heard)
    return collect_choices(record, run_transitions(record, TOPIC, grade).levels, graded_lines(record, TOPIC, grade))


def test_the_options_of_a_visit_have_the_probabilities_that_the_oracle_tells() -> None:
    """With the planted numbers, the law gives for every first choice the exact probability of each act in the record."""
    record = on_the_oracle("oracle,herd=1")
    choices = collected(record)
    planted = CONSTANTS | {"homophily": 0.3, "herd": 1.0}
    weights = np.exp(choices.design @ np.array([planted[name] for name in choices.names]))
    acts = record.acts.drop_duplicates(["room", "round", "agent"])
    acts = acts[acts["act"] != "search"].reset_index(drop=True)
    assert len(acts) == choices.visit.max() + 1
    chosen = weights[choices.chosen] / np.bincount(choices.visit, weights)
    names = set(choices.names) | {choices.baseline, "homophily", "herd"}
    for row, share in zip(acts.to_dict("records"), chosen, strict=True):
        told = dict(zip(json.loads(row["offered"]), json.loads(row["probabilities"]), strict=True))
        about = json.loads(row["target_probabilities"]) if row["target_probabilities"] else [1.0]
        place = json.loads(row["options"]).index(row["target"]) if len(about) > 1 else 0
        known = sum(value for act, value in told.items() if act in names)
        assert share == pytest.approx(told[row["act"]] * about[place] / known, abs=0.01)


def test_planted_numbers_are_found_and_no_others() -> None:
    """2,000 choices between nothing and four posts: each number is within four standard errors; without a law both are 0."""
    for homophily, herd in ((0.3, 1.0), (0.0, 0.0)):
        generator, visits = np.random.default_rng(2), 2000
        design = np.zeros((visits, 5, 3))
        design[:, 1:, 0], design[:, 1:, 2] = -generator.uniform(0, 8, (visits, 4)), 1.0
        design[:, 1:, 1] = generator.integers(-1, 2, (visits, 4))
        utility = design @ np.array([homophily, herd, -0.5]) + generator.gumbel(size=(visits, 5))
        chosen = utility == utility.max(axis=1, keepdims=True)
        data = Choices(
            ("homophily", "herd", "like"),
            design.reshape(-1, 3),
            np.repeat(np.arange(visits), 5),
            chosen.ravel(),
            np.arange(visits) % 10,
            {},
            "nothing",
        )
        found = fit_choices(data)
        rooms = np.array([fit_choices(data.of_rooms(np.arange(10) != room), found) for room in range(10)])
        error = np.sqrt(0.9 * ((rooms - rooms.mean(axis=0)) ** 2).sum(axis=0))
        assert (np.abs(found - [homophily, herd, -0.5]) <= 4 * error).all()
        assert (error < 0.2).all()


def test_a_run_without_acts_has_no_law_of_acts() -> None:
    record = on_the_oracle("oracle,herd=1")
    empty = pd.DataFrame(columns=record.acts.columns)
    record = Tables(**{**vars(record), "acts": empty})
    assert fit_acts(record, pd.DataFrame(), pd.DataFrame()) is None


def test_what_is_left_out_is_counted() -> None:
    """An unread act, a search and a person without a rating are no choices; acts that no one chose have no number."""
    record = on_the_oracle("oracle,herd=1")
    acts = record.acts.copy()
    acts.loc[acts.index[:3], ["act", "reason"]] = [None, "no_answer"]
    acts.loc[acts.index[3:5], "act"] = "search"
    changed = Tables(**{**vars(record), "acts": acts})
    choices = collected(changed)
    assert choices.left_out["not readable"] == 3
    assert choices.left_out["a search"] >= 2
    law = fit_acts(changed, run_transitions(changed, TOPIC, None).levels, graded_lines(changed, TOPIC, None))
    assert law is not None
    assert set(law["constants"]) <= set(ACTS)
    assert "search" not in law["constants"]
    assert law["rooms"] == 5
