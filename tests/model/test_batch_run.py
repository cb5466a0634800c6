"""mesa.batch_run over any scenario, on Mesa 3.3 and 3.5, around its traps (docs/sweeps.md)."""

from __future__ import annotations

from collections.abc import Callable

import mesa
import numpy as np
import pytest
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario

OLD = tuple(map(int, mesa.__version__.split(".")[:2])) < (3, 4)
PARAMETERS = {
    "preset": "two_way",
    "topic": "racism",
    "repetitions": 2,
    "rounds": [1, 2],
    "frame": ["debate", "conversation"],
}


def sweep(parameters: dict, seeds: list[int], **options: object) -> list[dict]:
    """Seeds go by parameter on Mesa 3.3 and by argument on 3.5."""
    parameters = {"llm": "oracle"} | parameters
    seeded = {"parameters": parameters | {"rng": seeds}} if OLD else {"parameters": parameters, "rng": seeds}
    return mesa.batch_run(DebateModel, **seeded, max_steps=20, display_progress=False, **options)  # type: ignore[arg-type]


def test_a_sweep_has_every_cell_and_ends_by_itself() -> None:
    """Two lengths x two frames x two seeds; each run ends at its own last round, whatever max_steps is."""
    rows = sweep(PARAMETERS, [1, 2])
    runs = {(row["rounds"], row["frame"], row["rng"] if "rng" in row else row["seed"]) for row in rows}
    assert len(runs) == 8
    assert all(row["round"] == row["rounds"] for row in rows)
    assert all(row["stopped"] is None for row in rows)


def test_a_row_is_the_run_it_says_it_is() -> None:
    """Model and agent values in one row are of one and the same round, and equal to a run made by hand."""
    rows = sweep({"preset": "three_way", "topic": "racism", "repetitions": 2, "rounds": 2}, [5])
    model = DebateModel("three_way", topic="racism", repetitions=2, rounds=2, llm="oracle", rng=5)
    model.run()
    by_hand = {agent.unique_id: agent.attitude for agent in model.agents}
    assert {row["AgentID"]: row["attitude"] for row in rows} == by_hand
    parties = {agent.unique_id: agent.party for agent in model.agents}
    democrats = [value for number, value in by_hand.items() if parties[number] == "democrat"]
    assert rows[0]["mean_democrat"] == pytest.approx(sum(democrats) / len(democrats))


def test_every_round_can_be_had() -> None:
    rows = sweep({"preset": "two_way", "topic": "racism", "repetitions": 1, "rounds": 3}, [1], data_collection_period=1)
    assert sorted({row["round"] for row in rows}) == [0, 1, 2, 3]


def test_a_run_that_stopped_says_so_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """One failing run neither aborts the sweep nor passes for a finished one."""
    from parley.llm.backends.oracle.backend import Oracle

    def broken(self: Oracle, requests: list) -> list:
        raise RuntimeError("the model went away")

    monkeypatch.setattr(Oracle, "complete", broken)
    fields = {"preset": "two_way", "topic": "racism", "repetitions": 1, "rounds": 1}
    rows = sweep(fields | {"collect_errors": True}, [1])
    assert {row["stopped"] for row in rows} == {"RuntimeError: the model went away"}
    with pytest.raises(RuntimeError, match="went away"):
        sweep(fields, [1])


@pytest.mark.thorough
def test_a_sweep_runs_in_processes() -> None:
    """The model and its parameters can be pickled and imported by Mesa's spawned workers."""
    rows = sweep({"preset": "two_way", "topic": "racism", "repetitions": 1, "rounds": 1}, [1, 2], number_processes=2)
    assert len({row["RunId"] for row in rows}) == 2


def test_a_generator_draws_the_seed_and_reporters_by_class_are_collected(small: Callable[..., Scenario]) -> None:
    """Mesa takes both: `rng=numpy.random.default_rng(5)`, and `agenttype_reporters`."""
    one, other = (DebateModel(small(), rng=np.random.default_rng(5), backend=Fake(opinionated)) for _ in range(2))
    assert one.setup.seed == other.setup.seed > 0
    kind = type(next(iter(one.agents)))
    named = DebateModel(small(), backend=Fake(opinionated), agenttype_reporters={kind: {"party": "party"}})
    assert set(named.datacollector.get_agenttype_vars_dataframe(kind)["party"]) == {"republican", "democrat", "default"}
