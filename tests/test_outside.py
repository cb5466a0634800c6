"""Parts that lie outside of the package, in a file or in an installed distribution, work in real runs like those in the box."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import parley
import run
from parley.agents.mediators import MEDIATORS
from parley.agents.reasoning import ABILITIES
from parley.environments import ENVIRONMENTS
from parley.environments.round_table import RoundTable
from parley.llm.backends import BACKENDS, identity_spec, open_spec
from parley.llm.errors import UserError
from parley.llm.registry import Registry
from parley.model.interventions import INTERVENTIONS, intervention_spec, parse_intervention
from parley.model.scenario import load_preset
from parley.testing import check_backend, check_environment

PARTS = Path(__file__).parent / "outside"
ENTRY_POINTS = """
[parley.backends]
toss = outside_parts.parts:Coin
[parley.environments]
whispers = outside_parts.parts:Whispers
[parley.mediators]
second = outside_parts.parts:Second
[parley.interventions]
rumour = outside_parts.parts:Rumour
[parley.reasoning]
doubt = outside_parts.parts:Doubt
[parley.graphs]
star = outside_parts.parts:Star
[parley.metrics]
spoken = outside_parts.spoken
[parley.card_sections]
length = outside_parts.length
"""
SMALL = ("--topic", "racism", "--repetitions", "2", "--rounds", "1")
NETWORK = ("--scenario", "network", *SMALL, "--set", "size=6", "--llm", "oracle")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parts as files in the folder in which somebody works."""
    for path in PARTS.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The parts as a distribution that is installed, in a folder of Python's path."""
    site = tmp_path / "site"
    shutil.copytree(PARTS, site / "outside_parts")
    (site / "outside_parts" / "__init__.py").touch()
    told = site / "outside_parts-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-parts\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Whatever a test imports from outside is gone after it."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("outside_parts", "parley_file_")):
            del sys.modules[name]


def held(*arguments: str) -> str:
    """Run a command; the record of runs/a."""
    assert run.main([*arguments, "--out", "runs/a"]) == 0
    return Path("runs/a/record.jsonl").read_text(encoding="utf-8")


