"""One unit of measurement: what an opinion is does not change within a record, and every place shows the same number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from parley.analysis.findings import findings
from parley.analysis.metrics import metrics
from parley.analysis.rating_value import EXPECTED, NO_DISTRIBUTION, RATING
from parley.analysis.reply_faults import ways_read
from parley.analysis.tables import Tables, load
from parley.model.events import Ended, Event, Header, Rated, Seated

SEATS = ("republican", "democrat", "default")
FLAT = (1 / 11,) * 11
NOISE = (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2)
"""How far the means of six rooms are from that of all."""
MEANS = {"republican": (5.51, 5.33, 5.15), "democrat": (5.72, 5.50, 5.29), "default": (4.60, 4.60, 4.60)}
MODES = {"republican": (8, 8, 1), "democrat": (8, 2, 2), "default": (8, 8, 8)}


Made = Callable[..., Tables]


@pytest.fixture
def made(record: Callable, header: Callable) -> Made:
    """Make six rooms of three, rated three times: flat distributions whose mode jumps. without: ratings that lack one."""

    def make(without: Sequence[tuple[int, str, int]] = (), **fields: object) -> Tables:
        return load(record(_events(header(**fields), without)))

    return make


def _events(first: Header, without: Sequence[tuple[int, str, int]]) -> list[Event]:
    events: list[Event] = [first]
    for room in range(6):
        name = f"racism/republican+democrat+default/{room}"
        for index, seat in enumerate(SEATS):
            agent = 10 * room + index + 1
            events.append(
                Seated(agent, name, "racism", "republican+democrat+default", room, seat, seat, f"{seat}-{room}", "Ava")
            )
            for survey in range(3):
                known, mode = (room, seat, survey) not in without, float(MODES[seat][survey])
                mean = MEANS[seat][survey] + (NOISE[room] if seat != "default" else 0) * (1 + survey / 4)
                shown = (mean, FLAT) if known else (None, None)
                events.append(
                    Rated(name, survey, survey * 3, agent, "attitude", mode, mode, *shown, None, str(mode), "strict", 1)
                )
    return [*events, Ended(2, len(events))]


ONE_IN_FOUR = [(room, seat, (room + place) % 3) for room in range(4) for place, seat in enumerate(SEATS)]
"""Twelve of 54 ratings, none of them of two rooms."""


def told(tables: Tables) -> str:
    measured = metrics()
    return "\n".join(findings(tables, {name: metric.compute(tables) for name, metric in measured.items()}, measured))


def test_some_ratings_without_a_distribution_do_not_change_the_measure(made: Made) -> None:
    """Of 54 ratings of a small model 12 had no distribution: "Republicans went from 8.0 to 1.0" was printed, not -.36."""
    tables = made(ONE_IN_FOUR)
    ratings = tables.attitudes
    assert set(ratings["measure"]) == {EXPECTED}
    assert (ratings["reason"] == NO_DISTRIBUTION).sum() == ratings["attitude"].isna().sum() == 12
    assert ratings["answer"].notna().all(), "the mode stays in its column"
    whole = made()
    (republicans,) = (
        row for row in metrics()["drift"].compute(whole).to_dict("records") if row["party"] == "republican"
    )
    assert republicans["end"] - republicans["start"] == pytest.approx(-0.36, abs=0.005)
    assert (
        "The opinions of Republicans began 0.9 points from the model's own opinion and moved 0.4 points toward it"
        in told(whole)
    )
    text = told(tables)
    assert "8.0" not in text
    assert "1.0" not in text
    assert "12 of 54 ratings have no distribution" in tables.opinion_note
    assert "12 of 54 ratings have no distribution" in text


def test_parties_are_never_measured_in_two_units(made: Made) -> None:
    """Where the Default's ratings alone lacked a distribution, its level was a mode (8.0) and the parties were means (5.7)."""
    tables = made([(room, "default", survey) for room in range(6) for survey in range(3)])
    assert set(tables.attitudes["measure"]) == {EXPECTED}
    found = metrics()["drift"].compute(tables)
    assert found["default"].isna().all()
    assert set(found["reason"]) == {"no rating of the Default has a distribution"}
    assert "no rating of the model's own opinion" not in told(tables)


def test_where_a_model_of_the_run_gives_none_all_are_answers(made: Made) -> None:
    """A party that speaks through a server without probabilities is not dropped: the answers of all are compared."""
    tables = made(
        [(room, "democrat", survey) for room in range(6) for survey in range(3)], llms=["democrat=openai:plain"]
    )
    assert set(tables.attitudes["measure"]) == {RATING}
    assert tables.attitudes["attitude"].equals(tables.attitudes["answer"])
    assert "a model of this run gives no probabilities of its answers" in tables.opinion_note


def test_the_ratings_of_the_paper_are_a_named_option(made: Made) -> None:
    tables = made(ONE_IN_FOUR, measure="rating")
    assert set(tables.attitudes["measure"]) == {RATING}
    assert tables.attitudes["reason"].isna().all()


def test_the_figure_the_text_and_the_table_have_one_number(made: Made) -> None:
    """The figure drew a dashed line at 8.0 where the table said 8.41."""
    tables = made(ONE_IN_FOUR)
    drawn = metrics()["trajectory"].compute(tables).set_index(["party", "round"])["mean"]
    rows = metrics()["drift"].compute(made()).set_index("party")
    whole = metrics()["trajectory"].compute(made()).set_index(["party", "round"])["mean"]
    for party in ("republican", "democrat"):
        assert whole[party, 0] == pytest.approx(rows.loc[party, "start"])
        assert whole[party, 2] == pytest.approx(rows.loc[party, "end"])
    assert drawn.max() < 6, "no mode of 8 among the means"


def _reread(tables: Tables, how: str, covered: float | None) -> Tables:
    return replace(tables, attitudes=tables.attitudes.assign(how=how, covered=covered))


def test_how_probable_the_answers_were_is_shown(made: Made) -> None:
    """A distribution of which the answers were .5% was thrown away, or shown without a word: it is kept, and the share told."""
    tables = made()
    assert "something else" not in told(_reread(tables, "strict, exact", 0.93))
    assert "The allowed answers had only 0.5% of the model's probability**" in told(
        _reread(tables, "strict, exact", 0.005)
    )
    assert ways_read(_reread(tables, "strict, exact", 0.005).attitudes) == (
        "strict, exact: 54; probability of the allowed answers: median 0.5%, lowest 0.5%"
    )


def test_forced_answers_are_called_forced(made: Made) -> None:
    """Seven of seven "10" by a grammar were "0 of 7 ratings are missing", and not a word on the grammar."""
    tables = made()
    assert (
        "All 54 ratings were forced by a schema**, and without the schema the model would have answered something else in 88% of"
        in told(_reread(tables, "strict, choice", 0.12))
    )
    assert "unknown what the model itself would have answered" in told(_reread(tables, "strict, choice", None))
