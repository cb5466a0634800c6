"""Groups with representatives in their seats: payoffs by hand, and the whole study on the oracle."""

from __future__ import annotations

import math
import re
import shutil
import tomllib
from contextlib import chdir, nullcontext
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each
from synthetic import episodes

from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement
from parley.agents.representative import Critique
from parley.analysis.deliberation.episode_readers import read_all, read_any
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends.fake import Fake
from parley.llm.driver import Conversation, ask_all, drive
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.missing_replies import Unreadable
from parley.studies.representatives.population import plan, populate
from parley.studies.representatives.preference_judge import win_rates
from parley.studies.representatives.representation import (
    Author,
    WritingOrder,
    representation_cases,
    split_cases,
    write_one,
    write_texts,
)
from parley.studies.representatives.resimulation import Substitution, Writer
from parley.studies.representatives.substitution import (
    AGAIN,
    ALL,
    MUTE,
    MUTE_ALL,
    ONE,
    STRANGER,
    TRUE,
    Profile,
    discrepancies,
    in_order,
    profiles,
    represented,
    resimulated,
    substituted,
    summary,
)
from parley.studies.representatives.substitution_study import run_substitution

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "cc_by"
EPISODE = episodes(1)[0]
ASKED = Substitution(llm="oracle", repetitions=1)
BAR = lambda title, total, unit="call": nullcontext(lambda steps: None)  # noqa: E731


class Told(Mediator):
    """Says back what it heard, and which seed it was given."""

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        yield from ask_all(())
        return Statement(
            f"{seed('x')} | {brief.previous} | {' / '.join(str(heard.critique) for heard in brief.members)}"
        )


WRITTEN = {
    (f"e0_0 s0p{place}", who, number): Critique(f"{who}{place}{number}")
    for place in range(3)
    for who in ("own", STRANGER)
    for number in range(2)
}


def heard(profile: Profile) -> list[str]:
    (statement,) = drive([resimulated(EPISODE, profile, WRITTEN, Told(), 0)], Fake([]))
    assert statement.text is not None
    assert EPISODE.draft in statement.text
    return statement.text.split(" | ")[2].split(" / ")


def test_who_speaks_in_each_profile() -> None:
    """One seat, by its own or by a stranger's representative; all; and in the true profile nobody but the people."""
    own = [str(voice.critique) for voice in EPISODE.voices]
    assert heard(Profile(TRUE, "", 0)) == heard(Profile(AGAIN, "", 0)) == own
    assert heard(Profile(ONE, "s0p1", 1)) == [own[0], "own11", own[2]]
    assert heard(Profile(STRANGER, "s0p2", 0)) == [own[0], own[1], "stranger20"]
    assert heard(Profile(ALL, "", 0)) == ["own00", "own10", "own20"]


def test_several_models_write_and_groups_can_be_without_critiques(tmp_path: Path) -> None:
    """The oracle's representatives fit its people, `fake` is like no critique; the numbers of the first do not change."""
    found = episodes(6, size=3, each=1)
    alone, both = (
        Substitution(llm="oracle", repetitions=1, others=others, mute=bool(others))
        for others in ((), (Writer("fake", "fake"),))
    )
    tables = {}
    for name, settings in (("alone", alone), ("both", both)):
        run_substitution(found, settings, CallDesk(tmp_path / name, BAR, True))
        tables[name] = pd.read_csv(tmp_path / name / "payoffs.csv")
    regimes = [regime for regime in dict.fromkeys(tables["both"]["regime"]) if regime != TRUE]
    assert in_order(regimes) == [
        AGAIN, MUTE, MUTE_ALL, ONE, "one:fake", STRANGER, "stranger:fake", ALL, "all:fake",
    ]  # fmt: skip
    kept = tables["both"][tables["both"]["regime"].isin(set(tables["alone"]["regime"]))]
    key = ["episode", "participant", "regime", "number"]
    pd.testing.assert_frame_equal(
        kept.sort_values(key).reset_index(drop=True), tables["alone"].sort_values(key).reset_index(drop=True)
    )
    page = (tmp_path / "both" / "substitute.md").read_text(encoding="utf-8")
    assert "one, by the own representative (fake)" in page
    assert "all, without critiques" in page


