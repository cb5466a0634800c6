"""Every command reads users' files with one reader: the same twelve files are given to all of them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from data_checks import check_each

from parley.agents.language import ENGLISH
from parley.analysis import curve_comparison
from parley.analysis.human.cascades import read_shares, real_trees
from parley.analysis.human.readers import salvi
from parley.analysis.logs.formats import FORMATS
from parley.analysis.logs.mapping import LogMap
from parley.analysis.polls.published import read_survey as read_distributions
from parley.analysis.scores import table as scores
from parley.analysis.studies.stability import read_panel
from parley.analysis.studies.wave import read_steerings
from parley.analysis.studies.wave_comparison import load_waves
from parley.analysis.table_files import read_table
from parley.environments.text_columns import read_columns
from parley.llm.errors import UserError
from parley.studies.arena import writer as message_files
from parley.studies.community import measures as origin
from parley.studies.competition.writers import load_competition, read_pitches
from parley.studies.conjoint import choices as conjoint_people
from parley.studies.conjoint.design import ConjointDesign
from parley.studies.dissonance import choices as belief_choices
from parley.studies.games.environment import Game
from parley.studies.games.user_games import read_games
from parley.studies.honesty import measures as known_lines
from parley.studies.mixed_subjects.people import read_people
from parley.studies.opinion_groups.votes import read_votes
from parley.studies.raters.report import read_ratings
from parley.studies.side_choice.choices import read_choices as read_sides
from parley.studies.stereotypes import report as stereotypes
from parley.studies.survey_prediction.survey import read_items
from parley.studies.survey_prediction.survey import read_survey as read_answers
from parley.studies.truthfulness.measures import read_statements
from parley.studies.twins.people_file import read_people as read_people_of_twins

DESIGN = ConjointDesign("?", {"age": ("36", "52"), "job": ("bäcker", "doctor")}, (), 1, ENGLISH)
MAP = LogMap(path=Path("map.toml"), columns={"agent": "who", "room": "room", "rating": "opinion"})
ROOT = Path(__file__).parents[2]


class Reader(NamedTuple):
    """How a command reads a file: its rows, the columns of which the first must be there, and a column of numbers."""

    rows: str
    read: Callable[[Path], Any]
    number: str = ""


def with_items(path: Path) -> Any:
    """Read answers to questions whose own file is good."""
    items = path.parent / "items.csv"
    items.write_text("question,text,yes,no\nparks,More parks?,yes,no\n", encoding="utf-8")
    return read_answers(path, items)


READERS = {
    "analyse": Reader("condition,topic,run,agent,statement,score\nNone,ü,1,NA,1,4\nb,ü,1,NA,1,5", scores.read, "score"),
    "arena": Reader("message,id\nHellö,a\nBye,b", message_files.read_messages),
    "study arena --votes": Reader(
        "voter,first,second,choice\nJosé,a,b,first\nb,b,a,", lambda path: message_files.read_votes(path, ["a", "b"])
    ),
    "community": Reader("text\nHellö.\nBye.", origin.read_posts),
    "compare": Reader("question,value\nparks ä,4\nroads,", lambda path: load_waves([path]), "value"),
    "compete": Reader(
        "competition,case,writer,message\nsales,Brisa kettle,José,Buy\nsales,Brisa kettle,b,Do",
        lambda path: read_pitches(path, [load_competition("sales", "en")]),
    ),
    "conjoint": Reader(
        "respondent,task,profile,age,job,chosen\na,1,1,36,bäcker,1\na,1,2,52,doctor,0",
        lambda path: conjoint_people.read_choices(path, DESIGN),
        "chosen",
    ),
    "choose-side": Reader(
        "person,topic,stance,known,judge,side\nJosé,t,for,nothing,,for\nb,t,for,belief,for,", read_sides
    ),
    "dissonance": Reader("person,chosen,rejected,order\nJosé,x,y,2\nJosé,y,x,1", belief_choices.read_choices, "order"),
    "study dissonance --beliefs": Reader("belief,v1,v2\nä,1,2\nb,2,0.5", belief_choices.read_beliefs, "v2"),
    "distributions": Reader(
        "question,group,options,shares\nTea?,women,Ja|Nö,0.5|0.5\nTea?,men,Ja|Nö,0.1|0.9", read_distributions
    ),
    "emotions": Reader("round,sentiment,posts\n1,4,2\n2,5,1", curve_comparison.read_data, "sentiment"),
    "games": Reader(
        "room,round,player,move,value\nr,1,José,sent,4\nr,1,b,returned,3", lambda path: read_games(path, Game())
    ),
    "honesty": Reader(
        "topic,text,grade\nracism,Hellö,4\nracism,Bye,5", lambda path: known_lines.read_lines(path, ["racism"]), "grade"
    ),
    "human": Reader(
        "debate_id,treatment_type,participant_side,agreement_pre_likert,agreement_post_likert\n1,ä,PRO,2,3\n1,ä,CON,4,1\n"
        "2,ä,CON,4,4",
        salvi,
        "agreement_pre_likert",
    ),
    "study human --data": Reader(
        "cascade,person,parent\n1,José,\n1,b,José", lambda path: real_trees(path, read_shares(path))
    ),
    "import-log": Reader(
        "who,room,opinion\nJosé,r,4\nb,r,", lambda path: FORMATS.find("csv").read([path], MAP), "opinion"
    ),
    "mixed": Reader("person,outcome,predicted\nJosé,1,2\nb,,2", read_people, "outcome"),
    "opinion-groups": Reader("person,statement,vote\nJosé,x,agree\nb,x,pass", read_votes),
    "panel": Reader("person,wave,question,answer\nJosé,1,q,4\nJosé,2,q,5", read_panel),
    "predict": Reader("person,weight,parks\nJosé,1,1\nb,2,0", with_items, "weight"),
    "study predict --questions": Reader("question,text,yes,no\nparks,Gößer?,yes,no\nroads,More?,yes,no", read_items),
    "raters": Reader("item,rater,score\nä,a,4\nä,b,5", read_ratings, "score"),
    "rehearse": Reader("aim,situation\nto wïn,now\nto go,", message_files.read_problems),
    "stereotypes": Reader(
        "person,group,question,answer\nJosé,None,q,4\nb,left,q,5", stereotypes.read_answers, "answer"
    ),
    "twins": Reader(
        "person,kind,topic,value,text,lowest,highest\nJosé,message,Tëa?,,Hi,,\nb,answer,Jam?,2,,1,5",
        read_people_of_twins,
        "lowest",
    ),
    "truthfulness": Reader("statement,speaker,label\nIt räins.,Ann,1\nIt snows.,,2", read_statements, "label"),
    "wave": Reader("name,sentence,opposite\nleft,You äre left.,right\nright,You are right.,left", read_steerings),
}


def shown(value: object) -> str:
    """Return a value with all of its rows, to compare two."""
    with pd.option_context("display.max_rows", None, "display.max_columns", None, "display.width", 10_000):
        return repr(value)


def spread(rows: str, add: Callable[[int, str], str]) -> str:
    return "\n".join(add(number, row) for number, row in enumerate(rows.split("\n"))) + "\n"


SAME = {
    "trailing comma": lambda rows: spread(rows, lambda number, row: f"{row}," if number else row).encode(),
    "semicolons": lambda rows: rows.replace(",", ";").encode(),
    "byte order mark": lambda rows: b"\xef\xbb\xbf" + rows.replace("\n", "\r\n").encode(),
    "Latin-1": lambda rows: rows.encode("latin-1"),
    "UTF-16 with tabs": lambda rows: rows.replace(",", "\t").encode("utf-16"),
    "two header rows": lambda rows: spread(
        rows,
        lambda number, row: row if number else f"{row}\n{row}\n" + re.sub(r"[^,]+", '"{""ImportId"":""Q""}"', row),
    ).encode(),
    "empty rows of a spreadsheet": lambda rows: f"{rows}\n{',' * rows.split(chr(10))[0].count(',')}\n\n".encode(),
}
REFUSED = {
    "ragged row": lambda rows, _: f"{rows},x,y".encode(),
    "missing column": lambda rows, _: re.sub(r"^\w+", "other", rows).encode(),
    "duplicate column": lambda rows, _: spread(rows, lambda number, row: f"{row},{row.split(',')[0]}").encode(),
    "text among numbers": lambda rows, number: with_text(rows, number).encode(),
    "empty file": lambda rows, _: b"",
    "header only": lambda rows, _: rows.split("\n")[0].encode(),
    "binary": lambda rows, _: rows.encode() + b"\0\1",
}


def with_text(rows: str, column: str) -> str:
    """Return the rows with a word in the column of numbers, in the last row."""
    head, *body = (row.split(",") for row in rows.split("\n"))
    body[-1][head.index(column)] = "seven"
    return "\n".join(map(",".join, [head, *body]))


@check_each("name", READERS)
def test_forms_of_a_good_file_are_the_same_file(name: str, tmp_path: Path) -> None:
    """Spreadsheets, Windows and survey platforms write a table in seven ways; no way moves a value to another column."""
    reader = READERS[name]
    (tmp_path / "good").mkdir()
    good = tmp_path / "good/file.csv"
    good.write_text(reader.rows, encoding="utf-8")
    expected = shown(reader.read(good))
    for form, made in SAME.items():
        (tmp_path / form).mkdir()
        path = tmp_path / form / "file.csv"
        path.write_bytes(made(reader.rows))
        assert shown(reader.read(path)) == expected, form


@check_each("name", READERS)
def test_bad_files_are_refused_in_one_line_with_their_name(name: str, tmp_path: Path) -> None:
    """Nothing is asked or counted: a UserError (exit code 2) of one line that names the file."""
    reader = READERS[name]
    path = tmp_path / "file.csv"
    for form, made in REFUSED.items():
        if form == "text among numbers" and not reader.number:
            continue
        path.write_bytes(made(reader.rows, reader.number))
        with pytest.raises(UserError, match=r"file\.csv") as raised:
            reader.read(path)
        assert "\n" not in str(raised.value), form
        if form == "text among numbers":
            row = len(reader.rows.split("\n"))
            assert f"row {row}: {reader.number} must be a number" in str(raised.value)
            assert "'seven'" in str(raised.value)


@check_each("name", READERS)
def test_packed_tables_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """.csv.gz is read by each command as its .csv is; a damaged one, and other formats that are packed, are one line."""
    reader = READERS[name]
    (tmp_path / "plain").mkdir()
    (tmp_path / "packed").mkdir()
    plain, packed = tmp_path / "plain/file.csv", tmp_path / "packed/file.csv.gz"
    plain.write_text(reader.rows, encoding="utf-8")
    packed.write_bytes(gzip.compress(reader.rows.encode()))
    expected = shown(reader.read(plain)).replace("file.csv", "file")
    assert shown(reader.read(packed)).replace("file.csv.gz", "file").replace("file.csv", "file") == expected
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(UserError, match=r"file\.csv\.gz") as raised:
        reader.read(packed)
    assert "\n" not in str(raised.value)


def test_a_packed_table_of_zeros_or_of_another_format_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte may unpack to a gigabyte; a library that reads a path cannot read a packed one."""
    path = tmp_path / "a.csv.gz"
    monkeypatch.setattr("parley.llm.table_text.LARGE", 1 << 16)
    path.write_bytes(gzip.compress(b"name,n\n" + bytes(1 << 20)))
    with pytest.raises(UserError, match=r"a\.csv\.gz: it has more than .* bytes when unpacked"):
        read_table(path, ("name",), "")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"name": "a"}\n'))
    with pytest.raises(UserError, match=r"unpack it, and give the file a\.jsonl"):
        read_table(tmp_path / "a.jsonl.gz", ("name",), "")