BY_PATH = {
    "backend": ("--scenario", "two_way", *SMALL, "--llm", "./parts.py:Coin,line='Well, no.'"),
    "backend of a party": ("--scenario", "two_way", *SMALL, "--llm", "oracle", "--llm", "democrat=./parts.py:Coin"),
    "environment": ("--scenario", "three_way", *SMALL, "--llm", "oracle", "--set", "environment=./parts.py:Whispers"),
    "intervention": ("--scenario", "two_way", *SMALL, "--llm", "oracle", "--intervene", "./parts.py:Rumour round=1"),
    "graph": (*NETWORK, "--set", "graph=./parts.py:Star"),
}
BY_NAME = {
    "backend": ("--scenario", "two_way", *SMALL, "--llm", "toss,line='Well, no.'"),
    "environment": ("--scenario", "three_way", *SMALL, "--llm", "oracle", "--set", "environment=whispers"),
    "intervention": ("--scenario", "two_way", *SMALL, "--llm", "oracle", "--intervene", "rumour round=1"),
    "graph": (*NETWORK, "--set", "graph=star"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", BY_PATH.values(), ids=BY_PATH.keys())
def test_a_part_in_a_file_works_and_its_run_is_found_again(arguments: Sequence[str], files: Path) -> None:
    """The header has the path, so that the same command, resumed, asks nothing; another file is another run."""
    record = held(*arguments)
    assert "./parts.py:" in record.splitlines()[0]
    os.utime("parts.py", (1, 1))  # written anew, with the same text: the same experiment
    assert held(*arguments) == record
    with open("parts.py", "a", encoding="utf-8") as file:
        file.write("# another\n")
    assert run.main([*arguments, "--out", "runs/a"]) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("arguments", BY_NAME.values(), ids=BY_NAME.keys())
def test_a_part_of_an_installed_distribution_works_by_its_name(arguments: Sequence[str], installed: Path) -> None:
    assert held(*arguments) == held(*arguments)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["second", "./parts.py:Second"])
def test_a_mediator_with_a_mediator_for_an_option(name: str, files: Path, installed: Path) -> None:
    """Options that are specs stand in brackets; they are typed like all others."""
    told = [
        "--scenario",
        "consensus",
        "--repetitions",
        "1",
        "--set",
        "episodes=1",
        "--set",
        "size=3",
        "--llm",
        "oracle",
    ]
    record = held(*told, "--set", f"mediator={name},of=(habermas,candidates=2),word=Indeed")
    assert '"Indeed: ' in record
    with pytest.raises(UserError, match="option candidates of habermas is 'two', but must be a whole number"):
        MEDIATORS.open(f"{name},of=(habermas,candidates=two)")


@pytest.mark.parametrize("name", ["doubt,words=9", "./parts.py:Doubt,words=9"])
def test_a_reasoning_step_is_asked_before_every_utterance(name: str, files: Path, installed: Path) -> None:
    coin = "./parts.py:Coin,line='Perhaps I am wrong.'"
    record = held("--scenario", "two_way", *SMALL, "--llm", coin, "--set", f"think={name}")
    assert record.count('"purpose":"doubt"') == 8  # a call and a note before each of four replies


def test_a_metric_is_in_tables_and_summary(files: Path) -> None:
    found = parley.run(
        "two_way", topic="racism", repetitions=2, rounds=1, llm="oracle", out="a", metrics=["./spoken.py"]
    )
    words = int(found.metric("./spoken.py")["words"].iloc[0])
    assert words == found.utterances["text"].str.split().str.len().sum()
    assert (files / "a" / "tables" / "spoken.csv").exists()
    assert "Words said" in found.summary


def test_a_metric_of_a_distribution_is_in_every_report(installed: Path) -> None:
    held("--scenario", "two_way", *SMALL, "--llm", "oracle")
    assert "Words said" in (installed / "runs" / "a" / "summary.md").read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["length", "./length.py"])
