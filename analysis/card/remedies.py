"""Remedies: the card's core once more with something else set, on the same people and seeds, and what that moves in a block.

What remedies move: remedies.html, remedies.csv, remedies.png and .svg in the folder of the card.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.datafiles import read_toml
from parley.analysis import disclaimers
from parley.analysis.card.conditions import PARTIES, Batch, alone, same, three
from parley.analysis.card.estimates import ALL, CardEstimate, paired_difference
from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.card.interviews import interview_calls as of
from parley.analysis.card.labels import SHARES
from parley.analysis.card.protocol import Sections, card_estimates, protocol_steps, step_interviews
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import quantities, sections
from parley.analysis.formatting import Column, escape_markdown, estimate, format_estimate
from parley.analysis.html_page import Chapter
from parley.analysis.report import Report
from parley.llm.errors import UserError, unknown_name
from parley.model.cost_estimate import plan_run as model_plan
from parley.model.events import Header
from parley.model.scenario import Scenario

HERE = Path(__file__).with_name("remedies.toml")
FOLDER, TUNED = "remedies", "tuned"
CORE = (three, same, alone)
"""What is held again; the law is fitted to the debates of three and of two of a party, with and without the remedy."""
SHOWN = {"lost": -1, "mu": -1, "three_alone": -1, "aligned": 1, "spread": 1, "distinct": 1}
"""Quantities by name, and which way is better: less pull, less movement, more fidelity, more variety."""
COLUMNS = (
    *("remedy", "title", "quantity", "better", "plain", "plain_low", "plain_high", "with", "with_low", "with_high"),
    *("difference", "low", "high", "blocks", "reason"),
)


class Remedy(NamedTuple):
    """What is set for it, over the scenario of the card."""

    name: str
    title: str
    settings: Mapping[str, Any]

    def batch(self, plain: Batch) -> Batch:
        """The same blocks with it. Errors: UserError where a field does not go with the card's."""
        base = plain.base.with_settings(self.settings)
        if base == plain.base:
            raise UserError(f"remedy {self.name}: the card has this set already; leave it out of --remedies")
        return replace(plain, base=base, folder=plain.folder / FOLDER / self.name)


def choose_remedies(text: str, tuned: str | None, spec: str) -> list[Remedy]:
    """The remedies of `all`, of NAME[,NAME], or of a file; and with adapters. Errors: UserError."""
    named = [part.strip() for part in text.split(",") if part.strip()]
    found: dict[str, Remedy] = {}
    for name in named:
        known = read_remedies(Path(name) if name.endswith(".toml") else HERE)
        whole = name == ALL or name.endswith(".toml")
        if not whole and name not in known:
            raise unknown_name("remedy", name, [ALL, *known])
        found |= known if whole else {name: known[name]}
    return [*found.values(), *([adapt_scenario(tuned, spec)] if tuned else [])]


def read_remedies(path: Path) -> dict[str, Remedy]:
    """Remedies by name. Errors: UserError on a table that lacks its title or its settings, or has anything else."""
    found = {}
    for name, entry in read_toml(path).items():
        if not isinstance(entry, dict) or set(entry) != {"title", "settings"} or not name.isidentifier():
            raise UserError(f"{path.name}: remedy {name} needs a title and settings, and a name of letters")
        found[name] = Remedy(name, str(entry["title"]), entry["settings"])
    return found


def adapt_scenario(tuned: str, spec: str) -> Remedy:
    """An adapter for each party's seats: of a folder of `run.py train`, or PATH+PATH. Errors: UserError where one is missing."""
    paths = [Path(part) for part in tuned.split("+")]
    if len(paths) == 1:
        paths = [path.parent for path in sorted((paths[0] / "adapters").glob("*/adapter_config.json"))]
    own = {party: [path for path in paths if path.name.partition("-")[0] == party] for party in PARTIES}
    if wrong := [party for party, each in own.items() if len(each) != 1]:
        raise UserError(
            f"--tuned {tuned} has {len(own[wrong[0]])} adapters of {wrong[0]}: name one of each party, PATH+PATH"
        )
    each = {party: path for party, (path,) in own.items()}
    settings = {
        "llm": f"{spec},adapters={'+'.join(map(str, each.values()))}",
        "adapters": tuple(f"{party}:{path.name}" for party, path in each.items()),
    }
    return Remedy(TUNED, "adapters for each party's seats", settings)


