"""Fidelity, texts and variety on the bias card, differences within blocks, and remedies beside what is planted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import run
from benchmarks.audit_coverage import held as in_memory
from parley.agents.society import load_society
from parley.analysis.alignment.persona_validation import interview
from parley.analysis.card.conditions import Batch, alone, same, three
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, jackknife, mean_estimate, paired_difference
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS, interview_batch, interview_calls
from parley.analysis.card.protocol import card_estimates, protocol_steps, run_protocol
from parley.analysis.card.protocol import plan_lines as planned
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.remedies import (
    Remedy,
    adapter_remedy,
    choose_remedies,
    core_conditions,
    differences,
    has_core,
    measure_remedy,
    remedy_verdict,
    sentences,
)
from parley.analysis.card.sections import fidelity, sections, texts
from parley.analysis.card.sections._movement import positive, spread
from parley.analysis.card.sections.diversity import ratio
from parley.analysis.card.sections.fidelity import fitting
from parley.analysis.card.sections.pull import lost
from parley.analysis.card.sections.texts import contradicting, lines
from parley.analysis.tables import Tables, load
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.casting import seat_rooms
from parley.model.debate import DebateModel
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario, load_preset

SMALL = {"topic": "racism", "repetitions": 5, "rounds": 2, "probe": "attitude_labelled", "llm": "oracle", "seed": 8}
ARGUMENTS = ["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "3", "--set", "rounds=1"]
JUDGED = ["--sections", "fidelity,texts,diversity"]


def base(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings(SMALL | settings)


def core_of(first: Batch) -> dict[str, CardEstimate]:
    """The quantities of the core, held in memory without a judge."""
    study = run_protocol(first, core_conditions())
    step = next(study)
    try:
        while True:
            step.folder.mkdir(parents=True, exist_ok=True)
            step = study.send(in_memory(step.scenario))
    except StopIteration as done:
        return measure_remedy(done.value, first)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card with remedies made by the command."""
    folder = tmp_path_factory.mktemp("remedies") / "card"
    assert run.main([*ARGUMENTS, *JUDGED, "--remedies", "bias,cooler", "--out", str(folder)]) == 0
    return folder


def test_differences_are_within_blocks_by_hand() -> None:
    """Five blocks differ by 1, 2, 1, 2 and 1.5: mean 1.5, t(4) = 2.776 standard errors; a sixth has nobody to pair with."""
    blocks, differ = list("12345"), [1.0, 2.0, 1.0, 2.0, 1.5]
    first = mean_estimate(CardEstimate("y", ALL), pd.Series(range(5), blocks, dtype=float).rename_axis("block"))
    values = [place + more for place, more in enumerate(differ)]
    other = mean_estimate(CardEstimate("y", ALL), pd.Series([*values, 90.0], [*blocks, "6"]).rename_axis("block"))
    found = paired_difference(first, other)
    assert (found.estimate, found.n) == (1.5, 5)
    assert found.high - found.estimate == pytest.approx(2.776 * 0.5 / 5**0.5, abs=1e-3)


def test_without_a_number_a_block_cards_are_independent() -> None:
    """3 and 4 points of reach make 5; a claim that is not there has no difference, and says so."""
    first, other = CardEstimate("y", ALL, 1.0, -2.0, 4.0, n=9), CardEstimate("y", ALL, 2.0, -2.0, 6.0, n=9)
    found = paired_difference(first, other)
    assert (found.low, found.estimate, found.high, found.n) == (-4.0, 1.0, 6.0, 0)
    assert paired_difference(first, CardEstimate("y", ALL)).reason == "one of the two numbers compared has no estimate"


