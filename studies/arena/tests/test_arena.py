"""The arena: scores by hand and from a generator, nulls, places, lengths, rewritings, votes of people, and the command."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.persuasion.bradley_terry import clear_difference, score_messages, why_unknown
from parley.analysis.persuasion.comparisons import length_row, pair_values, place_row
from parley.llm.errors import UserError
from parley.studies.arena import measures as rewritings
from parley.studies.arena.measures import agreement_table
from parley.studies.arena.writer import read_messages, read_problems, read_votes

IDS = ["a", "b", "c", "d"]


def answers(scores: list[float], people: int, rng: np.random.Generator, place: float = 0.0) -> pd.DataFrame:
    """Sampled choices (1, 0) of people with noise of their own, each pair in both orders."""
    rows = []
    for person in range(people):
        own = rng.normal(0, 0.5, len(scores))
        for one, other in combinations(range(len(scores)), 2):
            for first, second in ((one, other), (other, one)):
                logit = scores[first] + own[first] - scores[second] - own[second] + place
                share = float(rng.random() < 1 / (1 + np.exp(-logit)))
                rows.append((f"p{person}", IDS[first], IDS[second], share, ""))
    return pd.DataFrame(rows, columns=["member", "first", "second", "share", "reason"])


def test_planted_scores_are_found_and_a_place_does_not_bend_them() -> None:
    """40 people, scores 1 apart and a strong place: each interval of a score contains the planted one, in most of 8 draws."""
    planted, hits = np.array([1.5, 0.5, -0.5, -1.5]), []
    for seed in range(8):
        table = answers([1.5, 0.5, -0.5, -1.5], 40, np.random.default_rng(seed), place=0.8)
        pairs = pair_values(table, IDS)
        scores = score_messages(pairs, IDS)
        hits += ((scores["low"] <= planted) & (planted <= scores["high"])).tolist()
        assert list(scores.sort_values("score", ascending=False)["message"]) == IDS
        assert "persuades more than" in clear_difference(pairs, IDS)
        row = place_row(table, IDS)
        assert row["low"] > 0
    assert np.mean(hits) > 0.8  # noise of people draws scores a little to 0


def test_nothing_planted_is_nothing_found() -> None:
    """Equal messages: a difference is claimed in 5% of panels at most, and the place is not above chance."""
    claims, places = 0, 0
    for seed in range(15):
        table = answers([0.0] * 4, 10, np.random.default_rng(100 + seed))
        claims += "persuades more than" in clear_difference(pair_values(table, IDS), IDS)
        row = place_row(table, IDS)
        places += not row["low"] <= 0 <= row["high"]
    assert claims <= 3
    assert places <= 3


def test_few_people_and_equal_answers_have_no_verdict() -> None:
    """Below five people, and where all answer the same, the sentence says that it is unknown, and why."""
    few = pair_values(answers([1, 0, 0, -1], 4, np.random.default_rng(0)), IDS)
    assert "fewer than 5 people" in clear_difference(few, IDS)
    assert score_messages(few, IDS)["low"].isna().all()
    same = pd.concat([pd.DataFrame({"member": [f"p{n}"] * 2, "first": ["a", "b"], "second": ["b", "a"], "share": [1.0, 0.0]})
                      for n in range(6)])  # fmt: skip
    found = score_messages(pair_values(same, ["a", "b"]), ["a", "b"])
    assert found["score"].between(-5, 5).all()
    assert found["low"].isna().all()
    assert "because all people answered the same" in clear_difference(pair_values(same, ["a", "b"]), ["a", "b"])


def test_one_order_alone_is_missing() -> None:
    """A half-read pair would count the place of a message as its strength."""
    table = pd.DataFrame({"member": "p", "first": ["a", "b"], "second": ["b", "a"], "share": [0.9, np.nan]})
    (value,) = pair_values(table, ["a", "b"])["value"]
    assert np.isnan(value)
    assert place_row(table, ["a", "b"])["people"] == 0
    assert pair_values(table, ["a", "b"], both=False)["value"].tolist() == [0.9]
    full = table.assign(share=[0.9, 0.3])
    pair = pair_values(full, ["a", "b"]).iloc[0]
    assert (pair["value"], bool(pair["decided"])) == (pytest.approx(0.8), False)
    row = place_row(full, ["a", "b"])
    assert row["place"] == pytest.approx(0.1)


def test_a_broken_graph_is_said_in_words() -> None:
    """Scores of messages that no comparison connects would be compared with nothing."""
    rows = [(f"p{n}", *pair, 0.5) for n in range(6) for pair in (("a", "b"), ("c", "d"))]
    pairs = pd.DataFrame(rows, columns=["member", "a", "b", "value"])
    assert "2 groups of messages" in why_unknown(pairs, IDS)
    assert "a, b; c, d" in why_unknown(pairs, IDS)
    assert score_messages(pairs, IDS)["score"].isna().all()
    assert "is unknown" in clear_difference(pairs, IDS)


def test_length_is_a_rival_by_hand() -> None:
    """The longer message is b; equal lengths and missing pairs are left out."""
    rows = [(f"p{n}", "a", "b", 0.3) for n in range(5)] + [("p0", "a", "c", 0.9), ("p0", "b", "c", np.nan)]
    pairs = pd.DataFrame(rows, columns=["member", "a", "b", "value"])
    row = length_row(pairs, {"a": "one", "b": "one two", "c": "one"})
    assert (row["people"], row["longer"]) == (5, pytest.approx(0.2))


def test_agreement_with_the_panel_and_with_other_people_by_hand() -> None:
    """Three of four people vote for a; each is compared with the majority of the other three."""
    votes = pd.DataFrame({"member": list("wxyz"), "a": "a", "b": "b", "value": [1.0, 1.0, 1.0, 0.0]})
    panel = pd.DataFrame({"member": ["m"], "a": ["a"], "b": ["b"], "value": [0.2]})
    table = agreement_table(panel, votes).set_index("measure")["estimate"]
    assert table["panel"] == pytest.approx(0.25)
    assert table["people"] == pytest.approx(0.75)
    assert table["panel minus people"] == pytest.approx(-0.5)


def test_gains_of_rewritings_by_hand() -> None:
    """Six messages: persuasive ones win 80%, paraphrases and copies half; at equal length the gain is that of the words kept."""
    ids = [f"m{n}" for n in range(6)]
    written = [rewritings.Rewriting(name, form, "one two three") for name in ids for form in rewritings.FORMS]
    written[0] = written[0]._replace(text=None, reason="refusal")
    rng = np.random.default_rng(0)
    rows = [
        (f"p{n}", one.message, one.id, (0.2 if one.form == "persuasive" else 0.5) + rng.normal(0, 0.02))
        for n in range(6) for one in written if one.text is not None
    ]  # fmt: skip
    pairs = pd.DataFrame(rows, columns=["member", "a", "b", "value"])
    gains = rewritings.gain_table(pairs, dict.fromkeys(ids, "one two three"), written)
    table = rewritings.summary_table(gains, pairs).set_index("form")
    assert table.loc["persuasive", "gain"] == pytest.approx(0.3, abs=0.03)
    assert (table.loc["persuasive", "messages"], table.loc["persuasive", "missing"]) == (5, 1)
    assert table.loc["paraphrase", "low"] < 0 < table.loc["paraphrase", "high"]
    assert "more persuasive" in rewritings.verdict(table.reset_index())
    assert np.isnan(table.loc["persuasive", "level"])  # lengths do not vary
    longer = np.tile([0.0, 1.0, 2.0, 0.5, 1.5, 2.5], 5)
    gains = 0.1 + 0.2 * longer + rng.normal(0, 0.001, 30)
    found = rewritings.equal_length(gains, longer)
    assert found["level_low"] < 0.1 < found["level_high"]
    few = rewritings.equal_length(gains[:29], longer[:29])  # of ten skewed gains, 10% of the intervals missed
    assert few["level"] == pytest.approx(0.1, abs=0.01)
    assert np.isnan(few["level_low"])


@check_each(
    "name, text, words",
    [
        ("m.csv", "text\nHello\nBye\n", "lacks the column message"),
        ("m.csv", "message\nHello\n", "has 1 message"),
        ("m.csv", "id,message\na,Hello\na,Bye\n", "comes twice"),
        ("m.csv", 'id,message\nm1,Hello\nm2," "\n', "m2 is empty"),
        ("m.csv", "message,aim\nHello,to win\nBye,to lose\n", "has 2 aims"),
        ("m.csv", "message\n", "has no rows"),
        ("m.jsonl", "{no json\n", "not a file of JSON lines"),
        ("m.jsonl", '{"message": "a"}\n[1, 2]\n', "each line must be a JSON object"),
        (
            "m.jsonl",
            '{"message": ["a"]}\n{"message": "b"}\n',
            "row 1: message is a list or an object, but must be a text",
        ),
        ("m.csv", "id,message\na,Hello\na/persuasive,Bye\n", "has a slash"),
        ("m.csv", "", "m.csv is empty"),
        ("m.csv", "message\nOne, two.\nOne, two, three.\n", "quotation marks"),
    ],
)
def test_broken_files_of_messages_are_refused(name: str, text: str, words: str, tmp_path: Path) -> None:
    """One line that says what to correct."""
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=words) as raised:
        read_messages(tmp_path / name)
    assert "\n" not in str(raised.value)


@check_each(
    "row, words",
    [
        ("ann,a,x,first", "unknown message 'x'"),
        ("ann,a,a,first", "with itself"),
        ("ann,a,b,left", "choice is left, but must be"),
        (",a,b,first", "voter is empty"),
    ],
)
def test_broken_votes_are_refused(row: str, words: str, tmp_path: Path) -> None:
    """A vote on a message that is not there would vanish."""
    (tmp_path / "v.csv").write_text(f"voter,first,second,choice\nbob,a,b,tie\n{row}\n")
    with pytest.raises(UserError, match=words):
        read_votes(tmp_path / "v.csv", ["a", "b"])


def test_files_are_read(tmp_path: Path) -> None:
    """Both forms; a tie is half, an empty choice missing; NA is a word and no missing value."""
    (tmp_path / "m.jsonl").write_text('{"message": "NA", "aim": "to win"}\n{"message": "Bye\\nnow", "aim": "to win"}\n')
    found = read_messages(tmp_path / "m.jsonl")
    assert (found.texts, found.aim) == ({"m1": "NA", "m2": "Bye now"}, "to win")
    (tmp_path / "v.csv").write_text("voter,first,second,choice\nann,m1,m2,tie\nbob,m2,m1,\ncem,m1,m2,second\n")
    votes = read_votes(tmp_path / "v.csv", ["m1", "m2"])
    assert votes["share"].tolist() == pytest.approx([0.5, np.nan, 0.0], nan_ok=True)
    assert votes["reason"].tolist() == ["", "missing", ""]
    (tmp_path / "p.csv").write_text("aim,situation\nto get a raise,My boss is busy.\n")
    assert read_problems(tmp_path / "p.csv")["p1"].situation == "My boss is busy."


def arena(tmp_path: Path, name: str, words: str) -> str:
    assert run.main([*f"study arena {words} --out {tmp_path / name}".split()]) == 0
    return (tmp_path / name / "arena.md").read_text(encoding="utf-8")


def test_the_command_finds_what_is_planted_and_nothing_else(tmp_path: Path) -> None:
    """On the oracle: rewriting gains with its planted gain, and neither without it nor without taste; a copy gains exactly 0."""
    small = "--topic racism --panel 10 --write 5 --rewrite --llm oracle"
    found, null = arena(tmp_path, "a", f"{small},gain=4"), arena(tmp_path, "b", f"{small},gain=4,taste=0")
    assert "Rewriting makes a message more persuasive" in found
    assert "cannot be distinguished from paraphrases" in null
    assert "persuades more than" in found
    assert "No message persuades clearly more" in null
    assert "| copy | 5 | 0 | 0.0 |" in found


def test_votes_of_people_stand_beside_the_panel_and_a_second_start_asks_nothing(tmp_path: Path) -> None:
    """A second start reads all replies from the journal: the page is the same, byte by byte, with a budget of no new call."""
    page = arena(tmp_path, "a", "--topic racism --panel 5 --write 3 --llm oracle")
    texts = pd.read_csv(tmp_path / "a" / "messages.csv")
    texts.rename(columns={"message": "id", "text": "message"}).to_csv(tmp_path / "m.csv", index=False)
    people = [f"v{n},m1,m2,{'first' if n % 3 else 'second'}" for n in range(6)]
    (tmp_path / "v.csv").write_text("\n".join(["voter,first,second,choice", *people, "v0,m3,m1,tie", "v1,m3,m1,"]))
    words = f"{tmp_path / 'm.csv'} --topic racism --panel 5 --llm oracle --votes {tmp_path / 'v.csv'}"
    beside = arena(tmp_path, "b", words)
    assert "1 of 8 votes are missing; 1 votes are ties." in beside
    assert "| panel minus people |" in beside
    assert all(f"| m{number} |" in beside.split("## What else")[0] for number in (1, 2, 3))
    assert arena(tmp_path, "b", f"{words} --max-calls 30") == beside
    assert arena(tmp_path, "a", "--topic racism --panel 5 --write 3 --llm oracle --max-calls 33") == page


def test_without_a_readable_answer_everything_is_unknown(tmp_path: Path) -> None:
    """Missing is not zero: no score, no place, no length and no gain, each with its reason."""
    (tmp_path / "m.csv").write_text("message\nTaxes are fair.\nTaxes pay for schools.\n")
    page = arena(tmp_path, "a", f"{tmp_path / 'm.csv'} --aim fairness --panel 5 --rewrite --llm fake --keep-going")
    assert "10 of 10 answers are missing" in page
    for words in (
        "The scores are unknown, because no readable comparison connects these 2 groups",
        "the effect of the place is unknown",
        "the effect of the length is unknown",
        "It is unknown whether rewriting makes a message more persuasive, because fewer than 5 messages have a gain",
    ):
        assert words in page, words
    assert "–%" not in page


@check_each(
    "words, expected",
    [
        ("--topic racism --llm oracle --panel 500", "people, and 500 are needed"),
        ("nowhere.csv --aim x --llm oracle", "cannot read nowhere.csv"),
        ("--llm oracle --votes v.csv", "--votes needs the messages"),
        ("--topic racism --llm oracle --write 1", "--write must be at least 2"),
        ("--llm oracle --topic racsm", "did you mean racism"),
    ],
)
def test_mistakes_are_one_line(
    words: str, expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, one line, before the first call."""
    monkeypatch.chdir(tmp_path)
    assert run.main(["study", "arena", *words.split()]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1
