"""Measure the bias of a model from the page: a form with its plan, and the audit as a process to watch.

An audit is the command `run.py audit` in a process of its own, so that the page stays quick. Its form is kept in its folder, and
checked again when it is read there, as any form is (docs/files.md).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import solara
import solara.lab

from parley.agents.society import US, load_society
from parley.analysis.serving.own_files import check_named
from parley.analysis.views._address import named_in, run_place
from parley.analysis.views._form import MODEL, UNANSWERED, Start, limits_of
from parley.analysis.views._html import Select, element
from parley.analysis.views._models import ModelPicker
from parley.analysis.views._plan import HERE, Plan, check_local, priced
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._runs import ROOT
from parley.analysis.views._words import topic_title
from parley.llm.errors import UserError
from parley.llm.trust import key_for
from parley.model.command_process import CommandProcess
from parley.model.files import write_whole

SHORT, WHOLE = "Short: one topic, three questions", "Whole: all topics, all sections"
ABOUT = {
    SHORT: "Where does the model lean? How hard does it pull agents toward its own opinion? How much of the movement "
    "is persuasion? Five groups of people debate one topic under every condition: the fewest that give an interval.",
    WHOLE: "The same questions on every topic of the society with ten groups of people, and all sections of the bias card.",
}
SECTIONS = "bias,pull,null_conditions"
FORM = "audit-form.json"
"""The file in the folder of an audit with the form that started it."""
LONGEST = 5_000
REFRESH = 1.0
"""Seconds between two looks at an audit."""
_audits: dict[Path, CommandProcess] = {}


@dataclass(frozen=True)
class AuditDraft:
    """The form of an audit. topic: of the short one. calls: those planned, once it has begun."""

    llm: str = MODEL
    scope: str = SHORT
    topic: str = ""
    price: tuple[float, float] | None = None
    most_calls: int | None = None
    most_cost: float | None = None
    calls: int = 0

    @property
    def words(self) -> list[str]:
        """The words of the command, without its folder."""
        short = ["--sections", SECTIONS, "--topic", self.topic, "--blocks", "5"] if self.scope == SHORT else []
        limits = {"--max-calls": self.most_calls, "--max-cost": self.most_cost}
        given = [word for name, value in limits.items() if value for word in (name, str(value))]
        price = ["--price", ",".join(map(str, self.price))] if self.price else []
        return ["audit", f"--llm={self.llm}", "--seed", "0", *short, *given, *price]  # with =, no model is an option


@solara.component
def NewAudit(search: str, go: Callable[[str], None]) -> None:
    """The place `/?audit=MODEL`: what is measured, what it needs, and the button that starts it."""
    named = named_in(search, "audit")[0]
    draft, problem = solara.use_reactive(AuditDraft(named or MODEL, topic=topics()[0])), solara.use_reactive("")
    key = [draft.value.llm, draft.value.scope, draft.value.topic, draft.value.price]
    task = solara.lab.use_task(lambda: plan_of(draft.value), dependencies=key, raise_error=False)
    plan = (task.value if task.finished else None) or Plan()

    def change(**values: Any) -> None:
        draft.set(replace(draft.peek(), **values))

    def begin(answered: Any) -> None:
        if plan.question != str(answered or ""):
            problem.set(UNANSWERED)
            return
        try:
            go(run_place(start(replace(draft.peek(), calls=plan.calls))))
        except UserError as error:
            problem.set(str(error))

    element("h1", "Measure the bias of a model")
    with solara.Column(classes=["group"]):
        Select("What to measure", list(ABOUT), draft.value.scope, lambda to: change(scope=to))
        element("p", ABOUT[draft.value.scope], css="soft")
        if draft.value.scope == SHORT:
            titles = {topic_title(slug): slug for slug in topics()}
            Select("Topic", list(titles), topic_title(draft.value.topic), lambda title: change(topic=titles[title]))
    ModelPicker(
        draft.value.llm, draft.value.price, lambda llm: change(llm=llm), lambda price: change(price=price), "",
        "The audit checks that first",
    )  # fmt: skip
    state = {
        "plan": plan.text, "problem": problem.value or plan.problem, "pending": task.pending, "question": plan.question,
        "changed": [], "most_calls": draft.value.most_calls or "", "most_cost": draft.value.most_cost or "",
        "label": "Start measuring",
    }  # fmt: skip
    Start(
        state=json.dumps(state),
        event_limit=lambda values: change(**limits_of(values)),
        event_start=begin,
        event_reset=lambda _: None,
    )


def topics() -> tuple[str, ...]:
    """Return the topics of the society whose people the page audits with."""
    return tuple(load_society(US).topics)


def plan_of(draft: AuditDraft) -> Plan:
    """Return the plan of an audit, counted by dry runs. Whatever a user got wrong is its `problem`."""
    from parley.analysis.card.protocol import plan_audit
    from parley.analysis.commands.card import audit_parser, design
    from parley.analysis.qualify.before_run import planned_checks

    try:
        check_draft(draft)
        check_local(draft.llm)
        first, sections, _, _ = design(audit_parser().parse_args([*draft.words[1:], "--out", str(ROOT / "plan")]))
        plan = plan_audit(first, sections, planned_checks([first.base], skipped=False))
        size = (
            f"{len(first.base.subject.topic)} topics, {first.base.repetitions} groups of people, {plan.calls:,} replies"
        )
        return priced(plan, draft.price, size.replace("1 topics", "1 topic"))
    except UserError as error:
        return Plan(problem=str(error))


def check_draft(draft: AuditDraft) -> None:
    """Errors: UserError where the form names a model, a server, a key or a file that the page may not open."""
    check_named({"llm": draft.llm}, HERE)
    if draft.scope not in ABOUT or (draft.scope == SHORT and draft.topic not in topics()):
        raise UserError(f"{HERE} names an unknown topic or kind of audit")


def start(draft: AuditDraft, folder: Path | None = None) -> Path:
    """Start an audit, or go on with that of a folder; return its folder. Errors: UserError."""
    from parley.llm.backends import contacts_of

    check_draft(draft)
    place = folder or ROOT / f"audit-{time.strftime('%Y%m%d-%H%M%S')}"
    if (earlier := audit_of(place)) and earlier.running:
        return place
    place.mkdir(parents=True, exist_ok=True)
    write_whole(place / FORM, json.dumps(asdict(draft)))
    # the words of the command are the user's own there: a server that gets no key from the page must get none from it
    withheld = {contact.key for contact in contacts_of(draft.llm) if not key_for(contact)}
    _audits[place.resolve()] = CommandProcess(draft.words, place, withheld)
    return place


def audit_of(folder: Path) -> CommandProcess | None:
    """Return the audit that this page has started in a folder; None where it has started none."""
    return _audits.get(folder.resolve())


def kept_draft(folder: Path) -> AuditDraft | None:
    """Return the form with which a page started the audit of a folder; None without one."""
    try:
        with (folder / FORM).open(encoding="utf-8") as file:
            values = json.loads(file.read(LONGEST))
        kept = AuditDraft(**{field.name: values[field.name] for field in fields(AuditDraft)})
        price = tuple(map(float, kept.price)) if kept.price else None
        numbers = [number for number in (kept.most_calls, kept.most_cost, kept.calls) if number is not None]
        if (
            not all(isinstance(text, str) for text in (kept.llm, kept.scope, kept.topic))
            or min(map(float, numbers)) < 0
        ):
            return None
        return replace(kept, price=(price[0], price[1]) if price else None)
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None


@solara.component
def Progress(folder: Path, unfinished: bool) -> None:
    """How far the audit of a folder is, with Stop and Resume. unfinished: it has no card, and no process works on it."""
    problem, tick = solara.use_reactive(""), solara.use_reactive(0)
    tick.get()
    use_repeated(REFRESH, lambda: tick.set(tick.peek() + 1))
    audit, draft = audit_of(folder), kept_draft(folder)

    def resume() -> None:
        try:
            if draft:
                start(draft, folder)
            problem.set("")
        except UserError as error:
            problem.set(str(error))

    if audit and audit.running:
        replies, planned = audit.replies, max(draft.calls if draft else 0, 1)
        on_its_way = f"Measuring. {replies:,} of about {planned:,} replies."
        said = on_its_way if replies < planned else "The last replies are asked for, then the card is written."
        element("p", said, role="status", css="status").key("status")
        share = str(round(min(100 * replies / planned, 99)))
        element("progress", max="100", value=share, **{"aria-label": "Replies of the audit so far"}).key("bar")
        solara.Button("Stop", audit.stop).key("stop")
        return
    for text in filter(None, (problem.value, audit.problem if audit else "")):
        element("p", element("bdi", text), css="wrong", role="alert").key(text)
    if unfinished and draft:
        element("p", "Stopped before its end. Every reply is saved, and none is requested twice.", css="status").key(
            "over"
        )
        solara.Button("Resume", resume).key("resume")
