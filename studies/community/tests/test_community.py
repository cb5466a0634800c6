"""`study community`: a planted effect of rules is found, nothing where nothing is planted, nothing is said by a bad judge."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.rule_judge import known_messages
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.studies.community.measures import (
    ANY,
    NULL,
    REAL,
    REPLIES,
    WORDS,
    ask_origin,
    continuation_table,
    draw_pairs,
    effect_table,
    origin_table,
    read_posts,
    room_table,
    what_if_row,
)
from parley.studies.community.members import (
    HOME,
    NAMES,
    Member,
    MemberProfile,
    Post,
    StatedRules,
    load_community,
    read_member,
)
from parley.studies.community.oracle import bank_of, has_mark
from parley.studies.community.report import effect_line, origin_line, what_if_lines
from parley.studies.community.rooms import (
    AFTER,
    ANSWERED,
    BEFORE,
    PLAIN,
    REWORDED,
    CommunityStudy,
    WhatIf,
    Written,
)

RULES = ("insult", "advert", "private")


def quiet(title: str, total: int, unit: str = "call") -> Any:
    return contextlib.nullcontext(lambda count: None)


def study_of(language: str = "en", **shape: Any) -> CommunityStudy:
    return CommunityStudy(load_community("garden", language), (), RULES, **shape)


def effects(folder: Path, llm: str, language: str = "en") -> pd.DataFrame:
    """The effects of 20 rooms, by measure."""
    study, desk = study_of(language), CallDesk(folder, quiet)
    posts = study.write(study.draw_rooms(study.community.people), llm, desk)
    rooms = room_table(posts, study.judge_posts(posts, "oracle", desk), RULES)
    return effect_table(rooms, [*RULES, ANY, REPLIES, WORDS]).set_index("measure", drop=False)


def test_a_planted_effect_of_rules_is_found(tmp_path: Path) -> None:
    """Posts that break a rule fall from 40% to 8%; replies do not depend on rules; other words of the rules change nothing."""
    table = effects(tmp_path, "oracle,breaks=0.4,obeys=0.8")
    for rule in RULES:
        row = table.loc[rule]
        assert row["change_low"] < -0.32 < row["change_high"] < 0, rule
        assert row["wording_low"] < 0 < row["wording_high"], rule
        assert "fewer after the change, in both wordings" in effect_line(row, ""), rule
    row = table.loc[ANY]
    assert row["before_low"] < 1 - 0.6**3 < row["before_high"]
    assert row["after_low"] < 1 - 0.92**3 < row["after_high"]
    assert table.loc[REPLIES, "before_low"] < 2.0 < table.loc[REPLIES, "before_high"], "half of four members reply"
    assert "no clear difference" in effect_line(table.loc[REPLIES], "")


def test_rules_that_no_one_follows_change_nothing(tmp_path: Path) -> None:
    """The oracle breaks rules equally often with and without them. In German, to try its files as well."""
    table = effects(tmp_path, "oracle,breaks=0.4", "de")
    for measure in (*RULES, ANY):
        row = table.loc[measure]
        assert row["change_low"] < 0 < row["change_high"], measure
        assert "no clear difference" in effect_line(row, ""), measure
        assert row["before_low"] < (0.4 if measure in RULES else 1 - 0.6**3) < row["before_high"], measure


def post(condition: str, room: int, place: int, text: str | None = "a b", replies: int | None = 1) -> Written:
    return Written(condition, room, "x", place, "Ann", text, "" if text else "refusal", replies)


def test_rooms_by_hand() -> None:
    """Shares are those of judged posts; an unread decision is no refusal to reply; a missing post has no words and no verdict."""
    posts = [
        post(BEFORE, 1, 0),
        post(BEFORE, 1, 1, "a b c d"),
        post(BEFORE, 1, 2, None),
        post(BEFORE, 1, 3, None, None),
    ]
    posts += [post(BEFORE, 1, 4, None, 0)]
    ids = [one.id for one in posts[:3]]
    verdicts = pd.DataFrame({"id": ids, "probe": "insult", "value": [1.0, 0.0, np.nan], "reason": ""})
    row = room_table(posts, verdicts, ["insult"]).iloc[0]
    assert row["insult"] == row[ANY] == 0.5
    assert row[WORDS] == 3.0
    assert row[REPLIES] == pytest.approx(4 * 2 / 3), "two of three readable decisions, of four members"
    lost = room_table([post(BEFORE, 1, 0, None)], verdicts.iloc[2:].assign(id="before/1/x/0"), ["insult"]).iloc[0]
    assert lost[["insult", ANY, WORDS, REPLIES]].isna().all()
    assert lost["threads"] == 0


def rooms_of(before: list[float], after: list[float], reworded: list[float]) -> pd.Series:
    """The row of effects of shares by room."""
    values = {BEFORE: before, AFTER: after, REWORDED: reworded}
    rows = [(name, "c", place, share, 1.0) for name, shares in values.items() for place, share in enumerate(shares)]
    return effect_table(pd.DataFrame(rows, columns=["condition", "topic", "repetition", ANY, WORDS]), [ANY]).iloc[0]


def test_what_a_change_needs_to_be_claimed() -> None:
    """Five rooms, some variation, both wordings, and a judge without a fault."""
    before, less = [0.9, 0.8, 0.9, 1.0, 0.8], [0.1, 0.2, 0.0, 0.1, 0.2]
    assert "fewer after the change, in both wordings" in effect_line(rooms_of(before, less, less), "")
    assert "because it lies" in effect_line(rooms_of(before, less, less), "it lies")
    assert "in one wording of the rules only" in effect_line(rooms_of(before, less, before[::-1]), "")
    assert "fewer than 5 rooms" in effect_line(rooms_of(before[:2], less[:2], less[:2]), "")
    assert "because nothing varies" in effect_line(rooms_of(before, before, less), "")
    row = rooms_of([0.0, 0.0, 0.0, 0.0, 0.1], [1.0, 1.0, 1.0, 0.9, 1.0], less)
    assert 0.0 < row["before_low"] < 0.01
    assert row["change_high"] <= 1.0


def test_a_planted_answer_provokes_the_others_and_a_kind_one_does_not(tmp_path: Path) -> None:
    """One post, 30 continuations of each kind: an insult raises the share with a broken rule where that is planted."""
    study = study_of(rooms=1, threads=1, people=4)
    rooms = study.draw_rooms(study.community.people)

    def row_of(text: str) -> Any:
        desk = CallDesk(tmp_path, quiet)
        llm = "oracle,breaks=0.05,provokes=0.9"
        posts = study.write(rooms, llm, desk)
        _, _, replies = study.continue_post(posts, rooms, WhatIf(text, "", 30), llm, desk)
        return what_if_row(continuation_table(replies, study.judge_posts(replies, "oracle", desk)))

    insulted, thanked = row_of("You idiot."), row_of("Thank you.")
    assert insulted["change_low"] > 0.3
    assert "more often with the answer" in what_if_lines(insulted, "")[-1]
    assert thanked["change_low"] < 0 < thanked["change_high"]
    assert "no clear difference" in what_if_lines(thanked, "")[-1]


def test_continuations_by_hand() -> None:
    """Without a reply no rule is broken; with a missing verdict or decision that is unknown, unless a rule is broken."""
    posts = [post(PLAIN, 1, 1, None, 0), post(PLAIN, 2, 1), post(PLAIN, 3, 1), post(PLAIN, 3, 2, None, None)]
    posts += [post(PLAIN, 4, 1), post(PLAIN, 4, 2), post(ANSWERED, 1, 1)]
    values = {posts[1].id: np.nan, posts[2].id: 0.0, posts[4].id: 1.0, posts[5].id: np.nan, posts[6].id: 0.0}
    verdicts = pd.DataFrame({"id": list(values), "probe": "insult", "value": list(values.values())})
    table = continuation_table(posts, verdicts)
    assert table["broken"].fillna(-1).tolist() == [0.0, -1, -1, 1.0, 0.0]
    row = what_if_row(table)
    assert row[PLAIN] == 0.5
    assert row[f"{PLAIN}_count"] == 2
    assert "fewer than 5 continuations" in what_if_lines(row, "")[-1]
    assert what_if_lines(row, "it lies") == ["It is unknown how the thread continues, because it lies."]


def test_posts_of_people_are_found_unless_they_are_alike(tmp_path: Path) -> None:
    """The oracle knows its own sentences; of two posts of people, or two of its own, it says either: 50%."""
    real = [f"We dug bed {number}, then it rained." for number in range(12)]
    own = [f"Bed {number}. {line}" for number in range(2) for line in bank_of("en")["harmless"]]
    desk = CallDesk(tmp_path, quiet, keep_going=True)

    def rows(texts: list[str]) -> pd.DataFrame:
        pairs = draw_pairs(texts, own, 0)
        assert len({pair.tested for pair in pairs if pair.kind == REAL}) == sum(pair.kind == REAL for pair in pairs)
        return origin_table(ask_origin(pairs, "en", "oracle", 0, desk)).set_index("kind", drop=False)

    table = rows(real)
    assert table.loc[REAL, ["pairs", "share"]].tolist() == [12, 1.0]
    assert table.loc[REAL, "low"] > 0.7
    assert "it can distinguish them" in origin_line(table.loc[REAL])
    assert table.loc[NULL, ["pairs", "share"]].tolist() == [6, 0.5]
    assert "it is not shown that the judge can distinguish the two kinds of posts" in origin_line(
        rows([f"{text} More." for text in own]).loc[REAL]
    )
    assert "fewer than 5 pairs" in origin_line(rows(real[:2]).loc[REAL])


def problems_of(language: str, name: str) -> list[str]:
    """What is wrong with a shipped community: texts that the oracle's judge does not read as they are meant."""
    own, bank, wrong = load_community(name, language), bank_of(language), []
    for one in known_messages(own.judged, 0):
        said = has_mark(bank, one.text, one.probe)
        wrong += [] if said == one.planted else [f"{name} {one.case.name} {one.probe}: judged {said}"]
    for topic in own.topics:
        wrong += [] if len(sentences(topic.text)) == 3 else [f"{topic.name} has not three sentences"]
        wrong += [] if set(topic.planted) == {rule.name for rule in own.rules} else [f"{topic.name} lacks a sentence"]
    texts = [text for rule in own.rules for text in (rule.text, rule.reworded)]
    return wrong + ([] if len(set(texts)) == len(texts) == 6 else ["two wordings of a rule are the same"])


