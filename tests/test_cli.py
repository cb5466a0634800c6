"""One command line: an option that several commands share means the same in each, and no command is left out.

What a false alarm would cost is a line in a table; what is protected is somebody's money (`--max-cost` that a command ignores)
and somebody's evening (a help that says nothing, a misspelt option that is told without the right one).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import run
from parley.agents import language
from parley.llm.backends import open_spec
from parley.llm.journal import usage_of_journal
from parley.llm.prompts import Template
from parley.model.cli import Parser
from parley.model.scenario import load_preset, parse_settings
from parley.model.sweep.design import parse_vary

ROOT = Path(__file__).parents[1]
SMALL = "--topic racism --repetitions 1 --rounds 1"
ASKING = {
    "run": f"--scenario two_way {SMALL}",
    "sweep": f"--scenario two_way {SMALL} --vary words=30 --seeds 0:2 --workers 1",
    "study intervene": "--topic racism --repetitions 1",
    "branch": "runs/a --round 2",
    "study archetypes": f"{SMALL} --size 2",
    "audit": "--topic racism --blocks 2 --sections bias --set rounds=1",
    "study questionnaire": "orders --personas simple --repeats 2",
    "qualify": "--short",
    "study validate": "--judge oracle --personas simple",
    "study stereotypes": "--personas simple --topic racism",
    "study calibrate": SMALL,
    "train": "--party republican --questions 2 --answers 1",
    "study fine-tuned": "--tuned nowhere",
    "study sweep-lora": SMALL,
    "study judge": "runs/talk",
    "study belief-reader": "--topic racism",
    "study guidance": "--repetitions 1 --judge oracle",
    "study carry-over": "--repetitions 1 --set size=4 --set rounds=2 --set "
    "topology=rooms,size=2[rounds=1,topic=racism]>rooms,size=2[rounds=1,topic=climate_change]",
    "study structured": "baseline --topic racism --repetitions 1 --rounds 2",
    "study arguments": SMALL,
    "study bets": SMALL,
    "study truthfulness": "runs/statements.csv --crowd 4",
    "study conjoint": "candidates --respondents 6",
    "study claim": "runs/claim.toml --workers 1",
    "study confirm": "runs/plan.json --workers 1",
    "study choose-side": "--topic racism --respondents 6",
    "study correct": "--judge oracle",
    "study distributions": "planted --questions 2",
    "study arena": "--topic racism --panel 3 --write 3",
    "study rehearse": "--topic racism --audience 3",
    "study community": "--judge oracle --rooms 1 --threads 1 --people 2",
    "study compete": "sales --judge oracle --panel 2 --samples 1",
    "study predict": "planted --people 20",
    "study elicit": "planted --people 6",
    "study twins": "planted --groups 6",
    "study refutation": "--judge oracle --repetitions 1 --rounds 5 --set size=8",
    "study herding": SMALL,
    "study consensus-phases": f"{SMALL} --sizes 3 --respondents 3 --begins alone",
    "study games": "trust_game --repetitions 1",
    "study flips": "--topic racism --blocks 2 --set rounds=1",
    "study honesty": "--judge oracle --repetitions 1 --rounds 2",
    "study search": "messages --topic racism --rounds 3 --method random --trials 1 --rooms 1 --new-rooms 1 --runners 0",
    "study personalised": SMALL,
    "study prior-beliefs": SMALL,
    "study personas": "--party democrat",
    "study depth": "runs/deep --survey planted",
    "study evolve": "planted --size 2 --generations 1 --repeats 1",
    "study questions": "--count 5",
    "study case": "--topic racism --for Fairness. --against Merit. --refine Shorter. --refine Plainer. --refine Calmer.",
    "study representatives episodes": "--laps 1",
    "study representatives measure": "runs/groups",
    "study representatives study": "runs/groups",
    "study representatives payoff": "runs/groups",
    "study representatives outcomes": "runs/groups",
    "study representatives substitute": "runs/groups --repetitions 1",
    "study representatives steps": "runs/groups",
    "study mediators": "runs/groups --mediator draft_revise --orders 2",
}
"""Every command that asks a model, with the least that it needs beside the shared options."""
CLAIM = """
claim = "Agents of one party agree more."
scenario = "two_way"
settings = ["rounds=1", "listing=given", "memory=whole", "survey=ends", "temperature=1", "probe=attitude", "reminder=false"]
outcome = "polarisation"
expected = "less"
smallest = 1
contrast.first = ["environment=groups"]
population = { topics = ["racism"], models = ["oracle"], personas = ["simple"] }
"""
DEBATING = [
    name
    for name, given in ASKING.items()
    if SMALL in given
    or name
    in (
        "study intervene",
        "study guidance",
        "study honesty",
        "study refutation",
        "study fine-tuned",
        "study structured",
    )
]
SILENT = {
    "study data", "population", "study surrogate", "models", "study fit-law", "compare", "export adapter",
    "study import-log", "export eval", "study raters", "study opinion-groups", "export own-lines",
    "study export-network", "show", "report", "study analyse", "study human",
    "study mixed", "study dissonance", "study sheet", "export bundle",
    "completion", "new", "check", "cluster-script", "study belief-traces",
    "study organisms",
    "study representatives train", "study representatives grid", "study representatives ballots", "study register",
}  # fmt: skip
"""Every command that asks none: what it does is computed, or trained. `dissonance` can let a model embed texts."""
NOT_TRIED = (
    "study fine-tuned", "study representatives measure", "study representatives study", "study representatives payoff",
    "study representatives outcomes", "branch",
)  # fmt: skip
"""Commands whose budget is not tried here: they need an adapter, or journaled calls that would count as well."""
LOCAL = (
    "train", "study fine-tuned", "study sweep-lora", "study representatives measure", "study representatives study",
    "study representatives payoff",
    "study representatives outcomes",
)  # fmt: skip
"""Commands that load a model to train it; their budget is tried where torch is."""
SHARED = (
    "--llm openai:m --base-url http://h/v1 --max-calls 3 --max-tokens 9 --max-cost 1.5 --price 1,2 --prices mine.toml "
    "--keep-going --seed 7 --out x"
)
MEANING = {
    "llm": ["openai:m"],
    "base_url": "http://h/v1",
    "max_calls": 3,
    "max_tokens": 9,
    "max_cost": 1.5,
    "price": (1.0, 2.0),
    "prices": Path("mine.toml"),
    "keep_going": True,
    "seed": 7,
    "out": Path("x"),
}


def parsers() -> dict[str, Parser]:
    """By name, every parser of the command line; those below a command in its place."""
    found: dict[str, Parser] = {}
    for name in run.commands():
        parser = run.parser_of(name)
        below = {f"{name} {one}": make() for one, make in parser.commands.items()}
        found |= below or {name: parser}
    return found


OF_A_RUN = {
    "branch", "show", "study human", "study judge", "study surrogate", "study fit-law", "study sheet", "export eval",
    "export own-lines", "study representatives ballots",
}  # fmt: skip
STUDIES_TOO = {"report", "compare", "export bundle", "study export-network", "study belief-reader"}


def test_every_command_asks_a_model_or_says_that_it_does_not() -> None:
    """A new command has to be put into one of the two tables; then all that follows is asked of it."""
    assert set(parsers()) == set(ASKING) | SILENT


@pytest.mark.thorough
@pytest.mark.parametrize("name", ASKING)
def test_a_shared_option_is_understood_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model, address, budget, seed and folder: every command that asks a model takes all of them, as the same values.

    A branch has the seed of its run and a confirmation that of its plan; both refuse another.
    """
    monkeypatch.chdir(tmp_path)
    for word in ASKING[name].split():  # runs and files are looked for at once
        if word.startswith("runs/"):
            place = Path(word) if Path(word).suffix else Path(word) / "record.jsonl"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
    own = name in ("branch", "study confirm")
    shared = SHARED.replace("--seed 7 ", "") if own else SHARED
    meaning = {key: value for key, value in MEANING.items() if not (own and key == "seed")}
    options = vars(parsers()[name].parse_args([*ASKING[name].split(), *shared.split()]))
    assert {key: options[key] for key in meaning} == meaning


