"""News that people believe or not (fake_news), and news that changes as it goes round (news_roles): by hand, and as planted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.deviation import RUBRIC, by_role, source_of, verdicts
from parley.analysis.judging import Judge, Verdict, missing, read
from parley.analysis.metrics import applies, contagion
from parley.analysis.plots import contagion_figure
from parley.analysis.tables import Tables, load, tables
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.model.debate import DebateModel
from parley.model.events import Header
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset

PEOPLE = {"republican 1": [6, 4, None, 8], "republican 2": [4, 6, 7, 2], "democrat": [2, 5, 5, None]}


def quiet(title: str, total: int) -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def test_believers_by_hand(held: Callable[..., Tables]) -> None:
    """Of 6, 4, 2 one believes; then 4, 6, 5: one caught, one recovered; then a missing one is neither, and moves nowhere."""
    found = contagion.compute(held(PEOPLE, topic="blackout"))
    assert found[["susceptible", "infected", "missing"]].to_numpy().tolist() == [
        [2, 1, 0],
        [2, 1, 0],
        [1, 1, 1],
        [1, 1, 1],
    ]
    assert found["caught"].fillna(-1).tolist() == [-1, 1, 0, 0]
    assert found["recovered"].fillna(-1).tolist() == [-1, 1, 0, 1]
    assert found["reason"].iloc[0] == "fewer than 5 rooms; caught: no survey before; recovered: no survey before"


def test_a_survey_that_nobody_answers_counts_nobody(held: Callable[..., Tables]) -> None:
    """Nobody rated is no number, not nobody infected."""
    found = contagion.compute(held({"republican": [6, None, 6]}, topic="blackout"))
    assert found["infected"].isna().tolist() == [False, True, False]
    assert found["caught"].isna().all()


def test_topics_of_debates_have_no_believers(held: Callable[..., Tables]) -> None:
    other = held(PEOPLE, topic="racism")
    assert not applies(contagion, other)
    assert len(contagion.compute(other)) == 0


def spoken(scenario: Scenario, law: str, line: str) -> Tables:
    """A run in which everybody says the same line, and rates by the known-truth speaker."""
    oracle, recorder = open_spec(law), MemoryRecorder()
    backend = Fake(lambda request: oracle.complete([request])[0] if request.answers else line)
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    header = Header(1, scenario.to_dict(), (), {"backend": "fake"}, {}, "", "", {})
    return tables([header, *recorder.events])


def test_a_refutation_has_the_planted_effect_on_believers() -> None:
    """Where only the refutation (grade 0) says anything, belief b becomes (1 - kappa)^n b after n of them: the counts follow
    from the first survey alone, to the person.
    """
    settings = {"repetitions": 2, "memory": "whole", "reflect": 0, "traits": "", "size": 20}
    scenario = load_preset("fake_news").with_settings(settings)
    found = spoken(scenario, "oracle,kappa=0.3,mu=0,sigma=0", "Nothing from me.")
    first = found.attitudes[found.attitudes["round"] == 0]
    assert (first["expected"] > 5).sum() > 4
    counts = contagion.compute(found).set_index("round")
    for round_, refuted in ((3, 0), (4, 1), (6, 1), (7, 2), (9, 2)):
        belief = (first["expected"] * 0.7**refuted).groupby(first["room"])
        near = belief.apply(lambda known: (abs(known - 5) < 0.51).sum()).sum() / 2  # a rating is a whole number
        planted = belief.apply(lambda known: (known > 5).sum()).mean()
        assert abs(counts.loc[round_, "infected"] - planted) <= near
    assert counts["caught"].dropna().eq(0).all()
    assert counts.loc[4, "recovered"] > 0
    assert counts.loc[[5, 6, 8, 9], "recovered"].eq(0).all()


def test_the_figure_has_both_counts_and_the_refutations(ran: Callable[..., Path]) -> None:
    """Two lines told by marker and line style, and an upright one before each refutation, in steps."""
    folder = ran("fake_news", topics="blackout", rounds=5, size=10, repetitions=2)
    found = load(folder)
    (axis,) = contagion_figure(found, contagion.compute(found)).axes
    assert [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 2] == [3.5]
    looks = {(line.get_linestyle(), line.get_marker()) for line in axis.lines if len(line.get_xdata()) > 2}
    assert {("-", "s"), ("--", "o")} <= looks


@check_each(
    ("reply", "found"),
    [
        (Reply("7"), Verdict(7.0, (), (7.0,))),
        (Reply("perhaps"), missing("no_number")),
        (Reply("7 or 8"), missing("several_numbers")),
        (Reply.failed("timeout"), missing("timeout")),
    ],
)
def test_a_distance_is_read_or_missing(reply: Reply, found: Verdict) -> None:
    assert read(RUBRIC, [reply]) == found


def test_deviations_are_means_of_room_means() -> None:
    """By hand: room a has 2 and 4, room b has 9 and one without a verdict: (3 + 9) / 2."""
    rows = [("a", 2.0), ("a", 4.0), ("b", 9.0), ("b", np.nan)]
    points = by_role(pd.DataFrame(rows, columns=["room", "deviation"]).assign(role="spreader", round=1)).set_index(
        "role"
    )
    told = points.loc["spreader"]
    assert (told["deviation"], told["rooms"], told["utterances"], told["missing"]) == (6.0, 2, 4, 1)
    assert points.loc["everybody", "deviation"] == 6.0


def test_planted_deviations_are_found_again(ran: Callable[..., Path]) -> None:
    """Every utterance of the known-truth speaker is as far from the news as its grade; the role is the speaker's."""
    found = load(ran("news_roles", topics="blackout", size=12, repetitions=2, rounds=2))
    source, bank = source_of(found, "run"), banks().topics["blackout"]
    told = verdicts(found, source, Judge(open_spec("oracle"), quiet), 0)
    assert told["deviation"].tolist() == pytest.approx(
        [abs(bank.grade(text) - bank.grade(source)) for text in told["text"]]
    )
    roles = found.characters.set_index("agent")["role"].to_dict()
    assert told["role"].tolist() == [roles[agent] for agent in told["agent"]]
    assert set(told["role"]) == {"spreader", "commentator", "verifier", "bystander"}


def test_the_command_ends_in_a_report(
    ran: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its figure; another judge in the folder is refused; a run without news says what to give."""
    folder = str(ran("news_roles", topics="blackout", size=12, repetitions=2, rounds=2))
    assert run.main(["deviation", folder, "--llm", "oracle", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "deviation.md").read_text()
    assert "| verifier |" in text
    assert text.index("not the change of a story") < text.index("| verifier |")
    assert (tmp_path / "deviation.png").exists()
    assert run.main(["deviation", folder, "--llm", "fake", "--out", str(tmp_path)]) == 2
    assert run.main(["deviation", str(ran("two_way")), "--llm", "oracle", "--out", str(tmp_path / "b")]) == 2
    assert "give the text of the news with --source" in capsys.readouterr().err
    with pytest.raises(UserError, match="no message from outside the debate"):
        source_of(load(ran("two_way")), "runs/a")
