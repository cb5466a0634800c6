"""Shared answers in a run, and the study that says what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from standins import Scrambled, opinionated

import run
from parley.analysis.model_calls import asked_of_model
from parley.analysis.report import Report
from parley.analysis.summary import _how_to_read, run_on
from parley.analysis.tables import Tables, load
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.archetypes.measures import archetypes as study
from parley.studies.archetypes.measures import (
    calls_used,
    compare_cells,
    from_others,
    matched,
    pooled,
    write_savings,
)

pytestmark = pytest.mark.usefixtures("pictures")

SMALL = {"topic": "racism", "repetitions": 8, "rounds": 2, "llm": "oracle"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, Tables]:
    """The same debates with every agent asked and with two answers a kind."""
    base = load_preset("three_way").with_settings(SMALL)
    folders = {size: tmp_path_factory.mktemp(f"size{size}") for size in (0, 2)}
    for size, folder in folders.items():
        run_scenario(RunSpec(base.with_settings({"archetypes": size}), folder))
    return load(folders[0]), load(folders[2])


def test_archetypes_share_answers_and_not_words(both: tuple[Tables, Tables]) -> None:
    """What is said is the same word for word; surveys are fewer, every rating is there, and each that was drawn says so."""
    whole, shared = both
    pd.testing.assert_series_equal(whole.utterances["text"], shared.utterances["text"])
    assert len(whole.attitudes) == len(shared.attitudes)
    drawn = shared.calls[shared.calls["drawn"] > 0]
    assert len(drawn) > 0
    assert set(drawn["purpose"]) == {"survey"}
    assert (drawn["prompt_tokens"] == 0).all()
    assert (shared.attitudes["how"] == "strict, archetype").sum() == len(drawn)
    assert calls_used(shared)["surveys"] == calls_used(whole)["surveys"] - len(drawn)


def test_nobody_draws_from_another_party_survey_or_starting_point(both: tuple[Tables, Tables]) -> None:
    """A rating that was drawn is one that somebody of the kind gave when asked."""
    _, shared = both
    ratings = shared.attitudes.sort_values("round")
    ratings["before"] = ratings.groupby("agent")["answer"].shift().round().astype("string").fillna("none")
    kind = ["party", "round", "before"]
    asked = ratings[ratings["how"] == "strict"].groupby(kind)["answer"].agg(set)
    for row in ratings[ratings["how"] == "strict, archetype"].to_dict("records"):
        assert row["answer"] in asked[tuple(row[name] for name in kind)]


def test_a_resumed_run_draws_the_same(tmp_path: Path) -> None:
    """Stopped and gone on with, and held over a network in another order: the same record, byte for byte."""
    base = load_preset("two_way").with_settings(SMALL | {"archetypes": 2, "repetitions": 4, "llm": "fake"})
    records = []
    for name, backend in (
        ("a", Fake(opinionated)),
        ("b", Scrambled(opinionated, 5, 3)),
        ("c", Scrambled(opinionated, 2, 1)),
    ):
        run_scenario(RunSpec(base, tmp_path / name), backend=backend)
        records.append((tmp_path / name / "record.jsonl").read_bytes())
    assert records[0] == records[1] == records[2]
    (tmp_path / "a" / "record.jsonl").rename(tmp_path / "a" / "record.partial.jsonl")
    outcome = run_scenario(RunSpec(base, tmp_path / "a"), backend=Fake(opinionated))
    assert outcome.asked == 0
    assert (tmp_path / "a" / "record.jsonl").read_bytes() == records[0]


def test_an_unreadable_answer_is_shared_as_unreadable(tmp_path: Path) -> None:
    """Two are asked and say nothing readable: those who draw say the same, and nobody gets a number out of it."""

    def silent(request: Request) -> str | Reply:
        return "Who knows." if request.answers else "I hear you."

    base = load_preset("two_way").with_settings(SMALL | {"archetypes": 2, "asks": 1, "rounds": 0, "llm": "fake"})
    run_scenario(RunSpec(base, tmp_path / "run"), backend=Fake(silent))
    ratings = load(tmp_path / "run").attitudes
    assert ratings["rating"].isna().all()
    assert set(ratings["reason"]) == {"no_number"}
    assert (ratings["how"] == "strict, archetype").sum() > 0


@check_each(
    ("name", "given"),
    [("three_way", {"archetypes": 1}), ("consensus", {"archetypes": 5}), ("three_way", {"archetypes": -1})],
)
def test_what_cannot_be_shared_is_refused(name: str, given: dict) -> None:
    """One answer is no distribution, and people who deliberate in private are all asked."""
    with pytest.raises(UserError, match="archetypes"):
        load_preset(name).with_settings(given)


def drawn(tables: Tables, *who: tuple[str, str]) -> Tables:
    """The ratings of these (room, seat) were drawn from archetypes."""
    agents = tables.agents.set_index("agent")["seat"]
    ratings = tables.attitudes
    here = pd.Series(list(zip(ratings["room"], ratings["agent"].map(agents), strict=True)), ratings.index).isin(who)
    return replace(tables, attitudes=ratings.assign(how=ratings["how"].where(~here, "strict, archetype")))


def test_compare_by_hand(held: Callable) -> None:
    """2 and 6, 4 and 4 against 3 and 6, 4 and 8; the first and the last were drawn.

    Their errors are 1 and 4, those asked have 0; somebody else's rating would be off by (4 + 2 + 2) / 3 and (2 + 2 + 0) / 3.
    """
    room = {"republican 1": [2], "republican 2": [6]}
    whole = held(room, {"republican 1": [4], "republican 2": [4]})
    shared = held({"republican 1": [3], "republican 2": [6]}, {"republican 1": [4], "republican 2": [8]})
    first, last = shared.attitudes["room"].iloc[[0, -1]]
    both = matched(whole, drawn(shared, (first, "republican 1"), (last, "republican 2")))
    row = compare_cells(both).iloc[0]
    for name, value in {
        "n": 4,
        "missing": 0,
        "rooms": 2,
        "mean_all": 4,
        "mean_shared": 5.25,
        "mean_off": 1.25,
        "drawn": 2,
        "drawn_rooms": 2,
        "error": 2.5,
        "error_asked": 0,
        "stranger": 2,
        "gain": -0.5,
        "sd_all": (8 / 3) ** 0.5,
        "sd_off": np.std([3, 6, 4, 8], ddof=1) - (8 / 3) ** 0.5,
    }.items():
        assert row[name] == pytest.approx(value), name
    assert [pooled(both)[name] for name in ("n", "drawn", "error", "stranger", "gain")] == pytest.approx(
        [4, 2, 2.5, 2, -0.5]
    )


def test_the_error_is_that_of_those_who_were_drawn(both: tuple[Tables, Tables]) -> None:
    """Whoever was asked has no error by construction: the headline must not average it in."""
    whole, shared = both
    table = matched(whole, shared)
    others = table[table["drawn"]]
    assert 0 < len(others) < len(table)
    assert table.loc[~table["drawn"], "error"].max() == 0
    overall = pooled(table)
    assert overall["drawn"] == len(others)
    assert overall["error"] == pytest.approx(others["error"].mean())
    assert overall["error"] > table["error"].mean()
    assert overall["error_low"] < overall["error"] < overall["error_high"]


def test_from_others_is_the_mean_over_all_pairs() -> None:
    """The sorted sum is that of the plain loop, with equal values and gaps among them."""
    values = pd.Series([3.0, 1, np.nan, 3, 8, 1, 0.5])
    known = values.dropna()
    plain = [abs(known.drop(place) - one).mean() for place, one in known.items()]
    assert from_others(values)[known.index] == pytest.approx(plain)
    assert np.isnan(from_others(values)[2])
    assert np.isnan(from_others(pd.Series([4.0, np.nan]))).all()


def test_people_who_lack_a_rating_are_counted_and_left_out(held: Callable) -> None:
    """A gap in either run is no difference of anything; one room has no interval, and nobody drawn no error."""
    whole, shared = (held({"republican 1": [first], "republican 2": [6]}) for first in (None, 3))
    row = compare_cells(matched(whole, shared)).iloc[0]
    assert (row["n"], row["missing"], row["drawn"], row["error_asked"]) == (1, 1, 0, 0)
    assert row[["error", "error_low", "stranger", "sd_all"]].isna().all()


def test_the_study_reports_saving_and_error(both: tuple[Tables, Tables], tmp_path: Path) -> None:
    """Both stand in one sentence, and the figure and tables beside it."""
    base = load_preset("three_way").with_settings(SMALL)
    talk = study(base, 2)
    assert next(talk).people.archetypes == 0
    assert talk.send(both[0]).people.archetypes == 2
    with pytest.raises(StopIteration) as done:
        talk.send(both[1])
    path = write_savings(done.value.value, tmp_path, base, 2)
    text = path.read_text()
    asked = calls_used(both[1])["surveys"]
    assert f"{asked} survey calls instead of 72" in text
    assert f"{72 - asked} of 72 ratings were shared" in text
    assert "In the two runs, 100% of the messages are the same" in text
    assert (tmp_path / "archetypes.png").stat().st_size > 10_000
    assert len(pd.read_csv(tmp_path / "cells.csv")) == 9


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run.py study archetypes` from the shell; what makes no sense is one line."""
    given = ["--topic", "racism", "--repetitions", "3", "--rounds", "1", "--llm", "oracle", "--size", "2"]
    assert run.main(["study", "archetypes", *given, "--out", str(tmp_path / "out")]) == 0
    assert "survey calls instead of" in capsys.readouterr().out
    assert run.main(["study", "archetypes", "--size", "1"]) == 2
    assert run.main(["study", "archetypes", "--set", "survey=never"]) == 2


def _page(add: Callable[..., None], *given: object) -> str:
    """What a part of the summary adds to it."""
    report = Report(Path(), "summary")
    add(report, *given)
    return report.text


def test_the_summary_counts_what_was_not_asked(both: tuple[Tables, Tables], ran: Callable) -> None:
    """Asked, the same as others, drawn: together all calls. With the same people in each of three rooms the first ratings are."""
    tables = load(ran("two_way", cast="fixed"))
    twins = len(tables.calls) - len(asked_of_model(tables.calls))
    assert twins == 2 * 3
    told = _page(run_on, tables, {})
    assert f"{len(tables.calls) - 6} asked" in told
    assert "; 6 more answered with the reply to the same question" in told
    shared = _page(run_on, both[1], {})
    assert "rooms are not independent, and the intervals of all tables are too narrow" in _page(_how_to_read, both[1])
    assert "donors" not in _page(_how_to_read, both[0])
    assert (
        f"; {int(both[1].calls['drawn'].sum())} more drawn from archetypes (0 samples were checked again, 0 of them had changed)"
        in shared
    )
