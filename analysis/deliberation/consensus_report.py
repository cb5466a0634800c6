"""The report of a run of private deliberations: tables, figure, pages, summary.

The picture of a run of private deliberations: agreement with both statements, who moved, how far groups are of one side.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.deliberation.episode import STATEMENTS, Episode, to_line
from parley.analysis.deliberation.position_change import (
    HUMAN_MOVEMENT,
    MEASURES,
    Measure,
    cluster_caution,
    majority_position,
    measure_movement,
    statements,
    voices,
)
from parley.analysis.deliberation.run_episodes import (
    MediatorChoice,
    episodes_of_run,
    mediator_choices,
    unanswered_calls,
    written_critiques,
)
from parley.analysis.deliberation.run_episodes import representation_lines as representatives
from parley.analysis.deliberation.session_transcript import who_moved, write_pages
from parley.analysis.figures import new_figure
from parley.analysis.formatting import (
    count_phrase,
    count_table,
    escape_markdown,
    format_estimate,
    strip_controls,
)
from parley.analysis.report import Report
from parley.analysis.summary import again, missing, open_summary, run_on
from parley.analysis.tables import Tables, write_tables
from parley.llm.budget import UNPRICED, Prices
from parley.model.scenario import MEDIATOR

EPISODES = "episodes.jsonl"
PEOPLE = (
    "Of people (1,047 rounds of 349 groups before the Habermas Machine, as summarised in a public replication) the share "
    f"who moved toward their majority's side, less those who moved away, was {HUMAN_MOVEMENT:+.3f}. It stands here to "
    "compare: other questions, another mediator, and people. Group agreement is how many more members are on one side of "
    "the question than on the other, as a share of the group; the majority is that of the positions before."
)


def deliberates(tables: Tables) -> bool:
    """Whether a run is one of private deliberations."""
    return bool((tables.agents["party"] == MEDIATOR).any())


def write_consensus_report(tables: Tables, run: Path, summary: Path, prices: Prices = UNPRICED) -> Path:
    """Write tables/, figures/, episodes.jsonl, transcript.md and, last, the summary; the figure's path."""
    episodes, found, stood = episodes_of_run(run), mediator_choices(run), written_critiques(run)
    report, results = open_summary(tables, summary), measure_movement(episodes)
    write_tables(tables, run / "tables")
    report.data(**{"tables/voices": voices(episodes), "tables/episodes": statements(episodes)})
    (run / EPISODES).write_text("".join(map(to_line, episodes)), encoding="utf-8")
    drawn = draw_consensus(episodes, results, consensus_caption(tables, results))
    figure = report.figure(drawn, "figures/consensus", "Agreement, movement, group agreement")
    write_pages(tables, episodes, found, stood, run / "transcript.md")
    _measures(report, tables, episodes, results)
    _example(report, tables, episodes)
    report.lines(representatives(tables, episodes, stood))
    _considered(report, found, run)
    missing(report, tables)
    run_on(report, tables, prices, _changed(tables, episodes))
    again(report, tables)
    report.add(f"Every episode is a line of `{EPISODES}` (docs/deliberation.md), and is to be read in `transcript.md`.")
    report.write()
    return figure


def figure(tables: Tables, run: Path) -> Figure:
    """The figure of a run of private deliberations: agreement and movement, a line an episode."""
    episodes = episodes_of_run(run)
    results = measure_movement(episodes)
    return draw_consensus(episodes, results, consensus_caption(tables, results))


def consensus_caption(tables: Tables, results: Sequence[Measure]) -> str:
    scenario = tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    groups = max((measure.groups for measure in results), default=0)
    run = (
        f"{scenario['name']}{unfinished}, mediator {scenario['mediator']}, on {disclaimers.model_label(tables.header)}"
    )
    return strip_controls(
        f"{run}, seed {scenario['seed']}: {count_phrase(groups, 'group')}; means "
        "over groups with 95% intervals, a line an episode"
    )


