"""`study depth`: coverage and uniqueness by hand, planted variety, contradictions and depth are found, and nothing without."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.deep_personas import DeepPersona, Value, begin_person, fill_person, read_people, save_people
from parley.agents.language import ENGLISH
from parley.agents.society import load_society
from parley.agents.taxonomy import Attribute, CoreAttribute, Taxonomy, load_taxonomy
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.asking import Poll
from parley.llm.backends import open_spec
from parley.llm.driver import drive
from parley.llm.seeding import stream
from parley.studies.deep_personas.answers import STRANGERS, DepthStudy, compare_depths, exchange_attributes
from parley.studies.deep_personas.consistency import estimate_contradictions, judge_people
from parley.studies.deep_personas.report import (
    Depths,
    contradiction_lines,
    effect_lines,
    effect_table,
    variety_lines,
    variety_table,
)
from parley.studies.deep_personas.variety import measure_coverage, measure_uniqueness, survey_of_texts

TAXONOMY = load_taxonomy(ENGLISH)
SMALL = Taxonomy(
    (CoreAttribute("age", "You are {value} years old.", ("20", "50"), {}),),
    tuple(Attribute(f"{branch}/{name}", name, "near") for branch in ("a", "b") for name in ("x", "y")),
)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def by_hand(name: str, **sentences: str) -> DeepPersona:
    """Return a person with these sentences; a_x is the attribute a/x."""
    values = tuple(Value(path.replace("_", "/"), "near", text) for path, text in sentences.items())
    return DeepPersona("green", name, f"You are {name}.", (("age", "20", "You are 20 years old."),), values)


def written(count: int, depth: int, spec: str, seed: int = 0) -> list[DeepPersona]:
    """Return people whom a model wrote."""
    society = load_society("us")
    begun = [begin_person("democrat", f"P{number}", society, TAXONOMY, seed) for number in range(count)]
    drawn = [TAXONOMY.draw_attributes(depth, stream(seed, "attributes", one.name)) for one in begun]
    pairs = zip(begun, drawn, strict=True)
    return drive([fill_person(one, attributes, ENGLISH, seed) for one, attributes in pairs], open_spec(spec))


def answered(people: list[DeepPersona], spec: str, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the table and the sentences on a survey of people with the law of attribute_effect=0.5, at depths 0, half, all."""
    folder.mkdir()
    table = survey_of_texts([one.text() for one in people], "us").select([], 8, 0)
    most = len(people[0].values)
    study = DepthStudy(Poll(table, spec, ENGLISH, "persona"), tuple(people), (0, most // 2, most))
    effects = effect_table(compare_depths(study, study.ask(CallDesk(folder, quiet)))[1])
    return effects, effect_lines(effects, study.depths)


def test_coverage_by_hand() -> None:
    """Two people with a/x, a/y and a/x: half of four leaves, one of two branches each; a missing sentence covers nothing."""
    people = [by_hand("Ann", a_x="One.", a_y="Two."), by_hand("Bob", a_x="Three.", b_x="")]
    cover = measure_coverage(people, SMALL, 2)
    assert (cover.leaves, cover.branches) == (0.5, 0.5)
    assert cover.even_leaves == pytest.approx(1 - (1 - 2 / 4) * (1 - 1 / 4))
    assert cover.even_branches == pytest.approx(((1 - 1 / 6) + 1 / 2) / 2)
    assert measure_coverage(people, SMALL, 0).leaves == 0


def test_uniqueness_by_hand() -> None:
    """The same person twice has uniqueness 0, and with one person nothing is known; names do not count."""
    twice = [by_hand("Ann", a_x="You sing."), by_hand("Bob", a_x="You sing.")]
    assert measure_uniqueness(twice, 1).each == pytest.approx([0, 0])
    assert np.isnan(measure_uniqueness(twice[:1], 1).each).all()
    lines = variety_lines(variety_table(Depths(twice, SMALL, (0, 1), 0)))
    assert all("fewer than 5" in line or "no difference for any person" in line for line in lines), lines


@pytest.mark.thorough
def test_planted_variety_is_found_and_none_where_all_write_the_same() -> None:
    """variety=1: words add exactly nothing. variety=6 with own kinds: people are more alike than sentences dealt anew."""
    same = measure_uniqueness(written(12, 10, "oracle,variety=1"), 10)
    assert same.each == pytest.approx(same.alone)
    typed = measure_uniqueness(written(16, 6, "oracle,alike=1"), 6, np.random.default_rng(0))
    assert typed.p == 0.01
    assert typed.each.mean() < typed.dealt
    free = measure_uniqueness(written(16, 6, "oracle"), 6, np.random.default_rng(0))
    assert free.p > 0.05


def test_contradictions_are_those_that_were_planted(tmp_path: Path) -> None:
    """Of contradicts=0.3 about .3 are found, of none none; a judge that always says yes says nothing about people."""
    for share in (0.0, 0.3):
        people, folder = written(30, 10, f"oracle,contradicts={share}"), tmp_path / str(share)
        folder.mkdir()
        judged = judge_people(people, TAXONOMY, 5, "oracle", CallDesk(folder, quiet), 0)
        found = estimate_contradictions(judged)
        assert (found.found, found.false) == (1, 0), share
        assert abs(found.corrected - share) <= (0.1 if share else 0)
    blind = estimate_contradictions(judged.assign(value=1.0))
    assert math.isnan(blind.corrected)
    assert "because the judge does not find" in contradiction_lines(blind)[-1]
    silent = contradiction_lines(estimate_contradictions(judged.assign(value=math.nan)))
    assert all("unknown" in line for line in silent), silent
    few = estimate_contradictions(judged[judged["person"].isin(judged["person"].unique()[:2])])
    assert "fewer than 5 people" in contradiction_lines(few)[-1]


def test_depth_brings_answers_nearer_only_where_attributes_move_them(tmp_path: Path) -> None:
    """With the planted effect more attributes are nearer to people; with effect 0 no question differs at any depth."""
    people = written(10, 8, "oracle")
    effects, lines = answered(people, "oracle,attribute_effect=0.5", tmp_path / "planted")
    scores = effects.set_index("condition")["score"]
    assert scores["0"] < scores["4"] < scores["8"]
    assert lines[0].startswith("With 8 attributes, answers are nearer to people than with 0 attributes")
    nothing, lines = answered(people, "oracle", tmp_path / "null")
    assert (nothing["nearer"] == 0).all()
    assert all("no difference on any question" in line for line in lines)


def test_attributes_are_exchanged_between_people() -> None:
    """Each person gets the attributes of another, each is given once, and the core stays."""
    people = [by_hand(f"P{number}", a_x=f"Sentence {number}.") for number in range(7)]
    strangers = exchange_attributes(people, 0)
    assert {one.values for one in strangers} == {one.values for one in people}
    assert all(one.values != other.values for one, other in zip(people, strangers, strict=True))
    assert [one.core for one in strangers] == [one.core for one in people]
    assert STRANGERS == "strangers"


def test_people_are_read_as_they_were_saved(tmp_path: Path) -> None:
    """Missing sentences, their reasons and commas survive the file."""
    people = [by_hand("Ann", a_x='You say "yes", always.', a_y=""), by_hand("Bob", b_x="Two.")]
    save_people(people, tmp_path, "by hand")
    assert read_people(tmp_path) == people


@pytest.mark.thorough
def test_the_command_reports_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has all three parts and a killed command goes on; wrong depths and groups are refused in one line."""
    made, out = tmp_path / "made", tmp_path / "out"
    assert run.main(f"study personas --set deep --party democrat --count 5 --depth 2 --out {made}".split()) == 0
    given = f"study depth {made} --llm oracle,attribute_effect=0.5 --survey planted --judge oracle"
    given += f" --checked 1 --depths 0,2 --out {out}"
    assert run.main(given.split()) == 0
    page = (out / "depth.md").read_text(encoding="utf-8")
    for part in ("## Variety", "## Contradictions", "## Answers to a survey", "Of our own: oracle"):
        assert part in page, part
    assert run.main(given.split()) == 0
    assert (out / "depth.md").read_text(encoding="utf-8") == page
    for wrong, message in (
        ("--depths 2", "two or more"),
        ("--depths 0,9", "at most 2"),
        ("--survey planted --group Elsewhere", "Elsewhere"),
        ("--survey planted --people 1", "at least 2 people"),
    ):
        assert run.main(f"study depth {made} --out {tmp_path / 'x'} {wrong}".split()) == 2
        assert message in capsys.readouterr().err, wrong
