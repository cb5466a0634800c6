"""What the page calls things: the size of a run is the same everywhere, and tables, columns and places have names to read."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
import pandas as pd

from parley.analysis.metrics import metrics
from parley.analysis.provenance import size_of
from parley.analysis.summary import write_summary
from parley.analysis.tables import Tables, load
from parley.analysis.views import _run_table
from parley.analysis.views._address import named_in, place_of
from parley.analysis.views._columns import column_rows, table_title
from parley.analysis.views._fields import fields_of
from parley.analysis.views._form import first_look, wanted
from parley.analysis.views._header import about
from parley.analysis.views._plan import plan_of
from parley.analysis.views._session import Draft, Session, Shown
from parley.analysis.views.outcome import NO_SURVEY, outcome_of
from parley.model.gallery import preset_title
from parley.model.run_listing import list_runs
from parley.model.run_plan import plan_run
from parley.model.scenario import load_preset, preset_names
from parley.model.scenario_run import RunSpec, run_scenario

SMALL = {"topic": "racism", "size": "8", "repetitions": "1", "rounds": "1", "llm": "oracle", "graph": "ring,degree=2"}
SIZE = "1 room, 8 agents and 1 reference room (one agent answers the surveys alone)"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "network"
    run_scenario(RunSpec(load_preset("network").with_settings(SMALL), folder, tuple(SMALL)))
    return folder


def test_the_size_of_a_run_is_the_same_everywhere(network: Path) -> None:
    """A network of 100 agents was "2 rooms, 101 agents" in the plan and the header, and "1 room" below."""
    tables, scenario = load(network), load_preset("network").with_settings(SMALL)
    assert plan_of(Draft("network", SMALL)).text.startswith(f"{SIZE}, ")
    assert about(tables.header, tables).startswith(f"{SIZE} · 1 round · ")
    assert plan_run(scenario).size == size_of(tables.agents) == SIZE
    results = {name: metric.compute(tables) for name, metric in metrics().items()}
    text = write_summary(tables, results, network / "summary.md", network / "figure.png").read_text()
    assert f"{SIZE} (1 room per topic and group)" in text


def test_a_finished_run_offers_what_its_page_offers(network: Path) -> None:
    """A row had Open, Branch and Delete, and a newcomer did not find the comparison or the audit."""
    (run,) = list_runs(network.parent).rows
    steps = dict(_run_table.row_of(run)["steps"])
    assert list(steps) == ["Open", "Branch", "Compare with another", "Measure this model's bias"]
    assert named_in(steps["Compare with another"].removeprefix("?"), "compare") == [str(network)]
    assert steps["Measure this model's bias"] == "?audit=oracle&topic=racism"


def test_a_place_with_several_values_is_found_again() -> None:
    """`Use a real model` opened `?scenario=three_way%26llm%3Dsmollm2`, a scenario that does not exist."""
    draft = wanted(place_of(scenario="two_way", llm="smollm2", own="").removeprefix("?"))
    assert draft is not None
    assert (draft.preset, draft.given["llm"]) == ("two_way", "smollm2")
    assert "own" not in draft.given


@pytest.mark.parametrize("preset", preset_names())
def test_no_scenario_of_the_page_is_shown_by_its_slug(preset: str) -> None:
    """The list of scenarios had `stages` and `rooms_and_network`."""
    assert re.fullmatch(r"[A-Z][^_]* [^_]+|[A-Z][^_]+", title := preset_title(preset, preset)), title
    assert title.lower() != preset


def test_the_form_says_what_a_first_look_leaves_out() -> None:
    """The form had 5 repetitions where a command has 40, and did not say so."""
    assert first_look("40") == {"note": "5 is for a first look. The scenario's own number is 40."}
    assert first_look("5") == {}


def test_the_field_of_people_says_how_a_file_is_opened() -> None:
    (about,) = [field.about for field in fields_of(load_preset("three_way")) if field.name == "personas"]
    assert "CSV" in about
    assert "--allow-files FOLDER" in about


def test_every_table_and_every_column_has_words(network: Path) -> None:
    """Export listed `utterances` and `broken_replies`, and left the reader with the columns of the file."""
    tables = load(network)
    frames = [field.name for field in fields(Tables) if isinstance(getattr(tables, field.name), pd.DataFrame)]
    for name in (*frames, "episodes", "voices", *metrics()):
        assert re.fullmatch(rf"[A-Z][^_(]+ \({name}\)", table_title(name))
        rows = column_rows(name)
        assert rows, name
        assert all(words for words, _ in rows), name
    assert {column for _, column in column_rows("agents")} >= set(tables.agents.columns)


def test_what_came_out_of_choices_is_said_as_in_their_report(tmp_path: Path) -> None:
    """A run of choices has no survey: the page said that nothing can be said, and the terminal said who herds."""
    settings = {"llm": "oracle", "repetitions": "1", "rounds": "1", "size": "3"}
    run_scenario(RunSpec(load_preset("herding").with_settings(settings), tmp_path, tuple(settings)))
    shown = Shown(load(tmp_path), 1, Session())
    assert outcome_of(shown, tmp_path).sentences == [NO_SURVEY]
    (tmp_path / "summary.md").write_text(
        "# Choices\n\n## In short\n\n- People herd.\n- Few err.\n\n## More\n", encoding="utf-8"
    )
    assert outcome_of(shown, tmp_path).sentences == ["People herd.", "Few err."]
