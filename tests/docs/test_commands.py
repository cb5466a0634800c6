"""README and docs: a command that is printed works. A reader's first ten minutes are lost by one that does not."""

from __future__ import annotations

import argparse
import ast
import configparser
import importlib.util
import re
import shlex
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest
from data_checks import check_each
from documented import CARD, REPORTED, ROOT, Command, name_of_page, pages, printed, printed_files, rule, shrunken

import run
from benchmarks.commands_read import COMMANDS as READ_WHOLE
from parley.analysis import run_report
from parley.analysis.deliberation.episode import write_episodes
from parley.analysis.deliberation.episode_readers import read_all
from parley.commands import FAMILIES
from parley.model import path_options
from parley.studies.representatives.command import COMMANDS

ALL = list({tuple(command.words): command for command in printed()}.values())
HELD = {tuple(shrunken(one, found)): one for one in ALL if (found := rule(one)) and found.how in ("hold", "plan")}


def kind(words: tuple[str, ...]) -> tuple[object, ...]:
    """The command (or scenario) and the options: what two commands that differ in values alone have in common."""
    fields = [word.partition("=")[0] for before, word in pairwise(words) if before == "--set"]
    return words[: 2 if words[0].startswith("--") or words[0] in FAMILIES else 1], frozenset(
        [*fields, *(word for word in words if word.startswith("--"))]
    )


FIRST = {kind(words): words for words in reversed(HELD)}
LIKE = [words for words in HELD if FIRST[kind(words)] != words]
"""Commands with the options of an earlier one: other values are read in every lane, and tried at night."""


def name_of(words: tuple[str, ...]) -> str:
    """The command as `benchmarks/commands_read.py` calls it."""
    if words[0].startswith("--") and "--scenario" in words:
        return f"run {words[words.index('--scenario') + 1]}"
    named = words[1:] if words[0] == "study" else words
    return " ".join(named[:2]) if named[0] in ("questionnaire", "representatives") else named[0]


BEGUN = [
    words
    for words, command in HELD.items()
    if words not in LIKE
    and command.page != "README.md"
    and name_of(words) in set(READ_WHOLE) - {"judge"}  # the run that is to be judged has its verdicts
    and "--dry-run" not in words
]
"""Commands that are begun: `tests/test_commands_read.py` takes each of them to its end, with other options."""
A = "--scenario three_way --llm oracle --repetitions 10 --rounds 2 --topic racism --out runs/a"
"""The run that most commands on runs take; with ten rooms a surrogate can be fitted to it."""

PEOPLE = "debate_id,treatment_type,participant_side,agreement_pre_likert,agreement_post_likert\n" + "".join(
    f"{n // 2},Human-Human,{'PRO' if n % 2 else 'CON'},{1 + n % 5},{1 + (n + n // 3) % 5}\n" for n in range(40)
)
"""Made-up rows in the form of a public table, for commands that set a run beside people."""

SURVEY = "pid,sex,age,climate,taxes,weight\n" + "".join(
    f"{1 + n % 3},{'fm'[n // 3 % 2]},{('18-34', '35-64', '65+')[n // 6 % 3]},{1 + n % 7},{1 + n % 5},{1 + n % 4}\n"
    for n in range(90)
)
MARGINS = "variable,value,share\nsex,f,0.52\nsex,m,0.48\nage,18-34,0.30\nage,35-64,0.45\nage,65+,0.25\n"
"""A made-up survey, and shares to which its weights are raked, as docs/populations.md shows them."""


class Parsed(Exception):
    """Thrown in the place of what a command does once its arguments are read."""


def named(how: str) -> list[Command]:
    return [one for one in ALL if (found := rule(one)) and found.how == how]


def unheard_of(command: Command) -> list[str]:
    """What a benchmark is told that its file knows nothing of; the command of `representatives` that is none."""
    words = command.words
    if words[:3] == ["run.py", "study", "representatives"]:
        return [word for word in words[3:] if word not in COMMANDS]
    if not words[1].startswith("benchmarks/"):
        return []
    text = (ROOT / words[1]).read_text(encoding="utf-8")
    told = dict.fromkeys([*words[2:3], *(word for word in words if word.startswith("--"))])
    return [word for word in told if f'"{word}"' not in text]


