"""The published schemas are those of the code; real cards and tables fit them, and mutations do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from parley.analysis.bundles.bundle import write_bundle
from parley.analysis.bundles.check import SAME, check_bundle
from parley.analysis.card.card import SCHEMA
from parley.analysis.card.estimates import COLUMNS, CardEstimate
from parley.analysis.schemas.card_schema import card_schema
from parley.analysis.schemas.table_schema import table_schema
from parley.analysis.schemas.validation import (
    CARD,
    TABLES,
    check_card,
    check_folder,
    check_table,
    read_schema,
    schema_text,
)
from parley.analysis.table_export import write_tables
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario


def test_the_published_files_are_those_of_the_code() -> None:
    """A column that is added changes the schema: `python -m parley.analysis.schemas.validation` writes it anew."""
    for path, made in ((CARD, card_schema()), (TABLES, table_schema())):
        assert path.read_text(encoding="utf-8") == schema_text(made), path.name
        Draft202012Validator.check_schema(made)
    assert read_schema(CARD)["$id"] == "urn:parley:card:4"
    assert CARD.name == f"card-{SCHEMA.rpartition('-')[2]}.schema.json"


def test_tables_of_a_run_fit_and_mutations_do_not(ran: Callable[..., Path], tmp_path: Path) -> None:
    """A column removed, a text for a number, an attitude of 11, a missing rating without a reason, a row that is cut off."""
    write_tables(load(ran(repetitions=2, rounds=1)), tmp_path / "tables")
    assert all(" fits urn:parley:tables:1: " in sentence for sentence in check_folder(tmp_path))
    path = tmp_path / "tables" / "attitudes.csv"
    whole = path.read_text(encoding="utf-8")
    head, first, *rest = whole.splitlines(keepends=True)
    names = [name.strip('"') for name in head.strip().split(",")]

    def mutated(change: Callable[[list[str]], list[str]], header: str = head) -> None:
        path.write_text(
            header + ",".join(change(first.rstrip("\n").split(","))) + "\n" + "".join(rest), encoding="utf-8"
        )
        with pytest.raises(UserError) as error:
            check_table(path)
        assert "\n" not in str(error.value)

    def put(cells: list[str], name: str, text: str) -> list[str]:
        place = names.index(name)
        return [*cells[:place], text, *cells[place + 1 :]]

    mutated(lambda cells: put(cells, "attitude", "11"))
    mutated(lambda cells: put(cells, "rating", '"much"'))
    mutated(lambda cells: put(cells, "rating", ""))
    mutated(lambda cells: put(cells, "round", "-1"))
    mutated(lambda cells: put(cells, "round", "1.5"))
    mutated(lambda cells: cells[:-1])
    mutated(lambda cells: cells, head.replace('"rating"', '"stars"'))
    path.write_text(whole, encoding="utf-8")
    check_table(path)
    with pytest.raises(UserError, match="has no table named mine"):
        check_table(path.rename(path.with_name("mine.csv")))


def a_card() -> dict:
    """A card with one estimate and one that is missing, as `Card.to_dict` writes it."""
    claims = [CardEstimate("lean", estimate=1.0, low=0.5, high=1.5, n=6), CardEstimate("pull", reason="not run")]
    plain = [{name: getattr(claim, name) for name in (*COLUMNS, "values")} for claim in claims]
    plain = [{name: None if value != value else value for name, value in claim.items()} for claim in plain]
    texts = {"model": "oracle", "stopped": "", "revision": "abc"}
    lists = {
        "parties": ["Republicans"],
        "warnings": [],
        "sentences": ["It leans."],
        "verdicts": [{"question": "q", "answer": "a"}],
    }
    maps = {"battery": {}, "manner": {}, "blocks": {"three": 6}, "versions": {"mesa": "3"}}
    quantities = {"lean": {"section": "Bias", "title": "lean", "measure": "points", "unit": ""}}
    rest = {"note": None, "calls": 9, "rounded": False, "quantities": quantities, "claims": plain, "schema": SCHEMA}
    return {**texts, **lists, **maps, **rest}


def test_a_card_fits_and_mutations_do_not(tmp_path: Path) -> None:
    """Each key removed or added, a text for a number, a missing estimate without a reason, another version, NaN."""
    path = tmp_path / "card.json"
    path.write_text(json.dumps(a_card()))
    assert "2 estimates" in check_card(path)

    def refused(card: object, match: str = "does not fit") -> None:
        path.write_text(card if isinstance(card, str) else json.dumps(card))
        with pytest.raises(UserError, match=match) as error:
            check_card(path)
        assert "\n" not in str(error.value)

    for key in a_card():
        refused({name: value for name, value in a_card().items() if name != key})
    for key in a_card()["claims"][0]:
        card = a_card()
        del card["claims"][1][key]
        refused(card)
    refused({**a_card(), "more": 1})
    refused({**a_card(), "schema": "parley-card-3"})
    refused({**a_card(), "calls": -1})
    card = a_card()
    card["claims"][1]["reason"] = ""
    refused(card, r"claims\[1\]\.reason")
    card = a_card()
    card["claims"][0]["estimate"] = "1.0"
    refused(card, r"claims\[0\]\.estimate")
    refused(json.dumps(a_card()).replace("0.5", "NaN"), "cannot read")
    refused("[]")
    refused("{", "cannot read")


@pytest.mark.thorough
@pytest.mark.parametrize("preset", ["network", "trust_game"])
def test_the_tables_of_every_kind_of_run_fit(small: Callable[..., Scenario], tmp_path: Path, preset: str) -> None:
    """Networks and games have tables of their own, and these come out of their records."""
    sized = {"size": 16} if preset == "network" else {}
    own = {"episodes": 1, "topic": ()} if preset == "consensus" else {}
    run = tmp_path / "r"
    run_scenario(RunSpec(small(preset, repetitions=1, **sized, **own), run))
    write_bundle([run], tmp_path / "b.zip")
    assert {one.verdict for one in check_bundle(tmp_path / "b.zip")} <= {SAME}
    assert check_folder(run)
