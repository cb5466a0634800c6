"""`run.py study correct`: what is planted is found, nothing where nothing is, and what is missing is counted."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.evidence import load_evidence
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.report import Report
from parley.llm.backends.fake import Fake
from parley.llm.request import Reply
from parley.studies.corrections.corrector import load_posts
from parley.studies.corrections.measures import (
    ALONE,
    EVIDENCE,
    MEASURES,
    REPLACED,
    SHUFFLED,
    SWAPPED,
    CorrectionStudy,
    measure,
    retrieval,
)
from parley.studies.corrections.panel import ask_panel, draw_panel, preferences, verdict
from parley.studies.corrections.report import (
    compare_measures,
    count_quotations,
    findings,
    missing_replies,
    quality_rows,
    retrieval_line,
)


def quiet(title: str, total: int, unit: str = "call") -> Any:
    return contextlib.nullcontext(lambda count: None)


def study(llm: str = "oracle", **more: Any) -> CorrectionStudy:
    posts = load_posts("en")
    return CorrectionStudy(posts, load_evidence(posts.folder), llm, "oracle", **more)


def differences(replies: pd.DataFrame) -> pd.DataFrame:
    return compare_measures(replies).set_index(["measure", "condition"])


def test_planted_qualities_are_found_against_every_null(tmp_path: Path) -> None:
    """The oracle quotes what it is shown: evidence and factuality fall without passages, with those of another post, and where
    the reply belongs to another post. A draft keeps its politeness exactly, and quotations replace its claims.
    """
    replies = measure(study("oracle,fabricates=0", samples=2), CallDesk(tmp_path, quiet))
    table = differences(replies)
    for null in (ALONE, SHUFFLED, SWAPPED):
        for quality in ("evidence", "factuality"):
            assert table.loc[(quality, null), "difference_high"] < 0, (quality, null)
    drafts, replaced = (
        replies[replies["condition"] == name].set_index(["post", "sample"]) for name in (ALONE, REPLACED)
    )
    assert drafts["politeness"].equals(replaced["politeness"])
    assert (replaced["factuality"] > drafts["factuality"]).mean() > 0.5
    counts = count_quotations(replies).set_index("condition")
    assert counts.loc[EVIDENCE, "fabricated"] == 0 < counts.loc[EVIDENCE, "quotations"]
    assert counts.loc[EVIDENCE, "verbatim"] == counts.loc[EVIDENCE, "quotations"]
    assert counts.loc[ALONE, "quotations"] == 0
    assert SWAPPED not in counts.index, "its replies were counted already"


def test_where_nothing_is_quoted_nothing_is_found(tmp_path: Path) -> None:
    """Nobody quotes: no difference of evidence, and every invented quotation is counted."""
    replies = measure(study("oracle,quotes=0,fabricates=1"), CallDesk(tmp_path, quiet))
    table = differences(replies)
    assert table.loc[("evidence", ALONE), "difference"] == 0
    assert pd.isna(table.loc[("evidence", ALONE), "difference_low"])
    assert table.loc[("overall", SWAPPED), "difference_low"] < 0 < table.loc[("overall", SWAPPED), "difference_high"]
    counts = count_quotations(replies).set_index("condition")
    assert counts.loc[EVIDENCE, "fabricated"] == counts.loc[EVIDENCE, "quotations"] == 24
    assert any(
        line.startswith("evidence, with passages compared with alone") and "no verdict" in line
        for line in findings(replies)
    )


def test_the_null_posts_share_no_passage() -> None:
    """Passages of a post on the same subject would be evidence for this post as well."""
    own = study()
    for post, other in enumerate(own.others):
        assert post != other
        assert not set(own.found[post]) & set(own.found[other])


def test_retrieval_is_compared_with_chance() -> None:
    """With all passages shown it is certain either way; with one, chance is one in 32."""
    found = retrieval(study(passages=1))
    assert found["chance"].unique() == pytest.approx([1 / 32])
    assert found["found"].sum() > 18
    assert retrieval(study(passages=32))["chance"].unique() == pytest.approx([1.0])
    assert "not checked" in retrieval_line(found.iloc[:0], 3)


class Silent(Fake):
    """Writes nothing to some posts."""

    def __init__(self) -> None:
        super().__init__(lambda request: "")

    def complete(self, requests: Any) -> list[Reply]:
        return [Reply.failed("timeout") if "tram" in one.facts["post"] else Reply("It is false.") for one in requests]


def test_what_is_missing_is_none_with_a_reason_and_judged_by_nobody(tmp_path: Path) -> None:
    """A post without a reply has no rating, and is left out of both sides of a difference."""
    own = study()
    desk = CallDesk(tmp_path, quiet, keep_going=True)
    written = own.write((ALONE, EVIDENCE, REPLACED), desk, backend=Silent())
    replies = own.judge_replies(written, desk)
    lost = replies[replies["text"].isna()]
    assert len(lost) == 3 * 3
    assert lost[list(MEASURES)].isna().all().all()
    assert set(lost["reason"]) == {"timeout", "no draft (timeout)"}
    assert set(lost["unjudged"]) == {""}
    assert differences(replies).loc[("overall", EVIDENCE), "pairs"] == 21


def test_a_verdict_that_cannot_be_read_leaves_no_overall(tmp_path: Path) -> None:
    own = study()
    desk = CallDesk(tmp_path, quiet, keep_going=True)
    written = own.write((ALONE,), desk, [0, 1])
    judge = Fake(lambda request: "no idea" if request.facts.get("quality") == "politeness" else "4")
    patched = CallDesk(tmp_path / "judge", quiet, keep_going=True)
    patched.folder.mkdir()
    original = patched.ask
    object.__setattr__(patched, "ask", lambda *given: original(*given, backend=judge))
    replies = own.judge_replies(written, patched)
    assert replies["overall"].isna().all()
    assert (replies["refutation"] == 4).all()
    assert replies["unjudged"].str.len().gt(0).all()
    assert quality_rows(compare_measures(replies))[0][:3] == [ALONE, "0", "–"], "no post has an overall rating"


def test_a_swapped_reply_is_not_counted_as_missing_twice(tmp_path: Path) -> None:
    """Three of 24 posts get no reply; the same reply under `swapped` was written, and is counted, once."""
    own, desk = study(), CallDesk(tmp_path, quiet, keep_going=True)
    written = own.write((EVIDENCE,), desk, backend=Silent())
    report = Report(tmp_path, "page", "Page")
    missing_replies(report, own.judge_replies([*written, *own.swapped(written)], desk))
    assert "3 of 24 replies are missing (timeout 3)." in report.text
    answered = {reply.post for reply in written if reply.text}
    judged = len(answered) + sum(other in answered for other in own.others)
    assert f"0 of {judged} judged replies lack a verdict" in report.text


def test_two_posts_give_numbers_and_no_verdict(tmp_path: Path) -> None:
    """Below five posts there is no interval; the command ends well, and the same command changes nothing."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.md").write_text("# Bread\n\nThe bread has no sawdust.\n\nThe dam has no crack.")
    (tmp_path / "posts.toml").write_text(
        '[[posts]]\ntext = "Sawdust in bread!"\n[[posts]]\ntext = "The dam has a crack!"\n'
    )
    out = tmp_path / "out"
    words = ["study", "correct", str(tmp_path / "posts.toml"), "--evidence", str(tmp_path / "texts"), "--passages", "1"]
    words += ["--llm", "oracle", "--judge", "oracle", "--out", str(out)]
    assert run.main(words) == 0
    page = (out / "corrections.md").read_text()
    short = page.partition("## In short")[2].partition("![")[0]
    assert "no clear difference" not in short
    assert short.count("no verdict, because there is no interval") == short.count("(2 posts)") > 0
    files = {path.name: path.read_bytes() for path in out.glob("*.csv")}
    assert run.main(words) == 0
    assert {path.name: path.read_bytes() for path in out.glob("*.csv")} == files
    assert run.main([*words, "--seed", "1"]) == 2, "another seed needs another folder"