@check_each(
    "text, code",
    [
        ("10 - A very big problem", 10),
        ("0 – überhaupt nicht", 0),
        ("1=agree", 1),
        ("3 (neutral)", 3),
        ("-1: refused", -1),
    ],
)
def test_a_code_with_its_words_is_the_code(text: str, code: float, tmp_path: Path) -> None:
    """Survey platforms write the ends of a scale so. In a column of texts the words stay; `1 - 2 times` is no code."""
    path = tmp_path / "file.csv"
    path.write_text(f'who,n\n"{text}","{text}"\nb,5\n', encoding="utf-8")
    table = read_table(path, ("who", "n"), "", numbers=("n",))
    assert table["n"].tolist() == [code, 5]
    assert table["who"].tolist() == [text, "b"]
    columns = read_columns(str(path), ["n"])
    assert columns.numbers(columns.table["n"], "n", "answer").tolist() == [code, 5]
    path.write_text("who,n\na,1 - 2 times\n", encoding="utf-8")
    with pytest.raises(UserError, match="n must be a number"):
        read_table(path, ("n",), "", numbers=("n",))


def test_words_that_look_missing_are_words(tmp_path: Path) -> None:
    """A condition called None, an agent called NA: texts in a column of texts, missing in a column of numbers."""
    path = tmp_path / "file.csv"
    path.write_text("name,n\nNone,NA\nnull,\nNA,.\nnan,1\n", encoding="utf-8")
    table = read_table(path, ("name", "n"), "", filled=("name",), numbers=("n",))
    assert table["name"].tolist() == ["None", "null", "NA", "nan"]
    assert table["n"].isna().tolist() == [True, True, True, False]
    assert table.index.tolist() == [2, 3, 4, 5]


