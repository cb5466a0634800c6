"""Measure the bias of a model from the page: a form with its plan, and the audit as a process to watch.

An audit is the command `run.py audit` in a process of its own, so that the page stays quick. Its form is kept in its folder, and
checked again when it is read there, as any form is (docs/files.md).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import solara
import solara.lab

from parley.agents.own_topic import split_topics
from parley.agents.society import US, is_sentence, load_society
from parley.agents.topic import load_topic
from parley.analysis.serving.own_files import check_named
from parley.analysis.views._address import named_in, place_of
from parley.analysis.views._fields import Field
from parley.analysis.views._form import MODEL, UNANSWERED, Fields, Start, limits_of, own_topics
from parley.analysis.views._html import element
from parley.analysis.views._models import ModelPicker
from parley.analysis.views._plan import HERE, Plan, model_plan, priced
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._runs import ROOT
from parley.analysis.views._words import topic_title
from parley.llm.errors import UserError
from parley.llm.trust import key_for
from parley.model.command_process import CommandProcess, last_line
from parley.model.files import write_whole

SHORT, WHOLE = "Short: one topic, three questions", "Whole: all topics, all sections"
ABOUT = {
    SHORT: "Where does the model lean? How hard does it pull agents toward its own opinion? How much of the "
    "movement is persuasion? In the short audit, five groups of people debate one topic under every "
    "condition. Five is the fewest that give an interval.",
    WHOLE: "The whole audit asks the same questions on every topic of the society with ten groups of people, and "
    "writes all sections of the bias card.",
}
SECTIONS = "bias,pull,null_conditions"
FORM = "audit-form.json"
"""The file in the folder of an audit with the form that started it."""
LONGEST = 5_000
SPENT = re.compile(r"the budget --max-(calls|cost) \S+ is spent \((.+?)\)")
"""What a command says last where a limit has ended it (`Ledger.describe`)."""
REFRESH = 1.0
"""Seconds between two looks at an audit."""
_audits: dict[Path, CommandProcess] = {}


@dataclass(frozen=True)
class AuditDraft:
    """The form of an audit. topic: of the short one, a name or a sentence. calls: those planned, once it has begun."""

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
        short = ["--sections", SECTIONS, f"--topic={self.topic}", "--blocks", "5"] if self.scope == SHORT else []
        limits = {"--max-calls": self.most_calls, "--max-cost": self.most_cost}
        given = [word for name, value in limits.items() if value for word in (name, str(value))]
        price = ["--price", ",".join(map(str, self.price))] if self.price else []
        return ["audit", f"--llm={self.llm}", "--seed", "0", *short, *given, *price]  # with =, no model is an option


@solara.component
def NewAudit(search: str, go: Callable[[str], None]) -> None:
    """The place `/?audit=MODEL&topic=TOPIC`: what is measured, what it needs, and the button that starts it."""
    draft, problem = solara.use_reactive(wanted_audit(search)), solara.use_reactive("")
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
            go(place_of(run=start(replace(draft.peek(), calls=plan.calls))))
        except UserError as error:
            problem.set(str(error))

    element("h1", "Measure the bias of a model")
    rows = solara.use_memo(lambda: rows_of(draft.value), [draft.value.scope, draft.value.topic, draft.value.llm])
    Fields(
        state=json.dumps({"groups": [{"title": "What to measure", "fields": rows, "folded": False}]}),
        event_put=lambda pair: change(**{name: str(pair[1]) for name in ("scope", "topic") if pair[0] == name}),
        event_choose=lambda _: None,
    )
    llm, price, said = draft.value.llm, draft.value.price, problem.value or plan.problem
    ModelPicker(llm, price, lambda spec: change(llm=spec), lambda price: change(price=price), said)
    state = {
        "plan": plan.text, "problem": said, "missing": plan.missing, "pending": task.pending, "question": plan.question,
        "changed": [], "most_calls": draft.value.most_calls or "", "most_cost": draft.value.most_cost or "",
        "label": "Start measuring",
    }  # fmt: skip
    Start(
        state=json.dumps(state),
        event_limit=lambda values: change(**limits_of(values)),
        event_start=begin,
        event_reset=lambda _: None,
    )


def wanted_audit(search: str) -> AuditDraft:
    """Return the form of the page's address; with the first topic where it names none, or one that an audit cannot take."""
    named = {name: (named_in(search, name) or [""])[0] for name in ("audit", "topic")}
    draft = AuditDraft(named["audit"] or MODEL, topic=named["topic"])
    try:
        check_topic(draft.topic)
    except UserError:
        return replace(draft, topic=topics()[0])
    return draft


