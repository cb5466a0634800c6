"""Logs of other frameworks as run folders: each format on a small synthetic file of its schema, and what a log lacks."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import run
from parley.analysis.logs.formats import FORMATS
from parley.analysis.logs.log import Scale
from parley.analysis.logs.mapping import read_map
from parley.analysis.logs.record import record_events
from parley.analysis.metrics import applies, metrics
from parley.analysis.table_export import write_table
from parley.analysis.tables import Tables, load, tables
from parley.llm.errors import UserError

MAP = """
[columns]
agent = "who"
room = "room"
round = "wave"
rating = "opinion"
party = "side"
text = "post"
[scale]
low = 1
high = 7
"""
LONG = "who,room,wave,opinion,side,post\nann,r1,0,4,left,\nann,r1,1,7,left,I agree\nbob,r1,0,9,right,\nbob,r1,1,,right,No\n"
OWN = """
society = "us"
[columns]
agent = "agent"
""" + "\n".join(
    f'{name} = "{column}"'
    for name, column in {
        **{
            name: name
            for name in ("room", "topic", "group", "party", "seat", "round", "rating", "attitude", "expected")
        },
        **{name: name for name in ("probabilities", "text", "form", "reason")},
        "question": "probe",
    }.items()
)
OASIS = """
CREATE TABLE user (user_id INTEGER PRIMARY KEY, agent_id INTEGER, user_name TEXT, name TEXT, bio TEXT, created_at DATETIME);
CREATE TABLE post (post_id INTEGER PRIMARY KEY, user_id INTEGER, original_post_id INTEGER, content TEXT DEFAULT '',
    quote_content TEXT, created_at DATETIME, num_likes INTEGER DEFAULT 0);
CREATE TABLE comment (comment_id INTEGER PRIMARY KEY, post_id INTEGER, user_id INTEGER, content TEXT, created_at DATETIME);
CREATE TABLE like (like_id INTEGER PRIMARY KEY, user_id INTEGER, post_id INTEGER, created_at DATETIME);
CREATE TABLE dislike (dislike_id INTEGER PRIMARY KEY, user_id INTEGER, post_id INTEGER, created_at DATETIME);
CREATE TABLE follow (follow_id INTEGER PRIMARY KEY, follower_id INTEGER, followee_id INTEGER, created_at DATETIME);
CREATE TABLE trace (user_id INTEGER, created_at DATETIME, action TEXT, info TEXT);
INSERT INTO user (user_id) VALUES (1), (2), (3);
INSERT INTO follow VALUES (1, 2, 1, 0);
INSERT INTO post (post_id, user_id, original_post_id, content, quote_content, created_at) VALUES
    (1, 1, NULL, 'hello', NULL, 1), (2, 2, 1, '', NULL, 2), (3, 3, 1, '', 'not so', 3);