def test_options_after_a_file_name_columns_and_missing_codes(tmp_path: Path) -> None:
    """Columns under the names of a survey platform, 99 as no answer; a code never empties a column of names."""
    path = tmp_path / "survey.csv"
    path.write_text("ResponseId;Q1;answer\n99;0,5;x\nb;99;y\n", encoding="utf-8")
    spec = Path(f"{path},columns=(ResponseId:person,Q1:answer),missing=(99,-1)")
    table = read_table(spec, ("person", "answer"), "", filled=("person",), numbers=("answer",))
    assert table.to_dict("list") == {"person": ["99", "b"], "answer": pytest.approx([0.5, float("nan")], nan_ok=True)}
    for wrong, words in {
        "columns=(Q9:answer)": "unknown column",
        "columns=Q1": "THEIRS:OURS",
        "missing=1,x=2": "option",
    }.items():
        with pytest.raises(UserError, match=words):
            read_table(Path(f"{path},{wrong}"), ("answer",), "")


@check_each("text", ["1,234", "1.5.2", "inf", "1_0", "0x1", "١", "1e999", "50%", "4 of 7"])
def test_numbers_are_strict(text: str, tmp_path: Path) -> None:
    """What is not plainly a number is an error with file, row, column and value; a decimal comma needs semicolons throughout."""
    path = tmp_path / "file.csv"
    path.write_text(f'who,n\na,1.5\nb,"{text}"\n', encoding="utf-8")
    with pytest.raises(UserError, match=rf"file\.csv, row 3: n must be a number, .*not {re.escape(repr(text))}"):
        read_table(path, ("n",), "", numbers=("n",))
    path.write_text(f"who;n\na;1.5\nb;{text}\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"file\.csv, row 3: n must be a number"):
        read_table(path, ("n",), "", numbers=("n",))


def test_other_formats_are_the_same_table(tmp_path: Path) -> None:
    """JSON lines and Parquet give the table of the CSV."""
    frame = pd.DataFrame({"name": ["José", "None"], "n": [1.5, None]})
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv")  # with a column of row numbers that has no name
    tables = [read_table(tmp_path / f"a.{end}", ("name",), "", numbers=("n",)) for end in ("csv", "parquet", "jsonl")]
    assert len({shown(table.to_dict("list")) for table in tables}) == 1
    assert tables[2].index.tolist() == [1, 2], "lines of JSON have no header"


@check_each("name", ["a.parquet", "a.sav", "a.dta", "a.xlsx", "a.jsonl", "a.json", "none.csv"])
def test_damaged_files_of_libraries_are_one_line(name: str, tmp_path: Path) -> None:
    """Whatever a library says about a file that is cut off, the user reads one line with the file's name."""
    if name != "none.csv":
        (tmp_path / name).write_bytes(b"PAR1\n{[$FL2 PK\x03\x04\n\n")
    with pytest.raises(UserError, match=re.escape(name)) as raised:
        read_table(tmp_path / name, ("name",), "")
    assert "\n" not in str(raised.value)


def test_spss_files_give_words_and_numbers(tmp_path: Path) -> None:
    """The words of a coded answer in a column of texts, its code in a column of numbers; what SPSS calls missing is missing."""
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"vote": [1.0, 2.0, 99.0], "trust": [3.0, 99.0, 1.0]})
    labels = {"vote": {1.0: "Agree", 2.0: "Disagree"}, "trust": {1.0: "low", 3.0: "high"}}
    ranges = {"trust": [99]}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_value_labels=labels, missing_ranges=ranges)
    table = read_table(Path(f"{tmp_path}/a.sav,missing=99"), ("vote", "trust"), "", numbers=("trust",))
    assert table["vote"].tolist() == ["Agree", "Disagree", ""]
    assert table["trust"].tolist() == pytest.approx([3, float("nan"), 1], nan_ok=True)


