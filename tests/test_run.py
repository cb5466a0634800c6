"""The command line: what a user sees when it works, and the one line when it does not."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each

import run

ROOT = Path(__file__).parents[1]
SMALL = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1", "--llm", "oracle"]


def python(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a piece of Python in a fresh process at the top of the checkout."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=120, **options)  # type: ignore[call-overload]


def test_help_loads_nothing_heavy() -> None:
    """Start-up stays instant: the help needs neither Mesa nor pandas, and never torch, transformers or solara."""
    code = (
        "import sys, run\n"
        "try: run.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'solara', 'mesa', 'pandas', 'numpy', 'matplotlib', 'scipy', 'openai', 'aiohttp'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--dry-run" in done.stdout


@pytest.mark.thorough
def test_a_run_loads_no_deep_learning_library(tmp_path: Path) -> None:
    """The light install is enough for a whole run with its report."""
    code = (
        f"import sys, run\nassert run.main({[*SMALL, '--out', str(tmp_path / 'run')]!r}) == 0\n"
        "heavy = {'torch', 'transformers', 'solara', 'openai', 'aiohttp'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_list_shows_every_scenario_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--list"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "three_way",
        "two_way",
        "echo_chamber",
        "Fig 3",
        "Fig 4",
        "Figs 5, 8 and 9",
        "gun_violence",
        "oracle",
    ):
        assert words in shown


def test_a_run_leaves_everything_and_ends_with_its_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder has record, journal, tables in two forms, figures in two forms, transcript and summary."""
    folder = tmp_path / "run"
    assert run.main([*SMALL, "--out", str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[-1].split()[-1] == str(folder / "figures" / "attitudes.png")
    assert shown.err == ""
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    tables = {
        f"tables/{name}.{form}"
        for name in ("attitudes", "utterances", "calls", "agents", "drift")
        for form in ("csv", "parquet")
    }
    assert (
        tables
        | {
            "record.jsonl",
            "journal.sqlite",
            "summary.md",
            "transcript.md",
            "figures/attitudes.png",
            "figures/attitudes.svg",
        }
        <= names
    )
    assert "text" in pd.read_parquet(folder / "tables" / "utterances.parquet").columns


def test_the_same_command_again_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*SMALL, "--out", str(tmp_path / "run")]
    assert run.main(command) == 0
    capsys.readouterr()
    assert run.main(command) == 0
    assert "is already finished, so no model was called" in capsys.readouterr().out


def test_a_lost_report_is_written_again(tmp_path: Path) -> None:
    """A run that was killed while writing its report gets it from the record."""
    command = [*SMALL, "--out", str(tmp_path / "run")]
    assert run.main(command) == 0
    for name in ("summary.md", "figures/attitudes.png"):
        (tmp_path / "run" / name).unlink()
    assert run.main(command) == 0
    assert (tmp_path / "run" / "figures" / "attitudes.png").exists()


def test_dry_run_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.main(["--scenario", "three_way", "--dry-run"]) == 0
    assert "5,280 calls to pocket: 2,400 replies and 2,880 ratings" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@check_each(
    ("arguments", "words"),
    [
        ([], "no scenario was given"),
        (["--scenario", "three-way"], "unknown scenario 'three-way': did you mean three_way"),
        (["--scenario", "ech"], "did you mean echo_chamber"),
        (["--scenaro", "three_way"], "--scenaro"),
        (["--scenario", "two_way", "--topic", "climate"], "did you mean climate_change"),
        (["--scenario", "two_way", "--set", "frame"], "write it as KEY=VALUE"),
        (["--scenario", "two_way", "--set", "framee=x"], "did you mean frame"),
        (["--scenario", "two_way", "--rounds", "five"], "--rounds: 'five' is not a whole number of 0 or more"),
        (["--scenario", "two_way", "--seed", "x"], "--seed: 'x' is not a whole number"),
        (
            ["--scenario", "two_way", "--rounds", "3", "--set", "rounds=1"],
            "--set rounds=1 sets a field that another option sets too",
        ),
        (["--scenario", "two_way", "--ui", "--port", "99999"], "--port: must be at most 65535, but is 99999"),
        (["--scenario", "two_way", "--llm", "orakel"], "unknown model 'orakel': did you mean oracle"),
        (["--scenario", "two_way", "--llm", "oracle,kapa=1"], "did you mean kappa"),
        (
            ["--scenario", "two_way", "--llm", "oracle,kappa=big"],
            "option kappa of oracle is 'big', but must be a number",
        ),
        (["--scenario", "two_way", "--llm", "replay:nowhere"], "nowhere does not exist"),
        (["--scenario", "two_way", "--llm", "replay"], "needs the folder of a run"),
        (["--scenario", "missing.toml"], "cannot read missing.toml"),
        (["--scenario", "two_way", "--out", "/dev/null/run"], "/dev/null is a file"),
        (["--scenario", "two_way", "--max-calls", "-3"], "--max-calls"),
        (["--scenario", "two_way", "--max-cost", "nan", "--price", "1,1"], "'nan' is not a number of 0 or more"),
        (["--scenario", "two_way", "--max-cost", "3"], "--max-cost needs prices, but"),
        (["--scenario", "two_way", "--price", "1"], "'1' is not a price: write IN,OUT"),
        (["--scenario", "two_way", "--llm", "nosuch", "--dry-run"], "unknown model 'nosuch'"),
        (["--scenario", "two_way", "--seed", "-1"], "'-1' is not a whole number of 0 or more"),
        (
            ["--scenario", "two_way", "--intervene", "mesage round=2"],
            "unknown intervention 'mesage': did you mean message",
        ),
        (["study", "intervene", "--intervene", "shock round=9 text=x"], "shock before round 9 is too late"),
        (["person"], "unknown command 'person': did you mean study personas"),
        (
            ["study", "personas", "--party", "republicans", "--out", "x"],
            "unknown party 'republicans': did you mean republican?",
        ),
        (["study", "fine-tuned"], "required: --tuned"),
        (["study", "fine-tuned", "--tuned", "nowhere"], "nowhere was not written by run.py train"),
        (["study", "sweep-lora", "--ranks", "2,0"], "--ranks: must be 1 or more, but is 0"),
        (["export", "adapter", "--adapter", "x"], "required: --out"),
        (["run", "two_way", "--llm", "oracle"], "two_way is a scenario: write --scenario two_way"),
        (["--scenario", "two_way", "--url", "http://127.0.0.1:1/v1"], "You may want --base-url URL"),
        (["compare", "oracle", "pocket"], "run.py audit --llm oracle --out runs/a, then run.py compare"),
    ],
)
def test_what_a_user_gets_wrong_is_one_line_and_exit_code_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.main(arguments) == 2
    shown = capsys.readouterr()
    assert words in shown.err
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err


def test_an_adapter_that_is_not_there_leaves_the_folder_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped adapter must not claim the folder for its settings."""
    words = ["--scenario", "three_way", "--llm", "fake", "--topic", "racism", "--repetitions", "1", "--rounds", "1"]
    monkeypatch.chdir(tmp_path)
    assert run.main([*words, "--set", "adapters=democrat:x", "--out", "a"]) == 2
    assert "unknown adapter 'x'" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_spent_budget_is_exit_code_2_with_a_report_of_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    assert run.main([*SMALL, "--out", str(folder), "--max-calls", "6"]) == 2
    assert "--max-calls 6 is spent" in capsys.readouterr().err
    assert "**Unfinished**" in (folder / "summary.md").read_text()
    assert run.main([*SMALL, "--out", str(folder)]) == 0
    assert "**Unfinished**" not in (folder / "summary.md").read_text()


@pytest.mark.thorough
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """Files may grow to 200 kB only: exit 2, one line, and the run goes on when there is room again."""
    command = [*SMALL, "--repetitions", "20", "--topic", "racism,abortion", "--out", str(tmp_path / "run")]

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    full = python(f"import sys, run; sys.exit(run.main({command!r}))", preexec_fn=small_disk)
    assert full.returncode == 2, full.stderr
    assert full.stderr.count("\n") == 1
    assert full.stderr.startswith("run.py: cannot")
    room = python(f"import sys, run; sys.exit(run.main({command!r}))")
    assert room.returncode == 0, room.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    assert run.main([*SMALL, "--out", str(tmp_path / "run")]) == 2
    assert "cannot use the folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["--scenario", "two_way", "--llm", "fake", "--out"], ["report"], ["show"]])
def test_a_name_that_no_disk_takes_is_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 characters were a traceback of 45 lines."""
    path = str(tmp_path / ("x" * 300))
    assert run.main([*command, path]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("File name too long")


@pytest.mark.thorough
def test_the_progress_bar_is_for_terminals_only(tmp_path: Path) -> None:
    """Quiet in a pipe; on a terminal rooms, calls, rate and time left."""
    command = [sys.executable, "run.py", *SMALL, "--out", str(tmp_path / "quiet")]
    quiet = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert quiet.stderr == ""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    shown = b""
    with subprocess.Popen(
        [*command[:-1], str(tmp_path / "loud")], cwd=ROOT, stderr=theirs, stdout=subprocess.DEVNULL
    ) as loud:
        os.close(theirs)
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the terminal's other end was closed
            pass
        assert loud.wait(timeout=120) == 0
    text = shown.decode()
    assert "2 rooms" in text
    assert "call/s" in text or "s/call" in text


def test_an_interrupt_keeps_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C: one line, exit 130, and the next sitting goes on from the journal."""
    from parley.llm.backends.oracle.backend import Oracle

    complete, calls = Oracle.complete, 0

    def interrupted(self: Oracle, requests: list) -> list:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return complete(self, requests)

    monkeypatch.setattr(Oracle, "complete", interrupted)
    assert run.main([*SMALL, "--out", str(tmp_path / "run")]) == 130
    assert "repeat the command with --out and the folder above to continue" in capsys.readouterr().err
    assert run.main([*SMALL, "--out", str(tmp_path / "run")]) == 0
    assert "from the journal" in capsys.readouterr().out


def test_personas_can_be_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "personas", "--party", "democrat", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "democrat.toml").read_text().count("{ name = ") == 40
    assert run.main(["study", "personas", "--party", "democrat", "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.thorough
def test_summary_tells_the_command_that_makes_it_again(tmp_path: Path) -> None:
    """The line under `Run it again` gives the same record."""
    first, again = tmp_path / "first", tmp_path / "again"
    assert run.main([*SMALL, "--seed", "7", "--set", "frame=conversation", "--out", str(first)]) == 0
    line = next(
        line for line in (first / "summary.md").read_text().splitlines() if line.strip().startswith("python run.py")
    )
    import shlex

    assert run.main([*shlex.split(line)[2:], "--out", str(again)]) == 0
    assert (again / "record.jsonl").read_bytes() == (first / "record.jsonl").read_bytes()


def test_a_party_has_a_model_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Republicans whom nothing moves: they stay, the summary names both models and the command that does it again."""
    asked = ["--scenario", "three_way", "--topic", "racism", "--repetitions", "4", "--llm", "oracle"]
    folder = tmp_path / "run"
    assert run.main([*asked, "--llm", "republican=oracle,kappa=0,mu=0", "--out", str(folder)]) == 0
    summary = (folder / "summary.md").read_text()
    assert "| model | oracle; republican: oracle,kappa=0,mu=0 |" in summary
    assert "--llm republican=oracle,kappa=0,mu=0" in summary
    ratings = pd.read_parquet(folder / "tables" / "attitudes.parquet")
    moved = ratings.groupby(["party", "agent"])["attitude"].std().groupby("party").max()
    assert moved["republican"] < moved["democrat"]
    assert run.main([*asked, "--llm", "republican=oracle", "--out", str(folder)]) == 2
    assert "already has a run with another scenario" in capsys.readouterr().err
    assert run.main([*asked, "--llm", "pocket"]) == 2
    assert "names two models, oracle and pocket" in capsys.readouterr().err


def test_every_command_refuses_a_topic_that_its_model_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is asked: one line that names the topics it knows, exit code 2, and no folder left behind."""
    finished, new = tmp_path / "run", tmp_path / "new"
    assert run.main([*SMALL, "--out", str(finished)]) == 0
    monkeypatch.setattr("parley.llm.backends.oracle.known_topics", lambda model: ("inflation",))
    capsys.readouterr()
    for command in (
        [*SMALL, "--dry-run"],
        SMALL,
        ["sweep", *SMALL, "--vary", "words=30,60", "--seeds", "0:2"],
        ["study", "structured", "baseline", "--llm", "oracle", "--topic", "racism"],
        ["study", "structured", "baseline", "--llm", "fake", "--judge", "oracle", "--topic", "racism"],
        ["study", "questionnaire", "orders", "--llm", "oracle", "--topic", "racism"],
        ["audit", "--llm", "oracle", "--topic", "racism"],
        ["audit", "--llm", "fake", "--judge", "oracle", "--topic", "racism"],
        ["study", "judge", str(finished), "--llm", "oracle"],
        ["study", "personas", "--llm", "oracle", "--party", "democrat"],
    ):
        assert run.main([*command, *(["--out", str(new)] if "--dry-run" not in command else [])]) == 2, command
        told = capsys.readouterr().err
        assert told.startswith("run.py: oracle cannot write about the topic "), command
        assert (told.count("\n"), "only about inflation." in told) == (1, True), command
        assert not new.exists(), command


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_is_an_interrupt(
    name: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was answered is kept, as with Ctrl-C, and the line says how to go on; before the first question there is nothing."""
    monkeypatch.setattr("parley.__main__.run", lambda given: signal.raise_signal(getattr(signal, name)))
    for begun, said in (
        (True, "interrupted. Every answer that came in is saved"),
        (False, "before anything was asked"),
    ):
        monkeypatch.setattr("parley.model.progress._shown", begun)
        assert run.main(["--scenario", "two_way"]) == code
        assert said in capsys.readouterr().err


@check_each(
    "command",
    [
        "--scenario two_way",
        "sweep --scenario two_way --seeds 0:2",
        "study structured closing --judge oracle",
        "study intervene",
        "study bets",
        "study archetypes",
    ],
)
def test_a_missing_key_leaves_no_folder(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same command with the key begins at the beginning, and nobody finds an empty folder."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    out = tmp_path / "out"
    assert run.main([*command.split(), "--llm", "openai:gpt-4o-mini", "--out", str(out)]) == 2
    assert "put the key into the environment variable OPENAI_API_KEY" in capsys.readouterr().err
    assert not out.exists()


@check_each(
    ("arguments", "line"),
    [
        ("--seeds 0:999999", "has 999,999 seeds, but a sweep can have at most"),
        ("--seeds 0:99999999999999", "seeds, but a sweep can have at most"),
        ("--vary rounds=1,2,3 --seeds 0:50000", "a sweep of 150,000 cells is too large"),
        ("--vary frame=../../x,/etc/y", "frame is '../../x', but must be a word, such as debate or conversation"),
        ("--cluster nohost.invalid", "--cluster nohost.invalid: write local, auto, HOST:PORT or ray://HOST:PORT"),
        ("--cluster 127.0.0.1:1", "no Ray cluster at 127.0.0.1:1: Connection refused"),
    ],
)
def test_a_sweep_that_cannot_be_is_one_line(
    arguments: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At once, without a traceback, and no folder is made."""
    out = tmp_path / "out"
    assert run.main(["sweep", "--scenario", "two_way", "--llm", "oracle", "--out", str(out), *arguments.split()]) == 2
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1
    assert not out.exists()


def test_a_record_nested_without_end_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file from elsewhere: the reader of JSON gives up on it with an error of its own."""
    (tmp_path / "record.jsonl").write_text("[" * 100_000 + "]" * 100_000 + "\n", encoding="utf-8")
    for command in (["report", str(tmp_path)], ["study", "judge", str(tmp_path), "--llm", "oracle"]):
        assert run.main(command) == 2
        assert "line 1 cannot be read (nested too deeply)" in capsys.readouterr().err


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """16 of 29 were in no help: each has its line, under its group, and its own help."""
    with pytest.raises(SystemExit):
        run.main(["--help"])
    told = capsys.readouterr().out
    for family in ("study", "export"):
        assert run.main([family]) == 0
        told += capsys.readouterr().out
    for name, about in run.commands().items():
        assert re.search(rf"^  {name.split()[-1]} +{re.escape(about)}$", told, re.M)
        with suppress(SystemExit):
            assert run.main([*name.split(), "--help"]) == 0
        assert f"usage: run.py {'' if name == 'run' else name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("list", "run.py --list"), ("ui", "run.py --ui"), ("resume", "same --out"), ("plot", "run.py report"),
        ("cite", "docs/statistics.md"), ("csv", "tables"), ("export csv", "RUN/tables"), ("help audit", "run.py audit --help"),
        ("how do I export to csv?", "RUN/tables"), ("summary(results)", "run.py report RUN"), ("hilfe", "run.py --help"),
        ("analyse", "run.py report RUN"), ("compare --models gpt-4o", "run.py audit --llm MODEL"), ("show", "run.py show --help"),
        ("--scenario debate", "structured_debate"), ("--ollama llama3", "--base-url"),
         ("verify", "run.py check"), ("ollama", "--base-url"), ("gpt-4o", "--base-url"), ("size", "--set size=N"),
         ("agents", "--set size=N"), ("gallery", "run.py --list"), ("docs", "docs/index.md"),
         ("--rng 3", "You may want --seed N"),
         ("bets", "bets is a study, so its command is run.py study bets"), ("./mine", "run.py study ./mine"),
         ("two_way", "run.py --scenario two_way"), ("study audit", "audit is not a study, so its command is run.py audit"),
        ("export foo", "unknown form of export 'foo': known: adapter, bundle, eval, own-lines"),
        ("check runs/a/tables/nosuch.csv", "there is no file runs/a/tables/nosuch.csv"),
        ("--personas mine", "You may want --set personas=NAME"), ("--agents 300", "You may want --set size=N"),
        ("--n 3", "You may want --repetitions N"), ("--model gpt-4o", "You may want --llm NAME[:MODEL]"),
        ("--output x", "You may want --out DIR"), ("--temperature 1", "You may want --set temperature=X"),
        ("--scenario two_way --llm claude", "openai:MODEL with --base-url URL"),
        ("--scenario two_way --llm ollama:llama3", "openai:MODEL with --base-url URL"),
    ],
)  # fmt: skip
def test_a_wrong_word_names_what_was_wanted(typed: str, wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By meaning, not by letters: `resume` was told "did you mean register"."""
    assert run.main(typed.split()) == 2
    told = capsys.readouterr().err
    assert wanted in told
    assert told.count("\n") == 1


def test_the_folder_of_a_run_is_no_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was called a study."""
    (tmp_path / "record.jsonl").touch()
    assert run.main([str(tmp_path)]) == 2
    assert f"{tmp_path} is the folder of a run, not a command. You may want: run.py --ui" in capsys.readouterr().err


def test_run_is_the_command_without_a_name(tmp_path: Path) -> None:
    assert (
        run.main(["run", *SMALL, "--out", str(tmp_path / "a")]) == run.main([*SMALL, "--out", str(tmp_path / "b")]) == 0
    )
    lines = [(tmp_path / name / "record.jsonl").read_text(encoding="utf-8").splitlines()[1:] for name in "ab"]
    assert lines[0] == lines[1]


def test_no_round_asks_for_the_first_ratings_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--rounds 0` is the survey before a debate: nobody speaks, and the summary says that no movement is known."""
    command = ["--scenario", "two_way", "--llm", "oracle", "--topic", "racism", "--repetitions", "1", "--rounds", "0"]
    assert run.main([*command, "--out", str(tmp_path)]) == 0
    assert "missing  0 of 3 ratings" in capsys.readouterr().out
    assert "no party has ratings from two surveys" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert pd.read_csv(tmp_path / "tables" / "utterances.csv").empty