def test_ends_of_independent_differences_are_those_of_zou_and_donner() -> None:
    """3 (2.5 to 4) and 5 (4 to 20): 2, down by the root of 1² + 1², up by that of 15² + 0.5²; no end where one has none."""
    first, other = CardEstimate("y", ALL, 3.0, 2.5, 4.0), CardEstimate("y", ALL, 5.0, 4.0, 20.0)
    found = paired_difference(first, other)
    assert (found.low, found.high) == pytest.approx((2 - math.sqrt(2), 2 + math.hypot(15, 0.5)))
    assert paired_difference(first, replace(other, high=math.inf)).high == math.inf
    assert (
        paired_difference(first, replace(other, low=math.nan, high=math.nan)).reason
        == "one of the two numbers compared has no interval"
    )


def test_a_remedy_that_makes_everybody_alike_is_told_to(tmp_path: Path) -> None:
    """The worst that a remedy can do to variety is a number, and a difference within blocks, not a gap in the table."""
    plain = core_of(Batch(base(rounds=1), tmp_path))
    apart = positive(
        CardEstimate("spread", ALL),
        pd.Series(dict.fromkeys(plain["spread"].values, 0.0)).rename_axis("block"),
    )
    one = Remedy("alike", "all alike", {"temperature": 0.5})
    found = differences(plain, [(one, plain | {"spread": apart})]).set_index("quantity")
    assert remedy_verdict(found.loc["spread"]) == "worse"


def test_a_jackknifed_mean_is_the_mean() -> None:
    """Of a mean the pseudo-values are the values themselves, so that the interval is Student's."""
    rows = pd.DataFrame({"value": [1.0, 2.0, 6.0]}, index=["a", "b", "c"])
    found = jackknife(CardEstimate("y", ALL), rows, lambda part: float(part["value"].mean()))
    assert found.values == pytest.approx({"a": 1.0, "b": 2.0, "c": 6.0})


def test_pull_is_the_mean_of_its_blocks(tmp_path: Path) -> None:
    """What is paired is what the card says: pseudo-values by block have the estimate as their mean, and its interval."""
    found = core_of(Batch(base(), tmp_path))
    for name in ("mu", "lost", "three_alone", "spread", "distinct"):
        one = found[name]
        assert len(one.values) == 5
        assert sum(one.values.values()) / 5 == pytest.approx(one.estimate), name
    again = mean_estimate(CardEstimate("y", ALL), pd.Series(found["mu"].values).rename_axis("block"))
    assert (again.low, again.high) == pytest.approx((found["mu"].low, found["mu"].high))


@pytest.mark.thorough
def test_a_remedy_that_halves_the_pull_is_found_to(tmp_path: Path) -> None:
    """Planted: mu .06 a line becomes .03. The difference within blocks holds that, and no other quantity is said to be told."""
    first = Batch(base(repetitions=8, rounds=4, topic="climate_change"), tmp_path)
    half = Remedy("half", "half of the pull", {"llm": "oracle,mu=0.03"})
    found = differences(core_of(first), [(half, core_of(half.batch(first)))]).set_index("quantity")
    row = found.loc["mu"]
    assert row["low"] < -0.03 < row["high"] < 0
    assert found.loc["lost", "low"] < lost(0.03) - lost(0.06) < found.loc["lost", "high"]
    assert remedy_verdict(found.loc["three_alone"]) == "better"
    assert found.loc["aligned", "reason"] == "no judge was named (--judge SPEC)"
    assert "better: " in next(sentences(found.reset_index(), {name: name for name in found.index}))


def test_a_remedy_keeps_people_and_seeds(tmp_path: Path) -> None:
    """Blocks are paired: the same agents in the same seats, the same turns; what was set alone differs."""
    first = Batch(base(repetitions=2, rounds=1), tmp_path)
    for remedy in choose_remedies("bias,reminder,cooler", None, "oracle", load_society()):
        batch = remedy.batch(first)
        plain, other = (in_memory(three(one)["three"]) for one in (first, batch))
        assert other.agents.equals(plain.agents)
        assert other.header.scenario["seed"] == plain.header.scenario["seed"]
        assert batch.folder == tmp_path / "remedies" / remedy.name