def label(command: Command) -> str:
    return f"{command.page}: {command.text}"[:90]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a reader has done what the pages begin with; runs that commands take are made there once."""
    folder = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(run_report, "write_report", lambda folder, *_: folder)
        small = "--repetitions 2 --rounds 2 --topic racism --llm oracle"
        for line in (
            A,
            f"--scenario dyads {small} --out runs/d",
            f"--scenario persuasion_trace {small} --out runs/p",
            "--scenario news_evolution --llm oracle --repetitions 1 --rounds 2 --out runs/n",
            "study judge runs/a --llm oracle",
            "new society ./mycountry",
            "new party ./mycountry/parties/green.toml",
            "new society ./rivermark",
            "study judge runs/d --llm oracle",
            "study surrogate runs/a",
            "study fit-law runs/a --draws 5",
            f"audit --llm oracle {CARD} --out runs/x",
            f"audit --llm oracle,kappa=0 {CARD} --out runs/y",
            "--scenario consensus --llm oracle --repetitions 1 --set episodes=2 --out runs/known/lap18",
            "--scenario consensus --llm oracle --repetitions 1 --set episodes=2 --seed 1 --out runs/known/lap19",
        ):
            assert run.main(shlex.split(line)) == 0, line
        for path, text in printed_files("societies.md").items():
            Path(path).write_text(text, encoding="utf-8")
        for name in ("topics/library.toml", "oracle/topics/library.toml", "parties/left.toml", "parties/right.toml"):
            Path("rivermark", name).unlink()
        lake = "--society ./rivermark --scenario three_way --set seats=river,lake,default --llm oracle --repetitions 2 --rounds 1"
        assert run.main(shlex.split(f"{lake} --out runs/lake")) == 0
        laps = [Path("runs/known", lap) for lap in ("lap18", "lap19")]  # `representatives episodes` takes too long here
        write_episodes(read_all(laps), Path("runs/known/episodes.jsonl"))
        shutil.copytree("runs/a", "runs/rooms")
        shutil.copytree("runs/a", "runs/b")
        shutil.copy("runs/a/judge/scores.csv", "scores.csv")
        friends = nx.relabel_nodes(nx.cycle_graph(40), lambda number: f"friend {number}")
        nx.set_node_attributes(friends, {name: ("republican", "democrat")[len(name) % 2] for name in friends}, "party")
        nx.write_graphml(friends, "friends.graphml")
        rows = [f"person {one},person {(one + 1) % 40},{7 if one % 5 else -7}" for one in range(40)]
        Path("trust.csv").write_text("\n".join(rows), encoding="utf-8")
        Path("survey.csv").write_text(SURVEY, encoding="utf-8")
        Path("margins.csv").write_text(MARGINS, encoding="utf-8")
        Path("data").mkdir()
        Path("data/salvi_rct_750_pre_post_agreement.csv").write_text(PEOPLE, encoding="utf-8")
    return folder


@pytest.fixture
def reader(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    """Runs a command in a copy of that folder; a folder that it makes itself is not there before."""

    def do(words: list[str]) -> int:
        shutil.copytree(world, tmp_path / "here", dirs_exist_ok=True)
        monkeypatch.chdir(tmp_path / "here")
        if "--out" in words and (out := words[words.index("--out") + 1]) != "runs/a":
            shutil.rmtree(out, ignore_errors=True)
        return run.main(words)

    return do


def test_every_command_has_a_rule() -> None:
    """A command that is neither held nor looked at is one that nobody has tried."""
    assert [label(one) for one in ALL if rule(one) is None] == []


def test_every_rule_that_holds_nothing_says_why() -> None:
    """The other way out of being held is a stated reason."""
    assert {rule(one).why != "" for one in ALL if rule(one) and rule(one).how != "hold"} == {True}  # type: ignore[union-attr]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # two rooms of the oracle may be nearly alike
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(words, marks=[pytest.mark.nightly] * (words in LIKE or words in BEGUN), id=label(HELD[words]))
        for words in HELD
    ],
)
def test_it_runs(
    words: tuple[str, ...],
    reader: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As printed, with fewer rooms and people, and on the oracle in the place of the model in the box."""
    if HELD[words].page not in REPORTED and words[0] == "--scenario":
        monkeypatch.setattr(run_report, "write_report", lambda folder, *_: folder)
    assert reader(list(words)) == 0, capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("words", [pytest.param(words, id=label(HELD[words])) for words in BEGUN])
