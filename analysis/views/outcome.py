"""What came out of a run: the first finding, then conversation, chart and network side by side, then all that was found.

The sentences are those of summary.md. A run that has not ended says what is known so far, and after which round.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import solara
import solara.lab

from parley.analysis.branch_report import ParentComparison, compare_with_parent, parent_folder
from parley.analysis.deliberation.consensus_report import broken_headline, deliberates
from parley.analysis.deliberation.position_change import measure_movement
from parley.analysis.deliberation.run_episodes import measured_episodes
from parley.analysis.findings import findings, missing_ratings
from parley.analysis.formatting import count_phrase, count_table, format_estimate, plain, plain_lines
from parley.analysis.metrics import metrics
from parley.analysis.qualify.in_reports import first_sentences, withholds
from parley.analysis.result_folders import SUMMARY, read_findings
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.studies.intervention import effects_table
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Drawn
from parley.analysis.views._html import element, painted, picture, table
from parley.analysis.views._next_steps import NextSteps
from parley.analysis.views._session import Shown, surveyed
from parley.analysis.views._timetable import changes_in_words
from parley.analysis.views._tree import BranchTree
from parley.analysis.views.compare import comparison_chart
from parley.analysis.views.consensus import consensus
from parley.llm.errors import UserError
from parley.model.branching import scenario_of

ORDER = 0
TITLE = "What came out"
NO_SURVEY = "This run had no survey, so nothing can be said about opinions."


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out. caution: why nothing can be concluded yet. known: whether there is something to draw.

    branch: of a branch, how it differs from its parent.
    """

    sentences: list[str]
    caution: str = ""
    known: bool = True
    measures: list[list[str]] = field(default_factory=list)
    branch: ParentComparison | None = None
    changed: list[str] = field(default_factory=list)
    problem: str = ""


def shows(tables: Tables) -> bool:
    return bool(tables.groups)


@solara.component
def View(shown: Shown) -> None:
    tables, folder = shown.tables, shown.session.folder or Path("run")
    live = None if tables.finished else shown.session.live
    rounds = live.round if live else int(tables.utterances["round"].max()) if len(tables.utterances) else 0
    key = [str(folder), tables.finished, rounds, 0 if live else len(tables.attitudes)]
    seen = replace(shown, tables=up_to(tables, rounds)) if live else shown
    task = solara.lab.use_task(lambda: outcome_of(seen, folder), dependencies=key, raise_error=False)
    outcome = task.value if task.finished else None
    if outcome is None:
        failed = f"The findings could not be computed: {task.exception}" if task.error else "Computing the findings…"
        element("p", failed, role="status", css="lead").key("status")  # without a key its <p> would become another tag
    else:
        element("p", element("bdi", outcome.sentences[0]), css="lead").key("lead")
        if outcome.caution:
            element("p", outcome.caution, css="soft caution").key("caution")
    if not tables.finished:
        element("p", so_far(rounds, int(tables.header.scenario["rounds"])), css="soft").key("so far")
    if tables.finished and not tables.header.is_log:
        NextSteps(tables.header)
    Cockpit(shown).key("cockpit")  # else findings that arrive would draw it anew, and a reader would lose the place
    if outcome is None:
        return
    if outcome.branch or outcome.problem:
        Effect(shown, outcome, folder)
    if more := outcome.sentences[1:]:
        element("h2", "Further findings").key("findings")
        element("ul", *[element("li", element("bdi", text)) for text in more], css="findings")
    if outcome.measures:
        table(["what", "mean (95% interval)", "groups", "episodes"], outcome.measures, "Agreement and movement")
    if outcome.known and deliberates(tables):
        AgreementFigure(shown, key)
    BranchTree(folder, str(folder))


@solara.component
def Cockpit(shown: Shown) -> None:
    """Conversation on the left, chart and network on the right; on a narrow screen the chart comes first."""
    from parley.analysis.views import panes

    sides = {side: [pane for pane in panes(side) if pane.shows(shown.tables)] for side in ("left", "right")}
    with solara.Div(classes=["cockpit"]):
        for side, there in sides.items():
            if there:
                parts = [element("section", pane.View(shown).key(pane.TITLE), css="pane", **{"aria-label": pane.TITLE})
                         for pane in there]  # fmt: skip
                element("div", *parts, css=side)


@solara.component
def AgreementFigure(shown: Shown, key: list[object]) -> None:
    """The figure of private deliberations."""
    svg = solara.use_memo(lambda: painted(lambda: consensus(shown)), [*key, shown.round])
    picture(svg, "Agreement with the statements, change of position and group agreement over all groups")