def test_every_remedy_can_be_seated(tmp_path: Path) -> None:
    """With as many blocks as a card has by itself: a small set of personas must not run out of people in the middle of a run."""
    first = Batch(base(repetitions=10), tmp_path)
    for remedy in choose_remedies("all", None, "oracle", load_society()):
        for step in protocol_steps(remedy.batch(first), core_conditions()):
            assert all(len({one.name for one in table.present}) > 1 for table in seat_rooms(step.scenario))


def test_shares_that_fit_by_hand() -> None:
    """Block 1: two of three with a verdict fit; an answer without one counts for neither; block 2 has none at all."""
    told = [("1", "Aligned"), ("1", "Not aligned"), ("1", "Aligned"), ("1", ""), ("2", "")]
    assert fitting(pd.DataFrame(told, columns=["block", "verdict"])).to_dict() == {"1": pytest.approx(2 / 3)}


def test_lines_stand_beside_the_survey_before_by_hand() -> None:
    """A score of 1 on racism's claim is 0 or 10 of the axis; the rating is that of the survey before the round."""
    verdicts = pd.DataFrame(
        {"block": "1/0", "topic": "racism", "party": "democrat", "room": "1/r", "agent": 1, "round": [1, 2], "score": [7.0, 1.0],
         "text": ["a", "b"]}
    )  # fmt: skip
    ratings = pd.DataFrame({"room": "1/r", "agent": 1, "round": [0, 1, 2], "level": [8.0, 6.0, 2.0]})
    found = lines(verdicts, ratings)
    assert found["rating"].tolist() == [8.0, 6.0]
    assert sorted(found["text"]) == [0.0, 10.0]


