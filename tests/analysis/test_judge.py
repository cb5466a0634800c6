"""A judge of statements: what it sees, what is read, and that a bad judge is found out."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.probe import scales
from parley.agents.society import PartyNames
from parley.agents.topic import load_topic, topic_names
from parley.analysis.judge_quality import (
    against_themselves,
    against_truth,
    comparable,
    confusion,
    correlation,
    faults,
    first_and_last,
    on_axis,
    on_scale,
    truth,
    warning,
    warning_of,
    write,
)
from parley.analysis.judge_reliability import ONE_READING, corrected_rows
from parley.analysis.judging import Item, Judge, Verdict, compose, judge_item, load_rubric, read
from parley.analysis.scores.table import COLUMNS, checked
from parley.analysis.statement_judge import Judging, examples, score_table, statement_item, verdict_table
from parley.analysis.tables import Tables, load
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.phrases import banks
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

QUIET = {"topic": "abortion,racism", "repetitions": 5, "rounds": 2, "llm": "oracle"}


def bar(title: str, total: int, unit: str = "call") -> nullcontext[Callable[[int], object]]:
    return nullcontext(lambda steps: None)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged") / "run"
    run_scenario(RunSpec(load_preset("three_way").with_settings(QUIET), folder))
    return folder


@pytest.fixture(scope="module")
def tables(held: Path) -> Tables:
    return load(held)


def statement(judging: Judging) -> Item:
    return statement_item("room 1", load_topic("racism"), "I say so.", "Wyatt", "republican", judging)


def asked(judging: Judging, call: int = 0) -> Request:
    return compose(judging.rubric, statement(judging), judging.seed, call)


def judged(judging: Judging, backend: Fake) -> Verdict:
    return drive([judge_item(judging.rubric, statement(judging), judging.seed)], backend)[0]


def told(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def test_the_judge_sees_neither_name_nor_party_unless_it_is_asked_to() -> None:
    """A judge that knows who speaks scores the label (a person on a statement's words would not)."""
    assert not re.search("wyatt|republican", told(asked(Judging())), re.I)
    assert "Statement (Wyatt, republican): I say so." in told(asked(Judging(told=("name", "party"))))


def test_every_claim_is_that_of_the_topic_and_every_topic_has_examples() -> None:
    """The claims of the UCL study's Table 3; both ends come first, so that two examples show the scale."""
    assert load_topic("illegal_immigration").claim == "immigrants are taking jobs from Americans"
    for slug in topic_names():
        shown = examples(slug)
        assert [score for _, score in shown[:2]] == [1, 7]
        assert len(shown) >= 4
        assert not any(banks().topics[slug].grade(text) is not None for text, _ in shown), (
            "an example from a speaker's bank"
        )


def test_the_examples_are_turns_of_a_chat_and_as_many_as_asked_for() -> None:
    """A score of an example must not be taken for the verdict, so the statement stands alone in the last message."""
    request = asked(Judging(shown=2))
    assert [message.role for message in request.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert request.messages[-1].content.count("Statement") == 1
    assert request.answers == ("1", "2", "3", "4", "5", "6", "7")


def test_each_call_has_a_seed_of_its_own() -> None:
    assert len({asked(Judging(), call).seed for call in range(3)}) == 3


@check_each(
    ("replies", "score", "readings", "reasons"),
    [
        (["5", "6", "7"], 6.0, 3, 0),
        (["5", "no idea", "7"], 6.0, 2, 1),
        (["5 or 6", "I cannot say", ""], None, 0, 3),
        (["8", "0", "4"], 4.0, 1, 2),
    ],
)
def test_what_cannot_be_read_is_left_out_with_a_reason(
    replies: list[str], score: float | None, readings: int, reasons: int
) -> None:
    """Never clamped, never a 4: a verdict without any reading is None."""
    found = read(load_rubric("judge"), [Reply(text) for text in replies])
    assert (found.value, len(found.readings), len(found.reasons)) == (score, readings, reasons)


def test_a_distribution_is_asked_for_once_and_its_mean_taken() -> None:
    shares = dict(zip("1234567", (0, 0, 0, 0, 0.5, 0.5, 0), strict=True))
    sent: list[Request] = []

    def answer(request: Request) -> Reply:
        sent.append(request)
        return Reply("5", answers=shares)

    assert (judged(Judging(calls=3), Fake(answer)).value, len(sent)) == (5.5, 1)


def test_a_judge_that_fails_has_no_score_and_a_named_reason() -> None:
    found = judged(Judging(calls=2), Fake(lambda request: Reply.failed("timeout")))
    assert found == Verdict(None, ("timeout", "timeout"))


def test_every_statement_is_judged_in_its_order(tables: Tables) -> None:
    found = verdict_table(tables, Judge(open_spec("oracle"), bar), Judging())
    assert len(found) == 2 * 5 * 2 * 3
    assert found.groupby(["room", "agent"])["statement"].apply(list).map(tuple).unique().tolist() == [(1, 2)]


def test_a_judge_that_reads_rightly_is_found_to(tables: Tables) -> None:
    """The known-truth speaker judges its own sentences without error."""
    found = against_truth(verdict_table(tables, Judge(open_spec("oracle"), bar), Judging()))
    assert found["r"].tolist() == pytest.approx([1, 1])
    assert found["error"].tolist() == pytest.approx([0, 0])
    assert found["statements"].tolist() == [30, 30]


def biased(by: float) -> Fake:
    """Scores that are the known truth's and so many points more, within the scale."""
    oracle = open_spec("oracle")

    def answer(request: Request) -> Reply:
        right = oracle.complete([request])[0]
        if not right.answers:
            return right
        mean = sum(int(point) * share for point, share in right.answers.items())
        return Reply(str(min(7, max(1, round(mean + by)))))

    return Fake(answer)


def test_a_judge_that_leans_is_found_out(tables: Tables) -> None:
    """A point too high on everything: the bias is told with its sign, the ranks stay."""
    lenient, fair = (against_truth(verdict_table(tables, Judge(biased(by), bar), Judging(calls=1))) for by in (1, 0))
    assert (lenient["bias_low"] > 0.3).all()
    assert (fair["bias"].abs() < 0.3).all()
    assert (lenient["r"] > 0.8).all()


def test_a_judge_that_draws_lots_is_found_out(tables: Tables) -> None:
    rng = np.random.default_rng(0)
    found = against_truth(
        verdict_table(tables, Judge(Fake(lambda request: str(rng.integers(1, 8))), bar), Judging(calls=1))
    )
    assert (found["r"].abs() < 0.5).all()
    assert (found["error"] > 1).all()


def test_a_run_of_unknown_sentences_is_unchecked_and_not_perfect(tables: Tables) -> None:
    strange = verdict_table(tables, Judge(open_spec("oracle"), bar), Judging()).assign(
        text="Something strange.", score=4.0
    )
    assert truth(strange).isna().all()
    assert against_truth(strange).empty
    assert confusion(strange).to_numpy().sum() == 0


def test_the_confusion_counts_every_statement_once(tables: Tables) -> None:
    found = verdict_table(tables, Judge(biased(1), bar), Judging(calls=1))
    counts = confusion(found)
    assert counts.to_numpy().sum() == len(found)
    assert np.tril(counts.to_numpy(), -1).sum() == 0  # a judge that leans up gives nobody less


def test_hidden_ratings_and_verdicts_meet_agent_by_agent(tables: Tables) -> None:
    """Self-report after the same round; what is said follows what is thought, so they agree in ranks, and in level where people
    were asked for agreement with the claim. Agreement with a claim minus the severity of a problem is no number.
    """
    found = against_themselves(verdict_table(tables, Judge(open_spec("oracle"), bar), Judging()), tables.attitudes)
    assert found["statements"].tolist() == [30, 30]
    assert (found["r"] > 0.7).all()
    level = found.set_index("topic")[["bias", "bias_low", "bias_high", "error"]]
    assert abs(level.loc["abortion", "bias"]) < 0.5
    assert level.loc["racism"].isna().all()


@check_each(
    ("topic", "probe", "same"),
    [
        ("racism", "attitude_labelled", False),
        ("racism", "agreement@agreement_0_10", True),
        ("climate_change", "attitude", False),
        ("abortion", "attitude", True),
        ("gun_violence", "agreement", True),
    ],
)
def test_the_topic_says_whether_people_were_asked_what_a_judge_scores(topic: str, probe: str, same: bool) -> None:
    assert comparable(topic, probe) == same


def test_a_bad_judge_is_flagged_in_the_first_lines(tables: Tables, tmp_path: Path) -> None:
    """Lots, one word for everything, and a lean of a point: each is named with its figure; a fair judge and few lines are not."""
    rng = np.random.default_rng(0)
    lots = Fake(lambda request: str(rng.integers(1, 8)))
    for judge_, said in ((lots, "below 0.7"), (Fake(lambda request: "4"), "one score"), (biased(1), "too high")):
        scored = verdict_table(tables, Judge(judge_, bar), Judging(calls=1))
        checked_ = against_truth(scored)
        assert set(faults(checked_)) == {"abortion", "racism"}
        assert all(said in fault for fault in faults(checked_).values())
        text = write(scored, tables, tmp_path, "fake", Judging()).read_text()
        assert text.index("Do not use this judge's scores") < text.index("## Scores")
    fair = against_truth(verdict_table(tables, Judge(open_spec("oracle"), bar), Judging()))
    assert warning(fair) == ""
    assert warning(against_truth(scored.head(9))) == ""


@pytest.mark.thorough
def test_what_is_made_of_a_bad_judges_scores_says_so(
    tables: Tables, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report on scores.csv finds how good the judge was beside it; a fair judge, and a CSV of one's own, are not warned of."""
    for name, by, warned in (("lenient", 1, True), ("fair", 0, False)):
        folder = tmp_path / name
        folder.mkdir()
        scored = verdict_table(tables, Judge(biased(by), bar), Judging(calls=1))
        write(scored, tables, folder, "fake", Judging())
        score_table(scored).to_csv(folder / "scores.csv", index=False)
        assert run.main(["study", "analyse", str(folder / "scores.csv"), "--out", str(folder / "report")]) == 0
        assert ("Do not use this judge's scores" in capsys.readouterr().out) == warned
        text = (folder / "report" / "report.md").read_text()
        assert ("Do not use this judge's scores" in text) == warned
    assert warning_of(tmp_path) == ""


def test_scores_that_never_vary_have_no_correlation(tables: Tables) -> None:
    """Nothing varies, so nothing can be told: a named reason in place of a number."""
    scored = verdict_table(tables, Judge(Fake(lambda request: "4"), bar), Judging(calls=1))
    row = against_truth(scored).iloc[0]
    assert row["reason"] == "one score for all statements"
    assert np.isnan(row["r"])


def test_a_correlation_of_sums_is_that_of_the_numbers() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    sums = np.array([30, x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()])
    assert correlation(sums) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_verdicts_are_a_table_of_scores(tables: Tables) -> None:
    found = checked(score_table(verdict_table(tables, Judge(open_spec("oracle"), bar), Judging())), "the test")
    assert found.columns.tolist() == COLUMNS
    assert found["run"].nunique() == 10


def test_a_run_is_judged_on_the_command_line_and_judged_again_for_nothing(
    held: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time everything comes from the journal; the scores can be analysed as any CSV."""
    out = tmp_path / "judge"
    command = ["study", "judge", str(held), "--llm", "oracle", "--out", str(out)]
    assert run.main(command) == 0
    first = (out / "verdicts.csv").read_bytes()
    with sqlite3.connect(out / "verdicts.sqlite") as database:
        before = database.execute("SELECT COUNT(*) FROM outcomes").fetchone()
    assert run.main(command) == 0
    with sqlite3.connect(out / "verdicts.sqlite") as database:
        assert database.execute("SELECT COUNT(*) FROM outcomes").fetchone() == before
    assert (out / "verdicts.csv").read_bytes() == first
    text = (out / "judge.md").read_text()
    assert "known-truth speaker" in text
    assert "rank correlation against self-report" in text
    assert json.loads((out / "judge.json").read_text())["calls"] == 3
    assert run.main(["study", "analyse", str(out / "scores.csv"), "--out", str(tmp_path / "report")]) == 0
    assert pd.read_csv(tmp_path / "report" / "gradients.csv")["runs"].tolist() == [5] * 6


def test_another_judging_wants_another_folder(held: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "judge", str(held), "--llm", "oracle", "--out", str(tmp_path / "judge")]
    assert run.main(command) == 0
    assert run.main([*command, "--examples", "2"]) == 2
    assert "already has another judging" in capsys.readouterr().err


@check_each(
    ("options", "said"),
    [
        (["--calls", "0"], "--calls: must be 1 or more, but is 0"),
        (["--tell", "age"], "name and party of the speaker, not age"),
        (["--llm", "orakle"], "orakle"),
    ],
)
def test_what_a_judge_cannot_be_asked_is_one_line(
    held: Path, tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "study",
        "judge",
        str(held),
        "--out",
        str(tmp_path / "judge"),
        *(["--llm", "oracle"] if "--llm" not in options else []),
    ]
    assert run.main([*command, *options]) == 2
    assert said in capsys.readouterr().err


def test_private_deliberations_are_not_judged_by_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their questions are no topics with a claim; what to use instead is said."""
    few = {"repetitions": 1, "episodes": 1, "survey": "never", "llm": "oracle"}
    run_scenario(RunSpec(load_preset("consensus").with_settings(few), tmp_path / "run"))
    assert run.main(["study", "judge", str(tmp_path / "run"), "--llm", "oracle"]) == 2
    said = capsys.readouterr().err
    assert f"run.py study representatives substitute {tmp_path / 'run'} --judge SPEC" in said
    assert said.count("\n") == 1


def test_a_topic_without_a_claim_cannot_be_judged() -> None:
    topic = load_topic("racism")
    probe = topic.probe("agreement")
    strange = type(probe)(probe.name, probe.construct, probe.scale, "Do you agree?", probe.polarity)
    with pytest.raises(UserError, match="its agreement probe must begin with"):
        _ = replace(topic, probes={"agreement": strange}).claim


def test_a_turn_without_words_keeps_its_place(tables: Tables) -> None:
    """Else every later statement would move up by one, and a closing would be what came before it."""
    said = tables.utterances.copy()
    (room, agent) = said.loc[0, ["room", "agent"]]
    gone = (said["room"] == room) & (said["agent"] == agent) & (said["round"] == 1)
    said.loc[gone, ["text", "reason"]] = [None, "refusal"]
    found = verdict_table(replace(tables, utterances=said), Judge(open_spec("oracle"), bar), Judging())
    mine = found[(found["room"] == room) & (found["agent"] == agent)]
    assert mine["statement"].tolist() == [1, 2] == mine["round"].tolist()
    assert mine["score"].isna().tolist() == [True, False]
    assert mine["reasons"].tolist() == ["refusal", ""]
    assert len(found) == len(said)


def test_a_scale_that_is_turned_round_is_read_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between scale and axis there is one way, that of the scale: with its high end low, a 10 on a claim that counts up is 0."""
    monkeypatch.setattr("parley.analysis.judge_quality.SCALE", "agreement_0_10_reversed")
    of = pd.Series([slug for slug in ("racism", "climate_change") for _ in range(2)], index=[3, 1, 2, 0])
    scale = scales()["agreement_0_10_reversed"]
    sides = [load_topic(slug).probe("agreement").polarity for slug in of]
    found = on_axis(pd.Series([0.0, 10.0, 2.5, np.nan], index=of.index), of)
    assert found[:3].tolist() == [scale.attitude(score, side) for score, side in zip((0, 10, 2.5), sides, strict=False)]
    assert found[:2].tolist() == ([10, 0] if sides[0] == 1 else [0, 10])
    assert np.isnan(found[0])
    assert on_scale(found, of)[:3].tolist() == [0.0, 10.0, 2.5]


def test_parties_have_their_names_and_not_their_codes() -> None:
    """A party of two words was shown as Fine_Gael, by the code of its file."""
    names = PartyNames({"fine_gael": "Fine Gael voter"}, {"fine_gael": "Fine Gael voters"})
    verdicts = pd.DataFrame(
        {"topic": "racism", "group": "fine_gael+fine_gael", "seat": "fine_gael 1", "room": "a", "statement": [1, 2],
         "score": [2.0, 5.0]}
    )  # fmt: skip
    (row,) = first_and_last(verdicts, names).to_dict("records")
    assert (row["group"], row["seat"]) == ("Two Fine Gael voters", "Fine Gael voter 1")
    assert (row["first"], row["last"], row["rooms"]) == (2.0, 5.0, 1)


def test_the_error_of_a_judge_is_taken_out_of_its_correlations(tables: Tables) -> None:
    """A judge whose readings scatter around the grade has a known reliability; the corrected correlation is near 1 again, and a
    judge that reads each text once has no corrected correlation but a reason."""
    oracle, rng = verdict_table(tables, Judge(open_spec("oracle"), bar), Judging()), np.random.default_rng(4)
    graded = pd.concat([oracle.assign(room=oracle["room"] + f" {copy}") for copy in range(3)]).reset_index(drop=True)
    graded["truth"] = truth(graded)
    read = graded["truth"].to_numpy()[:, None] + graded["truth"].std() * rng.normal(size=(len(graded), 3))
    scattered = graded.assign(score=read.mean(axis=1), **{f"score_{ask + 1}": read[:, ask] for ask in range(3)})
    rows, lines = corrected_rows(scattered, "truth", "known grades")
    assert len(rows) == len(lines) == 2
    for row, line in zip(rows, lines, strict=True):
        assert row["reliability"] == pytest.approx(0.75, abs=0.12)
        assert row["r"] == pytest.approx(0.75**0.5, abs=0.1)
        assert row["corrected_low"] < 1 < row["corrected_high"]
        assert "without measurement error is" in line
    assert all(row["reason"] == ONE_READING for row in corrected_rows(graded, "truth", "known grades")[0])
    few = scattered[scattered["room"].isin(scattered["room"].unique()[:8])]
    assert all("fewer than" in row["reason"] for row in corrected_rows(few, "truth", "known grades")[0])


def test_every_reading_of_a_judge_is_in_its_table(tables: Tables) -> None:
    """A judge asked three times has a column for each reading, whose mean is the score; one with probabilities has none."""
    judge = Judge(Fake(lambda request: str(1 + request.seed % 7)), bar)
    verdicts = verdict_table(tables, judge, Judging())
    assert verdicts[["score_1", "score_2", "score_3"]].mean(axis=1).to_numpy() == pytest.approx(
        verdicts["score"].to_numpy()
    )
    assert "score_1" not in verdict_table(tables, Judge(open_spec("oracle"), bar), Judging())


@pytest.mark.parametrize("rubric", [(), ("--rubric", "appeal"), ("--rubric", "sentiment")])
def test_a_plan_of_verdicts_names_the_server(
    rubric: tuple[str, ...], held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A judge is a model too: how much it is asked, and which server gets the statements, is known before it is asked."""
    spec, before = "openai:some,base_url=https://lab.example/v1", sorted(held.rglob("*"))
    assert run.main(["study", "judge", str(held), *rubric, "--llm", spec, "--dry-run"]) == 0
    planned, server = capsys.readouterr().out.splitlines()
    assert planned.startswith(f"{load(held).utterances['text'].notna().sum():,} ")
    assert server == "lab.example gets no key"
    assert sorted(held.rglob("*")) == before
