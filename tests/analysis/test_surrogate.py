"""A surrogate finds what was planted, predicts rooms that it has not seen, and says how well wherever it is used."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.laws import People, open_law
from parley.agents.laws.surrogate import Surrogate
from parley.analysis.surrogate import fidelity
from parley.analysis.surrogate.fit import _response, fit_response, run_transitions
from parley.analysis.surrogate.report import surrogate, write
from parley.analysis.tables import Tables, load
from parley.environments.sparse_graphs import ring
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError

pytestmark = pytest.mark.usefixtures("pictures")

ROOMS = 20
MEASURED = {"measure": "expected"}
PLANTED = {"offset": 0.4, "noise": 0.5, "stay": 0.3, "intercept": 0.6, "own": -0.2, "heard": 0.1, "spread": 0.3}
REACH = {"own_low": 0.0, "own_high": 10.0, "heard_low": 0.0, "heard_high": 10.0}
Run = Callable[..., Path]


def grade(topic: str, text: str) -> float | None:
    return banks().topics[topic].grade(text)


@pytest.fixture(scope="module")
def held(ran: Run) -> Tables:
    """20 three-way debates of the known-truth speaker."""
    return load(ran("three_way", repetitions=ROOMS, rounds=5))


def made_up(
    tables: Tables, rooms: int = 120, surveys: int = 6, seed: int = 1, heard: float = PLANTED["heard"]
) -> Tables:
    """Tables of three people a room who follow PLANTED to the letter; a line is its grade."""
    weight = heard
    rng, agents, attitudes, spoken = np.random.default_rng(seed), [], [], []
    for room in range(rooms):
        level, seats = rng.uniform(3, 7, 3), range(3)
        keys = [
            {"room": f"r{room}", "agent": seat, "topic": "racism", "group": "g", "party": "democrat"} for seat in seats
        ]
        agents += keys
        attitudes += [
            key | {"round": 0, "expected": x, "attitude": x} | MEASURED for key, x in zip(keys, level, strict=True)
        ]
        for round_ in range(1, surveys):
            said = level + PLANTED["offset"] + PLANTED["noise"] * rng.standard_normal(3)
            spoken += [
                key | {"round": round_, "iteration": 0, "text": repr(float(x))}
                for key, x in zip(keys, said, strict=True)
            ]
            heard = (said.sum() - said) / 2
            shift = PLANTED["intercept"] + PLANTED["own"] * level + weight * heard
            moved = level + shift + PLANTED["spread"] * rng.standard_normal(3)
            level = np.where(rng.random(3) < PLANTED["stay"], level, moved)
            attitudes += [
                key | {"round": round_, "expected": x, "attitude": x} | MEASURED
                for key, x in zip(keys, level, strict=True)
            ]
    frames = [pd.DataFrame(rows) for rows in (agents, spoken, attitudes)]
    return replace(tables, agents=frames[0], utterances=frames[1], attitudes=frames[2])


def test_what_was_planted_in_made_up_rooms_is_found(held: Tables) -> None:
    """Every number of the response, within four standard errors of 1,800 transitions; each coefficient within its
    interval."""
    data = run_transitions(made_up(held), "racism", lambda topic, text: float(text))
    found = fit_response(data)["democrat"]
    bounds = {
        "offset": 0.05,
        "noise": 0.04,
        "stay": 0.045,
        "intercept": 0.2,
        "own": 0.035,
        "heard": 0.06,
        "spread": 0.03,
    }
    for name, bound in bounds.items():
        assert found[name] == pytest.approx(PLANTED[name], abs=bound), name
    assert (found["transitions"], found["rooms"], found["lines"]) == (1800, 120, 1800)
    for name, (low, high) in found["intervals"].items():
        assert low < PLANTED[name] < high
        assert high - low < 0.4


def test_lines_are_kept_with_their_grades(held: Tables) -> None:
    """Those who stand in for a party say them: each text once, its own grade beside it, and nobody else's words."""
    said = fit_response(run_transitions(held, "racism", grade))["democrat"]["said"]
    spoken = held.utterances.loc[held.utterances["party"] == "democrat", "text"]
    assert len(said) == ROOMS * 5
    assert len({text for _, text in said}) == len(said)
    assert {text for _, text in said} <= set(spoken)
    assert all(round(grade("racism", text) or -1, 4) == at for at, text in said)
    assert [at for at, _ in said] == sorted(at for at, _ in said)


