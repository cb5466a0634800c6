"""Where people are drawn who meet in several places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import parley
from parley.analysis.metrics._network import drawn_populations, populations
from parley.analysis.tables import Tables, tables
from parley.analysis.views import network
from parley.analysis.views._seating import around_tables, seating_now, seatings
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset


@pytest.fixture(scope="module")
def run() -> Tables:
    """Twelve people in rooms for two rounds, then in echo chambers and a network, then with mediators."""
    stages = [
        {"topology": "rooms,size=4", "rounds": 2},
        {"topology": "echo,size=3 + network,graph='ring,degree=4'", "rounds": 1},
        {"topology": "mediated,size=4", "rounds": 1},
    ]
    settings = {"llm": "oracle", "repetitions": 1, "size": 12, "survey": "rounds", "rounds": 4, "topology": stages}
    scenario = load_preset("stages", settings)
    recorder = MemoryRecorder()
    model = parley.DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def test_people_of_a_table_are_near_each_other_and_inside_the_drawing() -> None:
    """Everybody is nearer to the middle of its own table than to that of another; who sits nowhere is below all tables."""
    seats = pd.DataFrame({"table": np.repeat(range(1, 8), 4), "agent": range(1, 29)})
    at = around_tables(seats, range(1, 30))
    assert ((at >= 0) & (at <= 1)).all()
    middles = at[:28].reshape(7, 4, 2).mean(axis=1)
    nearest = np.linalg.norm(at[:28, None] - middles[None], axis=2).argmin(axis=1) + 1
    assert nearest.tolist() == seats["table"].tolist()
    assert at[28, 1] > at[:28, 1].max()


def test_the_seats_are_those_of_the_round(run: Tables) -> None:
    (population,) = drawn_populations(run)
    by_title = seatings(run, population.room.name)
    assert list(by_title) == ["Stage 1: rooms", "Stage 2: echo", "Stage 2: network", "Stage 3: mediated"]
    assert [seating_now(by_title, round_) for round_ in range(5)] == [
        *["Stage 1: rooms"] * 3, "Stage 2: echo", "Stage 3: mediated"]  # fmt: skip
    assert len(list(populations(run))) == 1, "the network of the second stage"


def test_everybody_is_drawn_at_its_table_and_what_was_heard_is_a_line(run: Tables) -> None:
    """In a round of rooms, lines join people of one table only."""
    (population,) = drawn_populations(run)
    seats = seatings(run, population.room.name)["Stage 1: rooms"]
    people = network.who(run, population, seats)
    assert [person["person"][1] for person in people] == population.room.parties.index.tolist(), "without mediators"
    table = dict(zip(seats["agent"], seats["table"], strict=True))
    used = network.used_links(run, population)[1]
    agents = population.room.parties.index
    assert used
    assert all(table[agents[reader]] == table[agents[author]] for reader, author, _ in used)