INSERT INTO comment VALUES (1, 1, 2, 'well', 2);
INSERT INTO like VALUES (1, 3, 1, 2);
INSERT INTO dislike VALUES (1, 2, 9, 3);
"""


def read(form: str, given: str, *files: Path) -> Tables:
    """Read files with a map, without a folder."""
    given_map = read_map(written(files[0].parent / "map.toml", given) if given else None)
    return tables(record_events(FORMATS.find(form).read(files, given_map), files, form))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refusal(form: str, given: str, *files: Path) -> str:
    """The one line with which a file is refused."""
    with pytest.raises(UserError) as error:
        read(form, given, *files)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_long_table(tmp_path: Path) -> None:
    """A rating is put on the axis by its scale; one outside the scale and an empty one are missing, each with its reason."""
    found = read("csv", MAP, written(tmp_path / "a.csv", LONG))
    rows = found.attitudes.set_index(["name", "round"])
    assert rows.loc[("ann", 0), "attitude"] == 5.0
    assert rows.loc[("ann", 1), "attitude"] == 10.0
    assert pd.isna(rows.loc[("bob", 0), "rating"])
    assert rows.loc[("bob", 0), "reason"] == "outside the scale"
    assert rows.loc[("bob", 0), "raw"] == "9"
    assert rows.loc[("bob", 1), "reason"] == "empty in the log"
    assert list(found.utterances["text"]) == ["I agree", "No"]
    assert list(found.utterances["iteration"]) == [1, 2]
    assert list(found.agents["party"]) == ["left", "right"]


def test_wide_table(tmp_path: Path) -> None:
    """A column per round gives the same ratings as a row per round; a turned scale turns the axis."""
    given = (
        '[columns]\nagent = "id"\n[wide.rating]\n0 = "pre"\n1 = "post"\n[scale]\nlow = 0\nhigh = 4\nreverse = true\n'
    )
    found = read("csv", given, written(tmp_path / "a.csv", "id,pre,post\na,0,4\nb,2,1\n"))
    assert list(found.attitudes["attitude"]) == [10.0, 5.0, 0.0, 7.5]
    assert list(found.attitudes["round"]) == [0, 0, 1, 1]


def test_header_is_honest(tmp_path: Path) -> None:
    """The header says who read the log, and what it does not know; topics and questions are not taken for Parley's."""
    path = written(tmp_path / "a.csv", "who,opinion,topic\nann,4,racism\n")
    given = MAP.replace('room = "room"\nround = "wave"\n', 'topic = "topic"\n')
    header = read("csv", given, path).header
    assert header.is_log
    assert header.model["read_by"].startswith("parley")
    assert header.scenario["topic"] == ["log: racism"]
    assert header.scenario["probe"] == "log: opinion"
    assert header.scenario["seed"].startswith("unknown")
    assert header.scenario["llm"].startswith("unknown")
    assert "temperature" not in header.scenario
    assert "personas" not in header.scenario


@pytest.mark.thorough
def test_round_trip(ran: Callable[..., Path], tmp_path: Path) -> None:
    """A run written as CSV and read again has the same ratings, texts, and numbers in every metric of its report."""
    own = load(ran("three_way", repetitions=5, rounds=1))
    files = [tmp_path / "attitudes.csv", tmp_path / "utterances.csv"]
    for frame, path in zip((own.attitudes, own.utterances), files, strict=True):
        write_table(frame, path.with_suffix(""))
    back = read("csv", OWN, *files)
    keys = ["room", "round", "agent", "probe", "rating", "attitude", "expected", "reason"]
    pd.testing.assert_frame_equal(own.attitudes[keys], back.attitudes[keys])
    texts = [name for name in own.utterances if name not in ("name", "raw")]
    pd.testing.assert_frame_equal(own.utterances[texts], back.utterances[texts])
    measured = [name for name, metric in metrics().items() if applies(metric, own)]
    assert len(measured) > 8
    for name in measured:
        computed = [metrics()[name].compute(one) for one in (own, back)]
        unknown = ["recited", "recited_null", "foreign"] if name == "broken_replies" else []  # a log has no society
        pd.testing.assert_frame_equal(*[table.drop(columns=unknown) for table in computed], obj=name)