@pytest.mark.thorough
@pytest.mark.parametrize("name", DEBATING)
def test_topic_repetitions_and_fields_are_understood_alike(name: str) -> None:
    given = f"{ASKING[name]} --topic racism,abortion --repetitions 2 --rounds 3 --set words=30 --set frame=debate"
    options = parsers()[name].parse_args(given.split() + (["--llm", "oracle"] if name == "audit" else []))
    assert (options.topic, options.repetitions, options.rounds) == ("racism,abortion", 2, 3)
    assert options.set[-2:] == ["words=30", "frame=debate"]


def test_topic_is_one_word() -> None:
    """As an option, as a field, and as a field that a sweep varies."""
    assert parse_vary(["topic=racism,abortion"]) == parse_vary(["topic=racism,abortion"])
    assert load_preset("two_way").with_settings(parse_settings(["topic=racism"])).subject.topic == ("racism",)


def test_every_help_has_a_description_an_example_and_a_word_on_each_option() -> None:
    for name, parser in parsers().items():
        text = parser.format_help()
        assert parser.description, name
        assert "example" in (parser.epilog or ""), name
        command = "--scenario" if name == "run" else name
        assert f"python run.py {command}" in text, name
        assert all(action.help for action in parser._actions), name


def test_no_help_loads_anything_heavy() -> None:
    """In one process, all of them: a command that imports at its top what it needs later would slow down every start."""
    code = (
        "import sys, run\n"
        "for name in run.commands():\n"
        "    parser = run.parser_of(name)\n"
        "    [each.format_help() for each in (parser, *(make() for make in parser.commands.values()))]\n"
        "heavy = {'torch', 'transformers', 'solara', 'mesa', 'pandas', 'numpy', 'matplotlib', 'scipy', 'openai', 'shtab'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_wrong_run_or_file_is_refused_before_anything_heavy_is_loaded() -> None:
    """`compare runs/a` took five seconds to say that it needs two, and `study fit-law` nearly three that there is no run."""
    code = (
        "import sys, run\n"
        "for command in sys.argv[1:]: assert run.main(command.split()) == 2, command\n"
        "heavy = {'pydantic', 'numpy', 'pandas', 'mesa', 'scipy', 'matplotlib', 'networkx', 'parley.llm.backends'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    wrong = {
        "compare runs/a": "compare needs at least two",
        "compare no/run agents": "there is no run, card or wave no/run",
        **{f"{name} no/run": "cannot read the record no/run" for name in OF_A_RUN},
        "study surrogate agents": "agents is not the folder of a run",
        **{f"study {name} agents": "cannot read agents: it is a folder" for name in ("claim", "register", "confirm")},
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *wrong], cwd=ROOT, text=True, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    for said, words in zip(done.stderr.splitlines(), wrong.values(), strict=True):
        assert words in said


def test_every_command_that_reads_one_run_refuses_a_wrong_one_alike() -> None:
    """Those of STUDIES_TOO read folders of several runs, or tables, as well."""
    reads = {name for name, parser in parsers().items() for action in parser._actions
             if action.metavar == "RUN" and not action.option_strings}  # fmt: skip
    assert reads - STUDIES_TOO == OF_A_RUN


def test_a_number_that_is_none_is_refused_before_anything_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    """`compare --within nan` was taken."""
    refused, counts = ("-1", "nan", "inf", "many"), ("study questionnaire --repeats",)
    numbers = {"natural", "positive", "amount", "float", "int"}
    tried = 0
    for name, parser in parsers().items():
        for action in parser._actions:
            kind = getattr(action.type, "__name__", "")
            if kind not in numbers or not action.option_strings:
                continue
            option = action.option_strings[0]
            assert kind in {"natural", "positive", "amount"}, f"{name} {option}"
            for value in (*refused, *["0"] * (f"{name} {option}" in counts)):
                tried += 1
                with pytest.raises(argparse.ArgumentTypeError):
                    action.type(value)  # type: ignore[operator, misc]
    assert tried > 1000


def test_an_unknown_option_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, before anything else that may be missing."""
    for name in parsers():
        assert run.main([*name.split(), "--hepl"]) == 2
        told = capsys.readouterr().err
        assert (told.count("\n"), "unknown option '--hepl': did you mean --help" in told) == (1, True), name
    assert run.main(["study", "judge", "runs/a", "--lllm=oracle"]) == 2
    assert "unknown option '--lllm': did you mean --llm" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("three_way --llm oracle", "three_way is a scenario, so its command is run.py --scenario three_way"),
        ("train --party republicn", "unknown value of --party 'republicn': did you mean republican"),
        ("completion bsh", "unknown value of shell 'bsh': did you mean bash"),
        (
            "study questions --out x --llm oracle --llm pocket",
            "--llm names two models, oracle and pocket, but this command uses only one",
        ),
        (
            "study judge runs/talk --llm republican=oracle",
            "this command has no debate between parties: leave out republican=",
        ),
        (
            "study bets --llm oracle --base-url http://h/v1",
            "--base-url only works with a model on a server: add --llm openai:MODEL",
        ),
        ("sweep --scenario two_way --seed 1 --seeds 0:3", "--seed and --seeds cannot be combined"),
        ("study calibrate --llm orakle", "unknown model 'orakle': did you mean oracle"),
        ("study calibrate --llm fake", "unknown speaker of a known bias 'fake': known: oracle, pocket"),
        ("audit --llm republican=oracle", "give also the model to audit"),
        ("population --law deffuant --graph rong", "unknown graph 'rong': did you mean ring"),
        ("study judge runs/talk --llm openai:a --price 1", "'1' is not a price: write IN,OUT"),
        (
            "study validate --llm openai:a --judge openai:b --price 1,2",
            "--price gives the price of one model, but the command uses several models on servers",
        ),
    ],
)
def test_a_mistake_is_one_line(
    command: str, words: str, world: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing on the other side: no folder is named that there will not be."""
    world()
    assert run.main(command.split()) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, a file of statements, a claim and deep personas that commands take."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "statements.csv").write_text("statement,speaker\nIt rains.,Ann\nIt snows.,\n", encoding="utf-8")
    (folder / "claim.toml").write_text(CLAIM, encoding="utf-8")
    small = "--llm oracle --repetitions 1"
    for line in (
        f"study register {folder}/claim.toml --units 6 --out {folder}/plan.json",
        f"--scenario two_way {small} --topic racism --rounds 2 --out {folder}/talk",
        f"--scenario news_evolution {small} --rounds 2 --out {folder}/news",
        f"--scenario days {small} --rounds 2 --out {folder}/days",
        f"--scenario consensus {small} --set episodes=2 --out {folder}/groups",
        f"study personas --set deep --llm oracle --party democrat --count 5 --depth 2 --out {folder}/deep",
    ):
        assert run.main(line.split()) == 0
    return folder


@pytest.fixture
def world(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Goes to a folder of its own, with these runs in it."""

    def go() -> None:
        shutil.copytree(runs, tmp_path / "runs")
        monkeypatch.chdir(tmp_path)

    return go


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in ASKING if name not in NOT_TRIED])
def test_three_calls_are_three_calls(
    name: str, world: Callable[[], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`--max-calls 3` ends any command that asks a model after three calls, over all that it asks: exit code 2, one line."""
    if name in LOCAL:
        pytest.importorskip("torch")
        pytest.importorskip("trl")
        open_spec("pocket")  # compiled once on a machine, which says so in a line of its own
        capsys.readouterr()
    world()
    out = "new.toml" if name in ("study questions", "study case") else "new"
    model = [] if name in LOCAL else ["--llm", "fake" if name == "study questions" else "oracle"]
    assert run.main([*name.split(), *ASKING[name].split(), *model, "--max-calls", "3", "--out", out]) == 2
    told = capsys.readouterr().err
    assert "--max-calls 3 is spent (3 calls" in told
    assert told.count("\n") == 1, told
    kept = [path for path in tmp_path.rglob("*.sqlite") if tmp_path / "runs" not in path.parents]
    assert sum(usage_of_journal(path)[0] for path in kept) == 3


def test_a_writing_command_goes_on_where_its_budget_ended(
    world: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was paid for is kept, and ends in the same file; then nothing else is left there."""
    world()
    command = ["study", "personas", "--party", "democrat", "--llm", "oracle"]
    assert run.main([*command, "--out", "whole"]) == 0
    assert run.main([*command, "--out", "parts", "--max-calls", "9"]) == 2
    assert run.main([*command, "--out", "parts"]) == 0
    assert [path.name for path in Path("parts").iterdir()] == ["democrat.toml"]
    assert Path("parts/democrat.toml").read_bytes() == Path("whole/democrat.toml").read_bytes()


def test_a_slot_left_out_of_a_prompt_is_one_line(
    world: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody who edits a prompt file is told what it lacks."""
    world()

    def edited(folder: Path, name: str) -> Template:
        whole = Template.load(folder / f"{name}.txt")
        return Template(whole.text.replace("{topic}", "it"), whole.source)

    monkeypatch.setattr(language, "prompt", edited)
    assert run.main([*["--scenario", "two_way", "--llm", "oracle"], *SMALL.split(), "--out", "new"]) == 2
    told = capsys.readouterr().err
    assert "lacks {topic}" in told
    assert told.count("\n") == 1


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_commands_options_and_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The script as a shell reads it, without any Python."""
    assert run.main(["completion", "bash"]) == 0
    script = tmp_path / "parley.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    for typed, offered in {
        "parley aud": "audit",
        "parley --scen": "--scenario",
        "parley audit --max-": "--max-calls --max-tokens --max-cost",
        "parley sweep --scenario three_": "three_way",
        "parley study representatives sub": "substitute",
        "parley study representatives substitute --med": "--mediator --mediator-llm",
    }.items():
        code = (
            f"source {script}; COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); "
            '_shtab_parley; echo "${COMPREPLY[*]}"'
        )
        done = subprocess.run(["bash", "-c", code], text=True, capture_output=True, timeout=60, check=True, env={})
        assert done.stdout.strip() == offered, typed


def test_zsh_gets_a_script_of_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["completion", "zsh"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("#compdef parley")
    assert all(f"{name.split()[-1]}:" in told for name in run.commands())