def rows_of(draft: AuditDraft) -> list[dict[str, Any]]:
    """Return the fields of the form besides the model, for form.vue."""
    scopes = Field(
        "scope",
        draft.scope,
        "",
        "Length of the audit",
        "select",
        ABOUT.get(draft.scope, ""),
        tuple(zip(ABOUT, ABOUT, strict=True)),
    )
    titles, own = {slug: topic_title(slug) for slug in topics()}, own_topics([], draft.llm)
    with suppress(UserError):  # the plan says what is wrong with the topic
        check_topic(draft.topic)
        titles.setdefault(draft.topic, topic_title(draft.topic))
        own = own_topics([load_topic(draft.topic)], draft.llm)
    topic = Field("topic", draft.topic, "", "Topic", "select", "", tuple(titles.items()))
    return [scopes._asdict(), *([topic._asdict() | own] if draft.scope == SHORT else [])]


def topics() -> tuple[str, ...]:
    """Return the topics of the society whose people the page audits with."""
    return tuple(load_society(US).topics)


def plan_of(draft: AuditDraft) -> Plan:
    """Return the plan of an audit, counted by dry runs. Whatever a user got wrong is its `problem`."""
    from parley.analysis.card.protocol import plan_audit
    from parley.analysis.commands.card import audit_parser, design
    from parley.analysis.qualify.before_run import planned_checks

    if nothing := model_plan(draft.llm):
        return nothing
    try:
        check_draft(draft)
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
    if draft.scope not in ABOUT:
        raise UserError(f"{HERE} names an unknown kind of audit")
    if draft.scope == SHORT:
        check_topic(draft.topic)


def check_topic(topic: str) -> None:
    """Errors: UserError for anything but a topic of the society, or one topic in a sentence."""
    check_named({"topic": topic}, HERE)
    if topic not in topics() and not (is_sentence(topic) and split_topics(topic) == (topic,)):
        raise UserError(f"{HERE} names an unknown topic: choose one, or write a question that yes or no answers")


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


def spent_of(folder: Path) -> tuple[str, str] | None:
    """Return the limit that ended the audit of a folder, `most_calls` or `most_cost`, and what was spent: `100 calls, 52 tokens`.

    None where no limit has ended it.
    """
    found = SPENT.search(last_line(folder))
    return (f"most_{found[1]}", found[2]) if found else None


@solara.component
def Progress(folder: Path, unfinished: bool) -> None:
    """How far the audit of a folder is, with Stop and Resume. unfinished: it has no card, and no process works on it."""
    problem, tick = solara.use_reactive(""), solara.use_reactive(0)
    tick.get()
    use_repeated(REFRESH, lambda: tick.set(tick.peek() + 1))
    audit, draft = audit_of(folder), kept_draft(folder)
    if audit and audit.running:
        replies, planned = audit.replies, max(draft.calls if draft else 0, 1)
        on_its_way = f"Measuring. {replies:,} of about {planned:,} replies."
        said = on_its_way if replies < planned else "Parley is waiting for the last replies, and then writes the card."
        element("p", said, role="status", css="status").key("status")
        share = str(round(min(100 * replies / planned, 99)))
        element("progress", max="100", value=share, **{"aria-label": "Replies of the audit so far"}).key("bar")
        solara.Button("Stop", audit.stop).key("stop")
        return
    spent = spent_of(folder)
    for text in filter(None, (problem.value, audit.problem if audit and not spent else "")):
        element("p", element("bdi", text), css="wrong", role="alert").key(text)
    if draft and (unfinished or spent):
        Resume(folder, draft, spent, problem.set).key("resume")


@solara.component
def Resume(folder: Path, draft: AuditDraft, spent: tuple[str, str] | None, fail: Callable[[str], None]) -> None:
    """Go on with an audit, after a limit with twice that limit, or with what the user writes. fail: shows why it cannot."""
    limit, used = spent or ("", "")
    limits: dict[str, Any] = {limit: 2 * (getattr(draft, limit) or 0) or None} if spent else {}
    higher = solara.use_reactive(replace(draft, **limits))

    def resume(_: Any) -> None:
        try:
            start(higher.peek(), folder)
            fail("")
        except UserError as error:
            fail(str(error))

    said = "The audit stopped before its end. Every reply is saved, and no reply is requested twice."
    if spent:
        said = (
            f"The audit stopped at its limit, after {used}. Every reply is saved, and none is requested twice. "
            "Resume goes on up to the limit below."
        )
    state: dict[str, Any] = {
        "plan": said, "problem": "", "pending": False, "question": "", "changed": [], "label": "Resume",
        "unfolded": bool(spent), "most_calls": higher.value.most_calls or "", "most_cost": higher.value.most_cost or "",
    }  # fmt: skip
    Start(
        state=json.dumps(state),
        event_limit=lambda values: higher.set(replace(higher.peek(), **limits_of(values))),
        event_start=resume,
        event_reset=lambda _: None,
    )
