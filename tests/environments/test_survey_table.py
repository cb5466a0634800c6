"""Survey files: answers become opinions and parties as written, what is missing is counted, and nothing is guessed."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.environments.survey_table import Respondents, describe_survey, open_survey
from parley.llm.errors import UserError

DATA = Path(__file__).parents[2].parent / "shared" / "data"
PEOPLE = """\
pid,sex,climate,guns,w
Republican,m,1,10,2
Democrat,f,7,0,1
Strong Democrat,f,4.0,5,1.5
Republican,f,99,2,1
Democrat,m,5,,1
Democrat, m ,6,3,0
"""
MARGINS = "variable,value,share\nsex,f,0.52\nsex,m,0.48\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a survey and margins."""
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "margins.csv").write_text(MARGINS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(options: str, file: str = "people.csv") -> Respondents:
    return open_survey(f"{file},{options}").read()


def test_answers_are_mapped_to_the_axis_by_hand(folder: Path) -> None:
    """1 to 7 is 0 to 10; the scale of guns is reversed, so its 10 is 0; who lacks an answer is left out and counted."""
    found = read("opinion=(climate,guns),low=(1,10),high=(7,0),missing=99,weight=w")
    assert found.opinions == pytest.approx(np.array([[0, 0], [10, 10], [5, 5]]))
    assert found.left_out == {"no answer to climate": 1, "no answer to guns": 1, "w 0": 1}
    assert found.lines.tolist() == [1, 2, 3]
    assert found.weights == pytest.approx(np.array([2, 1, 1.5]) / 1.5)
    assert not found.kinds


def test_a_survey_of_an_old_spreadsheet_is_read(folder: Path) -> None:
    """Lines that end with a carriage return alone stopped Parley with a traceback."""
    (folder / "old.csv").write_bytes(PEOPLE.replace("\n", "\r").encode())
    assert read("party=pid", "old.csv").kinds == ("republican", "democrat", "strong_democrat")
    (folder / "none.csv").write_text("x" * 200_000)
    with pytest.raises(UserError, match=r"none\.csv: its first row must name the columns, but the name 'xxx"):
        read("party=pid", "none.csv")


def test_parties_are_named_as_in_the_file_or_as_told(folder: Path) -> None:
    """Small letters and _, or a name of one's own, under which two values may be one party; a variant follows a colon."""
    assert read("party=pid").kinds == ("republican", "democrat", "strong_democrat")
    merged = read("party=pid,names=(Strong Democrat:democrat)")
    assert merged.shares == {"republican": pytest.approx(1 / 3), "democrat": pytest.approx(2 / 3)}
    kinds = read("party=pid,names=(Strong Democrat:democrat),variant=sex,variants=(m:male,f:female)").kinds
    assert kinds == ("republican:male", "democrat:female", "republican:female", "democrat:male")


def test_codes_of_parties_may_have_hyphens_and_digits(folder: Path) -> None:
    """A party is called as its file is: groenlinks-pvda.toml, 50plus.toml. What no file could be called is refused."""
    named = read("party=pid,names=(Democrat:groenlinks-pvda,Republican:50plus)")
    assert named.kinds == ("50plus", "groenlinks-pvda", "strong_democrat")
    with pytest.raises(UserError, match="cannot name a party"):
        read("party=pid,names=(Democrat:a b)")


def test_a_survey_of_a_platform_or_with_decimal_commas_is_read(folder: Path) -> None:
    """Weights such as 0,674 between semicolons, the two further header rows of Qualtrics, JSON lines, and Parquet."""
    spec = "party=pid,opinion=climate,low=1,high=7,missing=99,weight=w"
    expected = read(spec)
    head, *rows = PEOPLE.strip().split("\n")
    commas = "\n".join([head, *rows]).replace(",", ";").replace(";0.5", ";0,5").replace(";1.5", ";1,5")
    (folder / "commas.csv").write_text(commas)
    ids = ",".join('"{""ImportId"":""Q""}"' for _ in head.split(","))
    (folder / "qualtrics.csv").write_text("\n".join([head, head.upper(), ids, *rows]) + "\n")
    table = pd.read_csv(folder / "people.csv", dtype=str, keep_default_na=False)
    table.to_json(folder / "people.jsonl", orient="records", lines=True)
    table.to_parquet(folder / "people.parquet")
    for name in ("commas.csv", "qualtrics.csv", "people.jsonl", "people.parquet"):
        found = read(spec, name)
        assert found.opinions.tolist() == expected.opinions.tolist(), name
        assert found.weights.tolist() == expected.weights.tolist(), name


def test_margins_are_met_and_told(folder: Path) -> None:
    """Weighted shares are those of the margins; the lines of a report name what the weights cost and who is left out."""
    spec = "people.csv,opinion=climate,low=1,high=7,missing=99,weight=w,margins=margins.csv"
    found = open_survey(spec).read()
    assert [margin.after for margin in found.margins] == pytest.approx([0.52, 0.48], abs=1e-6)
    assert [margin.before for margin in found.margins] == pytest.approx([2.5 / 5.5, 3 / 5.5])
    first, second = describe_survey(open_survey(spec))
    assert first.startswith("people.csv: 4 respondents, weights worth 4; largest miss of a margin ")
    assert second == "Left out: 1 with no answer to climate, 1 with w 0."


def test_a_changed_file_is_read_again(folder: Path) -> None:
    """And a packed file, or one with semicolons and a mark of byte order, is the same survey."""
    before = read("party=pid").shares
    (folder / "people.csv.gz").write_bytes(gzip.compress(PEOPLE.encode()))
    (folder / "semi.csv").write_text("\ufeff" + PEOPLE.replace(",", ";"), encoding="utf-8")
    assert read("party=pid", "people.csv.gz").shares == before == read("party=pid", "semi.csv").shares
    (folder / "people.csv").write_text(PEOPLE + "Republican,m,1,1,1\n")
    assert len(read("party=pid").lines) == 7


@check_each(
    ("options", "told"),
    [
        ("opinion=climat,low=1,high=7", "unknown column of people.csv 'climat': did you mean climate"),
        ("opinion=climate", "give the answers that mean 0 and 10"),
        ("opinion=(climate,guns),low=(1,2,3),high=7", "give the answers that mean 0 and 10"),
        ("opinion=climate,low=1,high=1", "low and high must be two different numbers"),
        ("opinion=climate,low=1,high=7", "the answer 99 to climate is outside the scale from low=1 to high=7"),
        ("opinion=pid,low=1,high=7", "row 2: the answer to pid 'Republican' is not a number"),
        ("opinion=climate,low=one,high=7", "low of survey is ('one',), but must be a list of numbers"),
        ("party=climate", "the value '1' of climate cannot name a party"),
        ("party=pid,names=(Green:green)", "names has 'Green', but pid has only Democrat"),
        ("party=pid,weight=pid", "survey people.csv: row 2: the weight 'Republican' is not a number"),
        ("party=pid,weigth=w", "unknown option of survey 'weigth': did you mean weight"),
        ("variant=sex", "variant only works with the column of the parties: add"),
        ("weight=w", "name a column"),
        (
            "party=pid,missing=(Republican,Democrat,Strong Democrat)",
            "can be used: 6 have no answer to pid",
        ),
        ("party=pid,margins=none.csv", "cannot read none.csv: No such file or directory"),
    ],
)
def test_what_is_wrong_with_a_survey_is_told_in_one_line(folder: Path, options: str, told: str) -> None:
    with pytest.raises(UserError) as raised:
        read(options)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@check_each(
    ("rows", "told"),
    [
        ("sex,f,0.5\nsex,m,0.4", "the shares of sex add up to 0.9, but must add up to 1"),
        ("sex,f,52\nsex,m,48", "the share of sex f is 52, but must be above 0 and at most 1"),
        ("sex,f,1\nsex,m,0", "the share of sex m is 0, but must be above 0"),
        ("sex,f,1", "sex has the value 'm', but the margins have no share for it"),
        ("sex,f,0.5\nsex,m,0.4\nsex,x,0.1", "no respondent has the sex 'x' of the margins"),
        ("sex,f,0.5\nsex,f,0.5", "two shares of sex f"),
        ("sex,f,", "has a line without a share"),
        ("sx,f,0.5\nsx,m,0.5", "unknown column of people.csv 'sx': did you mean sex"),
        ("", "has no rows below its header: add a row for each value of each"),
        (
            "sex,f,0.1\nsex,m,0.9\npid,Democrat,0.1\npid,Republican,0.1\npid,Strong Democrat,0.8",
            "reach all margins at once, because some combinations of values",
        ),
    ],
)
def test_what_is_wrong_with_margins_is_told_in_one_line(folder: Path, rows: str, told: str) -> None:
    (folder / "margins.csv").write_text(f"variable,value,share\n{rows}\n")
    with pytest.raises(UserError) as raised:
        read("party=pid,margins=margins.csv")
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_negative_weights_and_torn_tables_are_refused(folder: Path) -> None:
    (folder / "people.csv").write_text(PEOPLE.replace("99,2,1", "99,2,-1"))
    with pytest.raises(UserError, match="the w is -1 in one row"):
        read("party=pid,weight=w")
    (folder / "people.csv").write_text(PEOPLE.replace("99,2,1", "99,2,NA"))
    assert read("party=pid,weight=w,missing=(NA,2)").left_out == {"no w": 1, "w 0": 1}
    (folder / "people.csv").write_text(PEOPLE + "Republican\n")
    with pytest.raises(UserError, match=r"people\.csv, row 8: it has 1 values, but the header names 5 columns"):
        read("party=pid")
    (folder / "people.csv").write_text("a,a\n1,2\n")
    with pytest.raises(UserError, match="two columns called a"):
        read("party=a")
    (folder / "people.csv").write_text("pid\nDemocrat\nDEMOCRAT\n")
    with pytest.raises(UserError, match="two values of pid would be called democrat"):
        read("party=pid")


def test_a_published_trial_is_read_as_it_is() -> None:
    """Salvi et al.: 750 debates, agreement from 1 to 5 before the debate; mean and shares as pandas computes them."""
    file = DATA / "cc_by_sa" / "salvi_rct_750_pre_post_agreement.csv"
    if not file.exists():
        pytest.skip("the public trial is not beside this checkout (shared/data/cc_by_sa)")
    found = read("opinion=(agreement_pre_likert,agreement_post_likert),low=1,high=5,party=participant_side", str(file))
    table = pd.read_csv(file)
    columns = table[["agreement_pre_likert", "agreement_post_likert"]]
    assert found.opinions.mean(axis=0) == pytest.approx(((columns.mean() - 1) / 4 * 10).to_numpy())
    assert found.shares["con"] == pytest.approx((table["participant_side"] == "CON").mean())
    assert len(found.lines) == len(table) == 750


def test_published_personas_give_parties_and_variants() -> None:
    """Chuang et al.: 30 personas with beliefs from -2 to 2, of four strengths of party, men and women."""
    file = DATA / "mit" / "chuang2023_30_personas_belief_scale.csv"
    if not file.exists():
        pytest.skip("the public personas are not beside this checkout (shared/data/mit)")
    names = "names=(Strong Democrat:democrat,Lean Democrat:democrat,Strong Republican:republican,Lean Republican:republican)"
    found = read(f"opinion=opinion,low=-2,high=2,party=political_leaning,{names},variant=gender", str(file))
    table = pd.read_csv(file)
    women = table["political_leaning"].str.endswith("Democrat") & (table["gender"] == "Female")
    assert found.shares["democrat:female"] == pytest.approx(women.mean())
    assert found.opinions.mean() == pytest.approx((table["opinion"].mean() + 2) * 2.5)
