"""Personas before a judge: what is asked, what counts as a verdict, what people find, and that a false persona is found out."""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.persona import Persona, persona_set
from parley.agents.society import load_society
from parley.analysis import judging
from parley.analysis.alignment.persona_validation import (
    ALIGNED,
    NOT,
    RUBRIC,
    Item,
    Question,
    Validation,
    interview,
    interview_items,
    items_to_review,
    questions,
    review_ratings,
    review_sheet,
    validate_personas,
    verdict_item,
)
from parley.analysis.alignment.report import (
    ac1,
    aligned_shares,
    alpha,
    confusion_counts,
    draw_heatmap,
    kappa,
    party_labels,
    pooled_share,
    rater_agreement,
)
from parley.analysis.judging import compose, judge_item, read
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.budget import Budget
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import DECLINED, Reply, Request

SEED_ITEMS = Path(__file__).parents[3] / "shared" / "data" / "reference" / "seed_items.json"
ALEX = Persona(
    "republican_01", "republican", "Alex", "You are Alex, an American man who supports the Republican Party.", "male"
)
ITEM = Item("simple", ALEX, Question("Should Teachers Get Tenure?", "left"))
COMMAND = ["study", "validate", "--llm", "oracle", "--judge", "oracle", "--personas", "simple"]


def bar(title: str, total: int, unit: str = "call") -> nullcontext[Callable[[int], object]]:
    return nullcontext(lambda steps: None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the oracle says of both shipped sets, judged by itself."""
    out = tmp_path_factory.mktemp("validated") / "out"
    assert run.main(["study", "validate", "--llm", "oracle", "--judge", "oracle", "--out", str(out)]) == 0
    return out


@pytest.fixture
def answers(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "answers.csv", keep_default_na=False, dtype={"variant": str})


def table(*columns: str) -> pd.DataFrame:
    """Ratings as letters (A aligned, N not, . none), a text a rater: judge, human, human_2, ..."""
    names = ["judge", "human", "human_2", "human_3"]
    words = {"A": ALIGNED, "N": NOT, ".": ""}
    return pd.DataFrame({name: [words[one] for one in column] for name, column in zip(names, columns, strict=False)})


# --- what is asked


def test_the_questions_are_those_of_the_study() -> None:
    """Seven each, word for word (but for the quotation marks): they are cited items."""
    assert [question.about for question in questions(load_society())] == ["left"] * 7 + ["right"] * 7 + ["neutral"] * 7
    if not SEED_ITEMS.exists():
        pytest.skip("the study's questions are no part of this checkout (shared/data/reference)")
    listed = json.loads(SEED_ITEMS.read_text(encoding="utf-8"))["validation_questions_002_table4"]
    for side, texts in listed.items():
        plain = [text.replace("‘", "'").replace("’", "'") for text in texts]
        assert [question.text for question in questions(load_society()) if question.about == side] == plain


def test_a_persona_is_asked_as_itself_and_the_judge_hears_its_leaning_alone() -> None:
    """A judge that is told name, gender or variant would judge these too."""
    heard: list[Request] = []

    def answer(request: Request) -> str:
        heard.append(request)
        return "Yes."

    drive([interview(ITEM, 0)], Fake(answer))
    assert [message.role for message in heard[0].messages] == ["system", "user"]
    assert heard[0].messages[0].content == ALEX.backstory
    assert "at most 50 words" in heard[0].messages[1].content
    assert (heard[0].sampling.temperature, heard[0].answers) == (1.0, ())
    item = verdict_item(ITEM, Reply("I say\n\nQuestion: no"))
    assert isinstance(item, judging.Item)
    asked = compose(RUBRIC, item, 0)
    told = asked.messages[-1].content
    assert "Person: an American who leans right and supports the Republican Party\n" in told
    assert "Answer: I say Question: no\n" in told
    assert not [word for word in ("Alex", " man", "male") if word in told]
    assert asked.answers == (NOT, ALIGNED)


def test_every_answer_has_a_stream_of_its_own() -> None:
    """Two personas with the same words, or the same question twice, would otherwise give one answer counted twice."""
    asked = interview_items(Validation(("oracle",), "oracle", ("simple",)))
    assert len(asked) == 54 * 21
    seeds: list[int] = []

    def answer(request: Request) -> str:
        seeds.append(request.seed)
        return "Yes."

    drive([interview(item, 0) for item in asked], Fake(answer))
    assert len(set(seeds)) == len(asked)


# --- what counts as a verdict


@check_each(
    ("text", "aligned"),
    [
        ("Aligned", True),
        ("not aligned", False),
        ("**Not aligned.**", False),
        ('"Aligned"', True),
        ("Verdict: Aligned", True),
    ],
)
def test_the_two_words_are_read(text: str, aligned: bool) -> None:
    assert read(RUBRIC, [Reply(text)]).value == aligned


@check_each(
    "text",
    ["", "Yes", "1", "0", "Aligned or Not aligned", "It isn't aligned", "Unaligned", "misaligned", "I hear you."],
)
def test_what_is_neither_is_missing_with_a_reason(text: str) -> None:
    """A guess here is a falsified share; "isn't aligned" holds the word and means the other one."""
    found = read(RUBRIC, [Reply(text)])
    assert found.value is None
    assert found.reason


def test_a_distribution_says_the_likelier_and_a_tie_says_nothing() -> None:
    said = [read(RUBRIC, [Reply("x", answers={NOT: 1 - share, ALIGNED: share})]).value for share in (0.9, 0.1, 0.5)]
    assert said == [True, False, None]


@check_each(
    ("answered", "judged", "reason"),
    [
        (Reply.failed("timeout"), "Aligned", "no answer (timeout)"),
        (Reply("  "), "Aligned", "no answer (empty)"),
        (Reply("That is something I do not know.", notes={DECLINED: 1}), "Aligned", "no answer (declined)"),
        (Reply("Yes."), Reply.failed("refused"), "refused"),
    ],
)
def test_a_failure_keeps_its_name(answered: Reply, judged: str | Reply, reason: str) -> None:
    """No answer is judged by nobody: an empty one would else come out as not aligned, or as aligned."""
    (found,) = drive([judge_item(RUBRIC, verdict_item(ITEM, answered), 0)], Fake([judged]))
    assert (found.value, found.reason) == (None, reason)


def test_the_fake_has_no_verdicts(tmp_path: Path) -> None:
    """`fake` answers, and refuses closed questions: every cell is a gap, and report and figure say so."""
    command = ["study", "validate", "--llm", "fake", "--judge", "fake", "--personas", "simple", "--out", str(tmp_path)]
    assert run.main(command) == 2, "nothing that the judge says can be read"
    assert run.main([*command, "--keep-going"]) == 0
    found = pd.read_csv(tmp_path / "alignment.csv")
    assert found["share"].isna().all()
    assert (found["missing"] == found["answers"]).all()
    assert "1,134 of 1,134 answers have no verdict: unscripted 1134." in (tmp_path / "alignment.md").read_text()


def test_an_answer_that_the_judge_does_not_know_is_no_verdict(tmp_path: Path) -> None:
    found = validate_personas(
        Validation(("fake",), "oracle", ("simple",)), tmp_path, bar, [Budget(keep_going=True)] * 2
    )
    assert set(found["reason"]) == {"no_known_sentence"}


# --- is a misalignment found?


@pytest.mark.thorough
def test_the_shipped_personas_are_aligned(folder: Path) -> None:
    """With the known-truth speaker on both sides everything fits: any other share is a fault of the pipeline."""
    found = pd.read_csv(folder / "alignment.csv")
    assert len(found) == 2 * 3 * 6
    assert (found["share"] == 1).all()
    assert (found["judged"] == 63).all()


def test_swapped_backstories_are_found_out(tmp_path: Path) -> None:
    """Republicans who are told that they are Democrats, and the other way round: nearly none of their answers fit."""
    mine = tmp_path / "swapped"
    mine.mkdir()
    for one, other in (("republican", "democrat"), ("democrat", "republican"), ("default", "default")):
        shutil.copy(persona_set("enhanced") / f"{one}.toml", mine / f"{other}.toml")
    found = aligned_shares(
        validate_personas(Validation(("oracle",), "oracle", (str(mine),)), tmp_path / "out", bar), ["party"]
    )
    by_party = found.set_index("party")["share"]
    assert by_party["default"] == 1
    assert (by_party[["republican", "democrat"]] < 0.05).all()


def test_a_judge_that_always_agrees_is_no_proof() -> None:
    """All aligned with a judge that says so to everything: people who look find chance agreement, not a perfect judge."""
    read = table("A" * 20, "A" * 15 + "N" * 5)
    assert kappa(read).value == pytest.approx(0)
    assert alpha(read).value < 0


# --- journal


def outcomes(folder: Path) -> int:
    with sqlite3.connect(folder / "journal.sqlite") as database:
        return int(database.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0])


@pytest.mark.thorough
def test_a_killed_validation_goes_on_and_asks_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the interviews and again in the verdicts: as many questions as without, and the same bytes."""
    asked: list[int] = []
    answered = Oracle.complete

    def dying(after: int) -> Callable[[Oracle, Sequence[Request]], list[Reply]]:
        def complete(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
            if sum(asked) >= after:
                raise KeyboardInterrupt
            asked.append(len(requests))
            return answered(self, requests)

        return complete

    for after, code in ((512, 130), (1135, 130), (10**9, 0)):
        monkeypatch.setattr(Oracle, "complete", dying(after))
        assert run.main([*COMMAND, "--out", str(tmp_path / "killed")]) == code
    assert sum(asked) == outcomes(tmp_path / "killed")
    monkeypatch.setattr(Oracle, "complete", dying(0))
    assert run.main([*COMMAND, "--out", str(tmp_path / "killed")]) == 0, "the third time everything is known"
    monkeypatch.setattr(Oracle, "complete", answered)
    assert run.main([*COMMAND, "--out", str(tmp_path / "whole")]) == 0
    for name in ("answers.csv", "alignment.csv", "review.csv", "alignment.md", "alignment.png", "alignment.svg"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")


def test_another_validation_wants_another_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers of two seeds in one table would be nobody's experiment."""
    assert (
        run.main(["study", "validate", "--llm", "oracle", "--judge", "oracle", "--seed", "1", "--out", str(folder)])
        == 2
    )
    assert "already has another validation" in capsys.readouterr().err


# --- shares and figure


def test_shares_leave_out_what_has_no_verdict(answers: pd.DataFrame) -> None:
    """Missing is not zero: a cell of 63 with 3 gaps and 6 misfits is 54 of 60."""
    one = answers[(answers["personas"] == "simple") & (answers["party"] == "default") & (answers["variant"] == "none")]
    (row,) = aligned_shares(one.assign(verdict=[""] * 3 + [NOT] * 6 + [ALIGNED] * 54)).to_dict("records")
    assert (row["answers"], row["judged"], row["missing"], row["aligned"], row["share"]) == (63, 60, 3, 54, 0.9)
    assert (row["people"], math.isnan(row["low"])) == (3, True), "three people are too few for an interval"
    assert math.isnan(aligned_shares(one.assign(verdict=""))["share"][0])


def test_the_published_baseline_pools_none_and_ages(answers: pd.DataFrame) -> None:
    """84.5 and 89.3 are of that pool; beside the variant none they would be compared with something else."""
    assert (pooled_share(answers)["answers"] == 4 * 63).all()
    assert len(pooled_share(answers)) == 6


def test_the_figure_has_a_panel_a_set_and_a_number_a_cell(answers: pd.DataFrame) -> None:
    """A gap is a dash on grey, never a nought."""
    found = aligned_shares(answers)
    found.loc[0, "share"] = math.nan
    left, right, _ = draw_heatmap(found, "caption", party_labels(load_society())).axes
    assert [axis.get_title() for axis in (left, right)] == ["simple personas", "enhanced personas"]
    texts = [text.get_text() for text in left.texts]
    assert (texts.count("100"), texts.count("–")) == (17, 1)
    assert [text for text in texts if text.isalpha()] == ["Default", "Republican", "Democrat"]


def test_a_set_without_variants_has_fewer_rows(answers: pd.DataFrame) -> None:
    found = aligned_shares(answers[answers["variant"] == "none"])
    assert [
        label.get_text()
        for label in draw_heatmap(found, "caption", party_labels(load_society())).axes[0].get_yticklabels()
    ] == ["none"] * 3


def test_the_report_names_models_gaps_and_the_papers_numbers_as_theirs(folder: Path) -> None:
    text = (folder / "alignment.md").read_text(encoding="utf-8")
    for told in (
        "oracle (known-truth speaker)",
        "0 of 2,268 answers have no verdict",
        "its numbers, not ours",
        "pools the variant",
    ):
        assert told in text
    assert "The judge is one of the models interviewed" in text
    assert "nothing about people or large language models" in text


def test_what_is_too_long_or_out_of_the_role_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such answers are judged like any other; without the count a high share could rest on them unseen."""

    def complete(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        long = "As an AI language model, I cannot role-play." + " Really." * 60
        return [Reply(ALIGNED if request.answers else long) for request in requests]

    monkeypatch.setattr(Oracle, "complete", complete)
    assert run.main([*COMMAND, "--out", str(tmp_path)]) == 0
    told = (
        "1,134 answers are longer than the 50 words asked for, and 1,134 answers step out of the role (the judge "
        "reads all of them)."
    )
    assert told in (tmp_path / "alignment.md").read_text(encoding="utf-8")


# --- people


def test_a_random_tenth_and_all_that_is_not_aligned_are_reviewed(answers: pd.DataFrame) -> None:
    """The same seed draws the same tenth; an answer that is not there is no work for anybody."""
    bad = answers.assign(
        verdict=[NOT] * 30 + [ALIGNED] * (len(answers) - 30), answer=["a"] * (len(answers) - 8) + [""] * 8
    )
    found = items_to_review(bad, random.Random(3))
    assert found["review"].equals(items_to_review(bad, random.Random(3))["review"])
    assert (found["review"] == "random").sum() == 226
    assert (found["review"].iloc[:30] != "").all()
    assert (found["review"].iloc[-8:] == "").all()
    shown = review_sheet(found, random.Random(0), load_society())
    assert shown.columns.tolist() == ["item", "person", "question", "answer", "human"], (
        "the verdict would sway whoever reads it"
    )
    assert set(shown["item"]) == set(found.loc[found["review"] != "", "item"])
    assert shown["item"].tolist() != sorted(shown["item"])


def test_formulas_are_disarmed_in_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complete(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(NOT if request.answers else "=cmd|'/c calc'!A1") for request in requests]

    monkeypatch.setattr(Oracle, "complete", complete)
    assert run.main([*COMMAND, "--out", str(tmp_path)]) == 0
    for name in ("answers.csv", "review.csv"):
        read = pd.read_csv(tmp_path / name)
        assert (read["answer"] == "'=cmd|'/c calc'!A1").all()


def filled(folder: Path, tmp_path: Path, **columns: Sequence[str]) -> Path:
    """The sheet of a folder with columns of verdicts, repeated to its length."""
    read = pd.read_csv(folder / "review.csv", keep_default_na=False)
    told = {name: [values[row % len(values)] for row in range(len(read))] for name, values in columns.items()}
    path = tmp_path / "filled.csv"
    read.drop(columns="human").assign(**told).to_csv(path, index=False)
    return path


def test_a_review_goes_out_and_comes_back(folder: Path, tmp_path: Path) -> None:
    """Two people, gaps and all: each verdict meets the judge's on the same answer, whatever the order of the rows."""
    sheet_ = filled(
        folder, tmp_path, human=["Aligned", "not ALIGNED ", ""], human_2=["Aligned", "Not aligned", "Aligned"]
    )
    assert run.main(["study", "validate", "--review", str(sheet_), "--out", str(folder)]) == 0
    found = pd.read_csv(folder / "agreement.csv").set_index(["sample", "raters", "measure"])
    rows = found.loc["all reviewed"]
    assert rows.loc[("human, human_2", "Cohen's kappa"), "value"] == 1
    assert rows.loc[("human, human_2", "Cohen's kappa"), "items"] == 152
    assert rows.loc[("judge, human", "Cohen's kappa"), "agreed"] == pytest.approx(0.5)
    assert rows.loc[("judge, human_2", "Cohen's kappa"), "items"] == 227
    assert ("judge, human, human_2", "Krippendorff's alpha") in rows.index
    text = (folder / "review.md").read_text(encoding="utf-8")
    assert "227 answers reviewed" in text
    assert "| judge: Aligned | 76 | 76 |" in text
    assert "**Do not use the judge's verdicts (compared with human)**: AC1 over" in text
    assert "Corrected for the errors of all raters, " in text
    assert pd.read_csv(folder / "errors.csv")["rater"].tolist() == ["judge", "human", "human_2"]


def test_the_order_of_the_rows_is_no_matter(folder: Path, tmp_path: Path) -> None:
    """People sort sheets; items are matched by number."""
    path = filled(folder, tmp_path, human=["Aligned", "Not aligned"])
    straight = review_ratings(path, folder)
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    read.iloc[::-1].to_csv(path, index=False, encoding="utf-8-sig")
    pd.testing.assert_frame_equal(straight.sort_index(), review_ratings(path, folder).sort_index())


# --- agreement, by hand


def test_kappa_by_hand() -> None:
    """20 answers: both aligned 10, both not 4, judge alone aligned 4, human alone 2. 0.7 observed, 0.54 by chance: 0.3478."""
    found = kappa(table("A" * 14 + "N" * 6, "A" * 10 + "N" * 4 + "A" * 2 + "N" * 4))
    assert found.value == pytest.approx((0.7 - 0.54) / 0.46)
    assert found.low < found.value < found.high


def test_kappa_leaves_gaps_out_and_is_undefined_for_one_category() -> None:
    """All aligned by both is agreement that chance explains as well: no number, and no division by zero."""
    assert kappa(table("AANN..", "AANNAN")).value == 1
    assert math.isnan(kappa(table("AAAA", "AAAA")).value)
    assert math.isnan(kappa(table("....", "AANN")).value)


def test_kappa_and_alpha_of_a_frequent_category_are_unknown() -> None:
    """36 of 40 answers aligned by both: the asymptotic interval of kappa missed the truth in 17% of such sets (docs/exam.md)."""
    few = table("A" * 36 + "NNNA", "A" * 36 + "NNAN")
    assert math.isnan(kappa(few).low)
    assert math.isnan(alpha(few).low)
    more = table("A" * 30 + "N" * 8 + "NA", "A" * 30 + "N" * 8 + "AN")
    assert kappa(more).low < kappa(more).value < kappa(more).high < 1
    assert alpha(more).low < alpha(more).value < alpha(more).high < 1


def test_ac1_by_hand() -> None:
    """The same 20 answers: p = 26 / 40, so chance is 2 x .65 x .35 = .455; (.7 - .455) / .545 = .4495."""
    found = ac1(table("A" * 14 + "N" * 6, "A" * 10 + "N" * 4 + "A" * 2 + "N" * 4))
    assert found.value == pytest.approx((0.7 - 0.455) / 0.545)
    assert found.low < found.value < found.high
    assert ac1(table("AANN..", "AANNAN")).value == 1
    assert math.isnan(ac1(table("....", "AANN")).value)


def test_where_one_verdict_is_rare_kappa_is_low_and_ac1_is_not() -> None:
    """57 of 60 answers judged alike, all of these aligned: chance explains that to kappa (below 0), not to AC1 (.95)."""
    read = table("A" * 58 + "N" * 2, "A" * 57 + "N" + "A" * 2)
    assert kappa(read).value < 0
    assert ac1(read).value == pytest.approx(0.947, abs=1e-3)


def test_one_word_for_everything_has_no_interval() -> None:
    """Kappa is 0 by construction then, and a standard error of 8.8e-9 is rounding: no 0.00 (0.00 to 0.00)."""
    found = kappa(table("A" * 30, "A" * 20 + "N" * 10))
    assert found.value == pytest.approx(0)
    assert math.isnan(found.low)


KRIPPENDORFF = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
"""Observers by units: Krippendorff 2011, section C."""


def test_alpha_is_that_of_the_published_example() -> None:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: four observers, twelve units, gaps; nominal 0.743."""
    told = pd.DataFrame(
        {f"observer {number}": [one.strip(".") for one in row] for number, row in enumerate(KRIPPENDORFF)}
    )
    assert told.shape == (12, 4)
    found = alpha(told)
    assert found.value == pytest.approx(0.743, abs=0.0005)
    assert found.low < found.value <= found.high


def test_alpha_by_hand() -> None:
    """Two raters, 10 items, 20 ratings: 12 A, 8 N, 2 disagreements: 1 - (4 / 20) / (192 / 380) = 0.604."""
    read = table("AAAAAANNNN", "AAAAANNNNA")
    observed, expected = 4 / 20, 2 * 12 * 8 / (20 * 19)  # disagreeing pairs are counted in both directions
    assert alpha(read).value == pytest.approx(1 - observed / expected)
    assert math.isnan(alpha(table("AAAA", "AAAA")).value)


def test_alpha_takes_gaps_and_any_number_of_raters() -> None:
    """An item with one rating says nothing of agreement; a rater with gaps takes part where there is a verdict."""
    assert alpha(table("AANN", "AANN", "A..N")).value == 1
    assert alpha(table("AANNA", "AANN.")).value == alpha(table("AANN", "AANN")).value
    assert alpha(table("ANANANAN", "NANANANA")).value < 0


def test_the_interval_of_alpha_covers_chance() -> None:
    rng = np.random.default_rng(0)
    read = table(*("".join(rng.choice(["A", "N"], 100)) for _ in range(3)))
    found = alpha(read)
    assert found.low < 0 < found.high


def test_agreement_is_told_for_all_and_for_the_random_part() -> None:
    """Over what the judge calls not aligned alone, agreement is another number: it must not stand for all answers."""
    read = table("AAAANNNN", "AANNNNAA").assign(review=["random"] * 4 + ["not aligned"] * 4)
    found = rater_agreement(read[["review", "judge", "human"]]).set_index(["sample", "measure"])
    assert found.loc[("all reviewed", "Cohen's kappa"), "items"] == 8
    assert found.loc[("random tenth", "Cohen's kappa"), "agreed"] == 0.5
    assert confusion_counts(read, "human", (ALIGNED, NOT)).to_numpy().tolist() == [[2, 2], [2, 2]]


# --- what cannot be


@check_each(
    ("options", "said"),
    [
        (["--llm", "oracle"], "no judge was given: add --judge SPEC"),
        (["--judge", "oracle"], "no model to interview was given: add --llm SPEC"),
        (["--llm", "orakle", "--judge", "oracle"], "did you mean oracle"),
        (["--llm", "oracle", "--judge", "oracle", "--personas", "simpel"], "did you mean simple"),
        (["--llm", "oracle", "--llm", "oracle", "--judge", "oracle"], "only once"),
        (["--review", "x.csv"], "name the folder of the verdicts with --out"),
        (["--review", "none.csv", "--out", "nowhere"], "cannot read none.csv"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found before anything is asked or made."""
    out = [] if "--review" in options else ["--out", str(tmp_path / "out")]
    assert run.main(["study", "validate", *options, *out]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@check_each(
    ("change", "said"),
    [
        (lambda read: read.drop(columns="human"), "lacks the column human"),
        (lambda read: read.drop(columns="item"), "lacks the column item"),
        (lambda read: read.assign(human="maybe"), "'maybe' is not a verdict: write Aligned or Not aligned"),
        (lambda read: read, "no verdict is filled in"),
        (lambda read: read.assign(item="99999", human="Aligned"), "the item 99999 is not in"),
        (lambda read: pd.concat([read, read.iloc[:1]]).assign(human="Aligned"), "is listed twice"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_one_line(
    folder: Path,
    tmp_path: Path,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """People fill in sheets by hand: what they did is told, and nothing is guessed."""
    path = tmp_path / "sheet.csv"
    change(pd.read_csv(folder / "review.csv", dtype=str, keep_default_na=False)).to_csv(path, index=False)
    assert run.main(["study", "validate", "--review", str(path), "--out", str(folder)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_a_party_that_nobody_describes_cannot_be_judged(tmp_path: Path) -> None:
    (tmp_path / "green.toml").write_text('[[persona]]\nname = "Ann"\nbackstory = "You"\n', encoding="utf-8")
    with pytest.raises(UserError, match="only the parties republican, democrat, default can be judged, not green"):
        interview_items(Validation(("oracle",), "oracle", (f"{tmp_path}/",)))