@solara.component
def Effect(shown: Shown, outcome: Outcome, folder: Path) -> None:
    """How a branch differs from its parent: what it changes, the effect with its interval, and both on the same axes."""
    origin = shown.tables.header.branch
    element("h2", "Compared with its parent")
    element(
        "p",
        "This run is a branch of ",
        element("bdi", f"“{Path(origin['parent']).name}”"),
        f" from round {origin['round']} on.",
    )
    if outcome.problem or outcome.branch is None:
        element("p", element("bdi", outcome.problem), css="wrong")
        return
    element("ul", *[element("li", element("bdi", text)) for text in outcome.changed or ["No change"]], css="changes")
    for sentence in plain_lines(outcome.branch.sentence):
        element("p", element("bdi", sentence), css="lead")
    result = outcome.branch.result
    if result.effects["rooms"].sum() == 0:
        return
    BranchChart(shown, outcome.branch.parent, folder)
    rows, header = effects_table(result, result.effects)
    table(header, rows, "Effects of the branch")
    element("p", "Branch minus parent, in the same room: intervals are 95% intervals over rooms.", css="soft")


@solara.component
def BranchChart(shown: Shown, parent: Tables, folder: Path) -> None:
    """Parent and branch on the same axes."""
    runs = {"parent": parent, "branch": shown.tables}
    chart = solara.use_memo(lambda: comparison_chart(runs), [str(folder), len(shown.tables.attitudes)])
    if chart.panels:
        Drawn(chart, shown.round, "Mean attitudes by round of the parent (filled) and the branch (open), by party")


def so_far(rounds: int, all_rounds: int) -> str:
    """Return how far an unfinished run is."""
    if not rounds:
        return f"No round of {all_rounds} is finished yet, so this is only the survey before the debate."
    return f"So far, up to round {rounds} of {all_rounds}. The findings may still change."


def up_to(tables: Tables, rounds: int) -> Tables:
    """Return the tables without the ratings of a round that is not finished, of which some are still to come."""
    return replace(tables, attitudes=tables.attitudes[tables.attitudes["round"] <= rounds])


def outcome_of(shown: Shown, folder: Path) -> Outcome:
    """Return what came out of a run so far."""
    tables = shown.tables
    if deliberates(tables):
        return _agreement(shown, folder)
    if not surveyed(tables):
        return Outcome((read_findings(folder / SUMMARY) if tables.finished else []) or [NO_SURVEY], known=False)
    if nothing := unreadable(tables):
        return Outcome([nothing], known=False)
    sentences = read_findings(folder / SUMMARY) if tables.finished else []
    if not sentences:
        sentences = list(map(plain, first_sentences(tables.header, folder)))
        sentences += [missing_ratings(tables)] if withholds(tables.header, folder) else finding_sentences(tables)
    few = caution(tables)
    where = parent_folder(tables.header, folder)
    if where is None:
        return Outcome(sentences, few)
    try:
        compared = compare_with_parent(tables, where)
        base, branch_scenario = scenario_of(compared.parent.header, where), scenario_of(tables.header, folder)
        changed = list(changes_in_words(base, branch_scenario, tables.names))
    except UserError as error:
        return Outcome(sentences, few, problem=f"The branch cannot be compared with its parent: {error}")
    return Outcome(sentences, few, branch=compared, changed=changed)


def unreadable(tables: Tables) -> str:
    """Return that no rating could be read, and why; "" where some could."""
    ratings = tables.attitudes
    if ratings.empty:
        return "There are no ratings yet, so nothing can be said about opinions."
    if ratings["rating"].notna().any():
        return ""
    reasons = count_table(ratings["reason"].dropna())
    return f"All {len(ratings):,} ratings are missing, so nothing can be said about opinions. Reasons: {reasons}."


def caution(tables: Tables) -> str:
    """Return why nothing can be concluded from a run with few rooms; "" where there are enough."""
    rooms = int(tables.header.scenario["repetitions"])
    if rooms >= FEWEST:
        return ""
    return (
        f"This run has {count_phrase(rooms, 'room')} per topic and group. With fewer than {FEWEST} rooms there is no "
        "interval, so what you see may be chance. Choose more repetitions for a result."
    )


def finding_sentences(tables: Tables) -> list[str]:
    """Return the findings of summary.md as plain text."""
    measured = {name: metric for name, metric in metrics().items() if hasattr(metric, "headline") or name == "drift"}
    results = {name: metric.compute(tables) for name, metric in measured.items()}
    return list(map(plain, findings(tables, results, measured)))


def _agreement(shown: Shown, folder: Path) -> Outcome:
    """Return the measures of private deliberations, after what is known of their model."""
    episodes = measured_episodes(shown.events)
    results = [measure for measure in measure_movement(episodes) if measure.value is not None] if episodes else []
    rows = [
        [
            measure.label,
            format_estimate(measure.value, measure.low, measure.high),
            f"{measure.groups}",
            f"{measure.episodes}",
        ]
        for measure in results
    ]
    groups = max((measure.groups for measure in results), default=0)
    if not rows:
        return Outcome(
            ["No deliberation has readable ratings yet, so nothing can be said about agreement."], known=False
        )
    about = [*map(plain, first_sentences(shown.tables.header, folder)), plain(broken_headline(shown.tables))]
    few = f" With fewer than {FEWEST} groups there is no interval, so this may be chance." if groups < FEWEST else ""
    means = f"The numbers are means over {count_phrase(groups, 'group')}.{few}"
    return Outcome([*filter(None, about), means], measures=rows)