def test_the_oracles_law_is_found_again(held: Tables) -> None:
    """kappa, mu, bias and sigma of docs/oracle.md from the coefficients, for two lines heard in a round: with r = 1 - kappa -
    mu own = r^2 - 1, heard = kappa (1 + r), intercept = mu bias (1 + r), spread = sigma sqrt(1 + r^2). All parties as one:
    one law moves them."""
    data, true = run_transitions(held, "racism", grade), planted()["racism"]
    everybody = replace(data, parties=data.parties.map(lambda _: "all"), steps=data.steps.assign(party="all"))
    one = fit_response(everybody)["all"]
    r = math.sqrt(1 + one["own"])
    kappa = one["heard"] / (1 + r)
    assert kappa == pytest.approx(true.kappa, abs=0.012)
    assert 1 - r - kappa == pytest.approx(true.mu, abs=0.012)
    assert one["intercept"] / (1 + r) / (1 - r - kappa) == pytest.approx(true.bias, abs=0.3)
    assert one["spread"] / math.hypot(1, r) == pytest.approx(true.sigma, abs=0.015)


def test_without_influence_none_is_found(ran: Run) -> None:
    """The control, kappa = mu = 0: intervals of `own` and `heard` hold 0 in at least four of six (three parties each)."""
    tables = load(ran("three_way", repetitions=20, rounds=4, llm="oracle,kappa=0,mu=0", seed=4))
    found = [one["intervals"] for one in fit_response(run_transitions(tables, "racism", grade)).values()]
    assert sum(low <= 0 <= high for one in found for low, high in (one["own"], one["heard"])) >= 4


def walks(rooms: int, seed: int) -> pd.DataFrame:
    """Steps of two people a room who walk about and hear each other, and whom nothing moves."""
    rng = np.random.default_rng(seed)
    levels = 5 + 0.3 * rng.standard_normal((rooms, 2, 1)) + 0.2 * rng.standard_normal((rooms, 2, 5)).cumsum(axis=2)
    own, after, heard = levels[..., :-1], levels[..., 1:], levels[:, ::-1, :-1]
    room = np.repeat(np.arange(rooms), 8)
    return pd.DataFrame({"room": room, "own": own.ravel(), "after": after.ravel(), "heard": heard.ravel()})


def test_intervals_cover_where_nothing_moves_anybody() -> None:
    """A walk looks as if it were drawn back to its start, the more the fewer rooms: over 150 sets of 12 rooms the 95%
    intervals of `own` and `heard` hold 0 in at least 90%, and the mean error is within three standard errors of 0 (plain
    least squares: four and more)."""
    found = [_response(walks(12, seed)) for seed in range(150)]
    for name in ("own", "heard"):
        ends = np.array([one["intervals"][name] for one in found])
        assert ((ends[:, 0] <= 0) & (ends[:, 1] >= 0)).mean() >= 0.9
        errors = np.array([one[name] for one in found])
        assert abs(errors.mean()) <= 3 * errors.std() / len(errors) ** 0.5


def test_who_never_moves_or_always_hears_the_same_is_fitted_without_intervals() -> None:
    """Nothing to tell apart: what was seen is predicted, and no interval pretends to more."""
    still = walks(12, 1).assign(after=lambda rows: rows["own"])
    one = _response(still)
    assert (one["stay"], one["own"], one["heard"], one["spread"], one["intervals"]) == (1.0, 0.0, 0.0, 0.0, None)
    deaf = _response(walks(12, 1).assign(heard=4.0))
    assert deaf["intervals"] is None
    assert deaf["intercept"] + deaf["own"] * 5 + deaf["heard"] * 4 == pytest.approx(0, abs=0.1)


