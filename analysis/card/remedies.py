"""Remedies: the core of a card run again with other settings, in the same blocks, and what each remedy changes.

Written next to the card: remedies.html, remedies.csv, remedies.png and .svg.
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
from parley.agents.society import Society
from parley.analysis import disclaimers
from parley.analysis.card.conditions import Batch, alone, same, three
from parley.analysis.card.estimates import ALL, CardEstimate, paired_difference
from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.card.interviews import interview_calls
from parley.analysis.card.labels import SHARES
from parley.analysis.card.protocol import Sections, card_estimates, protocol_steps, step_interviews
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import quantities, sections
from parley.analysis.contrasts import HIGHER, size
from parley.analysis.formatting import Column, escape_markdown, estimate, format_estimate
from parley.analysis.html_page import Chapter
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import verdict
from parley.llm.errors import UserError, unknown_name
from parley.model.events import Header
from parley.model.run_plan import plan_run

REMEDIES = Path(__file__).with_name("remedies.toml")
FOLDER, TUNED = "remedies", "tuned"
CORE = (three, same, alone)
"""The conditions that are run again; pull and influence are fitted to `three` and `same`, with and without the remedy."""
SHOWN = {"lost": -1, "mu": -1, "three_alone": -1, "aligned": 1, "spread": 1, "distinct": 1}
"""Quantities by name, and the better direction: less pull, less movement, more fidelity, more variety."""
LABELS = {
    "lost": "own pull\na round", "mu": "own pull\na line", "three_alone": "moved toward the\nmodel's own opinion",
    "aligned": "fidelity:\nanswers that fit", "spread": "variety: spread\nof agents", "distinct": "variety:\ndistinct words",
}  # fmt: skip
COLUMNS = (
    *("remedy", "title", "quantity", "better", "plain", "plain_low", "plain_high", "with", "with_low", "with_high"),
    *("difference", "low", "high", "blocks", "reason"),
)
TABLE: Mapping[str, Column] = {
    "remedy": "title", "without": estimate("plain", 3), "with": estimate("with", 3),
    "difference": lambda row: format_estimate(row["difference"], row["low"], row["high"], 3),
    "which is": lambda row: remedy_verdict(row) or row["reason"], "blocks": "blocks",
}  # fmt: skip
HOW = (
    "Debates of three, debates within a party, silence and the interviews are run once more with other settings. Roles, topics "
    "and seeds stay the same block by block. A difference is the value with the remedy minus the value without the remedy, "
    "within blocks. Brackets hold 95% intervals (Student's, over blocks). The pull is fitted only to debates, with and without "
    "remedies, so the estimate of the pull is a little less precise than on the card. If no remedy had any effect, about "
    "{chance:.1f} of the {count} differences would still exclude 0 by chance."
)


class Remedy(NamedTuple):
    """A remedy: the settings that it changes in the scenario of the card."""

    name: str
    title: str
    settings: Mapping[str, Any]

    def has_people(self, society: Society) -> bool:
        """Whether the society has its set of personas, if it sets one."""
        return self.settings.get("personas", society.persona_sets[0]) in society.persona_sets

    def batch(self, plain: Batch) -> Batch:
        """The same blocks with the remedy. Errors: UserError if a setting does not go with the card's."""
        base = plain.base.with_settings(self.settings)
        if base == plain.base:
            raise UserError(
                f"remedy {self.name} changes nothing, because the audit itself has these settings: leave "
                f"{self.name} out of --remedies"
            )
        return replace(plain, base=base, folder=plain.folder / FOLDER / self.name)


class Remedies(NamedTuple):
    """What was measured: the core without a remedy, and with each. stopped: why not all were run ("": all were)."""

    plain: ConditionRecords
    measured: Sequence[tuple[Remedy, ConditionRecords]]
    stopped: str

    def table(self, first: Batch) -> pd.DataFrame:
        """Return one row per remedy and quantity. first: the first batch of the card."""
        measured = [(remedy, measure_remedy(records, remedy.batch(first))) for remedy, records in self.measured]
        return differences(measure_remedy(self.plain, first), measured)


def choose_remedies(text: str, tuned: str | None, spec: str, society: Society) -> list[Remedy]:
    """The remedies of `all`, of NAME[,NAME] or of a FILE.toml, and that of --tuned. Errors: UserError.

    `all` leaves out those with a set of personas that the society does not have.
    """
    chosen: dict[str, Remedy] = {}
    for name in filter(None, map(str.strip, text.split(","))):
        file = name.endswith(".toml")
        available = read_remedies(Path(name) if file else REMEDIES, society)
        if file or name == ALL:
            chosen |= {key: each for key, each in available.items() if file or each.has_people(society)}
        elif name in available:
            chosen[name] = available[name]
        else:
            raise unknown_name("remedy", name, [ALL, *available])
    return [*chosen.values(), *([adapter_remedy(tuned, spec, society)] if tuned else [])]