@check_each("language, name", [(code, name) for code in ("en", "de") for name in NAMES])
def test_shipped_communities_fit_the_oracle(language: str, name: str) -> None:
    """Every planted sentence breaks its own rule for the oracle's judge, and every topic breaks none."""
    assert not problems_of(language, name)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_bank_says_what_its_marks_say(language: str) -> None:
    """A sentence of a rule has marks of that rule alone, and a harmless sentence or a topic has none."""
    bank = bank_of(language)
    for rule, lines in bank["breaks"].items():
        for line in lines:
            assert [mark for mark in bank["marks"] if has_mark(bank, line, mark)] == [rule], line
    topics = [topic.text for name in NAMES for topic in load_community(name, language).topics]
    for line in [*bank["harmless"], *topics]:
        assert not [mark for mark in bank["marks"] if has_mark(bank, line, mark)], line
    assert all(read_member(Reply(line))[0] for line in bank["members"])
    assert (
        {path.stem for path in (HOME / "data" / language / "communities").iterdir()} == set(NAMES) == set(bank["rules"])
    )


def test_members_read_their_rules_in_the_words_of_the_condition() -> None:
    own = load_community("garden")
    profile = own.people[0]
    stated = [StatedRules(), StatedRules(own.rules), StatedRules(own.rules, reworded=True)]
    systems = [
        Member(own, profile, rules).compose_reply(own.topics[0], [Post("Bo", "Hi.")], 0).messages[0].content
        for rules in stated
    ]
    assert "rules" not in systems[0]
    assert all(rule.text in systems[1] and rule.reworded in systems[2] for rule in own.rules)
    assert not any(rule.text in systems[2] for rule in own.rules)