def test_what_is_heard_by_hand(held: Tables) -> None:
    """Two of the others spoke 4 and (unreadable), oneself 9: heard is 4. By attitudes: the mean of the speakers' at the
    survey before. A missing rating and nothing heard are counted by reason, and are no number."""
    key = [{"room": "r", "agent": seat, "topic": "racism", "group": "g", "party": "democrat"} for seat in range(3)]
    before, after = (5.0, 2.0, 8.0), (6.0, np.nan, 8.0)
    rated = [k | {"round": 0, "expected": x, "attitude": x} | MEASURED for k, x in zip(key, before, strict=True)]
    rated += [k | {"round": 1, "expected": x, "attitude": x} | MEASURED for k, x in zip(key, after, strict=True)]
    spoken = [
        k | {"round": 1, "iteration": n, "text": t}
        for n, (k, t) in enumerate(zip(key, ("9", "4", "?"), strict=True), 1)
    ]
    tables = replace(held, agents=pd.DataFrame(key), utterances=pd.DataFrame(spoken), attitudes=pd.DataFrame(rated))
    data = run_transitions(tables, "racism", lambda topic, text: None if text == "?" else float(text))
    assert data.steps[["agent", "own", "heard", "after"]].to_numpy().tolist() == [[0, 5, 4, 6], [2, 8, 6.5, 8]]
    assert data.missing == {"no attitude after": 1}
    assert (data.spoken["grade"] - data.spoken["own"]).tolist() == [4, 2]
    by_attitude = run_transitions(tables, "racism", None)
    assert by_attitude.steps["heard"].tolist() == [5.0, 3.5]
    assert by_attitude.spoken.empty
    silent = replace(tables, utterances=tables.utterances.iloc[:1])
    assert run_transitions(silent, "racism", lambda *_: 9.0).missing == {
        "no attitude after": 1,
        "nothing heard that could be graded": 1,
    }