def test_where_a_representative_is_silent_there_is_no_statement() -> None:
    """Neither the person nor silence speaks in its place: a failed call must look like no representative, good or bad."""
    gone = {key: Critique(None, "refusal") if key[0] == "e0_0 s0p0" else one for key, one in WRITTEN.items()}
    told = {
        "": Statement(None, "representative silent: refusal"),
        "s0p0": Statement(None, "representative silent: refusal"),
    }
    for profile in profiles(EPISODE, 1):
        (statement,) = drive([resimulated(EPISODE, profile, gone, Told(), 0)], Fake([]))
        missing = profile.regime == ALL or profile.who == "s0p0"
        assert (statement == told.get(profile.who)) == missing, profile
        assert missing or "None" not in str(statement.text)


def test_who_wrote_no_critique_where_others_did_is_not_represented() -> None:
    """Its representative would add a critique to those of the true profile; where nobody wrote one there is none to add to."""
    quiet = replace(EPISODE.voices[0], critique=None, reasons={"critique": "timeout"})
    episode = replace(EPISODE, voices=(quiet, *EPISODE.voices[1:]))
    assert represented(episode) == ("s0p1", "s0p2")
    (statement,) = drive([resimulated(episode, Profile(ALL, "", 0), WRITTEN, Told(), 0)], Fake([]))
    assert str(statement.text).split(" | ")[2] == "None / own10 / own20"
    none = replace(EPISODE, voices=tuple(replace(v, critique=None, reasons=quiet.reasons) for v in EPISODE.voices))
    assert represented(none) == EPISODE.participants


def test_every_profile_has_random_draws_of_its_own() -> None:
    asked = list(profiles(EPISODE, 2))
    said = drive([resimulated(EPISODE, profile, WRITTEN, Told(), 0) for profile in asked], Fake([]))
    assert len({str(one.text).split(" | ")[0] for one in said}) == len(asked) == 2 * (3 + 2 * 3)
    assert substituted(EPISODE, Profile(ONE, "s0p1", 0)) == ("s0p1",)
    assert substituted(EPISODE, Profile(ALL, "", 0)) == EPISODE.participants


def test_who_has_no_opinion_speaks_for_itself() -> None:
    """Nobody can represent it: its own critique stays in every profile, and its payoff counts in none."""
    mute = replace(EPISODE.voices[0], opinion=None, reasons={"opinion": "refusal"})
    episode = replace(EPISODE, voices=(mute, *EPISODE.voices[1:]))
    (statement,) = drive([resimulated(episode, Profile(ALL, "", 0), WRITTEN, Told(), 0)], Fake([]))
    assert str(statement.text).split(" | ")[2] == f"{mute.critique} / own10 / own20"
    assert substituted(episode, Profile(ALL, "", 0)) == ("s0p1", "s0p2")
    assert {profile.who for profile in profiles(episode, 1)} == {"", "s0p1", "s0p2"}


def payoffs(*given: tuple[str, str, str, int, float]) -> pd.DataFrame:
    """(participant, regime, episode, repetition, value); the session of an episode is its first letter."""
    found = pd.DataFrame(given, columns=["participant", "regime", "episode", "number", "value"])
    return found.assign(session=found["episode"].str[0])


def test_discrepancies_by_hand() -> None:
    """True a 4, b 6; one: a's 5 and 6, b's 3 and 5: +1.5 and -2; all: a 4, b 7."""
    found = payoffs(
        ("a", TRUE, "x1", 0, 3), ("a", TRUE, "x1", 1, 5), ("b", TRUE, "x1", 0, 6), ("b", TRUE, "x1", 1, 6),
        ("a", ONE, "x1", 0, 5), ("a", ONE, "x1", 1, 6), ("b", ONE, "x1", 0, 3), ("b", ONE, "x1", 1, 5),
        ("a", ALL, "x1", 0, 4), ("b", ALL, "x1", 0, 7),
    )  # fmt: skip
    table = discrepancies(found).set_index("regime")
    assert table.loc[ONE, ["signed", "absolute"]].tolist() == [-0.25, 1.75]
    assert table.loc[ALL, ["signed", "absolute"]].tolist() == [0.5, 0.5]
    assert table["people"].tolist() == [2, 2]