@check_each(
    ("words", "message"),
    [
        (["study", "correct", "xx", "--llm", "oracle", "--judge", "oracle"], "there are no posts named 'xx'"),
        (["study", "correct", "--llm", "oracle", "--judge", "oracle", "--evidence", "/none"], "is not a folder"),
        (
            ["study", "correct", "--llm", "oracle", "--judge", "oracle", "--epochs", "2"],
            "--epochs only works with --train",
        ),
        (
            ["study", "correct", "--llm", "oracle", "--judge", "oracle", "--held-out", "0"],
            "--held-out only works with --train",
        ),
        (["study", "correct", "--llm", "oracle", "--judge", "orcle"], "orcle"),
        (
            ["study", "correct", "--llm", "oracle", "--judge", "oracle", "--train", "--samples", "1"],
            "a pair needs at least 2",
        ),
        (["study", "correct", "--llm", "oracle", "--judge", "oracle", "--train"], "oracle cannot be trained"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main([*words, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_the_plan_counts_what_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """96 replies and 480 verdicts, as the command then counts them; nothing is written."""
    words = ["study", "correct", "--llm", "oracle", "--judge", "oracle", "--out", str(tmp_path / "out")]
    assert run.main([*words, "--dry-run"]) == 0
    assert capsys.readouterr().out.strip() == "96 replies and 480 verdicts"
    assert not (tmp_path / "out").exists()


def panel_of(spec: str, folder: Path, people: int = 5) -> tuple[CorrectionStudy, pd.DataFrame]:
    own, desk = study(spec), CallDesk(folder, quiet)
    return own, ask_panel(own, measure(own, desk), draw_panel(own, "voters", people), spec, desk)


def test_a_panel_that_goes_by_quotations_prefers_them_and_any_others(tmp_path: Path) -> None:
    """proof=1: a reply with replaced claims wins, and so do quotations that do not fit, which the verdict says."""
    own, table = panel_of("oracle", tmp_path)
    found = preferences(table, own.size).set_index("condition")
    assert (found["low"] > 0.5).all()
    assert found["posts"].tolist() == [24] * 4
    assert "are more persuasive for the panel. It is not shown that quotations have to fit the post" in verdict(table)


def test_a_panel_that_does_not_care_for_quotations_prefers_nothing(tmp_path: Path) -> None:
    own, table = panel_of("oracle,proof=0", tmp_path)
    found = preferences(table, own.size).set_index("condition").loc[REPLACED]
    assert found["low"] < 0.5 < found["high"]
    assert "cannot be distinguished from 50%" in verdict(table)


def test_preferences_by_hand_and_what_is_missing() -> None:
    """Post 1: preferred with .8 and .6 (shown first and second): .7. Post 2 lacks an order, so it is missing; no verdict."""
    rows = [
        (1, REPLACED, "a", "", "1.1 replaced", "1.1 alone", 0.8, ""),
        (1, REPLACED, "a", "", "1.1 alone", "1.1 replaced", 0.4, ""),
        (2, REPLACED, "a", "", "2.1 replaced", "2.1 alone", 0.8, ""),
        (2, REPLACED, "a", "", "2.1 alone", "2.1 replaced", float("nan"), "timeout"),
    ]
    table = pd.DataFrame(rows, columns=["post", "condition", "member", "party", "first", "second", "share", "reason"])
    found = preferences(table, 3).set_index("condition").loc[REPLACED]
    assert (found["preferred"], found["posts"], found["missing"]) == pytest.approx((0.7, 1, 2))
    assert verdict(table) == (
        "It is unknown whether replies with replaced claims are as persuasive as their drafts, because fewer "
        "than 5 posts have answers."
    )


def test_a_panel_and_a_training_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "correct", "en", "--llm", "pocket", "--judge", "oracle", "--train", "--panel", "3"]) == 2
    assert "leave out --panel or --train" in capsys.readouterr().err


def test_personas_without_a_panel_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run.main(
            ["study", "correct", "en", "--llm", "oracle", "--judge", "oracle", "--personas", "nosuch", "--dry-run"]
        )
        == 2
    )
    assert "add --panel N, or leave out --personas" in capsys.readouterr().err