def _measures(report: Report, tables: Tables, episodes: Sequence[Episode], results: Sequence[Measure]) -> None:
    sessions = len({episode.session for episode in episodes})
    sits = tables.agents[tables.agents["party"] != MEDIATOR].groupby("persona")[["group", "repetition"]]
    most = int(sits.apply(lambda seats: len(seats.drop_duplicates())).max())
    few = f" {cluster_caution(sessions)}".rstrip()
    shared = f" A persona sits in up to {most} groups: intervals are somewhat too narrow." if most > 1 else ""
    report.section(
        "Agreement and movement",
        "The unit is the group: the same people in a session of several questions, whose episodes are averaged first; "
        f"{count_phrase(sessions, 'group')}, {count_phrase(len(episodes), 'episode')}. Brackets hold 95% intervals over groups."
        f"{few}{shared}",
    )
    rows = [
        [one.label, format_estimate(one.value, one.low, one.high), f"{one.groups}", f"{one.episodes}"]
        for one in results
    ]
    report.table(rows, ["what", "mean", "groups", "episodes"])
    report.add(PEOPLE)


def _example(report: Report, tables: Tables, episodes: Sequence[Episode]) -> None:
    """Add the first episode that has all its texts, in full."""
    whole = [
        one for one in episodes if one.revision and one.draft and all(v.opinion and v.critique for v in one.voices)
    ]
    if not whole:
        return
    episode = whole[0]
    here = tables.agents[(tables.agents["room"] == episode.id) & (tables.agents["party"] != MEDIATOR)]
    seats = here.to_dict("records")
    report.section(f"One episode: {episode.question.question}", who_moved(seats, episode.voices))
    texts = {"opinion": ("Opinions", "Draft", episode.draft), "critique": ("Critiques", "Revision", episode.revision)}
    for attribute, (heading, title, text) in texts.items():
        report.add(f"{heading}:")
        report.lines(
            f"- **{escape_markdown(seat['name'])}:** {escape_markdown(getattr(voice, attribute))}"
            for seat, voice in zip(seats, episode.voices, strict=True)
        )
        report.add(f"**{title}:** {escape_markdown(text or '')}")


def _considered(report: Report, found: Mapping[tuple[str, int], MediatorChoice], run: Path) -> None:
    """Add what the mediators considered and could not read, and the questionnaire."""
    candidates = [candidate for one in found.values() for candidate in one.candidates]
    rankings = [ranking for one in found.values() for ranking in one.rankings]
    items, why = unanswered_calls(run)
    rows = [
        _row("candidate statements", [one.asked for one in candidates], [one.reason for one in candidates]),
        _row("predicted rankings", [one.asked for one in rankings], [one.reason for one in rankings]),
        ["answers about oneself", f"{items}", f"{why.total()}", count_table(why.elements()), ""],
    ]
    if told := [row for row in rows if row[1] != "0"]:
        report.section("What the mediator and the questionnaire asked")
        report.table(told, ["what", "count", "missing", "reasons", "asked more than once"])
    ties = [one.chosen.tied for one in found.values() if one.chosen]
    if ties:
        tied = sum(number > 1 for number in ties)
        choices = count_phrase(len(ties), "choice")
        report.add(f"Schulze's method put more than one candidate first in {tied} of {choices}; lots decided.")


def _row(what: str, asked_: Sequence[int], reasons: Sequence[str | None]) -> list[str]:
    lacking = [reason for reason in reasons if reason is not None]
    return [what, f"{len(asked_)}", f"{len(lacking)}", count_table(lacking), f"{sum(times > 1 for times in asked_)}"]


def _changed(tables: Tables, episodes: Sequence[Episode]) -> dict[str, str]:
    """Rows of what was run on what that read otherwise here."""
    scenario, members = tables.header.scenario, tables.agents[tables.agents["party"] != MEDIATOR]
    questions = len({episode.question.id for episode in episodes})
    sessions = len({episode.session for episode in episodes})
    return {
        "topics": f"{count_phrase(questions, 'question')} of the set {scenario['questions']} (split: {scenario['split']})",
        "rooms": f"{len(episodes):,} episodes of {count_phrase(sessions, 'session')}, {members['persona'].nunique():,} people "
        f"in {len(members):,} seats",
        "mediator": str(scenario["mediator"]),
    }


