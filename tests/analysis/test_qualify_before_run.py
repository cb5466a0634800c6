"""A new model is checked before its first run: the result is kept, stands first, and withholds what it makes meaningless."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import parley
import run
from parley.analysis.card.derivation import derive_card
from parley.analysis.qualify import kept
from parley.analysis.qualify.in_reports import first_sentences, qualification_of, unchecked, withholds
from parley.analysis.qualify.kept import FILE, Qualification, kept_path, read_qualification, spec_identity
from parley.analysis.qualify.questions import Battery, questions
from parley.analysis.qualify.verdict import FOLLOWS, IGNORES, WEAK, OwnVoice, WayVerdict, lines_sentence
from parley.analysis.tables import load
from parley.llm import trust
from parley.llm.errors import UserError
from parley.llm.journal import usage_of_journal
from parley.model.files import JOURNAL


def debate(model: str, out: Path, *more: str) -> int:
    common = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "6", "--rounds", "1", "--llm", model]
    return run.main([*common, "--out", str(out), *more])


def test_the_verdict_stands_first_and_is_asked_once(
    new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run of the same model asks nothing again, and both summaries begin with the verdict."""
    assert debate(new_model, tmp_path / "a") == 0
    assert "qualify  The ratings of this model follow the positions that personas state" in capsys.readouterr().out
    assert debate(new_model, tmp_path / "b", "--seed", "0") == 0
    assert not (tmp_path / "b" / "qualify").exists()
    for name in "ab":
        short = (tmp_path / name / "summary.md").read_text().split("## In short\n\n")[1]
        assert short.startswith("- The ratings of this model follow the positions that personas state")
        assert "The opinions of" in short or "The mean opinion of" in short or "did not move" in short


def test_findings_of_a_model_that_ignores_its_personas_are_withheld(new_model: str, tmp_path: Path) -> None:
    """The tables keep all numbers; no sentence says that anybody moved."""
    assert debate(f"{new_model},deaf=1", tmp_path / "run") == 0
    short = (tmp_path / "run" / "summary.md").read_text().split("## In short\n\n")[1].split("\n\n")[0]
    assert short.startswith("- **The ratings of this model do not depend on who it plays**")
    assert "moved 0" not in short
    assert "Republicans" not in short
    assert "0 of 30 ratings are missing" in short or "ratings are missing" in short
    assert withholds(load(tmp_path / "run").header, tmp_path / "run")


def test_a_run_without_the_check_says_so(new_model: str, tmp_path: Path) -> None:
    assert debate(new_model, tmp_path / "run", "--no-qualify") == 0
    assert not (tmp_path / "run" / FILE).exists()
    assert unchecked(new_model) in (tmp_path / "run" / "summary.md").read_text()
    assert "`python run.py qualify --llm " in unchecked(new_model)
    assert first_sentences(load(tmp_path / "run").header, tmp_path / "run") == [unchecked(new_model)]


def test_the_command_that_checks_a_model_asks_the_server_of_the_run() -> None:
    """Of a model on a server of one's own the page named a command that would have asked the OpenAI API."""
    said = unchecked("openai:small,base_url=http://127.0.0.1:8000/v1")
    assert said.endswith(
        "`python run.py qualify --llm openai:small --base-url ADDRESS` with the ADDRESS of the run's server."
    )
    assert unchecked("openai:gpt-4o-mini").endswith("`python run.py qualify --llm openai:gpt-4o-mini`.")


