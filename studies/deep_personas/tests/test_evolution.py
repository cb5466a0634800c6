"""`study evolve`: fit and coverage by hand, a planted attribute is found on held-out questions, nothing without an effect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.language import ENGLISH
from parley.agents.persona import load_personas
from parley.agents.society import load_society
from parley.agents.taxonomy import load_taxonomy
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.asking import Poll
from parley.llm.errors import UserError
from parley.studies.deep_personas.evolution import RANDOM, SELECTED, Candidate, EvolutionStudy, evolution_table
from parley.studies.deep_personas.evolution_report import compare_lines, gain_lines
from parley.studies.deep_personas.variety import TYPICAL, survey_of_kinds


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def study(spec: str, questions: int = 6, **numbers: Any) -> EvolutionStudy:
    base = Poll(survey_of_kinds([TYPICAL]).select([], questions, 0), spec, ENGLISH, "persona")
    small: dict[str, Any] = {"size": 3, "depth": 2, "candidates": 3, "generations": 6, "repeats": 5, **numbers}
    return EvolutionStudy(base, load_society("us"), load_taxonomy(ENGLISH), "default", **small)


def evolved(folder: Path, spec: str, **numbers: Any) -> pd.DataFrame:
    folder.mkdir()
    return evolution_table(study(spec, **numbers).run(CallDesk(folder, quiet)))


def test_fit_and_coverage_by_hand() -> None:
    """A candidate that answers as people fits by 1; two people with two likeliest options of four cover half."""
    one = study("oracle", 4)
    people = np.array([row.shares for row in one.base.table.rows])
    assert one.fit(Candidate((), np.array([people, people])), True) == pytest.approx(1)
    sure = np.zeros((2, 4, 4))
    sure[0, :, 0], sure[1, :, 2] = 1, 1
    assert one.covered(Candidate((), sure), True) == 0.5
    expected = 1 - np.abs(sure.mean(axis=0) - people).sum(axis=1) / 2
    held = ~np.array(one.targets)
    assert one.fit(Candidate((), sure), False) == pytest.approx(expected[held].mean())
    sure[0] = np.nan
    assert one.covered(Candidate((), sure), True) == 0.25, "a missing answer is no answer"
    sure[:, ~held] = np.nan
    assert np.isnan(one.fit(Candidate((), sure), True)), "without answers the fit is unknown"
    assert one.fitness(Candidate((), sure)) == 0, "silence is no advantage"


@pytest.mark.thorough
def test_a_planted_attribute_is_found_on_held_out_questions(tmp_path: Path) -> None:
    """Selection raises the fit to the targets and to questions that it never saw; both lines begin alike."""
    each = evolved(tmp_path / "a", "oracle,attribute_effect=0.5", questions=8)
    gains = compare_lines(each).set_index("measure")
    assert gains.loc["targets", "gain_low"] > 0
    assert gains.loc["held_out", "gain"] > 0.02
    begin = each[each["generation"] == 0].pivot_table(index="repeat", columns="line", values="held_out")
    assert (begin[SELECTED] == begin[RANDOM]).all()
    fits = each[each["line"] == SELECTED].groupby("generation")["targets"].mean()
    assert fits.is_monotonic_increasing


def test_nothing_is_gained_where_attributes_move_nothing(tmp_path: Path) -> None:
    """Without an effect selection and chance give exactly the same, and the page says so."""
    gains = compare_lines(evolved(tmp_path / "a", "oracle", questions=4, generations=1, candidates=2))
    assert (gains[["gain", "change"]] == 0).all(axis=None)
    assert sum("the same" in line for line in gain_lines(gains)) == 4


def test_coverage_alone_fills_options(tmp_path: Path) -> None:
    """With --coverage 1 selection takes the candidates whose people choose more different options."""
    each = evolved(tmp_path / "a", "oracle,attribute_effect=1", coverage=1.0, questions=4, generations=4, repeats=3)
    gains = compare_lines(each).set_index("measure")
    assert gains.loc["targets_covered", "gain"] > 0.02


def test_unreadable_answers_are_missing_and_nothing_is_claimed(tmp_path: Path) -> None:
    """A model without a readable answer has no fit: all is counted as missing, and the gain is unknown with the reason."""
    one = study("fake", 4, repeats=2, generations=1, size=1, candidates=1)
    done = one.run(CallDesk(tmp_path, quiet))
    assert all(each.lost == each.answered for each in done.values())
    assert all("because there are no answers" in line for line in gain_lines(compare_lines(evolution_table(done)))[:-1])


def test_few_repetitions_give_no_verdict(tmp_path: Path) -> None:
    """With two repetitions the gain is unknown, with the reason."""
    gains = compare_lines(evolved(tmp_path / "a", "oracle,attribute_effect=0.5", repeats=2, generations=1, questions=4))
    assert all("fewer than 5" in line or "the same" in line for line in gain_lines(gains)[:-1])


def test_the_command_writes_a_set_of_personas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page, a set that any scenario can use, the same page again; wrong input is one line."""
    own = tmp_path / "survey.csv"
    rows = "".join(f"Question {number}?,Yes|No,{'AB'[number > 3]},0.7|0.3\n" for number in range(8))
    own.write_text(f"question,options,group,shares\n{rows}", encoding="utf-8")
    small = "--size 2 --depth 1 --candidates 2 --generations 1 --repeats 1"
    given = f"study evolve {own} --group A --llm oracle,attribute_effect=0.5 {small} --party democrat --out {tmp_path / 'out'}"
    assert run.main(given.split()) == 0
    page = (tmp_path / "out" / "evolution.md").read_text(encoding="utf-8")
    assert "fewer than 5 repetitions" in page
    assert len(load_personas("democrat", tmp_path / "out" / "people")) == 2
    assert run.main(given.split()) == 0
    assert (tmp_path / "out" / "evolution.md").read_text(encoding="utf-8") == page
    capsys.readouterr()
    for wrong, message in (
        (f"{own}", "name the target with --group"),
        ("planted --coverage 2", "from 0 to 1"),
        ("planted --party demcrat", "did you mean democrat"),
        ("planted --size 999", "first names"),
    ):
        assert run.main(f"study evolve {wrong} --out {tmp_path / 'x'}".split()) == 2
        assert message in capsys.readouterr().err, wrong
    with pytest.raises(UserError, match="at least 4"):
        study("oracle", 3)