def test_in_a_network_only_what_was_shown_is_heard(held: Tables) -> None:
    """Agent 0 was shown line 2 and, in the second round, line 1 of the first again; 1 heard nothing; links at the start are
    the graph of a prediction, in which 0 hears 1 and 1 nobody."""
    key = [{"room": "r", "agent": seat, "topic": "racism", "group": "g", "party": "democrat"} for seat in (5, 6)]
    rated = [
        k | {"round": n, "expected": x, "attitude": x} | MEASURED
        for n in range(3)
        for k, x in zip(key, (5.0, 2.0), strict=True)
    ]
    spoken = [key[n % 2] | {"round": 1 + n // 2, "iteration": n + 1, "text": str(n + 1)} for n in range(4)]
    heard = pd.DataFrame({"room": "r", "round": [1, 2, 2], "agent": 5, "iteration": [2, 1, 4]})
    links = pd.DataFrame({"room": "r", "round": [0, 1], "change": "added", "source": [5, 6], "target": [6, 5]})
    frames = {
        name: pd.DataFrame(rows) for name, rows in (("agents", key), ("utterances", spoken), ("attitudes", rated))
    }
    data = run_transitions(replace(held, **frames, heard=heard, links=links), "racism", lambda topic, text: float(text))
    assert data.steps[["agent", "heard"]].to_numpy().tolist() == [[5, 2.0], [5, 2.5]]
    assert data.missing == {"nothing heard that could be graded": 2}
    graph = fidelity._graph(data.levels.index, np.zeros(2, dtype=np.int64), data.links)
    assert graph.toarray().tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_a_step_by_hand() -> None:
    """No noise: three on a ring at 2, 4, 9 hear 6.5 + 1, 5.5 + 1 (clipped: 9 says 10, not 10.0 + ...), 3 + 1; each by its
    party."""
    calm = PLANTED | REACH | {"noise": 0.0, "stay": 0.0, "spread": 0.0, "offset": 1.0}
    law = Surrogate(fit={"parties": {"a": calm, "b": calm | {"stay": 1.0}}})
    start, graph = np.array([2.0, 4.0, 9.0]), ring(3, 2)
    begun = law.begin(start, People(np.array([0, 0, 1]), ("a", "b")))
    moved = begun.step(start, graph, np.random.default_rng(1))
    assert moved == pytest.approx([2 + 0.6 - 0.4 + 0.1 * 7.5, 4 + 0.6 - 0.8 + 0.1 * 6.5, 9.0])
    assert begun.beyond(start, graph) == 0.0
    tight = Surrogate(fit={"parties": {"a": calm | {"heard_high": 7.0}, "b": calm | {"own_low": 9.5}}})
    assert tight.begin(start, People(np.array([0, 0, 1]), ("a", "b"))).beyond(start, graph) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="cannot replace c"):
        law.begin(start, People(np.array([0, 0, 0]), ("c",)))


def test_unseen_rooms_are_predicted_better_than_by_either_baseline(held: Tables) -> None:
    """On the oracle, whose law it has: path error below a third of both; spread and share that moved within their
    intervals."""
    scores = fidelity.fidelity(run_transitions(held, "racism", grade), "racism").set_index(["score", "who"])
    error = scores.loc["path"]["value"]
    assert error["surrogate"] < error[fidelity.DEAF]
    assert error["surrogate"] < min(error["no agent moves"], error["to the mean"]) / 3
    assert (scores.loc["gain"]["low"] > 0).all()
    for score in ("spread", "moved"):
        row = scores.loc[(f"{score} too large", "surrogate")]
        assert row["low"] < 0.06
        assert row["high"] > -0.06
        assert scores.loc[(score, "real"), "value"] > 0.3
    assert (scores["rooms"] == ROOMS).all()
    assert scores.loc["moved"][["low", "high"]].stack().dropna().between(0, 1).all()


def gain(tables: Tables) -> pd.Series:
    """What hearing adds to the prediction of made-up rooms."""
    scores = fidelity.fidelity(run_transitions(tables, "racism", lambda topic, text: float(text)), "racism")
    return scores.set_index(["score", "who"]).loc[("gain", fidelity.DEAF)]


@pytest.mark.thorough
def test_where_hearing_moves_nobody_nothing_is_gained_by_it(held: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """The null: people drift to a level of their own, whatever they hear. Of 12 sets of 40 rooms at most one claims a gain."""
    monkeypatch.setattr(fidelity, "DRAWS", 10)
    found = [gain(made_up(held, rooms=40, seed=seed, heard=0.0)) for seed in range(12)]
    assert sum(one["low"] > 0 for one in found) <= 1
    assert abs(np.mean([one["value"] for one in found])) < 0.01


def test_where_hearing_moves_people_the_gain_is_found(held: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted influence makes the law with hearing the better one, beyond chance, and the report says so."""
    monkeypatch.setattr(fidelity, "DRAWS", 10)
    assert gain(made_up(held, heard=0.3))["low"] > 0
    assert "**What agents read improves the prediction.**" in "".join(
        surrogate(made_up(held, heard=0.3), "attitudes")["topics"]["racism"]["told"]
    )


def test_without_hearing_two_numbers_are_fitted(held: Tables) -> None:
    """The baseline is the level and the rate of each party, as least squares has them but for the bias of so few rooms."""
    data = run_transitions(held, "racism", grade)
    for party, one in fit_response(data, hears=False).items():
        steps = data.steps[data.steps["party"] == party]
        slope, start = np.polyfit(steps["own"], steps["after"] - steps["own"], 1)
        assert one["heard"] == 0
        assert one["own"] == pytest.approx(slope, abs=0.03)
        assert -one["intercept"] / one["own"] == pytest.approx(-start / slope, abs=0.4)


def test_a_room_is_never_in_its_own_fit(held: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise fidelity would be that of memory: every room is held out exactly once, and none of those held out is fitted
    to."""
    fitted: list[set[str]] = []
    monkeypatch.setattr(fidelity, "fit_response", lambda data, rooms, hears=True: fitted.append(set(rooms)))
    data = run_transitions(held, "racism", grade)
    folds = [set(out) for out, _, _ in fidelity._folds(data, "racism")]
    every = set(data.levels.index.get_level_values("room"))
    assert sorted(room for fold in folds for room in fold) == sorted(every)
    assert [every - kept for kept in fitted[::2]] == [every - kept for kept in fitted[1::2]] == folds


def test_scores_of_a_room_by_hand() -> None:
    """Two people of one party, two surveys: real 2 6 -> 4 6, predicted 3 6: means 5 and 4.5, path error 0.5; spread 1 and
    1.5; half of them moved, and half (one point is enough); no agent moves is off by 1 in the mean, the mean (4) as well."""
    real, drawn = np.array([[2.0, 4.0], [6.0, 6.0]]), np.array([[[2.0, 3.0], [6.0, 6.0]]])
    found = fidelity._room(real, np.array([0, 0]), drawn, drawn + 1, np.array([[2.0, 2.0], [6.0, 6.0]]))
    assert [found[f"path, {who}"] for who in fidelity.WHO] == [0.5, 0.5, 1.0, 1.0]
    assert [found[f"gain, {who}"] for who in fidelity.WHO[1:]] == [0.0, 0.5, 0.5]
    assert (found["spread, real"], found["spread, surrogate"], found["spread, to the mean"]) == (1.0, 1.5, 0.0)
    assert (found["moved, real"], found["moved, surrogate"], found["moved, no agent moves"]) == (0.5, 0.5, 0.0)


def test_too_few_rooms_and_a_mediator_are_refused(held: Tables, ran: Run) -> None:
    few = partial(load, ran("three_way", repetitions=6))
    with pytest.raises(UserError, match="at least 10"):
        surrogate(few())
    with pytest.raises(UserError, match="interventions"):
        run_transitions(replace(held, interventions=pd.DataFrame({"room": ["r"]})), "racism", grade)
    with pytest.raises(UserError, match="a mediator"):
        run_transitions(replace(held, agents=held.agents.assign(party="mediator")), "racism", grade)
    with pytest.raises(UserError, match="no ratings before and after"):
        surrogate(load(ran("two_way", survey="never")))


@pytest.fixture(scope="module")
def file(held: Tables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(surrogate(held), tmp_path_factory.mktemp("surrogate") / "surrogate.json")


def test_a_population_says_how_good_its_surrogate_is(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fidelity beside both baselines and who the speakers were stand in the summary, the console and the figure of everything
    that used it."""
    command = ["population", "--law", f"surrogate:{file}", "--agents", "600", "--steps", "3", "--out", str(tmp_path)]
    assert run.main(command) == 0
    assert "path error on unseen rooms 0." in capsys.readouterr().out
    summary = (tmp_path / "summary.md").read_text()
    for words in (
        "path error (points)",
        "no agent moves",
        "without hearing",
        "known-truth speaker",
        "outside the surrogate's fitted range",
    ):
        assert words in summary
    assert "unseen" in (tmp_path / "figures" / "distribution.svg").read_text()
    scalars = pd.read_parquet(tmp_path / "tables" / "scalars.parquet")
    assert scalars["mean_republican"].iloc[0] < 5 < scalars["mean_democrat"].iloc[0]
    assert scalars["mean_republican"].is_monotonic_increasing  # they are drawn to 8
    assert scalars["beyond"].between(0, 1).all()


def test_beyond_the_rounds_of_the_fit_a_population_says_that_it_extrapolates(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error is known for the rounds of the run alone: title, summary and console say so for more steps, and only then."""
    for steps, warned in ((5, False), (20, True)):
        out = tmp_path / str(steps)
        command = [
            "population",
            "--law",
            f"surrogate:{file}",
            "--agents",
            "60",
            "--steps",
            str(steps),
            "--out",
            str(out),
        ]
        assert run.main(command) == 0
        title = (out / "figures" / "distribution.svg").read_text()
        summary = (out / "summary.md").read_text()
        assert ("Extrapolation" in title) == warned
        for text in (capsys.readouterr().out, summary):
            assert (f"Extrapolation: {steps} steps, fitted to 5 rounds" in text) == warned
        assert "There is no feed and no intervention" in summary


def test_the_file_names_the_question_that_it_answers(held: Tables) -> None:
    """A response fitted to answers to one question says nothing of another (model/surrogate_seats.py refuses it)."""
    asked = replace(held, header=replace(held.header, scenario=held.header.scenario | {"probe": "agreement"}))
    for tables, probe in ((held, "attitude"), (asked, "agreement")):
        fit = surrogate(tables)["topics"]["racism"]
        assert fit["probe"] == probe
        assert f"Survey question: {probe}; agents respond to" in "".join(fit["told"])


def test_the_same_record_gives_the_same_file(held: Tables, file: Path, tmp_path: Path) -> None:
    assert write(surrogate(held), tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_files_that_are_none_are_told(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    two = tmp_path / "two.json"
    found = json.loads(file.read_text())
    two.write_text(json.dumps(found | {"topics": found["topics"] | {"more": {}}}))
    old = tmp_path / "old.json"
    old.write_text(json.dumps(found | {"schema": 0}))
    for spec, told in [
        ("surrogate", "give this file as --law surrogate:FILE"),
        (f"surrogate:{tmp_path}/none.json", "No such file"),
        (f"surrogate:{other}", "it is none"),
        (f"surrogate:{old}", "fit the surrogate again"),
        (f"surrogate:{two}", "choose one"),
        (f"surrogate:{file},topic=racsim", "did you mean racism"),
    ]:
        with pytest.raises(UserError, match=told):
            open_law(spec)