def test_a_plan_counts_the_check_of_a_new_model(
    new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--dry-run` said 22 calls before a first run that made 106. A model with a result is not checked, and so not planned."""

    def planned(*words: str) -> str:
        capsys.readouterr()
        assert run.main([*words, "--llm", new_model, "--dry-run"]) == 0
        return next((line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()[:1] == "+"), "")

    plain = ("--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1")
    card = ("audit", "--topic", "racism", "--blocks", "2", "--sections", "bias")
    several = ("sweep", *plain[:-2], "--vary", "rounds=1,2", "--seeds", "0:2")
    questions_asked = len(questions(kept.short_battery("us")))
    check = f"+ {questions_asked} calls once, to check whether {new_model} plays people (--no-qualify leaves these calls out): "
    for words in (plain, card, several, ("study", "intervene", *plain[2:-1], "4")):
        assert planned(*words).startswith(check)
        assert planned(*words, "--no-qualify") == ""
    assert planned(*plain) == f"{check}{questions_asked + 14:,} calls in all"
    assert debate(new_model, tmp_path / "a") == 0
    for words in (plain, card, several):
        assert planned(*words) == ""


def test_the_plan_of_a_card_asks_as_the_card_will(
    new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four conditions were planned where two are run in phrases; memory and time were missing."""
    words = ["audit", "--topic", "racism", "--blocks", "2", "--sections", "bias", "--llm", new_model, "--dry-run"]

    def plan() -> str:
        assert run.main(words) == 0
        return capsys.readouterr().out

    before = plan()
    assert "asked reversed" in before
    assert "  time not known" in before
    assert "needs fewer calls than this plan says" in before
    verdict = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, math.nan, math.nan, 0.0005, 8.2, 7.9, 8.6)
    Qualification((verdict,), 4, short=True).write(kept_path(spec_identity(new_model), "us"))
    after = plan()
    assert "asked conversation" in after
    assert "asked reversed" not in after
    assert "needs fewer calls" not in after


def test_speakers_of_known_bias_are_not_checked(tmp_path: Path) -> None:
    assert debate("oracle", tmp_path / "run") == 0
    assert not (tmp_path / "run" / FILE).exists()
    assert first_sentences(load(tmp_path / "run").header, tmp_path / "run") == []


def test_a_file_of_results_keeps_its_numbers_and_takes_no_text(tmp_path: Path) -> None:
    """Unknown numbers are null; a way or an outcome of another name, a text for a number, and a long file are refused."""
    verdict = WayVerdict("numbers", FOLLOWS, 32, 0, 48, 1.0, math.nan, math.nan, 0.0005, 8.2, 7.9, 8.6)
    path = tmp_path / FILE
    Qualification((verdict,), 4, short=False).write(path)
    found = read_qualification(path)
    assert found is not None
    assert found.plays
    assert str(found.verdicts[0]) == str(verdict)
    values = json.loads(path.read_text())
    for key, wrong in (("way", "<b>numbers</b>"), ("outcome", "**wins**"), ("right", "much"), ("other", 1)):
        path.write_text(json.dumps(values | {"ways": [values["ways"][0] | {key: wrong}]}))
        with pytest.raises(UserError, match="is not the result of a qualification"):
            read_qualification(path)
    path.write_text(" " * 30_000)
    with pytest.raises(UserError, match="too long"):
        read_qualification(path)


def test_a_report_says_that_lines_do_not_go_with_ratings(new_model: str, tmp_path: Path) -> None:
    """SmolLM2: ratings follow the persona, lines do not go with ratings (43% of 44 pairs). Only the page of qualify said so."""
    strong = WayVerdict("numbers", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)
    for name, voice in (("a", OwnVoice(0.43, 44, 0.5, 0.69, 0)), ("b", OwnVoice(0.9, 44, 0.5, 0.01, 0))):
        Qualification((strong,), 4, False, voice).write(tmp_path / name / FILE)
        found = read_qualification(tmp_path / name / FILE)
        assert found is not None
        assert found.lines == voice
        assert debate(new_model, tmp_path / name) == 0
    said = "the model itself scored only 43% of 44 pairs of replies of a short debate in the order of the speakers' "
    summaries = [(tmp_path / name / "summary.md").read_text() for name in "ab"]
    assert [said in summary for summary in summaries] == [True, False]
    nothing = Qualification((strong,), 4, False, OwnVoice(math.nan, 0, math.nan, math.nan, 16))
    nothing.write(tmp_path / FILE)
    found = read_qualification(tmp_path / FILE)
    assert found is not None
    assert str(found.lines) == str(nothing.lines)
    assert lines_sentence(found.lines) == ""


def test_the_way_that_serves_the_model_is_asked_in_the_run(new_model: str, tmp_path: Path) -> None:
    """A kept result chooses phrases: the run asks in phrases, says so in its header, and resumes; a way of the user stays."""
    weak = WayVerdict("numbers", WEAK, 32, 0, 48, 0.7, ends=0.2, p=0.001)
    strong = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)
    for name, more in (("a", ()), ("b", ("--set", "asked=numbers"))):
        Qualification((weak, strong), 2, short=True).write(tmp_path / name / FILE)
        assert debate(new_model, tmp_path / name, *more) == 0
    headers = [load(tmp_path / name).header.scenario["asked"] for name in "ab"]
    assert headers == ["phrases", "numbers"]
    assert debate(new_model, tmp_path / "a") == 0


def test_a_bias_card_asks_in_the_way_that_serves_the_model(new_model: str, tmp_path: Path) -> None:
    """SmolLM2 qualified in phrases, and 810 calls in numbers ended in a card that withheld everything."""
    weak = WayVerdict("numbers", IGNORES, 32, 0, 48, 0.5, ends=0.2, p=0.5)
    strong = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)
    card = [
        "audit",
        "--llm",
        new_model,
        "--topic",
        "racism",
        "--blocks",
        "2",
        "--set",
        "rounds=1",
        "--sections",
        "pull",
    ]
    for name, more in (("a", []), ("b", ["--set", "asked=numbers"])):
        Qualification((weak, strong), 2, short=True).write(tmp_path / name / FILE)
        assert run.main([*card, *more, "--out", str(tmp_path / name)]) == 0
    headers = [load(next((tmp_path / name).rglob("three"))).header.scenario["asked"] for name in "ab"]
    assert headers == ["phrases", "numbers"]
    again = tmp_path / "again"
    again.mkdir()
    trust.trust(new_model.partition(":")[0])
    assert [*derive_card(tmp_path / "a", again)] == []
    assert (again / "card.md").read_bytes() == (tmp_path / "a" / "card.md").read_bytes(), (
        "with the verdict on the model"
    )


def test_the_questions_count_as_calls_of_the_run(
    new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 84 questions a limit of 88 calls leaves 4 for the debate, also in a second start; a limit of 200 is enough."""
    for _ in range(2):
        assert debate(new_model, tmp_path / "run", "--max-calls", "88") == 2
        assert "--max-calls 88 is spent" in capsys.readouterr().err
        assert usage_of_journal(tmp_path / "run" / JOURNAL)[0] == 4
    assert debate(new_model, tmp_path / "run", "--max-calls", "200") == 0


def test_a_run_of_the_python_api_asks_nothing_and_takes_what_is_kept(new_model: str, tmp_path: Path) -> None:
    """Without a result its summary says that nothing is known, and how to find out; with one it begins with the verdict."""
    fields = {"topic": "racism", "repetitions": 1, "rounds": 1, "llm": new_model}
    parley.run("two_way", out=tmp_path / "before", **fields)
    asked = usage_of_journal(tmp_path / "before" / JOURNAL)[0]
    assert f"- {unchecked(new_model)}" in (tmp_path / "before" / "summary.md").read_text()
    assert run.main(["qualify", "--llm", new_model, "--short", "--out", str(tmp_path / "qualify")]) == 0
    parley.run("two_way", out=tmp_path / "after", **fields)
    assert usage_of_journal(tmp_path / "after" / JOURNAL)[0] == asked
    short = (tmp_path / "after" / "summary.md").read_text().split("## In short\n\n")[1]
    assert short.startswith("- The ratings of this model follow the positions that personas state")
    assert (tmp_path / "after" / FILE).exists(), "it says the same on another machine"


def test_a_sweep_asks_each_new_model_once(new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four cells of a model, 84 questions; the report begins with the verdict. A repeated command asks nothing."""
    words = ["sweep", "--scenario", "two_way", "--topic", "racism", "--repetitions", "1", "--vary", "rounds=1,2"]
    words += ["--seeds", "0:2", "--workers", "1", "--llm", new_model, "--out", str(tmp_path / "sweep")]
    for _ in range(2):
        assert run.main(words) == 0
    assert capsys.readouterr().out.count("this model was not checked before") == 1
    assert usage_of_journal(tmp_path / "sweep" / "qualify" / "0" / "qualify" / JOURNAL)[0] == 84
    page = (tmp_path / "sweep" / "summary.md").read_text()
    assert "> The ratings of this model follow the positions that personas state" in page
    cell = tmp_path / "sweep" / "cells" / "rounds=1" / "seed-0"
    found = qualification_of(load(cell).header, cell)
    assert found is not None
    assert found.plays


def test_the_verdict_is_that_of_the_way_in_which_the_run_asked(new_model: str, tmp_path: Path) -> None:
    """A model that can be asked in phrases alone: a run in numbers is withheld, and says what to set."""
    deaf = WayVerdict("numbers", IGNORES, 32, 0, 48, 0.5, ends=0.1, ends_low=-0.1, ends_high=0.3, p=0.5)
    strong = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)
    Qualification((deaf, strong), 2, short=True).write(tmp_path / "run" / FILE)
    assert debate(new_model, tmp_path / "run", "--set", "asked=numbers") == 0
    lines = first_sentences(load(tmp_path / "run").header, tmp_path / "run")
    assert lines[0].startswith("**The ratings of this model do not depend on who it plays**")
    assert (
        lines[1] == "If Parley asks this model in phrases, the ratings depend on who it plays: `--set asked=phrases`."
    )
    assert withholds(load(tmp_path / "run").header, tmp_path / "run")


def test_a_result_of_other_questions_is_not_used(
    new_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions change with the version of Parley and with the user's files: what was asked otherwise says nothing of them."""
    identity = {"backend": "new"}
    before = kept_path(identity, "us")
    assert before == kept_path(dict(identity), "us")
    monkeypatch.setattr(kept, "short_battery", lambda society: Battery(("us/racism",), short=True))
    assert kept_path(identity, "us") != before


def test_a_deliberation_begins_with_the_verdict(new_model: str, tmp_path: Path) -> None:
    """SmolLM2 deliberated in numbers, in which it ignores its persona; the summary began with a gain of agreement."""
    deaf = WayVerdict("numbers", IGNORES, 32, 0, 48, 0.5, ends=0.1, ends_low=-0.1, ends_high=0.3, p=0.5)
    strong = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)
    Qualification((deaf, strong), 2, short=True).write(tmp_path / "run" / FILE)
    command = ["--scenario", "consensus", "--topic", "racism", "--repetitions", "1", "--llm", new_model]
    assert run.main([*command, "--set", "asked=numbers", "--out", str(tmp_path / "run")]) == 0
    short = (tmp_path / "run" / "summary.md").read_text().split("## In short\n\n")[1].split("\n\n")[0]
    assert short.startswith("- **The ratings of this model do not depend on who it plays**")
    assert "If Parley asks this model in phrases, the ratings depend on who it plays: `--set asked=phrases`." in short
    assert "Agreement went" not in short
    Qualification((deaf, strong), 2, short=True).write(tmp_path / "words" / FILE)
    assert run.main([*command, "--out", str(tmp_path / "words")]) == 0
    assert "- Agreement went" in (tmp_path / "words" / "summary.md").read_text()
