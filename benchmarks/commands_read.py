"""Which share of a model's replies can each command read? Every command that asks a model, small, and a table.

python benchmarks/commands_read.py [--llm chatter] [--only herding,conjoint] [--most CALLS] [--write PAGE.md]

A command runs in this process on a small design. What is counted is each answer that the command counts itself (MissingTally):
ratings, replies, choices, drafts, verdicts. Runs that a command reads (a debate that is judged) are made by the oracle.

--most     calls to the model after which a command is stopped, for a model that takes seconds for each
--write    a page with a table between `<!-- commands on SPEC -->` and `<!-- end -->`: the row of a command is replaced as soon as
           it ends, and all others stay. benchmarks/commands_read.md has one for chatter and one for SmolLM2

The exit code is 1 if a command ends in anything but its results or one line of reason.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run
from parley.agents.closed_answers import read_choice, read_number
from parley.agents.scales import read_rating
from parley.agents.social_choice import read_ranking
from parley.agents.society import US, load_society
from parley.analysis.judging import UNASKED
from parley.llm.backends import needs_qualification
from parley.model.missing_replies import MissingTally
from parley.model.run_plan import plan_run

ONE = "--topic racism --repetitions 1 --rounds 1"
TWO, GAME = ONE.replace("rounds 1", "rounds 2"), "--repetitions 1 --rounds 2"
SCENARIOS = {
    "two_way": ONE,
    "three_way": ONE,
    "echo_chamber": ONE,
    "structured_debate": ONE,
    "intervention": "--topic racism --repetitions 1 --rounds 4",
    "network": f"{ONE} --set size=20",
    "platform": f"{TWO} --set size=20",
    "rooms_and_network": "--repetitions 1 --rounds 1 --set size=8",
    "stages": "--repetitions 1 --set size=8",
    "public_opinion": "--repetitions 1 --rounds 8 --set size=20",
    "emotion_spread": f"{GAME} --set size=20",
    "herding": "--repetitions 1 --set size=4",
    "readers": f"{ONE} --set size=3 --set listeners=2",
    "consensus_phases": "--repetitions 1 --rounds 2 --set size=3",
    "dyads": ONE,
    "trust_game": GAME,
    "public_goods": GAME,
    "negotiation": GAME,
    "prisoners_dilemma": GAME,
    "consensus": "--repetitions 1",
    "consensus_habermas": "--repetitions 1 --set mediator=habermas,candidates=3",
    "representatives": "--repetitions 1",
    "days": TWO,
    "recollection": TWO,
    "news_evolution": f"{GAME} --set size=6",
    "fake_news": "--repetitions 1 --rounds 4 --set size=6",
    "persuasion": "--repetitions 1 --rounds 1",
    "belief_behaviour": ONE,
    "basic_income": "--repetitions 1",
    "hurricane": "--repetitions 1 --rounds 4",
}
COMMANDS: Mapping[str, str] = {
    **{f"run {name}": f"--scenario {name} --llm MODEL {options}" for name, options in SCENARIOS.items()},
    "herding": "study herding --llm MODEL --repetitions 1 --set size=3",
    "consensus-phases": "study consensus-phases --llm MODEL --repetitions 1 --rounds 2 --sizes 3 --respondents 3 --begins alone",
    "games": "study games trust_game --llm MODEL --repetitions 1 --rounds 1",
    "conjoint": "study conjoint candidates --llm MODEL --respondents 3",
    "truthfulness": "study truthfulness STATEMENTS --llm MODEL --crowd 2",
    "choose-side": "study choose-side --llm MODEL --topic racism --respondents 2",
    "distributions": "study distributions planted --llm MODEL --questions 2 --samples 2 --groups 'people of the harbour'",
    "predict": "study predict planted --llm MODEL --people 10 --samples 1",
    "twins": "study twins planted --llm MODEL --groups 5 --points 1 --samples 1",
    "elicit": "study elicit planted --llm MODEL --people 2 --steps 1 --candidates 2 --rest 2 --repeats 1 --samples 1",
    "bets": f"study bets --llm MODEL --llm MODEL --judge MODEL {ONE}",
    "personalised": f"study personalised --llm MODEL {ONE}",
    "arena": "study arena --topic racism --llm MODEL --write 3 --panel 2 --pairs 2 --rewrite",
    "compete": "study compete sales --llm MODEL --judge MODEL --panel 2 --samples 1",
    "community": "study community garden --llm MODEL --judge MODEL --rooms 1 --threads 1 --people 3 --members 1",
    "rehearse": "study rehearse --llm MODEL --audience 2 --pieces 1 --plain 1",
    "prior-beliefs": f"study prior-beliefs --llm MODEL --compare MODEL --panel 2 {ONE}",
    "correct": "study correct en --llm MODEL --judge MODEL --samples 1 --panel 2",
    "guidance": "study guidance --llm MODEL --repetitions 1 --rounds 8 --set size=20",
    "flips": "study flips --llm MODEL --topic racism --blocks 2",
    "carry-over": "study carry-over --llm MODEL --repetitions 1 --set size=4 --set rounds=2 --set "
    "topology=rooms,size=2[rounds=1,topic=racism]>rooms,size=2[rounds=1,topic=climate_change]",
    "search": "study search messages --llm MODEL --rounds 3 --method random --trials 1 --rooms 1 --new-rooms 1 --runners 0",
    "honesty": f"study honesty --llm MODEL {TWO}",
    "refutation": "study refutation --llm MODEL --repetitions 1 --rounds 2 --early 1 --late 2 --set size=6",
    "arguments": f"study arguments --llm MODEL {ONE}",
    "structured": "study structured baseline --llm MODEL --judge MODEL --topic racism --repetitions 1 --rounds 2",
    "questionnaire orders": "study questionnaire orders --llm MODEL --topic racism --repeats 2",
    "questionnaire wave": "study questionnaire wave --llm MODEL --topic racism --repeats 1",
    "questionnaire panel": "study questionnaire panel --llm MODEL --topic racism --people 2 --repeats 2",
    "validate": "study validate --llm MODEL --judge JUDGE --personas simple",
    "depth": "study depth DEEP --llm MODEL --judge MODEL --people 1 --depths 0,1 --checked 1 --samples 1",
    "evolve": "study evolve planted --llm MODEL --size 2 --depth 1 --candidates 2 --generations 1 --repeats 1 --samples 1",
    "stereotypes": "study stereotypes --llm MODEL --topic racism",
    "audit": "audit --llm MODEL --topic racism --blocks 2 --sections bias,pull",
    "archetypes": f"study archetypes --llm MODEL {ONE} --size 2",
    "intervene": "study intervene --llm MODEL --topic racism --repetitions 1 --rounds 4",
    "qualify": "qualify --llm MODEL --short --topic racism",
    "judge": "study judge RUN:two_way --llm MODEL",
    "belief-reader": "study belief-reader --topic racism --llm MODEL",
    "judge appeal": "study judge RUN:persuasion_trace --rubric appeal --llm MODEL",
    "judge deviation": "study judge RUN:news_evolution --rubric deviation --llm MODEL",
    "judge sentiment": "study judge RUN:platform --rubric sentiment --llm MODEL",
    "judge recall": "study judge RUN:days --rubric recall --llm MODEL",
    "mediators": "study mediators RUN:consensus --mediator draft_revise --llm MODEL --judge MODEL",
    "personas": "study personas --llm MODEL --set voters --party PARTY",
    "personas deep": "study personas --llm MODEL --set deep --party PARTY --count 1 --depth 2",
    "case": "study case --topic racism --llm MODEL --for 'It is widespread.' --against 'It is rare.'",
}
RUNS = {
    "persuasion_trace": ONE,
    "days": f"{ONE} --rounds 3",
    **{name: SCENARIOS[name] for name in ("two_way", "news_evolution", "platform", "consensus")},
}
"""Scenarios of runs that other commands read."""


class ShareRead(NamedTuple):
    """What a command did: its exit code, answers asked and missing with their reasons, seconds of processor, its last line.

    tries: replies that a reader of closed answers got, also of questions that are asked again, and how many it could not read.
    """

    name: str
    code: int
    asked: int
    missing: Counter[str]
    tries: tuple[int, int]
    seconds: float
    said: str

    @property
    def share(self) -> float:
        """The share of answers that were read; of a command that counts none (it writes a file) all."""
        return 1 - self.missing.total() / self.asked if self.asked else 1.0


READERS = (read_rating, read_choice, read_number, read_ranking)


@contextlib.contextmanager
def counting() -> Iterator[tuple[Counter[str], Counter[str], Counter[bool]]]:
    """Count what commands ask, by kind, why answers are missing, and how many replies to closed questions could be read.

    A plan, which runs the debates with made-up replies to count their calls, is not counted.
    """
    questions, missing, tries = Counter[str](), Counter[str](), Counter[bool]()
    count, depth, plans = MissingTally.count, [0], [0]

    def count_also(self: MissingTally, key: Any, reason: str | None, raw: str | None = None) -> None:
        if not plans[0]:
            questions[key.what] += 1
            if reason is not None and not reason.startswith(UNASKED):
                missing[reason] += 1
        count(self, key, reason, raw)

    def planned(*given: Any, **named: Any) -> Any:
        plans[0] += 1
        try:
            return plan_run(*given, **named)
        finally:
            plans[0] -= 1

    def counted(read: Callable[..., Any]) -> Callable[..., Any]:
        def also(*given: Any, **named: Any) -> Any:
            depth[0] += 1  # a reader may call another one
            try:
                reading = read(*given, **named)
            finally:
                depth[0] -= 1
            if not depth[0] and not plans[0]:
                tries[reading[0] is not None] += 1
            return reading

        return also

    patched: dict[Callable[..., Any], Callable[..., Any]] = {read: counted(read) for read in READERS}
    patched[plan_run] = planned
    MissingTally.count = count_also  # type: ignore[method-assign]
    _exchange(patched)
    try:
        yield questions, missing, tries
    finally:
        MissingTally.count = count  # type: ignore[method-assign]
        _exchange({also: read for read, also in patched.items()})


def _exchange(functions: Mapping[Callable[..., Any], Callable[..., Any]]) -> None:
    """Put functions in the place of others in all modules that are loaded."""
    for module in [module for name, module in sys.modules.items() if name.startswith("parley")]:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in functions:
                setattr(module, name, functions[value])


class Materials:
    """Runs and files that commands read, made when the first one needs them."""

    def __init__(self, folder: Path):
        self.folder = folder

    def words(self, command: str, llm: str, out: str) -> list[str]:
        """Return the words of a command for a model."""
        words = [self._word(word, llm) for word in shlex.split(command)]
        ending = {"personas": "", "case": ".toml", "questions": ".toml"}.get(words[0], "")
        return [*words, "--out", str(self.folder / f"{out.replace(' ', '_')}{ending}")]

    def _word(self, word: str, llm: str) -> str:
        if word in ("MODEL", "JUDGE"):
            return (
                llm
                if word == "MODEL"
                else f"{llm}{',' if ',' in llm else ':'}judge"
                if llm.startswith("chatter")
                else llm
            )
        if word == "PARTY":
            return load_society(US).debaters[1]
        if word.startswith("RUN:"):
            name = word.removeprefix("RUN:")
            return self._made(name, f"--scenario {name} --llm oracle {RUNS[name]}")
        if word == "DEEP":
            return self._made(
                "deep",
                f"study personas --llm oracle --set deep --party {load_society(US).debaters[1]} --count 2 --depth 2",
            )
        if word == "STATEMENTS":
            path = self.folder / "statements.csv"
            path.write_text(
                "statement,speaker,label\nTaxes fell in 2020.,Ann,3\nThe river is clean.,Bob,5\n", encoding="utf-8"
            )
            return str(path)
        return word

    def _made(self, name: str, command: str) -> str:
        path = self.folder / f"made_{name}"
        if not path.exists():
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                code = run.main([*command.split(), "--out", str(path)])
            assert code == 0, command
        return str(path)


def share_read(name: str, llm: str, materials: Materials, out: str = "", most: int = 0) -> ShareRead:
    """Run a command of COMMANDS on a model, and count what it reads. most: calls after which it is stopped; 0: no limit."""
    words = materials.words(COMMANDS[name] + limited(name, llm, most), llm, out or name)
    printed, began = io.StringIO(), time.process_time()
    with (
        counting() as (questions, missing, tries),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        try:
            code = run.main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception as error:  # noqa: BLE001  it is what the table has to show
            code = 3
            print(f"{type(error).__name__}: {error}")
    lines = [line for line in printed.getvalue().splitlines() if line.strip()]
    last = next((line for line in lines if "run.py:" in line), lines[-1] if lines else "")
    read = (tries.total(), tries[False])
    return ShareRead(name, code, questions.total(), missing, read, time.process_time() - began, last)


HEAD = (
    "| command | answers | read | closed replies | read | seconds | missing, or why it stops |\n"
    "|---|--:|--:|--:|--:|--:|---|\n"
)
CHECKED = frozenset({
    "arguments", "audit", "archetypes", "bets", "carry-over", "claim", "consensus-phases", "games", "guidance", "herding",
    "honesty",
    "intervene", "personalised", "prior-beliefs", "refutation", "search", "structured",
})  # fmt: skip
"""Commands that check a new model before its first run."""
UNLIMITED = frozenset({"case"})
"""Commands without limits."""


def limited(name: str, llm: str, most: int) -> str:
    """Return the options that a model needs which takes seconds for a call: a limit, and no questions before the first run."""
    checked = name.startswith("run ") or name in CHECKED
    limit = f" --max-calls {most}" if most and name not in UNLIMITED else ""
    return limit + (" --no-qualify" if checked and needs_qualification(llm) else "")


def table_row(result: ShareRead) -> str:
    """Return the row of a command. A command that reached the limit of calls has read what it says by then."""
    stopped = f"stopped after {STOPPED.search(result.said)[1]} calls" if STOPPED.search(result.said) else ""
    reasons = ", ".join(f"{reason} {number}" for reason, number in result.missing.most_common(3))
    note = (
        "; ".join(filter(None, [stopped, reasons]))
        if stopped or not result.code
        else result.said.removeprefix("run.py: ")
    )
    told, lost = result.tries
    once = f"{1 - lost / told:.0%}" if told else "–"
    share = f"{result.share:.0%}" if result.asked and (stopped or not result.code) else "–"
    cells = (f"`{result.name}`", result.asked, share, told, once, f"{result.seconds:.0f}", note[:200].replace("|", "/"))
    return f"| {' | '.join(map(str, cells))} |"


STOPPED = re.compile(r"--max-calls (\d+) is spent")


def with_rows(page: str, llm: str, rows: Mapping[str, str]) -> str:
    """Return a page with these rows, by command, in its table on a model, in the order of COMMANDS; other rows stay.

    >>> with_rows("<!-- commands on m -->\\n<!-- end -->", "m", {"bets": "| `bets` | 1 |"}).count("`bets`")
    1
    """
    begin, end = f"<!-- commands on {llm} -->\n", "<!-- end -->"
    before, marker, after = page.partition(begin)
    if not marker:
        raise SystemExit(f"the page has no table on {llm}: write {begin.strip()} and {end} where it should be")
    old, _, after = after.partition(end)
    row_by_command = {line.split("`")[1]: line for line in old.splitlines() if line.startswith("| `")} | dict(rows)
    lines = "\n".join(row_by_command[name] for name in COMMANDS if name in row_by_command)
    return before + begin + HEAD + lines + "\n" + end + after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--llm", default="chatter")
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    names, broken = options.only.split(",") if options.only else list(COMMANDS), []
    with tempfile.TemporaryDirectory() as folder:
        materials = Materials(Path(folder))
        for name in names:
            result = share_read(name, options.llm, materials, most=options.most)
            row = table_row(result)
            print(f"{row} {result.code}", flush=True)
            broken += [name] if result.code and "run.py: " not in result.said else []
            if options.write:
                page = options.write.read_text(encoding="utf-8")
                options.write.write_text(with_rows(page, options.llm, {name: row}), encoding="utf-8")
    if broken:
        raise SystemExit(f"neither results nor a reason: {', '.join(broken)}")


if __name__ == "__main__":
    main()