OWN_TABLES = {
    "analysis/judge_quality.py", "studies/claims/pilot.py", "analysis/schemas/validation.py",
    "studies/sheets/results.py",
    "studies/representatives/measures.py", "studies/representatives/outcomes.py",
    "llm/table_text.py", "llm/user_file.py", "environments/edge_table.py", "analysis/views/_population.py",
}  # fmt: skip
"""Files that read a table which Parley itself wrote, the reader itself, and the columns of links by the million."""


def test_no_command_reads_a_table_by_hand() -> None:
    """A reader of its own shifts columns, loses a condition called None, or fails where others read: there is one reader."""
    by_hand = re.compile(r"\bpd\.read_csv\(|DictReader\(|csv\.reader\(|read_excel\(")
    assert files_with(by_hand) <= OWN_TABLES


def test_no_command_writes_a_table_by_hand() -> None:
    """A question called =HYPERLINK(...) is a formula in a spreadsheet, unless the one writer has put an apostrophe before it."""
    scores_of_its_own = "studies/representatives/measures.py"
    assert files_with(re.compile(r"\.to_csv\([^)]")) == {"analysis/table_export.py", scores_of_its_own}


def files_with(pattern: re.Pattern[str]) -> set[str]:
    """Return the product files in which a pattern is."""
    return {
        path.relative_to(ROOT).as_posix()
        for room in ("llm", "agents", "environments", "model", "analysis", "training", "studies")
        for path in (ROOT / room).rglob("*.py")
        if path.parent.name != "tests" and pattern.search(path.read_text(encoding="utf-8"))
    }