def test_report_says_what_does_not_apply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Texts are shown as plain text, sections without data say what the log lacks, and what needs a scenario is refused."""
    monkeypatch.chdir(tmp_path)
    written(Path("a.csv"), "who,room,wave,post\nann,r1,1,<script>x</script> [y](http://z) | # z\nbob,r1,1,no\n")
    written(Path("map.toml"), MAP)
    assert run.main(["study", "import-log", "a.csv", "--format", "csv", "--map", "map.toml", "--out", "log"]) == 0
    summary, transcript = (Path("log", name).read_text() for name in ("summary.md", "transcript.md"))
    assert "| Polarisation | does not apply: the log has no ratings that are attitudes |" in summary
    assert "does not apply: the log has no debates of the conditions asked" in summary
    assert "<script>" not in transcript
    assert "&lt;script" in transcript
    assert not Path("log/figures").exists()
    assert run.main(["report", "log"]) == 0
    for words in (["show", "log", "--agent", "1"], ["study", "judge", "log", "--llm", "oracle"]):
        assert run.main(words) == 2
        assert "the run was read from a log" in capsys.readouterr().err
    assert "<script>x" not in Path("log/report.html").read_text()


@pytest.mark.thorough
def test_one_room_has_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A table without rooms is one room: its report has no interval and says why."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{who},{wave},{1 + (who + wave) % 7}\n" for who in range(9) for wave in (0, 1))
    written(Path("a.csv"), f"who,wave,opinion\n{rows}")
    written(Path("map.toml"), MAP)
    assert run.main(["study", "import-log", "a.csv", "--format", "csv", "--map", "map.toml", "--out", "log"]) == 0
    assert "9 people, 18 ratings" in capsys.readouterr().out
    assert "fewer than 5" in Path("log/summary.md").read_text()


FAULTS = {
    ("who,room,wave,opinion\n,r1,0,4\n", MAP): "row 2: who is empty: each row needs an agent",
    ("who,room,wave,opinion\nann,r1,0,x\n", MAP): "row 2: opinion must be a number, or empty if it is missing, not 'x'",
    ("who,room,wave,opinion\nann,r1,0,inf\n", MAP): "must be a number, or empty",
    ("who,room,wave,opinion\nann,r1,-1,4\n", MAP): "wave must be a whole number from 0",
    ("who,room,wave\nann,r1,0\n", MAP): "has no column of ratings or texts",
    ("who,room,opinion\nann,r1,4\n", MAP): "lacks the column wave, which",
    ("room,wave,opinion\nr1,0,4\n", MAP): "lacks the column who",
    ("who,room,wave,opinion\nann,r1,0,4\nann,r1,0,5\n", MAP): "ann answers opinion twice in room r1, round 0",
    ("who,room,wave,opinion\nann,r1,0,4\n", f'main = "trust"\n{MAP}'): "main = 'trust' is no question of the log",
    ("who,opinion\nann,4\n", ""): "needs --map MAP.toml",
    ("who,opinion\nann,4\n", '[columns]\nagnt = "who"'): "agnt",
    ("who,opinion\nann,4\n", f"{MAP}\n[scales.x]\nlow = 3"): "scales.x needs two numbers",
    ("who,opinion\nann,4\n", MAP.replace("high = 7", "high = 1")): "low must be below",
}


def test_faults_of_tables(tmp_path: Path) -> None:
    """Each fault of a table or a map is one line that names the place and what is missing."""
    for (table, given), expected in FAULTS.items():
        assert expected in refusal("csv", given, written(tmp_path / "a.csv", table))


CHAT = """{"role": "system", "content": "Debate."}
{"role": "user", "name": "ann", "content": "Hello.\\nAll", "tool_calls": null}
{"role": "assistant", "name": "bob", "content": null, "tool_calls": [{"id": 1}]}
{"role": "tool", "content": "42", "tool_call_id": "1"}
{"role": "assistant", "name": "bob", "content": "It is 42."}
"""


def test_messages_of_a_chat_are_read(tmp_path: Path) -> None:
    """The list of messages that AutoGen and servers keep: lines of tools and of the system are left out and counted."""
    given = '[columns]\nagent = "name"\ntext = "content"\n'
    found = read("csv", given, written(tmp_path / "chat.jsonl", CHAT))
    assert found.utterances["name"].tolist() == ["ann", "bob", "bob"]
    assert found.utterances["text"].fillna("").tolist() == ["Hello. All", "", "It is 42."]
    assert "2 messages of the roles system" in found.header.model["lacks"]["prompts"]


def test_a_table_of_a_german_spreadsheet_is_read(tmp_path: Path) -> None:
    """Semicolons, decimal commas, and 99 for no answer, which is missing and not outside of the scale."""
    table = written(tmp_path / "a.csv", "who;room;wave;opinion\nann;r1;0;4,5\nbob;r1;0;99\n")
    given = read_map(written(tmp_path / "map.toml", MAP))
    log = FORMATS.find("csv").read([Path(f"{table},missing=99")], given)
    found = tables(record_events(log, [table], "csv"))
    assert found.attitudes["rating"].fillna(-1).tolist() == [4.5, -1]
    assert found.attitudes["reason"].tolist()[1] == "empty in the log"


def test_oasis(tmp_path: Path) -> None:
    """Posts, replies, reposts, quotes, votes and follows of an OASIS file become texts, acts and links; it has no ratings."""
    path = tmp_path / "sim.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(OASIS)
    found = read("oasis", "", path)
    assert list(found.utterances["text"]) == ["hello", "well", "not so"]
    acts = found.acts[["name", "act", "target"]].fillna(0).astype({"target": int}).to_numpy().tolist()
    assert ["user 1", "post", 0] in acts
    assert ["user 2", "repost", 1] in acts
    assert ["user 2", "reply", 1] in acts
    assert ["user 3", "quote", 1] in acts
    assert ["user 3", "like", 1] in acts
    lost = found.acts[found.acts["act"] == "dislike"].iloc[0]
    assert pd.isna(lost["target"])
    assert lost["reason"] == "the post is not in the log"
    assert found.links[["source", "target"]].to_numpy().tolist() == [[2, 1]]
    assert found.attitudes.empty
    assert "no ratings" in found.header.model["lacks"]["attitudes"]


def test_faults_of_oasis(tmp_path: Path) -> None:
    """A file without a table or a column, and one that is no database, are refused in one line."""
    for statement, expected in (("DROP TABLE follow", "lacks the table follow"), ("ALTER TABLE post DROP quote_content",
                                "the table post lacks the column quote_content")):  # fmt: skip
        path = tmp_path / f"{expected[:9]}.db"
        with closing(sqlite3.connect(path)) as file:
            file.executescript(OASIS)
            file.execute(statement)
        assert expected in refusal("oasis", "", path)
    assert "cannot be read as an SQLite file" in refusal("oasis", "", written(tmp_path / "b.db", "no database" * 99))


def test_edsl(tmp_path: Path) -> None:
    """Options of a question are its scale, free answers are texts, unreadable ones are missing; JSON and CSV agree."""
    answers = [("Ann", 5, "fine"), ("Bob", None, "bad"), ("Cy", "five", "")]
    kinds = {"trust": ("linear_scale", [0, 5, 10]), "why": ("free_text", None)}
    about = {name: {"question_type": kind, "question_options": options} for name, (kind, options) in kinds.items()}
    data = [
        {"agent": {"name": name, "traits": {"party": "left"}}, "scenario": {"topic": "tax"}, "model": {"model": "m"},
         "iteration": 0, "answer": {"trust": trust, "why": why}, "question_to_attributes": about}
        for name, trust, why in answers
    ]  # fmt: skip
    rows = [
        {"agent.agent_name": name, "agent.party": "left", "scenario.topic": "tax", "model.model": "m", "answer.trust": trust,
         "answer.why": why, "question_type.trust_question_type": "linear_scale", "question_type.why_question_type": "free_text",
         "question_options.trust_question_options": "[0, 5, 10]"}
        for name, trust, why in answers
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    both = [
        read("edsl", "", tmp_path / "a.csv"),
        read("edsl", "", written(tmp_path / "a.json", json.dumps({"data": data}))),
    ]
    for found in both:
        assert found.attitudes["attitude"].fillna(-1).tolist() == [5.0, -1, -1]
        assert found.attitudes["reason"].tolist() == [None, "no answer", "no number in the answer"]
        assert found.utterances["text"].tolist() == ["fine", "bad", None]
        assert set(found.agents["llm"]) == {"m"}
        assert found.agents["group"].tolist() == ["topic=tax"] * 3
        assert found.agents["room"].nunique() == 3
    assert "lacks a column answer.QUESTION" in refusal("edsl", "", written(tmp_path / "b.csv", "a\n1\n"))
    assert "it lacks 'data'" in refusal("edsl", "", written(tmp_path / "b.json", "{}"))


def test_socsim(tmp_path: Path) -> None:
    """Runs of a sweep are rooms, their condition is the group; the model is that of the manifest, the scale that of the map."""
    for seed in (1, 2):
        folder = tmp_path / f"study/sweeps/runs/open/seed_{seed}/run"
        folder.mkdir(parents=True)
        probe = {"event_type": "probe", "label": "Support"}
        rows = [
            {**probe, "episode": step, "source_user": who, "data": {"raw_response": "it is 7", "probe_return": answer}}
            for step in (0, 1)
            for who, answer in (("Ann", "7"), ("Bob", None))
        ]
        act = {"episode": 0, "event_type": "action", "source_user": "Ann", "label": "post", "data": {"post_text": "hi"}}
        (folder / "probe_events.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
        written(folder / "action_events.jsonl", json.dumps(act))
    rows = [{"condition_id": "open", "seed": seed, "model": "m"} for seed in (1, 2)]
    written(tmp_path / "study/sweeps/manifest.jsonl", "\n".join(map(json.dumps, rows)))
    found = read("socsim", "[scale]\nlow = 1\nhigh = 10\n", tmp_path / "study")
    assert found.agents["room"].unique().tolist() == ["open/seed_1", "open/seed_2"]
    assert set(found.agents["llm"]) == {"m"}
    assert set(found.agents["group"]) == {"open"}
    assert found.utterances["round"].tolist() == [1, 1]
    known = found.attitudes.dropna(subset="attitude")
    assert known["round"].tolist() == [0, 0, 1, 1]
    assert known["attitude"].round(9).unique().tolist() == [round(20 / 3, 9)]
    assert set(found.attitudes.loc[found.attitudes["rating"].isna(), "reason"]) == {"no answer"}
    without = read("socsim", "", tmp_path / "study")
    assert without.attitudes.empty
    assert len(without.probes) == 8
    assert "no scale" in without.header.model["lacks"]["attitudes"]
    written(tmp_path / "study/sweeps/runs/open/seed_1/run/action_events.jsonl", '{"episode": 0}')
    assert "line 1 lacks source_user" in refusal("socsim", "", tmp_path / "study")
    (tmp_path / "none").mkdir()
    assert "has no probe_events.jsonl" in refusal("socsim", "", tmp_path / "none")


def test_own_format(tmp_path: Path) -> None:
    """A format of the user is one file, named by its path."""
    lines = (
        "from parley.analysis.logs.log import Line, Log, Person",
        "ABOUT = 'one line per text'",
        "def read(paths, given):",
        "    return Log('mine', [Person('r', 'ann')], lines=[Line('r', 'ann', 1, t) for t in paths[0].read_text().split()])",
    )
    mine = written(tmp_path / "mine.py", "\n".join(lines))
    assert read(str(mine), "", written(tmp_path / "a.txt", "one two")).utterances["text"].tolist() == ["one", "two"]


def test_folder_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A folder that has files is not written to, and a missing log is named; both in one line, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    written(Path("a.csv"), LONG), written(Path("map.toml"), MAP)
    assert run.main(["study", "import-log", "a.csv", "--format", "csv", "--map", "map.toml", "--out", "."]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert run.main(["study", "import-log", "none.csv", "--format", "csv", "--map", "map.toml", "--out", "log"]) == 2
    assert "none.csv does not exist" in capsys.readouterr().err
    assert run.main(["study", "import-log", "a.csv", "--format", "cvs", "--out", "log"]) == 2
    assert "format of a log" in capsys.readouterr().err


def test_scale() -> None:
    """The worked values of the docs page."""
    assert Scale(1, 7).attitude(2.5) == 2.5
    assert Scale(1, 7, True).attitude(7) == 0


def test_numbers_that_no_one_can_mean_are_refused_or_missing(tmp_path: Path) -> None:
    """A huge number, a list of shares that are none and an odd digit are one line, or a missing rating, never a traceback."""
    huge = "1" + "0" * 400
    probability = '[columns]\nagent="a"\nrating="r"\nprobabilities="p"\n'
    tables = [(f'a,r,p\nx,4,"{text}"\n', probability) for text in ("[NaN]", f"[{huge}]", "[" * 50_000)]
    tables += [("a,r\nx,99\n", '[columns]\nagent="a"\nattitude="r"\n')]
    tables += [("a,r\nx,4\n", '[columns]\nagent="a"\n[wide.rating]\n"²"="r"\n')]
    tables += [("a,r\nx,4\n", f'[columns]\nagent="a"\nrating="r"\n[scale]\nlow=1\nhigh={huge}\n')]
    tables += [("a,r,w\nx,4,1e300\n", '[columns]\nagent="a"\nrating="r"\nround="w"\n')]
    path, given = tmp_path / "x.csv", tmp_path / "map.toml"
    for text, columns in tables:
        path.write_text(text, encoding="utf-8")
        given.write_text(columns, encoding="utf-8")
        with pytest.raises(UserError):
            list(record_events(FORMATS.find("csv").read([path], read_map(given)), [path], "csv"))


def test_hostile_events_of_silisocs_are_missing_or_one_line(tmp_path: Path) -> None:
    """A line separator in a text is part of the text, a huge answer is missing, and a damaged gzip is refused."""
    event = {"source_user": "x", "label": "q", "episode": 0}
    text = json.dumps({**event, "data": {"content": "a\u2028b\x85c"}}, ensure_ascii=False)
    (tmp_path / "action_events.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "probe_events.jsonl").write_text(json.dumps({**event, "data": {"probe_return": 10**400}}))
    log = FORMATS.find("socsim").read([tmp_path], read_map(None))
    assert log.lines[0].text == "a\u2028b\x85c"
    assert (log.ratings[0].value, log.ratings[0].reason) == (None, "no number in the answer")
    (tmp_path / "probe_events.jsonl").unlink()
    damaged = gzip.compress(b"{}" * 1000)[:14] + b"z" * 16
    (tmp_path / "probe_events.jsonl.gz").write_bytes(damaged)
    with pytest.raises(UserError, match="cannot read"):
        FORMATS.find("socsim").read([tmp_path], read_map(None))


def test_odd_cells_of_oasis_are_texts(tmp_path: Path) -> None:
    """SQLite does not check types: bytes or a number as a text, and an odd digit as a time, are read as text."""
    with closing(sqlite3.connect(tmp_path / "a.db")) as file:
        for line in OASIS.split(";"):
            file.execute(line)
        file.execute("DELETE FROM post")
        for number, text in enumerate((b"hi\xff", 5), 1):
            file.execute(
                "INSERT INTO post (post_id, user_id, content, created_at) VALUES (?, 1, ?, '²')", (number, text)
            )
        file.commit()
    log = FORMATS.find("oasis").read([tmp_path / "a.db"], read_map(None))
    assert [line.text for line in log.lines if line.form == "post"] == ["hi\ufffd", "5"]


@pytest.mark.thorough
def test_a_log_is_bundled_and_has_no_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle of a log verifies without replies, and a sheet of a log is refused in one line."""
    (tmp_path / "map.toml").write_text(MAP)
    (tmp_path / "a.csv").write_text(LONG)
    words = ["study", "import-log", str(tmp_path / "a.csv"), "--format", "csv", "--map", str(tmp_path / "map.toml")]
    assert run.main([*words, "--out", str(tmp_path / "log")]) == 0
    assert run.main(["export", "bundle", str(tmp_path / "log"), "--out", str(tmp_path / "log.zip")]) == 0
    assert run.main(["check", str(tmp_path / "log.zip")]) == 0
    assert "unknown: there is no journal" in capsys.readouterr().out
    assert run.main(["study", "sheet", str(tmp_path / "log")]) == 2
    assert "was read from a log" in capsys.readouterr().err


