"""`run.py study search` on the oracle: a planted best, nothing planted, a stopped search, costs, and people who are new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.analysis.metrics import broken_replies
from parley.llm.errors import UserError
from parley.llm.journal import own_usage
from parley.model.files import JOURNAL, RECORD
from parley.model.scenario import Scenario, load_preset
from parley.studies.search.bench import Rooms, outcome_of, people_of, with_new_people
from parley.studies.search.methods import RANDOM, TPE
from parley.studies.search.searching import BEST, CHANCE, Plan
from parley.studies.search.space import Objective, Setting, load_space

SMALL = ["--trials", "5", "--rooms", "2", "--new-rooms", "5", "--runners", "1", "--rounds", "3"]
Searched = Callable[..., Path]


@pytest.fixture
def searched(tmp_path: Path) -> Searched:
    """Run a search into a folder; return the folder."""

    def search(name: str, *words: str, llm: str = "oracle,kappa=0.3,mu=0", space: str = "messages") -> Path:
        folder = tmp_path / name
        code = run.main(["study", "search", space, "--llm", llm, "--out", str(folder), *words])
        assert code == 0
        return folder

    return search


def journals(folder: Path) -> dict[str, int]:
    """How many calls each run has made."""
    return {str(path.parent.relative_to(folder)): own_usage(path)[0] for path in sorted(folder.rglob(JOURNAL))}


def records(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob(RECORD))}


@pytest.fixture
def small_base() -> Scenario:
    return load_preset("two_way", {"topic": "racism", "llm": "oracle", "rounds": 3, "repetitions": 40})


def test_new_rooms_have_new_people_where_personas_are_enough(small_base: Scenario) -> None:
    """Of 12 repetitions of two people, all 24 people are others; the last 7 have no one of the first 5."""
    rooms = Rooms(with_new_people(small_base.with_settings({"repetitions": 12})), 5, 7)
    assert rooms.met == (0, 14)
    assert len(rooms.names) == 7
    assert all("reference" not in name for names in rooms.names for name in names)


def test_a_scenario_with_too_few_personas_keeps_its_casting_and_says_who_was_met(small_base: Scenario) -> None:
    """Forty people of a party cannot be new in 60 repetitions."""
    base = with_new_people(small_base.with_settings({"repetitions": 60}))
    assert base.people.cast == "circle"
    met, people = Rooms(base, 30, 30).met
    assert 0 < met <= people == 60


def test_each_new_repetition_has_its_own_random_setting(small_base: Scenario) -> None:
    """Two repetitions of three share a setting: it becomes one intervention in both rooms; rooms of the search have none."""
    rooms, space = Rooms(small_base.with_settings({"cast": "fresh"}), 2, 3), load_space("messages")
    alarm, calm = (Setting(name, (("round", 1), ("every", 0), ("share", 1.0))) for name in ("alarm", "calm"))
    first, second = rooms.with_new_settings(space, [alarm, calm, alarm]).interventions
    assert first.rooms == (*rooms.names[0], *rooms.names[2])
    assert second.rooms == rooms.names[1]


def test_an_outcome_of_a_party_needs_a_party_that_debates(small_base: Scenario) -> None:
    """A metric of whole rooms has no party, and a mistyped party is named."""
    assert outcome_of(Objective(party="first"), small_base).party in small_base.parties
    with pytest.raises(UserError, match="unknown party of objective"):
        outcome_of(Objective(party="greens"), small_base)
    with pytest.raises(UserError, match="leave out party"):
        outcome_of(Objective(outcome="polarisation", party="first"), small_base)


def test_people_are_told_apart_by_party_and_id(small_base: Scenario) -> None:
    rooms = Rooms(small_base, 1, 1)
    assert people_of([]) == set()
    assert rooms.met[1] == 2


@pytest.mark.parametrize(("method", "runs"), [(RANDOM, (21, 5)), (TPE, (36, 6))])
def test_a_plan_counts_its_runs(small_base: Scenario, method: str, runs: tuple[int, int]) -> None:
    """20 random settings, without an intervention: 21; a sampler shares 5 of them, so 15 more. Then none, best, two, chance."""
    plan = Plan(load_space("messages"), Rooms(small_base, 6, 12), method, 20, 2, 0)
    assert plan.most_runs == runs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "repetitions=3"], "the search sets it"),
        (["--set", "survey=never"], "has no survey"),
        (["--rounds", "2"], "round"),
        (["--method", "annealing"], "method"),
        (["--trials", "0"], "1 or more"),
    ],
)
def test_a_search_that_cannot_be_run_is_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is asked, in one line, and no folder is made."""
    assert run.main(["study", "search", "messages", "--llm", "oracle", "--out", str(tmp_path / "no"), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "no").exists()


def test_a_dry_run_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "planned"
    assert run.main(["study", "search", "messages", "--llm", "oracle", "--dry-run", "--out", str(folder)]) == 0
    assert "60 settings of 3 interventions" in capsys.readouterr().out
    assert not folder.exists()


@pytest.mark.thorough
def test_the_planted_best_is_found_and_better_than_a_random_choice(searched: Searched) -> None:
    """With an influence of .3 the loudest line at every round wins: 15 settings of 60 are enough, on 4 repetitions."""
    folder = searched("planted", "--trials", "15", "--rooms", "4", "--new-rooms", "10")
    new = pd.read_csv(folder / "new_rooms.csv").set_index("condition")
    assert new.loc[BEST, "setting"].startswith("alarm, round 1, every 1")
    assert new.loc[BEST, "effect_low"] > 0.5
    assert new.loc[BEST, "gain_low"] > 0
    assert "is better than a random choice" in (folder / "search.md").read_text()
    assert (folder / "search.png").exists()


@pytest.mark.thorough
def test_where_nothing_works_the_best_is_no_better_than_a_random_choice(searched: Searched) -> None:
    """Without influence and drift no line moves anybody: the page says so."""
    folder = searched("null", *SMALL, llm="oracle,kappa=0,mu=0,sigma=0")
    assert "no better than a random choice" in (folder / "search.md").read_text()


@pytest.mark.thorough
def test_a_search_that_was_stopped_goes_on_and_asks_nothing_twice(searched: Searched, tmp_path: Path) -> None:
    """A budget of 200 calls ends it in the middle. The same command without it has the records, calls and numbers of a whole one.

    Repeated once more it makes no call; another search is refused in its folder.
    """
    whole = searched("whole", *SMALL)
    words = ["study", "search", "messages", "--llm", "oracle,kappa=0.3,mu=0", "--out", str(tmp_path / "part"), *SMALL]
    assert run.main([*words, "--max-calls", "200"]) != 0
    assert 0 < sum(journals(tmp_path / "part").values()) <= 200
    assert run.main(words) == 0
    assert journals(tmp_path / "part") == journals(whole)
    assert records(tmp_path / "part") == records(whole)
    assert (tmp_path / "part" / "search.md").read_text() == (whole / "search.md").read_text()
    before = journals(whole)
    searched("whole", *SMALL)
    assert journals(whole) == before
    assert run.main([*words, "--seed", "1"]) != 0


@pytest.mark.thorough
def test_what_costs_too_much_is_never_tried(searched: Searched, tmp_path: Path) -> None:
    """With a limit of 1, no setting above it is run, in the search or on new rooms."""
    text = (Path(run.__file__).parent / "studies/search/data/spaces/messages.toml").read_text()
    space = tmp_path / "cheap.toml"
    space.write_text(text.replace('direction = "higher"', 'direction = "higher"\nmost_cost = 1'))
    folder = searched("cheap", *SMALL, space=str(space))
    assert pd.read_csv(folder / "trials.csv")["cost"].max() <= 1
    new = pd.read_csv(folder / "new_rooms.csv").set_index("condition")
    assert new["cost"].max() <= 1
    assert CHANCE in new.index


def test_the_page_says_when_debates_are_broken(searched: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies that are cut off were reported without a word on it. Those of the runs without an intervention count, once each."""
    sound = broken_replies.compute
    monkeypatch.setattr(broken_replies, "compute", lambda tables: sound(tables).assign(unended=1.0))
    small = ["--trials", "1", "--rooms", "1", "--new-rooms", "1", "--runners", "0", "--rounds", "3", "--method", RANDOM]
    page = (searched("cut", *small) / "search.md").read_text()
    assert "**These debates are not usable:** 12 of 12 replies end in the middle" in page


@pytest.mark.thorough
def test_ratings_that_cannot_be_read_are_missing_and_counted(searched: Searched) -> None:
    """A model that answers nothing readable has no best setting, and every outcome is missing."""
    folder = searched("unread", *SMALL, "--keep-going", llm="fake")
    page = (folder / "search.md").read_text()
    assert "t is unknown which setting is the best" in page
    missing = pd.read_csv(folder / "missing.csv")
    assert (missing["missing"] == missing["rooms"]).all()