def test_a_section_of_the_card(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    request.getfixturevalue("files" if name.startswith(".") else "installed")
    asked = ["audit", "--llm", "oracle", "--topic", "racism", "--blocks", "2", "--sections", name, "--out", "card"]
    assert run.main([*asked, "--set", "rounds=1"]) == 0
    told = json.loads((tmp_path / "card" / "card.json").read_text(encoding="utf-8"))
    assert [one["quantity"] for one in told["claims"]] == ["length"]
    assert "words of a reply" in (tmp_path / "card" / "card.html").read_text(encoding="utf-8")


WRONG = {
    "no file": (["--llm", "./coin.py:Coin"], "there is no file ./coin.py"),
    "no class": (["--llm", "./parts.py:Coyn"], "unknown model in ./parts.py 'Coyn': did you mean Coin?"),
    "wrong class": (
        ["--llm", "./parts.py:Whispers"],
        "model ./parts.py:Whispers cannot be used, because it does not define complete",
    ),
    "no such thing in it": (["--llm", "./spoken.py"], "model ./spoken.py: the file has no class with complete"),
    "several": (
        ["--set", "think=./several.py"],
        "the file has several suitable classes: name one, as in ./several.py:First",
    ),
    "no Python": (["--llm", "./broken.py:Coin"], "./broken.py, line 1: "),
    "missing import": (["--llm", "./needy.py:Coin"], "./needy.py cannot be imported: No module named 'no_such_thing'"),
    "unknown name": (["--llm", "tos"], "unknown model 'tos': did you mean toss?"),
    "unknown option": (["--llm", "toss,lime=x"], "unknown option of toss 'lime': did you mean line?"),
    "wrong value": (
        ["--llm", "./parts.py:Coin,batch=x"],
        "option batch of ./parts.py:Coin is 'x', but must be a whole number",
    ),
    "a quote too few": (["--llm", "toss,line='No"], "a closing ' is missing"),
    "environment": (
        ["--set", "environment=./parts.py:Coin"],
        "environment ./parts.py:Coin cannot be used, because it does not define groups, turns",
    ),
    "intervention": (["--intervene", "./parts.py:Rumor round=1"], "unknown intervention in ./parts.py 'Rumor'"),
    "no dataclass": (["--set", "environment=./plain.py"], "must be a frozen dataclass"),
    "not frozen": (["--set", "environment=./melting.py"], "must be a frozen dataclass"),
    "options in the name": (
        ["--set", "environment=./parts.py:Whispers,loud=2"],
        "this setting allows only a file and a class",
    ),
}


@pytest.mark.parametrize(("more", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_in_one_line(
    more: list[str], words: str, files: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, before a folder is made."""
    (files / "broken.py").write_text("class Coin(:\n")
    (files / "needy.py").write_text("import no_such_thing\n")
    (files / "several.py").write_text(
        "class First:\n    ask = read = tokens = None\n\n\nclass Last(First):\n    pass\n"
    )
    (files / "plain.py").write_text("class Plain:\n    groups = turns = None\n")
    melting = "@dataclass\nclass Melting:\n    groups = turns = None\n"
    (files / "melting.py").write_text(f"from dataclasses import dataclass\n\n\n{melting}")
    arguments = ["--scenario", "two_way", *SMALL, "--llm", "oracle"]
    given = [*arguments[:-2], *more] if more[0] == "--llm" else [*arguments, *more]
    assert run.main([*given, "--out", "runs/a"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not Path("runs/a").exists()


def test_the_exams_are_for_everybody(files: Path, installed: Path) -> None:
    """What a user writes sits the exams that our own sit; an exam says which promise is broken."""
    for name in ("toss", "./parts.py:Coin"):
        check_backend(name)
    for name in ("whispers", "./parts.py:Whispers"):
        check_environment(name)

    class Forgetful:
        in_flight = 0

        def complete(self, requests: Sequence[object]) -> list[object]:
            return []

    with pytest.raises(AssertionError, match="gives one reply per request in order"):
        check_backend(Forgetful)


REGISTRIES = (ABILITIES, BACKENDS, ENVIRONMENTS, INTERVENTIONS, MEDIATORS)


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda one: one.what)
def test_finding_names_imports_nothing(registry: Registry, installed: Path) -> None:
    """A backend may take seconds to import, and a part that is broken must not break a list of names."""
    assert len(registry.names()) > len(registry.builtin())
    assert "outside_parts" not in sys.modules


def test_a_part_goes_to_another_process_and_back(files: Path) -> None:
    """Workers of a sweep get interventions as pickles, and import the file by themselves."""
    rumour = parse_intervention("./parts.py:Rumour round=2 text='It rains.'")
    told = pickle.dumps(rumour)
    for name in [name for name in sys.modules if name.startswith("parley_file_")]:
        del sys.modules[name]
    assert (
        intervention_spec(pickle.loads(told))
        == intervention_spec(rumour)
        == "./parts.py:Rumour round=2 'text=It rains.'"
    )


def test_a_file_that_was_changed_is_read_again(files: Path) -> None:
    """In a notebook somebody mends a class and runs the cell again."""
    assert open_spec("./parts.py:Coin").identity["line"] == "I could not say."
    path = files / "parts.py"
    path.write_text(path.read_text().replace("I could not say.", "Perhaps."))
    os.utime(path, (2, 2))
    assert open_spec("./parts.py:Coin").identity["line"] == "Perhaps."


def test_what_only_changes_the_manner_is_left_out_of_the_essence(files: Path) -> None:
    """A class says it as a module does."""
    assert identity_spec("./parts.py:Coin,batch=3,line='Well, no.'") == "./parts.py:Coin,line='Well, no.'"


def test_an_environment_is_named_and_not_passed() -> None:
    """Another process finds it by its name: the class itself is refused in one line."""
    with pytest.raises(UserError, match=r"but must be a name such as round_table or ./mine.py:Mine"):
        load_preset("two_way").with_settings({"environment": RoundTable})