def test_a_missing_payoff_is_no_zero_difference() -> None:
    """b has none in the true profile: it is counted as missing, and the mean is a's alone."""
    found = payoffs(
        ("a", TRUE, "x1", 0, 3), ("b", TRUE, "x1", 0, math.nan), ("a", ALL, "x1", 0, 5), ("b", ALL, "x1", 0, 1)
    )
    (row,) = discrepancies(found).to_dict("records")
    assert (row["signed"], row["people"], row["missing"]) == (2, 1, 1)
    nothing = found.assign(value=math.nan)
    assert math.isnan(discrepancies(nothing)["signed"][0])


def test_intervals_are_over_groups() -> None:
    """Three episodes of one session are one group."""
    values = [0.0, 1.0, 0.5, 2.0, 0.0, 1.0]
    named = [(f"{'xy'[place // 3]}{place}", value) for place, value in enumerate(values)]
    rows = [("a", TRUE, name, 0, 0.0) for name, _ in named] + [("a", ALL, name, 0, value) for name, value in named]
    found = summary(discrepancies(payoffs(*rows)))[ALL, "signed"]
    assert (found.value, found.n, found.clusters) == (pytest.approx(0.75), 6, 2)


def test_a_stranger_writes_what_it_was_told(tmp_path: Path) -> None:
    """Told of another participant, asked for this one's seat; the reply is kept, and nothing is asked twice."""
    first, second, _ = representation_cases([EPISODE]).cases
    order = WritingOrder(first, second)
    seen: list[str] = []

    def answer(request: Request) -> str:
        seen.append(request.messages[0].content)
        return "Fine."

    assert drive([write_one(order, Author("fake", knows="O"), 0)], Fake(answer)) == [Critique("Fine.")]
    assert second.brief.opinion in seen[0]
    assert first.brief.opinion not in seen[0]
    assert write_texts([order], Author("fake"), 0, CallDesk(tmp_path, BAR)) == write_texts(
        [order], Author("fake"), 0, CallDesk(tmp_path, BAR)
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One lap of each kind on the known-truth speaker."""
    place = tmp_path_factory.mktemp("known")
    with chdir(place):  # a relative folder, as in the documentation
        return place / populate(1, "oracle", "oracle", 0, Path("runs"), lambda line: None)


@pytest.mark.thorough
def test_laps_can_be_split_and_nobody_sits_in_two(known: Path) -> None:
    """People of all laps are different people, not only different numbers: no two have the same story."""
    found = read_any(known)
    assert plan(16).count("train") == 16
    assert plan(16)[16:] == ["iid_test", "iid_test", "ood_test", "ood_test"]
    files = [tomllib.loads(path.read_text()) for path in sorted((known.parent / "people").rglob("*.toml"))]
    told = [person["backstory"] for file in files for person in file["persona"]]
    assert len(set(told)) == len(told) == 240
    sides = split_cases(found, 0, {"train": 1 / 3, "validation": 1 / 3, "test": 1 / 3})
    assert [len(side) for side in sides.values()] == [48, 48, 48]
    assert len({name for one in found for name in one.participants}) == 240


@pytest.mark.thorough
def test_run_folders_are_read_and_two_of_them_do_not_clash(known: Path) -> None:
    """Rooms of two runs have the same names: with the folder before them they are other episodes, of other people."""
    runs = [known.parent / "lap00", known.parent / "lap01"]
    assert len(read_any(runs[0])) == 48
    both = read_all(runs)
    assert len(both) == 96
    assert {one.session.split("/")[0] for one in both} == {"lap00", "lap01"}
    assert len({name for one in both for name in one.participants}) == 160, "two laps' republican_04 are two people"
    whole = {one.id: one for one in read_any(known)}
    assert all(whole[one.id] == one for one in both), "as in the file of the population"


def test_runs_of_one_set_of_personas_have_the_same_people(known: Path, tmp_path: Path) -> None:
    shutil.copytree(known.parent / "lap00", tmp_path / "again")
    both = read_all([known.parent / "lap00", tmp_path / "again"])
    assert len({one.session for one in both}) == 32
    assert len({name for one in both for name in one.participants}) == 80


@check_each("other", [{"people": "pocket"}, {"llm": "oracle,kappa=0.5"}, {"seed": 1}])
def test_a_population_of_other_people_is_refused(known: Path, other: dict[str, object]) -> None:
    """The people are written once a folder: others who are asked for later would silently be the ones that are there."""
    asked = {"laps": 1, "llm": "oracle", "people": "oracle", "seed": 0, "folder": known.parent, "told": print, **other}
    before = known.stat().st_mtime_ns
    with pytest.raises(UserError, match="already has another population") as told:
        populate(**asked)  # type: ignore[arg-type]
    assert "\n" not in str(told.value)
    assert known.stat().st_mtime_ns == before


@pytest.mark.thorough
def test_the_oracle_stands_in_better_than_a_stranger(known: Path, tmp_path: Path) -> None:
    """The whole study: on known people a representative by the planted law is nearer to the true profile than a stranger's."""
    groups = read_any(known)[:24]
    asked = Substitution(llm="oracle", judge="oracle", repetitions=2)
    report = run_substitution(groups, asked, CallDesk(tmp_path / "out", BAR))
    gaps = pd.read_csv(tmp_path / "out" / "discrepancies.csv")
    found = summary(gaps)
    assert gaps["missing"].sum() == 0
    verdicts = pd.read_csv(tmp_path / "out" / "verdicts.csv")
    assert set(verdicts["verdict"]) <= {"win", "tie", "loss"}
    rates = win_rates(verdicts)
    assert rates[STRANGER].high < 0.5 < rates[ALL].high, "the judge sees that a stranger's costs something"
    assert rates[AGAIN].low < 0.5 < rates[AGAIN].high, "and nothing where nobody is substituted"
    assert found[ONE, "absolute"].value < found[STRANGER, "absolute"].value
    told = report.read_text()
    for words in (
        "not the study's payoff model",
        "nothing about people",
        "one, by a stranger's",
        "compared with final ratings",
        "What a judge prefers",
    ):
        assert words in told
    before = {path: path.read_bytes() for path in (tmp_path / "out").glob("*.csv")}
    run_substitution(groups, asked, CallDesk(tmp_path / "out", BAR))
    assert before == {path: path.read_bytes() for path in (tmp_path / "out").glob("*.csv")}
    with pytest.raises(UserError, match="already has another study of substitution"):
        run_substitution(groups, replace(asked, repetitions=1), CallDesk(tmp_path / "out", BAR))


def test_what_cannot_be_compared_is_left_out_and_counted(tmp_path: Path) -> None:
    """Silent people among others who wrote, an episode without a draft, silent representatives: no row has a made-up number."""
    quiet = {"critique": None, "reasons": {"critique": "timeout"}}
    first, second, third = episodes(1)
    voices = (replace(first.voices[0], **quiet), *first.voices[1:])
    wordless = replace(second, voices=tuple(replace(voice, **quiet) for voice in second.voices))
    draftless = replace(third, session="other", draft=None, reasons={"draft": "empty"})
    report = run_substitution(
        [replace(first, voices=voices), wordless, draftless], ASKED, CallDesk(tmp_path / "out", BAR, True)
    ).read_text()
    assert "1 episode, 1 group." in report
    assert "wrote no critique themselves, where others did: 4." in report
    assert "no critique (timeout) 4" in report
    assert "people without a payoff" in report
    payoffs_ = pd.read_csv(tmp_path / "out" / "payoffs.csv")
    theirs = payoffs_[payoffs_["regime"].isin([ONE, STRANGER, ALL])]
    assert theirs["value"].isna().all()
    assert set(theirs["reason"]) == {"no statement (representative silent: no_known_sentence)"}
    assert set(payoffs_["participant"]) == {"s0p1", "s0p2"}
    verdicts = pd.read_csv(tmp_path / "out" / "verdicts.csv")
    assert verdicts.loc[verdicts["regime"] == ALL, "verdict"].isna().all()


def test_recorded_ratings_are_nobodys_estimate(tmp_path: Path) -> None:
    report = run_substitution(
        [EPISODE], replace(ASKED, payoff="own"), CallDesk(tmp_path / "out", BAR, True)
    ).read_text()
    assert "The payoff is own (agreement, 1 to 7), as it was recorded; it is not the study's payoff model" in report


@check_each(
    ("size", "other", "says"),
    [
        (
            5,
            {"payoff": "ranking", "repetitions": 6},
            r"can score at most 26 statements per participant, not 30 \(5 with --repetitions 1\): set --repetitions 5 or less",
        ),
        (
            2,
            {"payoff": "ranking", "repetitions": 1, "others": tuple([Writer(f"{n}", "oracle") for n in range(8)])},
            r"not 29 \(29 with --repetitions 1\): choose another --payoff",
        ),
        (2, {"adapter": "nobody"}, "unknown adapter 'nobody': known: none"),
    ],
)
def test_what_would_be_paid_for_in_vain_is_refused_first(
    size: int, other: dict[str, object], says: str, tmp_path: Path
) -> None:
    """Before anything is asked, and before the folder is taken."""
    with pytest.raises(UserError, match=says):
        run_substitution(
            episodes(1, size=size), replace(ASKED, **{"repetitions": 3, **other}), CallDesk(tmp_path / "out", BAR)
        )  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_the_oracle_is_a_calibrated_judge_of_its_own_people(known: Path, tmp_path: Path) -> None:
    """It goes by opinions, they by what they think: near, and never exact."""
    path = run_substitution(
        read_any(known)[:12], Substitution(llm="oracle", repetitions=1), CallDesk(tmp_path / "out", BAR)
    )
    assert "correlation with the final rating" in path.read_text()


@pytest.mark.parametrize("name", ["habermas_episode_childcare.json", "habermas_real_issues_opinions_consensus.json"])
def test_people_run_end_to_end_and_nothing_is_claimed(name: str, tmp_path: Path) -> None:
    """The oracle reads no human text: every payoff is missing with its reason, and the report says what cannot be concluded."""
    if not (DATA / name).is_file():
        pytest.skip(f"no real data beside the checkout: {name}")
    with pytest.raises(
        Unreadable,
        match=r"oracle: [12]0 of [12]0 critiques are missing, mostly for no_known_sentence .* can only read .* --keep-going",
    ):
        run_substitution(
            read_any(DATA / name), Substitution(llm="oracle", repetitions=1), CallDesk(tmp_path / "out", BAR)
        )
    desk = CallDesk(tmp_path / "out", BAR, keep_going=True)
    path = run_substitution(read_any(DATA / name), Substitution(llm="oracle", repetitions=1), desk)
    assert re.search(r"missing  \d+ of \d+ critiques \(100%: no_known_sentence \d+\)", desk.tally.line)
    told = path.read_text()
    assert "The study shows nothing about these people" in told
    assert "no_known_sentence" in told
    assert ("No participant wrote a critique" in told) == ("issues" in name)


def test_what_cannot_be_studied_is_one_line() -> None:
    for wrong, says in (({"repetitions": 0}, "at least 1"), ({"knows": "X"}, "not name what"), ({"payoff": "jugde"}, "judge"),
                        ({"mediator": "nobody"}, "unknown mediator"), ({"mediator": "majority"}, "ignores critiques"),
                        ({"mediator": "random_opinion"}, "ignores critiques"), ({"llm": "orcale"}, "oracle")):  # fmt: skip
        with pytest.raises(UserError, match=says):
            Substitution(**{"llm": "oracle", **wrong})