FIRST, SECOND, HUMAN = "#8a8a8a", "#00785a", "#d55e00"


def draw_consensus(episodes: Sequence[Episode], found: Sequence[Measure], caption: str) -> Figure:
    """Three panels. `found`: the measures of these episodes."""
    known = {measure.name: measure for measure in found}
    with new_figure(7.2, 2.9) as figure:
        agreed, moves, sides = figure.subplots(1, 3, width_ratios=(1, 1.3, 1))
        _pairs(agreed, episodes, known, STATEMENTS, ("draft", "revision"))
        agreed.set(title="Agreement with the statement", ylabel="mean of a group's episode, 1-7", ylim=(0.8, 7.2))
        _moves(moves, episodes, known["movement"])
        _pairs(sides, episodes, known, ("margin_before", "margin_after"), ("before", "after"))
        sides.set(title="Group agreement", ylabel="margin of one side, 0-1", ylim=(-0.04, 1.04))
        figure.suptitle(textwrap.fill(caption, 105), fontsize=8)
    return figure


def _pairs(
    axis: Axes, episodes: Sequence[Episode], known: Mapping[str, Measure], names: Sequence[str], ticks: Sequence[str]
) -> None:
    """A grey line an episode, from the first to the second; means over groups with their 95% intervals on top."""
    values = [[MEASURES[name][1](episode) for name in names] for episode in episodes]
    both = np.array([row for row in values if None not in row], dtype=float)
    shift = np.linspace(-0.08, 0.08, len(both)) if len(both) > 1 else np.zeros(len(both))
    for aside, row in zip(shift, both, strict=True):
        axis.plot(np.arange(2) + aside, row, color=FIRST, linewidth=0.4, alpha=max(0.15, 0.7 - len(both) / 100))
    for place, name in enumerate(names):
        measure = known[name]
        if measure.value is not None:
            ends = [[measure.value - measure.low], [measure.high - measure.value]]
            bars = None if np.isnan(measure.low) else ends
            axis.errorbar(place, measure.value, bars, fmt="o", color=SECOND, markersize=5, capsize=3, zorder=5)
            axis.annotate(f"{measure.value:.2f}", (place, measure.value), (8, 0), "data", "offset points", va="center")
    axis.set_xticks(range(2), ticks)
    axis.set_xlim(-0.4, 1.5)


def _moves(axis: Axes, episodes: Sequence[Episode], measure: Measure) -> None:
    """How far people moved, toward the side of their majority or away from it; the mean beside that of people."""
    steps = Counter(
        round(side * (voice.after - voice.position))
        for episode in episodes
        if (side := majority_position(episode.voices))
        for voice in episode.voices
        if voice.position is not None and voice.after is not None
    )
    reach = max([2, *map(abs, steps)])
    places = range(-reach, reach + 1)
    total = sum(steps.values()) or 1
    colors = [HUMAN if place < 0 else FIRST if place == 0 else SECOND for place in places]
    axis.bar(list(places), [steps[place] / total for place in places], color=colors, width=0.8)
    told = "" if measure.value is None else f"run {measure.value:+.2f}"
    if measure.value is not None and not np.isnan(measure.low):
        told += f" ({measure.low:+.2f} to {measure.high:+.2f})"
    axis.set(
        title="Change of position", xlabel="points toward (+) or away from (-) the majority", ylabel="share of people"
    )
    axis.text(
        0.98,
        0.97,
        f"toward less away\n{told}\nHabermas Machine, people {HUMAN_MOVEMENT:+.3f}",
        transform=axis.transAxes,
        ha="right",
        va="top",
    )
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylim(0, 1.35 * max((count / total for count in steps.values()), default=1))