def core_conditions() -> Sections:
    """The sections that are compared, each without the conditions that are not held again."""
    return {
        name: _only(section) for name, section in sections(("pull", "null_conditions", "fidelity", "diversity")).items()
    }


def _only(section: ModuleType) -> ModuleType:
    named = ModuleType(section.__name__)
    named.__dict__.update(vars(section), NEEDS=tuple(need for need in section.NEEDS if need in CORE))
    return named


def keeps_people(held: ConditionRecords, batch: Batch) -> bool:
    """Whether the core was held, in every batch alike."""
    wanted = [step.condition for step in protocol_steps(batch, core_conditions())]
    sizes = [len(held.tables.get(name, ())) for name in wanted]
    sizes += [len(held.answers.get(kind, ())) for kind in step_interviews(batch, core_conditions())]
    return min(sizes) == max(sizes) > 0


def measure_remedy(held: ConditionRecords, batch: Batch) -> dict[str, CardEstimate]:
    """The quantities that are compared, over all topics; from the core's conditions alone, whatever else was held."""
    kept = {name for need in CORE for name in need(batch)}
    part = ConditionRecords({name: found for name, found in held.tables.items() if name in kept}, held.answers)
    found = card_estimates(part, batch, core_conditions())
    return {name: next(one for one in found if (one.quantity, one.topic) == (name, ALL)) for name in SHOWN}


def differences(
    plain: Mapping[str, CardEstimate], held: Sequence[tuple[Remedy, Mapping[str, CardEstimate]]]
) -> pd.DataFrame:
    """A row a remedy and quantity: COLUMNS; `better` 1 or -1, `blocks` within how many the difference is (0: none to pair)."""
    rows = [_row(one, name, plain[name], found[name]) for one, found in held for name in SHOWN]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(remedy: Remedy, name: str, plain: CardEstimate, other: CardEstimate) -> dict[str, Any]:
    less = paired_difference(plain, other)
    told = {"remedy": remedy.name, "title": remedy.title, "quantity": name, "better": SHOWN[name]}
    before = {"plain": plain.estimate, "plain_low": plain.low, "plain_high": plain.high}
    after = {"with": other.estimate, "with_low": other.low, "with_high": other.high}
    ends = {"difference": less.estimate, "low": less.low, "high": less.high, "blocks": less.n}
    return {**told, **before, **after, **ends, "reason": other.reason or plain.reason or less.reason}


def remedy_verdict(row: Mapping[str, Any]) -> str:
    """`better`, `worse`, or `not sure` by the interval of a difference; empty where there is none."""
    if not math.isfinite(row["difference"]):
        return ""
    ends = sorted(row["better"] * row[name] for name in ("low", "high"))
    return "better" if ends[0] > 0 else "worse" if ends[1] < 0 else "not sure"


def plan(first: Batch, held: Sequence[Remedy], batches: int, sections: Sections) -> Iterator[str]:
    """What the remedies cost, for a person: calls of the core with each, and of what of it the card's sections leave out."""
    there = {step.condition for step in protocol_steps(first, sections)} | set(step_interviews(first, sections))
    yield from _planned("the core without a remedy", first, batches, there)
    for one in held:
        yield from _planned(f"remedy {one.name}", one.batch(first), batches, set())


def _planned(title: str, batch: Batch, batches: int, there: Collection[str]) -> Iterator[str]:
    """The calls of the core but for the conditions that are `there`; nothing where all are."""
    debates = [step.scenario for step in protocol_steps(batch, core_conditions()) if step.condition not in there]
    others = [of(batch, kind) for kind in step_interviews(batch, core_conditions()) if kind not in there]
    own = sum(sum(model_plan(one).calls_by_voice.values()) for one in debates) + sum(asked for asked, _ in others)
    told = f", {batches * sum(judged for _, judged in others):,} at most of the judge" if others else ""
    if debates or others:
        yield f"  {title:<28} {batches * own:>14,} calls{told}"