def test_hostile_maps_are_one_line(tmp_path: Path) -> None:
    """Maps of other kinds, unknown names, wrong types, damaged and nested files: each is one line that names the map."""
    columns = '[columns]\nagent="a"\nrating="r"\n'
    maps: list[str | bytes] = [
        'society="mars"\n' + columns, 'society=1\n' + columns, "society=[]\n" + columns, 'society="../us"\n' + columns,
        'society="/"\n' + columns, 'main=1\n' + columns, "main=[]\n" + columns, 'main="other"\n' + columns, "columns=1",
        'columns="a"', "columns=[]", "[[columns]]\nagent=1", "[columns]\nagent=1", '[columns]\nagent=""',
        '[columns]\nagent=["a"]', '[columns]\nagnt="a"', '[columns]\nrating="r"', '[columns]\nagent="z"\nrating="r"',
        '[columns]\nagent="a"', '[columns]\nagent="a"\nrating="z"', columns + "[scale]\nlow=1",
        columns + "[scale]\nlow=7\nhigh=1", columns + "[scale]\nlow=1\nhigh=1", columns + '[scale]\nlow="1"\nhigh=7',
        columns + "[scale]\nlow=nan\nhigh=7", columns + "[scale]\nlow=1\nhigh=inf",
        columns + "[scale]\nlow=1\nhigh=7\nstep=1", columns + "[scale]\nlow=1\nhigh=7\nreverse=1", columns + "[scales]\nr=1",
        columns + "[scales.r]\nlow=1", "scale=1\n" + columns, "scales=1\n" + columns,
        '[columns]\nagent="a"\n[wide]\nrating=1', '[columns]\nagent="a"\n[wide.rating]',
        '[columns]\nagent="a"\n[wide.rating]\nx="r"', '[columns]\nagent="a"\n[wide.rating]\n0=1',
        '[columns]\nagent="a"\n[wide.other]\n0="r"', "wide=1\n" + columns, "", "\x00", b"\xff\xfe",
        b"PK\x03\x04" + bytes(100), "[" * 100_000, "a = " + "[" * 100_000, "a" * 1000, "x" * ((1 << 24) + 1),
        '"" = 1\n' + columns, columns + columns,
    ]  # fmt: skip
    table, given = written(tmp_path / "a.csv", "a,r\nx,4\n"), tmp_path / "map.toml"
    for text in maps:
        given.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(UserError) as error:
            list(record_events(FORMATS.find("csv").read([table], read_map(given)), [table], "csv"))
        assert "\n" not in str(error.value), text[:60]
        assert len(str(error.value)) < 1000
    given.write_text('society="mars"\n' + columns)
    with pytest.raises(UserError, match=r"mars.*germany"):
        read_map(given)
    with pytest.raises(UserError, match="cannot read"):
        read_map(tmp_path)