def test_lines_that_contradict_by_hand() -> None:
    """3 beside 7 are two sides, 6 beside 9 one; whoever is exactly in the middle is on none and left out."""
    found = contradicting(pd.DataFrame({"text": [3.0, 6.0, 5.0, 2.0], "rating": [7.0, 9.0, 8.0, 5.0]}))
    assert found["value"].tolist() == [1.0, 0.0]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A card of texts alone, with 36 lines."""
    folder = tmp_path_factory.mktemp("judged") / "card"
    command = [*ARGUMENTS, "--blocks", "6", "--set", "rounds=2", "--sections", "texts", "--out", str(folder)]
    assert run.main(command) == 0
    return folder


def texts_of(folder: Path, probe: str = "attitude_labelled", score: float | None = None) -> list[CardEstimate]:
    """The claims on texts of a card, as if agents had been asked `probe` and the judge had given every line one score."""
    held = ConditionRecords()
    tables = load(folder / "batch-1" / "three")
    held.add("three", replace(tables, attitudes=tables.attitudes.assign(probe=probe)))
    (path,) = (folder / "batch-1" / "verdicts").glob("held-*.parquet")
    found = pd.read_parquet(path)
    held.add_answers(VERDICTS, found if score is None else found.assign(score=score))
    return texts.claims(held, base(probe=probe))


@pytest.mark.thorough
def test_lines_and_ratings_are_subtracted_where_they_are_of_one_thing_alone(judged: Path) -> None:
    """Agreement with a claim minus the severity of a problem is no number; where agents were asked for agreement it is one."""
    severity, agreement = (
        {(one.quantity, one.topic): one for one in texts_of(judged, probe)}
        for probe in ("attitude_labelled", "agreement")
    )
    for name in ("contradicts", "text_apart", "text_toward"):
        assert not severity[name, ALL].known
        assert (name, "racism") not in severity
        assert agreement[name, ALL].known
    assert severity["agreement", "racism"].known
    assert severity["judge_rank", "racism"].estimate == pytest.approx(1)


@pytest.mark.thorough
def test_what_a_bad_judge_says_is_left_out_and_said_first(judged: Path) -> None:
    """One word for everything: no correlation, no movement, no verdict in the sentences, and a line before all others."""
    found, first = texts_of(judged, "agreement", score=4.0), Batch(base(), judged, judge="fake")
    assert {one.quantity for one in found if one.known} <= {"judge_bias", "unscored"}
    assert all(one.reason for one in found if not one.known)
    (told,) = texts.warnings(found, first)
    assert told.startswith(
        "**Do not use what the judge (fake) says**: on racism the judge gives all statements one score"
    )
    fits = CardEstimate("aligned", ALL, 0.9, 0.8, 1.0, n=3)
    assert list(fidelity.sentences([fits], first))
    assert not list(fidelity.sentences([*found, fits], first))
    assert not list(texts.warnings(texts_of(judged), first))


def test_spread_by_hand() -> None:
    """Ratings 2, 4, 6 (SD 2) become 3, 4, 5 (SD 1): half. Who all become alike have none left, which is a number; where all were
    alike before there is no share of it, and a reason.
    """
    keys = pd.MultiIndex.from_tuples([("before", "t", "democrat"), ("after", "t", "democrat")])
    rows = pd.DataFrame([[2.0, 3.0], [4.0, 4.0], [6.0, 5.0]], pd.Index(["1", "2", "3"], name="block"), keys)
    assert [spread(rows[when]).mean() for when in ("before", "after")] == pytest.approx([2.0, 1.0])
    assert spread(rows["before"]).tolist() == pytest.approx([2.5, 1.0, 2.5])  # 2 (1 + (6, 0, 6) / 4 - 1) / 2 each
    found = positive(CardEstimate("y", ALL), ratio(rows))
    assert found.estimate == pytest.approx(0.5)
    assert len(found.values) == 3
    assert positive(CardEstimate("y", ALL), pd.Series([2.5, 1.0, 2.5, 2.5, 1.0])).low > 0
    none = positive(CardEstimate("y", ALL), ratio(rows * 0), "all were alike before")
    assert math.isnan(none.estimate)
    assert none.reason == "all were alike before"
    collapsed = rows.copy()
    collapsed["after"] = 5.0
    share, left = (positive(CardEstimate("y", ALL), one) for one in (ratio(collapsed), spread(collapsed["after"])))
    assert (share.estimate, left.estimate) == (0, 0)
    assert math.isnan(left.low), "three blocks have no interval"


def test_rates_are_of_the_model_alone(tmp_path: Path) -> None:
    """A model that refuses is counted, never dropped; scripted partners, who cannot be asked for a rating, are not counted."""
    first = Batch(base(repetitions=2, rounds=1), tmp_path)
    refusing = in_memory_of(three(first)["three"], lambda _: "As an AI language model, I cannot take a side.")
    held = ConditionRecords()
    held.add("three", refusing)
    held.add("new kind", in_memory(alone(first)["alone"]))
    found = card_estimates(held, first, sections(("fidelity",)))
    assert find_estimate(found, "refused_three").estimate == 1.0  # type: ignore[union-attr]
    assert find_estimate(found, "unread_three").estimate == 1.0  # type: ignore[union-attr]
    assert find_estimate(found, "unread_other").estimate == 0.0  # type: ignore[union-attr]
    assert next(one for one in found if one.quantity == "aligned").reason == "no judge was named (--judge SPEC)"


def in_memory_of(scenario: Scenario, said: Callable[[Request], str]) -> Tables:
    """A scenario held in memory by a stand-in."""
    from parley.analysis.tables import tables as tabled
    from parley.model.recorder import MemoryRecorder
    from parley.model.run_folder import make_header

    recorder, backend = MemoryRecorder(), Fake(said)
    recorder.write([make_header(scenario, (), backend)])
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return tabled(recorder.events)


def test_people_are_interviewed_as_they_debate(tmp_path: Path) -> None:
    """With their confirmation bias, adapter and warmth, told who they are where they are told in debates."""
    set_ = {"confirmation_bias": "republican:strong", "adapters": "democrat:blue", "temperature": 0.5, "reminder": True}
    found = interview_batch(Batch(base(repetitions=3, **set_), tmp_path, judge="oracle"))
    assert len(found) == 3 + 3 + 3
    items = {each[0].persona.party: each[0] for each in found.values()}
    assert items["republican"].persona.backstory.endswith("you wave aside.")
    assert (items["democrat"].adapter, items["democrat"].warmth) == ("blue", 0.5)
    request = next(interview(items["republican"], 1))[0]
    assert request.messages[1].content.count(request.messages[0].content) == 1


def test_the_same_people_with_a_gender_stated(tmp_path: Path) -> None:
    """Where a set of personas has them, the blocks' people are asked as women and as men too, and the plan counts that."""
    batch = Batch(base(repetitions=3, personas="enhanced"), tmp_path, judge="oracle")
    found = interview_batch(batch)
    assert {each[0].persona.gender for each in found.values()} == {"", "female", "male"}
    assert interview_calls(batch, INTERVIEWS) == (sum(map(len, found.values())),) * 2
    assert len({each[0].persona.name for each in found.values()}) * 3 == len(found)