def test_it_begins(
    words: tuple[str, ...],
    reader: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its words are read, its files are there, its people are cast, and it asks its first question; no more are paid for."""
    monkeypatch.setattr(run_report, "write_report", lambda folder, *_: folder)
    assert reader([*words, "--max-calls", "1"]) == 2
    assert "--max-calls 1 is spent" in capsys.readouterr().err


@check_each(
    "command",
    [*(one for one in named("parse") if one.words[0] == "run.py"), *(HELD[words] for words in LIKE)],
    ids=label,
)
def test_its_parser_takes_it(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What takes a server or a file of somebody else's is parsed by its own parser."""
    check_parser(run.main, command.words[1:], monkeypatch, capsys)


def test_the_parser_of_a_training_module_takes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for commands that are modules: the local suite."""
    pytest.importorskip("torch", reason="training modules load it: the local suite")
    modules = [one for one in named("parse") if one.words[0] != "run.py"]

    @check_each("command", modules, ids=label)
    def check(command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        main = importlib.import_module(command.words[2]).main
        check_parser(main, command.words[3:], monkeypatch, capsys)

    check(monkeypatch=monkeypatch, capsys=capsys)


def check_parser(
    main: Callable[[list[str]], object],
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command reads its words and is stopped before it does anything."""
    parse = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *arguments: object, **keywords: object) -> None:
        parse(self, *arguments, **keywords)  # type: ignore[call-overload]
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    for checked in ("recorded_run", "given_file"):  # the runs and files that pages name are not here
        monkeypatch.setattr(path_options, checked, Path)
    with pytest.raises(Parsed):
        print(main(words), capsys.readouterr().err)  # noqa: T201  what it says when it does not take them


@check_each("command", named("exists"), ids=label)
def test_what_it_names_is_there(command: Command) -> None:
    """Commands of run.py, jobs of do.sh, extras, test files, benchmarks: by their names."""
    words = [word for word in command.words if not word.startswith("-")]
    assert unheard_of(command) == []
    if words[0] == "run.py":
        assert run.parser_of(" ".join(words[1 : 3 if words[1] in FAMILIES else 2]))
    elif words[1].startswith(("parley.training.", "tools.")):
        assert (ROOT / words[1].removeprefix("parley.").replace(".", "/")).with_suffix(".py").exists()
    elif words[:2] == ["sh", "do.sh"]:
        assert re.search(rf"^{words[2]}\)$", (ROOT / "do.sh").read_text(encoding="utf-8"), re.M)
    elif "pip" in words:
        extras = configparser.ConfigParser()
        extras.read(ROOT / "setup.cfg", encoding="utf-8")
        asked = re.findall(r"[a-z]+", "".join(re.findall(r"\.\[(.*?)\]", command.text)))
        assert set(asked) <= set(extras["options.extras_require"])
    else:
        assert all((ROOT / word).exists() for word in words if "/" in word or word.endswith(".py"))


@check_each(
    ("text", "found"),
    [
        ("run.py study representatives mesure", ["mesure"]),
        ("python benchmarks/audit_coverage.py --halved --audit 72", ["--audit"]),
        ("python benchmarks/population.py grow", ["grow"]),
        ("python benchmarks/round.py memory", []),
    ],
)
def test_a_word_that_a_benchmark_does_not_know_is_found(text: str, found: list[str]) -> None:
    """These take minutes and are not run: an option that was renamed would stand on the page for good."""
    assert unheard_of(Command("a page", text, False)) == found


@check_each("page", pages(), ids=name_of_page)
def test_python_on_a_page_compiles_and_imports(page: Path) -> None:
    """What a page shows in Python is Python, and what it imports of ours is there (what loads torch, where there is torch)."""
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        tree = ast.parse(block)
        ours = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        if importlib.util.find_spec("torch") is None:
            ours = [node for node in ours if "parley.training.capability" not in ast.unparse(node)]
        exec(compile(ast.Module(ours, []), page.name, "exec"), {})