def read_remedies(path: Path, society: Society) -> dict[str, Remedy]:
    """Remedies by name; `first` and `second` in their settings are the parties of the society.

    Errors: UserError on a table that has anything but a title and settings."""
    remedies = {}
    for name, entry in read_toml(path).items():
        if not isinstance(entry, dict) or set(entry) != {"title", "settings"} or not name.isidentifier():
            raise UserError(f"{path.name}: remedy {name} needs a title, settings, and a name made of letters")
        settings = {field: _seated(value, society) for field, value in entry["settings"].items()}
        remedies[name] = Remedy(name, str(entry["title"]), settings)
    return remedies


def _seated(value: Any, society: Society) -> Any:
    return (
        [society.seat(entry) if isinstance(entry, str) else entry for entry in value]
        if isinstance(value, list)
        else value
    )


def adapter_remedy(tuned: str, spec: str, society: Society) -> Remedy:
    """An adapter for each party's seats, from a folder of `run.py train` or PATH+PATH. Errors: UserError if one is missing."""
    paths = [Path(path_text) for path_text in tuned.split("+")]
    if len(paths) == 1:
        paths = [path.parent for path in sorted((paths[0] / "adapters").glob("*/adapter_config.json"))]
    adapters = {party: [path for path in paths if path.name.partition("-")[0] == party] for party in society.debaters}
    for party, party_paths in adapters.items():
        if len(party_paths) != 1:
            raise UserError(
                f"--tuned {tuned} has {len(party_paths)} adapters of {party}: give the path of one "
                "adapter per party, as --tuned PATH+PATH"
            )
    chosen = {party: path for party, (path,) in adapters.items()}
    settings = {
        "llm": f"{spec},adapters={'+'.join(map(str, chosen.values()))}",
        "adapters": tuple(f"{party}:{path.name}" for party, path in chosen.items()),
    }
    return Remedy(TUNED, "adapters for the agents of each party", settings)


def core_conditions() -> Sections:
    """The sections that are compared, with the conditions of the core only."""
    core: dict[str, ModuleType] = {}
    for name, section in sections(("pull", "null_conditions", "fidelity", "diversity")).items():
        core[name] = ModuleType(section.__name__)
        vars(core[name]).update(vars(section), NEEDS=tuple(need for need in section.NEEDS if need in CORE))
    return core


def has_core(study: ConditionRecords, batch: Batch) -> bool:
    """Whether all of the core was run, in the same number of batches."""
    sizes = [len(study.tables.get(step.condition, ())) for step in protocol_steps(batch, core_conditions())]
    sizes += [len(study.answers.get(kind, ())) for kind in step_interviews(batch, core_conditions())]
    return min(sizes) == max(sizes) > 0


def measure_remedy(study: ConditionRecords, batch: Batch) -> dict[str, CardEstimate]:
    """The quantities that are compared, over all topics, from the conditions of the core only."""
    names = {name for need in CORE for name in need(batch)}
    core = ConditionRecords({name: records for name, records in study.tables.items() if name in names}, study.answers)
    estimates = {
        claim.quantity: claim for claim in card_estimates(core, batch, core_conditions()) if claim.topic == ALL
    }
    return {name: estimates[name] for name in SHOWN}


def differences(
    plain: Mapping[str, CardEstimate], measured: Sequence[tuple[Remedy, Mapping[str, CardEstimate]]]
) -> pd.DataFrame:
    """One row per remedy and quantity; columns: COLUMNS.

    better: 1 or -1, the better direction. blocks: the blocks that the difference is within (0: none could be paired).
    """
    rows = [_row(remedy, name, plain[name], values[name]) for remedy, values in measured for name in SHOWN]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(remedy: Remedy, name: str, plain: CardEstimate, other: CardEstimate) -> list[Any]:
    apart = paired_difference(plain, other)
    ends = [end for claim in (plain, other, apart) for end in (claim.estimate, claim.low, claim.high)]
    reason = other.reason or plain.reason or apart.reason
    return [remedy.name, remedy.title, name, SHOWN[name], *ends, apart.n, reason]


def remedy_verdict(row: Mapping[str, Any]) -> str:
    """`better`, `worse`, or `not sure` if the interval includes 0; "" if there is no difference."""
    if not math.isfinite(row["difference"]):
        return ""
    low, high = sorted(row["better"] * row[name] for name in ("low", "high"))
    return verdict(low, high, "better", "worse", "not sure")


def plan(first: Batch, remedies: Sequence[Remedy], batches: int, chosen: Sections) -> Iterator[str]:
    """The calls of the core with each remedy, and of the part of the core that the card itself does not run."""
    run_by_card = {step.condition for step in protocol_steps(first, chosen)} | set(step_interviews(first, chosen))
    yield from _planned("the core without a remedy", first, batches, run_by_card)
    for remedy in remedies:
        yield from _planned(f"remedy {remedy.name}", remedy.batch(first), batches, set())


