"""Everything that the package asks the known-truth speaker, in one process.

`python every_purpose.py FOLDER` prints one line of JSON: `package`, where the package lies; `commands`, the exit code of each
kind of run and judge; `replies`, by purpose the shapes of all replies; `missing`, why utterances, ratings and notes are
missing. Run by test_rewording.py on a copy of the package.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import parley
from parley.__main__ import main
from parley.agents.question import load_questions
from parley.agents.society import load_society
from parley.analysis.judging import Item, compose, load_rubric
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.request import Reply, Request
from parley.training.tuning.dataset import write_questions

ONE = ("--repetitions", "1")
OPINION = "Frankly, my answer is a firm yes. Whatever is decided, I ask for a way to appeal. I say this without heat."
DRAFT = "Our answer is a firm no. What counts for us is what the evidence shows."
SCENARIOS: dict[str, Sequence[str]] = {
    "three_way": (
        *("forecast=true", "also=confidence,agreement,attitude_labelled,attitude_reversed", "reminder=true"),
        *("topic=racism", "confirmation_bias=strong", "traits=drawn"),
    ),
    "two_way": ("topic=racism", "memory=summary:2", "frame=conversation", "think=bounded"),
    "recollection": ("topic=racism", "rounds=2", "importance=asked", "reflect=4", "think=bdi"),
    "days": ("rounds=6", "interview=all", "relevance=embedding"),
    "dyads": ("topic=racism", "rounds=2", "think=latent"),
    "prior_beliefs": ("topic=racism",),
    "structured_debate": ("topic=racism", "rounds=1"),
    "persuasion": (),
    "news_evolution": ("rounds=2", "llm=oracle,drift=1"),
    "platform": ("topic=racism", "rounds=6", "size=30", "activation=every"),
    "consensus_habermas": ("mediator=habermas,ballots=both", "vote=final"),
    "representatives": (
        *("represents=opinion,critique,ballot,vote", "mediator=habermas,candidates=3,ballots=own", "vote=final"),
    ),
    "herding": ("rounds=1", "planner=model"),
    "consensus_phases": ("rounds=2", "size=3"),
    "trust_game": ("rounds=1",),
    "negotiation": ("rounds=2",),
}
"""Settings of a small run of each."""
FORMS = {
    "bdi": r"Belief: .+\nDesire: .+\nIntention: .+",
    "latent": r"Stance: .+\nFeeling: .+",
    "ranking": r"[A-Z]( > [A-Z])+",
    "payoff_ranking": r"[A-Z]( > [A-Z])+",
    "ballot": r"[A-Z]( [>=] [A-Z])+",
    "represented_ballot": r"[A-Z]( [>=] [A-Z])+",
    "questions": r"(\d+\. .+\n?)+",
    "reflection": r"(\d+\. .+\n?)+|(.+ \(\d.*\)\n?)+",
    "summary": r"(.+: .+\n?)+",
}
"""What a reply looks like, by purpose; of other purposes a closed answer, or words."""


def commands(folder: Path) -> Iterator[tuple[str, ...]]:
    """The arguments of every kind of run, of every judge, and of what writes."""
    for name, settings in SCENARIOS.items():
        chosen = [part for setting in settings for part in ("--set", setting)]
        checked = ["--intervene", "fact_check round=2 llm=oracle"] if name == "three_way" else []
        yield ("--scenario", name, *ONE, *chosen, *checked, "--out", f"{folder}/{name}")
    for payoff in ("judge", "ranking"):
        substituted = ("study", "representatives", "substitute", f"{folder}/representatives", *ONE, "--limit", "1")
        yield (*substituted, "--payoff", payoff, "--out", f"{folder}/seats_{payoff}")
    yield ("study", "judge", f"{folder}/three_way")
    for rubric, run in (
        ("appeal", "three_way"),
        ("sentiment", "three_way"),
        ("deviation", "news_evolution"),
        ("recall", "days"),
    ):
        yield ("study", "judge", f"{folder}/{run}", "--rubric", rubric)
    yield (
        "study",
        "arena",
        "--topic",
        "racism",
        "--panel",
        "2",
        "--write",
        "2",
        "--rewrite",
        "--out",
        f"{folder}/arena",
    )
    yield ("study", "rehearse", "--topic", "racism", "--audience", "2", "--out", f"{folder}/rehearse")
    yield (
        "study",
        "compete",
        "sales",
        "--judge",
        "oracle",
        "--panel",
        "2",
        "--samples",
        "1",
        "--out",
        f"{folder}/compete",
    )
    small = ("--rooms", "1", "--threads", "1", "--members", "1", "--what-if", "No.", "--continuations", "1")
    (folder / "posts.csv").write_text("text\nHello there.\nGood morning.\n", encoding="utf-8")
    yield (
        *("study", "community", "--judge", "oracle", *small, "--data", f"{folder}/posts.csv"), "--out", f"{folder}/community",
    )  # fmt: skip
    yield ("study", "validate", "--judge", "oracle", "--personas", "simple", "--out", f"{folder}/validated")
    yield (
        "study",
        "stereotypes",
        "--personas",
        "simple",
        "--topic",
        "racism",
        "--interview",
        "2",
        "--out",
        f"{folder}/seen",
    )
    for kind, small in (("orders", ("--personas", "simple")), ("panel", ("--people", "1")), ("wave", ())):
        yield ("study", "questionnaire", kind, *small, "--repeats", "2", "--out", f"{folder}/{kind}")
    yield ("study", "correct", "--judge", "oracle", "--out", f"{folder}/corrected")
    yield ("study", "distributions", "planted", "--questions", "2", "--out", f"{folder}/polled")
    yield ("study", "predict", "planted", "--people", "10", "--out", f"{folder}/predicted")
    yield ("study", "belief-reader", "--topic", "racism", "--out", f"{folder}/tags")
    yield ("study", "twins", "planted", "--groups", "5", "--points", "1", "--out", f"{folder}/twins")
    statements = folder / "statements.csv"
    statements.write_text("statement,speaker\nIt rains in Lindmoor.,Ann\nIt snows in Quell.,\n", encoding="utf-8")
    yield ("study", "truthfulness", str(statements), "--crowd", "2", "--out", f"{folder}/truthfulness")
    yield ("study", "choose-side", "--topic", "racism", "--respondents", "4", "--out", f"{folder}/sides")
    yield ("study", "conjoint", "--respondents", "4", "--out", f"{folder}/conjoint")
    yield ("study", "personas", "--party", "democrat", "--out", f"{folder}/voters")
    yield ("study", "personas", "--set", "enhanced", "--party", "republican", "--out", f"{folder}/enhanced")
    argued = ("--for", "It is unfair to many people.", "--against", "The law is the same for everybody.")
    yield ("study", "bets", "--judge", "oracle", "--topic", "racism", *ONE, "--rounds", "1", "--out", f"{folder}/bets")
    yield ("study", "personas", "--set", "deep", "--out", f"{folder}/deep")
    yield ("study", "depth", f"{folder}/deep", "--people", "1", "--judge", "oracle", "--out", f"{folder}/depth")
    yield ("study", "case", "--topic", "racism", *argued, "--out", f"{folder}/case.toml")


def shape(request: Request, reply: Reply) -> str:
    """Of what kind a reply is."""
    if reply.failure:
        return reply.failure.name
    text = reply.text or ""
    if request.answers and not request.answer_prefix:
        return "fits" if text in request.answers else f"not among the answers: {text}"
    form = r".+" if not request.answer_prefix else rf"{re.escape(request.answer_prefix)}.+"
    return "fits" if re.fullmatch(FORMS.get(request.purpose, form), text, re.S) else f"another form: {text}"


def missing(folder: Path) -> Counter[str]:
    """Why something has no text or value, in the records of all runs."""
    reasons: Counter[str] = Counter()
    for record in folder.glob("*/record.jsonl"):
        events = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
        reasons.update(f"{record.parent.name}: {event['reason']}" for event in events if event.get("reason"))
    return reasons


def exit_code(command: Sequence[str]) -> int:
    """What a command line returns; the oracle answers, with the options of a run that sets them."""
    model = () if any(part.startswith("llm=") for part in command) else ("--llm", "oracle")
    try:
        return main([*command, *model]) or 0
    except SystemExit as left:
        return int(left.code or 0)


def run(folder: Path) -> dict[str, Any]:
    """All that this file prints."""
    shapes: dict[str, Counter[str]] = defaultdict(Counter)
    complete = Oracle.complete

    def listen(self: Oracle, requests: Sequence[Request]) -> list[Reply]:
        replies = complete(self, requests)
        for request, reply in zip(requests, replies, strict=True):
            shapes[request.purpose][shape(request, reply)] += 1
        return replies

    Oracle.complete = listen  # type: ignore[method-assign]
    codes = {" ".join(command): exit_code(command) for command in commands(folder)}
    write_questions(30, 1, Oracle(), load_society())
    texts = {"opinion": OPINION, "statement": DRAFT, "first": "Frankly, no.", "second": "Look, yes."}
    shown = {"issue": load_questions()[0].question, "earlier": "", **texts}
    Oracle().complete(
        [compose(load_rubric("autorater"), Item((), shown, facts={"candidates": [shown["first"], shown["second"]]}), 1)]
    )
    return {"package": parley.__file__, "commands": codes, "replies": shapes, "missing": missing(folder)}


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):
        found = run(Path(sys.argv[1]))
    sys.stdout.write(json.dumps(found) + "\n")