def test_a_written_member_is_read_or_missing_with_a_reason() -> None:
    assert read_member(Reply("- Ada Lo: You count bees.")) == (MemberProfile("Ada Lo", "You count bees."), "")
    assert read_member(Reply("You count bees.")) == (None, "no_name")
    assert read_member(Reply("I'm sorry, but I can't help with that.")) == (None, "refusal")
    assert read_member(Reply.failed("timeout"))[1] == "timeout"


OWN = """
title = "Shop talk {braces}"
goal = "to talk shop"

[[rules]]
name = "kind"
text = "Be kind."
reworded = "Stay friendly."
question = "Is the post unkind?"

[[people]]
name = "Ann"
about = "You talk."
[[people]]
name = "Bo"
about = "You listen."

[[topics]]
name = "one"
text = "It rains."
[[topics]]
name = "two"
text = "It snows."
"""


@pytest.mark.thorough
def test_a_file_of_yours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without known posts nothing is said about rules; a repeated command gives the same page from the journal."""
    file, out = tmp_path / "shop.toml", tmp_path / "out"
    file.write_text(OWN, encoding="utf-8")
    words = [
        "study",
        "community",
        str(file),
        "--llm",
        "oracle",
        "--judge",
        "oracle",
        "--rooms",
        "5",
        "--threads",
        "1",
        "--people",
        "2",
    ]
    words += ["--out", str(out)]
    assert run.main(words) == 0
    page = (out / "community.md").read_bytes()
    assert b"because fewer than 5 cases have known messages with a verdict (shop, kind)" in page
    assert b"Words in a post" in page
    assert pd.read_csv(out / "effects.csv").set_index("measure").loc["kind", "change":"change_high"].isna().all()
    monkeypatch.setattr(Oracle, "complete", lambda self, requests: pytest.fail("asked again"))
    assert run.main(words) == 0
    assert (out / "community.md").read_bytes() == page
    assert run.main([*words, "--words", "30"]) == 2, "another study needs another folder"


def test_a_bad_judge_leaves_no_numbers_about_rules(tmp_path: Path) -> None:
    words = [
        "study",
        "community",
        "--llm",
        "oracle",
        "--judge",
        "oracle,misjudges=0.5",
        "--rooms",
        "1",
        "--threads",
        "1",
        "--people",
        "3",
    ]
    assert run.main([*words, "--what-if", "No.", "--continuations", "2", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "community.md").read_text()
    assert "because the judge" in page
    assert "It is unknown how the thread continues, because the judge" in page
    table = pd.read_csv(tmp_path / "effects.csv").set_index("measure")
    assert table.loc[ANY, ["before", "after", "reworded", "change"]].isna().all()


def test_what_a_user_can_get_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, posts = tmp_path / "shop.toml", tmp_path / "posts.csv"

    def refused(text: str, match: str) -> None:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=match):
            load_community(str(file))

    refused(OWN.replace("It snows.", ""), "topic 2: text is empty")
    refused(OWN.replace('"two"', '"one"'), "'one' comes twice")
    refused(OWN.replace("[[rules]]", "[[other]]"), "there are 0, but at least 1 are needed|other")
    refused(OWN + '[topics.planted]\nlie = "It flies."', "rule planted in the topic 'two'")
    posts.write_text("text\nHello.\n", encoding="utf-8")
    with pytest.raises(UserError, match="has 1 different posts"):
        read_posts(posts)
    wrong = (
        "gardn",
        "--before all",
        "--after none --before all",
        "--people 9",
        "--threads 7",
        "--by Oona",
        "--people 1",
    )
    later = ("--what-if No. --by Zoe --rooms 1", "--people 2 --what-if No.", "--llm oracle,obeys=2", "--after kindness")
    for words in (*wrong, *later):
        given = words.split() + ([] if "--llm" in words else ["--llm", "oracle"])
        assert run.main(["study", "community", *given, "--judge", "oracle", "--out", str(tmp_path / "x")]) == 2, words
        assert len(capsys.readouterr().err.strip().splitlines()) == 1, words
    with pytest.raises(UserError, match="in English and German"):
        load_community("garden", "fr")