def _planned(title: str, batch: Batch, batches: int, already_run: Collection[str]) -> Iterator[str]:
    """The calls of the core without the conditions that were `already_run`; nothing if no condition is left."""
    steps = [step for step in protocol_steps(batch, core_conditions()) if step.condition not in already_run]
    kinds = [kind for kind in step_interviews(batch, core_conditions()) if kind not in already_run]
    planned = [interview_calls(batch, kind) for kind in kinds]
    model_calls, judged = sum(calls for calls, _ in planned), sum(calls for _, calls in planned)
    calls = model_calls + sum(sum(plan_run(step.scenario).calls_by_voice.values()) for step in steps)
    more = f", and at most {batches * judged:,} calls of the judge" if kinds else ""
    if steps or kinds:
        yield f"  {title:<28} {batches * calls:>14,} calls{more}"


def sentences(table: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """One sentence per remedy: what is better and what is worse."""
    for title, remedy_rows in table.groupby("title", sort=False):
        changed: dict[str, list[str]] = {"better": [], "worse": []}
        for row in remedy_rows.to_dict("records"):
            if (verdict := remedy_verdict(row)) in changed:
                changed[verdict].append(
                    f"{titles[row['quantity']]} {size(row['difference'])} {HIGHER.of(row['difference'])}"
                )
        text = ". ".join(f"{verdict}: {'; '.join(parts)}" for verdict, parts in changed.items() if parts)
        yield f"**{title}**: {text or 'no detectable change'}."


def write(first: Batch, tried: Remedies) -> Path:
    """Write page, table and figure; return the path of remedies.html. Errors: UserError."""
    table, header = tried.table(first), tried.plain.records["three"][0].header
    remedies = [remedy for remedy, _ in tried.measured]
    report, model = Report(first.folder, "remedies"), disclaimers.model_label(header)
    try:
        report.data(remedies=table)
        _add(report, table, remedies, first, header, tried.stopped)
        chapter = Chapter("remedies", "What remedies change, and at what cost", report.text, first.folder)
        return report.write_document(f"Remedies: {model}", [chapter])
    except OSError as error:
        raise UserError(f"cannot write the remedies into {first.folder}: {error.strerror}") from error


def _add(
    report: Report, table: pd.DataFrame, remedies: Sequence[Remedy], first: Batch, header: Header, stopped: str
) -> None:
    titles = {name: quantity.of(first.society).title for name, quantity in quantities().items()}
    difference_count = int(table["difference"].notna().sum())
    report.note(disclaimers.short_disclaimer(header))
    report.add(HOW.format(count=difference_count, chance=0.05 * difference_count))
    report.lines(f"- {sentence}" for sentence in sentences(table, titles))
    report.note(f"Not all remedies were run: {stopped}" if stopped else None)
    report.figure(figure(table, disclaimers.model_label(header)), "remedies", "Differences by remedy and quantity")
    for name, quantity_rows in table.groupby("quantity", sort=False):
        report.section(titles[str(name)])
        report.table(quantity_rows, TABLE)
    report.section("What was set")
    report.lines(_setting_line(remedy, first) for remedy in remedies)


def _setting_line(remedy: Remedy, first: Batch) -> str:
    """`- TITLE: what it sets; the same people`."""
    personas = remedy.batch(first).base.people.personas
    people = "the same people" if personas == first.base.people.personas else f"other people (set {personas})"
    return f"- {escape_markdown(remedy.title)}: {escape_markdown(_settings(remedy.settings))}; {people}"


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={','.join(value) if isinstance(value, list | tuple) else str(value).lower()}"
        for name, value in settings.items()
    )


def figure(table: pd.DataFrame, caption: str) -> Figure:
    """One panel per quantity, one row per remedy; filled if the interval excludes 0."""
    titles, panels = list(dict.fromkeys(table["title"])), []
    for name, better in SHOWN.items():
        rows = table[table["quantity"] == name].round(9).to_dict("records")  # 1e-17 would get an axis of its own
        points = [
            Point(titles.index(row["title"]), row["difference"], row["low"], row["high"], _sure(row)) for row in rows
        ]
        share = quantities()[name].measure in SHARES
        panels.append(Panel(LABELS[name], points, "better →" if better > 0 else "← better", share))
    caption = (
        f"{caption}. The points show the value with the remedy minus the value without the remedy, within blocks. The "
        "bars are 95% intervals. A point is filled if the interval excludes 0."
    )
    return panel_figure(panels, titles, caption, "What each remedy changes about the bias")


def _sure(row: Mapping[str, Any]) -> bool:
    return remedy_verdict(row) in ("better", "worse")