def test_events_without_a_name_are_left_out_with_a_reason(tmp_path: Path) -> None:
    """A null, an empty or a strange source_user or label is no agent of the name "None": the event is left out and counted."""
    event = {"source_user": "x", "label": "q", "episode": 0, "data": {"probe_return": 4, "content": "hi"}}
    odd = [{**event, key: value} for key in ("source_user", "label") for value in (None, "", " ", {}, [], True, 1.5)]
    for name in ("probe_events.jsonl", "action_events.jsonl"):
        (tmp_path / name).write_text("\n".join(json.dumps(row) for row in (event, *odd)), encoding="utf-8")
    log = FORMATS.find("socsim").read([tmp_path], read_map(None))
    assert ({person.name for person in log.people}, len(log.ratings), len(log.lines)) == ({"x"}, 1, 1)
    assert log.lacks["names"].startswith("28 events without a name")


def test_hostile_files_of_each_format_are_one_line(tmp_path: Path) -> None:
    """Binary, empty, nested and foreign files, and folders, are refused by every format in one line."""
    contents = [
        b"", b"\xff\xfe\x00", b"PK\x03\x04" + bytes(50), b"[]", b"{}", b"null", b"1", b'{"a": ' * 5000, b"a,b\n1", b"\n\n",
        bytes(99),
    ]  # fmt: skip
    for form, ending in (("csv", ".csv"), ("csv", ".jsonl"), ("edsl", ".json"), ("edsl", ".csv"), ("oasis", ".db")):
        given = read_map(written(tmp_path / "map.toml", '[columns]\nagent="x"\nrating="y"\n'))
        for number, content in enumerate(contents):
            path = tmp_path / f"{form}{number}{ending}"
            path.write_bytes(content)
            with pytest.raises(UserError) as error:
                list(record_events(FORMATS.find(form).read([path], given), [path], form))
            assert "\n" not in str(error.value), (form, content[:20])
        with pytest.raises(UserError):
            list(record_events(FORMATS.find(form).read([tmp_path], given), [tmp_path], form))