def sentences(found: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """A sentence a remedy: what it moves, and what it costs."""
    for title, part in found.groupby("title", sort=False):
        rows = part.to_dict("records")
        parts = []
        for word in ("better", "worse"):
            named = [
                f"{titles[row['quantity']]} {row['difference']:+.3g}" for row in rows if remedy_verdict(row) == word
            ]
            parts += [f"{word}: {'; '.join(named)}"] if named else []
        yield f"**{title}**: {'. '.join(parts) or 'no detectable change'}."


def people(plain: Scenario, other: Scenario) -> str:
    """Whether the blocks hold the same people with a remedy."""
    return (
        "the same people"
        if plain.people.personas == other.people.personas
        else f"other people (set {other.people.personas})"
    )


HOW = (
    "Debates of three and of two of a party, the rooms of three with nobody speaking, and the interviews are held once more with "
    "something else set, block by block in the same seats, on the same topics, with the same seeds. Each difference is with the "
    "remedy minus without it, within blocks; brackets hold 95% intervals (Student's, over blocks). Pull is fitted to these "
    "debates, with and without, and is therefore a little less sure than on the card. With {count} differences about "
    "{chance:.1f} are outside of their intervals by chance where nothing is moved."
)
LABELS = {
    "lost": "own pull\na round", "mu": "own pull\na line", "three_alone": "moved toward\nthe Default",
    "aligned": "fidelity:\nanswers that fit", "spread": "variety: spread\nof agents", "distinct": "variety:\ndistinct words",
}  # fmt: skip


def write(found: pd.DataFrame, held: Sequence[Remedy], first: Batch, header: Header, stopped: str = "") -> Path:
    """Write all of it; the path of remedies.html. Errors: UserError."""
    report = Report(first.folder, "remedies")
    try:
        report.data(remedies=found)
        _add(report, found, held, first, header, stopped)
        chapter = Chapter("remedies", "What remedies move, and at what cost", report.text, first.folder)
        return report.write_document(f"Remedies: {disclaimers.model_label(header)}", [chapter])
    except OSError as error:
        raise UserError(f"cannot write the remedies into {first.folder}: {error.strerror}") from error


def _add(
    report: Report, found: pd.DataFrame, held: Sequence[Remedy], first: Batch, header: Header, stopped: str
) -> None:
    titles = {name: told.title for name, told in quantities().items()}
    known = int(found["difference"].notna().sum())
    report.note(disclaimers.short_disclaimer(header))
    report.add(HOW.format(count=known, chance=0.05 * known))
    report.lines(f"- {one}" for one in sentences(found, titles))
    report.note(f"Not all remedies were held: {stopped}" if stopped else None)
    report.figure(figure(found, disclaimers.model_label(header)), "remedies", "Differences by remedy and quantity")
    for name, part in found.groupby("quantity", sort=False):
        report.section(titles[str(name)])
        report.table(part, SHOWN_COLUMNS)
    report.section("What was set")
    report.lines(
        f"- {escape_markdown(one.title)}: {escape_markdown(_set(one.settings))}; {people(first.base, one.batch(first).base)}"
        for one in held
    )


SHOWN_COLUMNS: Mapping[str, Column] = {
    "remedy": "title", "without": estimate("plain", 3), "with": estimate("with", 3),
    "difference": lambda row: format_estimate(row["difference"], row["low"], row["high"], 3),
    "which is": lambda row: remedy_verdict(row) or row["reason"], "blocks": "blocks",
}  # fmt: skip


def _set(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={','.join(value) if isinstance(value, list | tuple) else str(value).lower()}"
        for name, value in settings.items()
    )


def figure(found: pd.DataFrame, caption: str) -> Figure:
    """A panel a quantity, in it a row a remedy; filled where the interval leaves out 0."""
    titles, found = list(dict.fromkeys(found["title"])), found.round(9)  # 1e-17 would be an axis of its own
    shown = [_panel(name, found[found["quantity"] == name].to_dict("records"), titles) for name in SHOWN]
    return panel_figure(
        shown, titles, f"{caption}. With minus without, within blocks; bars: 95% intervals; filled: 0 is outside."
    )


def _panel(name: str, rows: Sequence[Mapping[str, Any]], titles: Sequence[str]) -> Panel:
    points = [
        Point(
            titles.index(row["title"]),
            row["difference"],
            row["low"],
            row["high"],
            remedy_verdict(row) in ("better", "worse"),
        )
        for row in rows
    ]
    share = quantities()[name].measure in SHARES
    return Panel(LABELS[name], points, "better →" if SHOWN[name] > 0 else "← better", share)