def answer(request: Request) -> str:
    return "5" if request.answers else "Yes."


def test_a_reminder_is_told_every_time_and_never_remembered() -> None:
    """Before each line and each rating stands who it is, once; what others and later prompts hold is not told again."""
    prompts: list[Request] = []
    scenario = base(repetitions=1, rounds=2, reminder=True)
    DebateModel(scenario, backend=Fake(lambda request: prompts.append(request) or answer(request))).run()
    for request in prompts:
        who = request.messages[0].content
        assert request.messages[-1].content.count(who) == 1
        assert not any(who in message.content for message in request.messages[1:-1])
    plain: list[Request] = []
    DebateModel(
        base(repetitions=1, rounds=2), backend=Fake(lambda request: plain.append(request) or answer(request))
    ).run()
    assert [one.seed for one in plain] == [one.seed for one in prompts]


@pytest.mark.thorough
def test_the_files_of_remedies(written: Path) -> None:
    """A table with every remedy and quantity, a figure, a page that says what was set; on the oracle personas hold all along."""
    found = pd.read_csv(written / "remedies.csv")
    assert found.groupby("remedy").size().to_dict() == {"bias": 6, "cooler": 6}
    assert (found.query("quantity == 'aligned'")["difference"] == 0).all()
    assert all(found["difference"].notna() | found["reason"].notna())
    page = (written / "remedies.html").read_text()
    assert "confirmation_bias=republican:strong,democrat:strong" in page
    assert "known-truth speaker" in page
    assert {"remedies.png", "remedies.svg"} <= {path.name for path in written.iterdir()}
    told = {one["quantity"]: one for one in json.loads((written / "card.json").read_text())["claims"]}
    assert told["aligned"]["estimate"] == 1
    assert "does not ask for agreement" in told["contradicts"]["reason"]
    assert told["judge_rank"]["reason"] == "too few statements"
    assert told["women_men"]["reason"]


