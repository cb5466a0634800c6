"""A study of the user's joins Parley by its folder alone: nothing of ours is edited, and only the user's words load it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.llm.errors import UserError
from parley.llm.studies import VARIABLE, Study, studies, study_of_folder

TOY = """from parley.llm.studies import Study
STUDY = Study("toy", "a toy", purposes={"toy_question": "oracle:answer"}, law="law:ToyLaw")
"""
LAW = "from typing import NamedTuple\n\nclass ToyLaw(NamedTuple):\n    toy_level: float = 1.0\n"
ORACLE = """from parley.llm.request import Reply

def answer(reading, speaker):
    return Reply(str(speaker.laws.of("toy").toy_level))
"""
COMMAND = """from parley.llm.backends import open_spec
from parley.llm.request import Message, Request, Sampling
from parley.model import cli
from parley.model.cli import Parser

def parser():
    return Parser("study toy", "Ask one question.", "study toy --llm oracle", *cli.asking("runs/toy-<time>"))

def run(words):
    spec = parser().parse_args(words).llm[0]
    request = Request((Message("user", "How much?"),), Sampling(1.0, 5), 0, (), "toy_question")
    print(open_spec(spec).complete([request])[0].text)
    return 0
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    for name, text in {"__init__": TOY, "law": LAW, "oracle": ORACLE, "command": COMMAND}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def in_shell(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which has imported nothing yet."""
    return subprocess.run(
        [sys.executable, str(Path(run.__file__)), *words], capture_output=True, text=True, check=False
    )


def test_its_command_its_purpose_and_its_law_come_with_the_folder(toy: Path) -> None:
    """The oracle answers a purpose that only the folder knows, by a law that is an option of its own."""
    done = in_shell("study", str(toy), "--llm", "oracle,toy_level=3")
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr
    assert in_shell("study", str(toy), "--llm", "oracle").stdout == "1.0\n"


def test_its_law_moves_ratings_and_its_bias_is_one_of_organisms(toy: Path) -> None:
    """A planted law of a study changes the attitude by which the oracle rates, and organisms know the bias of the study."""
    (toy / "__init__.py").write_text(
        TOY.replace('"law:ToyLaw"', '"law:ToyLaw", sway="law:moved", bias="law:Bias"'), encoding="utf-8"
    )
    moved = "def moved(reading, attitude, direction, law):\n    return attitude + direction * law.toy_level\n"
    (toy / "law.py").write_text(f"{LAW}\n\n{moved}\n\nclass Bias:\n    name = 'toy'\n", encoding="utf-8")
    code = (
        "import run\nfrom parley.llm.backends.oracle.laws import plant_laws\n"
        "from parley.training.organisms.biases import find_bias\n"
        "print([plant_laws(law).swayed(None, 5.0, -1) for law in ({'toy_level': 2.0}, {})], find_bias('toy').name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(run.__file__).parent, capture_output=True, text=True, check=False,
        env=os.environ | {VARIABLE: str(toy)},
    )  # fmt: skip
    assert done.stdout == "[3.0, 5.0] toy\n", done.stderr


def test_a_named_folder_is_listed_and_called_by_name(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(toy))
    listed = in_shell("study").stdout
    assert "  toy " in listed
    assert listed.count("a toy") == 1
    assert in_shell("study", "toy", "--llm", "oracle,toy_level=2").stdout == "2.0\n"


def test_a_further_command_comes_with_it_and_belongs_to_one_study(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    also = 'law="law:ToyLaw", also=(Command("toy-again", "a toy again", run="command:again"),))'
    text = TOY.replace("import Study", "import Command, Study").replace('law="law:ToyLaw")', also)
    (toy / "__init__.py").write_text(text, encoding="utf-8")
    (toy / "command.py").write_text(COMMAND + "\ndef again(words):\n    return 7\n", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, str(toy))
    assert run.command(["study", "toy-again"]) == 7
    assert run.parser_of("study toy-again").prog.endswith("toy")
    assert run.commands()["study toy-again"] == "a toy again"
    other = tmp_path / "other"
    other.mkdir()
    (other / "__init__.py").write_text(TOY.replace('"toy"', '"toy-again"'), encoding="utf-8")
    monkeypatch.setenv(VARIABLE, os.pathsep.join(map(str, (toy, other))))
    with pytest.raises(UserError, match="two studies have the command toy-again"):
        run.commands()


def test_what_is_no_study_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(UserError, match=r"has no study: begin one with python run\.py new study"):
        study_of_folder(tmp_path)
    (tmp_path / "__init__.py").write_text("STUDY = 3\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"declares no study: set STUDY = Study"):
        study_of_folder(tmp_path)
    (tmp_path / "__init__.py").write_text(TOY.replace('"toy"', '"truthfulness"'), encoding="utf-8")
    with pytest.raises(UserError, match="two studies are called truthfulness"):
        study_of_folder(tmp_path)
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(UserError, match=r"the study truthfulness declares report:nothing, but does not define it"):
        studies()["truthfulness"].part("report:nothing")


def test_a_study_that_lacks_a_package_says_which(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    (toy / "law.py").write_text("import no_such_package\n", encoding="utf-8")
    study = study_of_folder(toy)
    assert isinstance(study, Study)
    with pytest.raises(UserError, match="needs a package that is missing: no_such_package"):
        study.part("law:ToyLaw")


@pytest.mark.thorough
def test_a_new_study_runs_and_passes_its_own_test(tmp_path: Path) -> None:
    """As printed in docs/extending.md: written, run in a process of its own, and its test is green."""
    assert in_shell("new", "study", str(tmp_path / "mine")).returncode == 0
    words = (
        "--llm",
        "oracle",
        "--topic",
        "racism",
        "--repetitions",
        "6",
        "--rounds",
        "1",
        "--out",
        str(tmp_path / "out"),
    )
    done = in_shell("study", str(tmp_path / "mine"), *words)
    assert done.returncode == 0, done.stderr
    assert "After a circle ratings are" in (tmp_path / "out" / "mine.md").read_text(encoding="utf-8")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "parley").symlink_to(Path(run.__file__).parent)  # this checkout, whatever is installed
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "mine")],
        cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(tmp_path / "path")},
    )  # fmt: skip
    assert tested.returncode == 0, tested.stdout


def test_a_folder_whose_name_is_no_word_is_refused(tmp_path: Path) -> None:
    from parley.agents.skeleton import write_skeleton

    with pytest.raises(UserError, match="must consist of small letters"):
        write_skeleton("study", tmp_path / "My Study")


@check_each(
    ("text", "words"),
    [
        (TOY.replace('"toy"', '"audit"', 1), "a study is called audit, which is a command of Parley: rename the study"),
        (TOY.replace("toy_question", "speech"), "the study toy declares the purpose speech"),
        (
            TOY.replace("law:ToyLaw", "law:Kappa"),
            "the law toy has the option kappa, but the law",
        ),
        (TOY.replace("law:ToyLaw", "broken:Law"), "broken.py, line 1: invalid syntax"),
    ],
)
def test_what_is_taken_or_broken_is_one_line(toy: Path, text: str, words: str) -> None:
    """A study never stands in for a command, a purpose or an option of another silently, and a typing error is no traceback."""
    (toy / "__init__.py").write_text(text, encoding="utf-8")
    (toy / "law.py").write_text(LAW + "class Kappa(NamedTuple):\n    kappa: float = 1.0\n", encoding="utf-8")
    (toy / "broken.py").write_text("class (\n", encoding="utf-8")
    shown = subprocess.run(
        [sys.executable, str(Path(run.__file__)), *(["study"] if "audit" in text else ["study", str(toy), "--llm", "oracle"])],
        capture_output=True, text=True, check=False, env=os.environ | {VARIABLE: str(toy)},
    )  # fmt: skip
    assert shown.returncode == 2
    assert words in shown.stderr
    assert shown.stderr.count("\n") == 1


@pytest.mark.thorough
def test_parley_runs_without_any_study(tmp_path: Path) -> None:
    """The folder of our studies can be deleted: lists, help, a run and its report need none of them."""
    (tmp_path / "parley").mkdir()
    for path in Path(run.__file__).parent.iterdir():
        if path.name not in ("studies", "tests", "docs", "benchmarks") and not path.name.startswith("."):
            (tmp_path / "parley" / path.name).symlink_to(path)

    uninstalled = "sys.meta_path[:] = [each for each in sys.meta_path if 'Editable' not in str(each)]"
    code = f"import sys\n{uninstalled}\nfrom parley.__main__ import main\nsys.exit(main(sys.argv[1:]))"

    def ran(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = ran("--list")
    assert "echo_chamber" in listed
    assert "judge" in listed, "studies of the kernel are there"
    assert "herding" not in listed + ran("study")
    ran("--scenario", "echo_chamber", "--topic", "racism", "--repetitions", "1", "--rounds", "1", "--out", "run")
    assert "## In short" in (tmp_path / "run" / "summary.md").read_text(encoding="utf-8")


def test_a_law_of_a_study_that_is_named_later_is_an_option(toy: Path) -> None:
    """In a test file the oracle may be imported before the study is named; then its law was an unknown option."""
    code = (
        "import run\nfrom parley.llm.backends import open_spec\nopen_spec('oracle')\n"
        f"from parley.llm.studies import study_of_folder\nfrom pathlib import Path\nstudy_of_folder(Path({str(toy)!r}))\n"
        "open_spec('oracle,toy_level=3'); print('opened')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(run.__file__).parent, capture_output=True, text=True, check=False
    )
    assert done.stdout == "opened\n", done.stderr