@pytest.mark.thorough
def test_again_asks_nothing_of_remedies(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (written / "remedies.csv").read_bytes()
    command = [*ARGUMENTS, *JUDGED, "--remedies", "bias,cooler", "--out", str(written), "--max-calls", "1"]
    assert run.main(command) == 0
    assert "calls were made" not in capsys.readouterr().out
    assert (written / "remedies.csv").read_bytes() == before


@pytest.mark.thorough
def test_a_budget_stops_among_remedies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The card is whole, the remedy that was held is told, and the rest says that it was not."""
    spec = [*ARGUMENTS, "--sections", "diversity", "--remedies", "cooler,bias", "--out", str(tmp_path), "--max-calls"]
    assert run.main([*spec, "940"]) == 2
    assert "is spent" in capsys.readouterr().err
    assert json.loads((tmp_path / "card.json").read_text())["stopped"] == ""
    assert set(pd.read_csv(tmp_path / "remedies.csv")["remedy"]) == {"cooler"}
    assert "Not all remedies were run" in (tmp_path / "remedies.html").read_text()


def test_the_plan_names_remedies_and_scripted_partners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([*ARGUMENTS, "--remedies", "all", "--dry-run", "--out", str(tmp_path / "none")]) == 0
    told = capsys.readouterr().out
    assert "remedy personas" in told
    assert "remedy reminder" in told
    assert "replies of scripted partners" in told
    assert "calls of the judge oracle" in told
    partners = base(llms="democrat=fake,default=fake")
    assert plan_run(partners).scripted_calls == 5 * 2 * (2 + 3)  # two of three seats: a line a round, a rating a survey
    assert "scripted" not in "\n".join(planned(Batch(base(), tmp_path), sections(("diversity",)), 1, 0.5, {}))


def test_remedies_of_ones_own(tmp_path: Path) -> None:
    """A file of one's own, and adapters of a training folder: each party's seats speak through their own."""
    file = tmp_path / "mine.toml"
    file.write_text('[calm]\ntitle = "calm"\nsettings = { temperature = 0.1 }\n')
    assert [one.name for one in choose_remedies(f"bias,{file}", None, "oracle", load_society())] == ["bias", "calm"]
    for party in ("republican", "democrat"):
        folder = tmp_path / "tuned" / "adapters" / f"{party}-sft-r16"
        folder.mkdir(parents=True)
        (folder / "adapter_config.json").write_text("{}")
    (found,) = choose_remedies("", str(tmp_path / "tuned"), "pocket", load_society())
    assert found.settings["adapters"] == ("republican:republican-sft-r16", "democrat:democrat-sft-r16")
    assert found.settings["llm"].startswith("pocket,adapters=")
    with pytest.raises(UserError, match="0 adapters of republican"):
        adapter_remedy(str(tmp_path / "tuned" / "adapters" / "republican-sft-r16"), "pocket", load_society())
    file.write_text("[calm]\nsettings = {}\n")
    with pytest.raises(UserError, match="needs a title, settings, and a name"):
        choose_remedies(str(file), None, "oracle", load_society())


@pytest.mark.thorough
def test_answers_are_there_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed while the answers are written goes on: half a file is never taken for what was held."""
    command = [*ARGUMENTS, "--sections", "texts", "--out", str(tmp_path)]

    def killed(frame: pd.DataFrame, path: Path) -> None:
        path.write_bytes(b"PAR1")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pd.DataFrame, "to_parquet", killed)
        assert run.main(command) != 0
    assert run.main(command) == 0
    assert (tmp_path / "card.html").exists()


def test_what_is_missing_of_the_core_is_seen(tmp_path: Path) -> None:
    """A card without the core's conditions is no ground for a comparison: they are held first."""
    held, first = ConditionRecords(), Batch(base(repetitions=2, rounds=1), tmp_path)
    held.add("three", in_memory(three(first)["three"]))
    held.add("same", in_memory(same(first)["same"]))
    assert not has_core(held, first)
    held.add("alone", in_memory(alone(first)["alone"]))
    assert has_core(held, first)


def test_the_card_says_whether_its_judge_may_be_used() -> None:
    """By the interval: at .7 or above it may, an interval that holds .7 or is not there leaves it unknown, and a judge with a
    fault has its warning instead."""
    sure, unsure = (CardEstimate("judge_rank", "racism", value, value - 0.1, value + 0.1) for value in (0.85, 0.75))
    bare = CardEstimate("judge_rank", "abortion", 0.9, reason="fewer than 5 rooms")
    assert texts.judge_gate([sure], "the judge").startswith("What the judge says may be used")
    assert "because the judge's rank correlation" in texts.judge_gate([unsure, sure], "the judge")
    assert "fewer than 5 rooms" in texts.judge_gate([sure, bare], "the judge")
    assert texts.judge_gate([CardEstimate("judge_rank", reason=texts.UNKNOWN)], "the judge") == ""
    assert (
        texts.judge_gate([sure, CardEstimate("agreement", "racism", reason=f"{texts.MISREAD}: x")], "the judge") == ""
    )
