"""The report of a run of private deliberations: summary, tables, figure and transcript."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, PERCENT, Sides, amount
from parley.analysis.deliberation.episode import STATEMENTS, Episode, to_line
from parley.analysis.deliberation.position_change import (
    AGREEMENT,
    DRAFT,
    HUMAN_MOVEMENT,
    MEASURES,
    REVISION,
    Measure,
    cluster_caution,
    majority_position,
    measure_movement,
    seats_of,
    sharing_caution,
    statements,
    voice_gain,
    voices,
)  # fmt: skip
from parley.analysis.deliberation.run_episodes import (
    WRITTEN,
    Choices,
    Represented,
    episodes_of_events,
    measured_episodes,
    mediator_choices,
    represented_texts,
    rule_of,
    unanswered_items,
)  # fmt: skip
from parley.analysis.deliberation.session_transcript import text, who_moved
from parley.analysis.figures import LABEL, TWO_COLUMNS, new_figure
from parley.analysis.findings import missing_ratings
from parley.analysis.formatting import (
    count_phrase,
    count_table,
    escape_markdown,
    format_estimate,
    markdown_table,
    strip_controls,
    uncorrected,
)
from parley.analysis.metrics import broken_replies
from parley.analysis.qualify.in_reports import first_sentences, withholds
from parley.analysis.rating_value import rating_value_note
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, mean_interval, too_few, verdict
from parley.analysis.summary import again, missing, open_summary, run_on
from parley.analysis.table_export import write_tables
from parley.analysis.tables import Tables
from parley.llm.prices import UNPRICED, Prices
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario import MEDIATOR
from parley.model.scenario_run import record_of

EPISODES = "episodes.jsonl"
PEOPLE = (
    "For comparison, people: the share who moved toward their majority's side minus the share who moved away was "
    f"{HUMAN_MOVEMENT:.3f} (1,047 rounds of 349 groups before the Habermas Machine, as summarised in a public replication). The "
    "people of this comparison had other questions and another mediator. Group agreement is the number of members on one side "
    "of the question minus the number on the other, as a share of the group. The majority is the majority of the positions "
    "before."
)
PALE = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
GREY, GREEN, ORANGE = "#8a8a8a", "#00785a", "#d55e00"


def deliberates(tables: Tables) -> bool:
    """Return whether a run is one of private deliberations."""
    return bool((tables.agents["party"] == MEDIATOR).any()) and tables.places.empty


def write_consensus_report(tables: Tables, run: Path, summary: Path, prices: Prices = UNPRICED) -> Path:
    """Write tables/, figures/, episodes.jsonl, transcript.md and, last, the summary; return the figure's path."""
    record = list(read_lines(record_of(run)))
    episodes, choices, represented = episodes_of_events(record), mediator_choices(record), represented_texts(record)
    measured = measured_episodes(record)
    report, results = open_summary(tables, summary), measure_movement(measured)
    report.in_short(_in_short(tables, results, run, measured))
    write_tables(tables, run / "tables")
    report.data(**{"tables/voices": voices(measured), "tables/episodes": statements(measured)})
    (run / EPISODES).write_text("".join(map(to_line, episodes)), encoding="utf-8")
    drawn = draw_consensus(measured, results, consensus_caption(tables, results))
    figure = report.figure(drawn, "figures/consensus", "Agreement, movement, group agreement")
    (run / "transcript.md").write_text(text(tables, measured, choices, represented), encoding="utf-8")
    _add_measures(report, tables, measured, results)
    _add_example(report, tables, measured)
    report.lines(representation_lines(tables, measured, represented))
    _add_considered(report, choices, record, str(tables.header.scenario["mediator"]))
    missing(report, tables)
    run_on(report, tables, prices, _run_rows(tables, episodes))
    again(report, tables)
    report.add(
        f"`{EPISODES}` has one line per episode (docs/deliberation.md). `transcript.md` shows all episodes as text."
    )
    report.write()
    return figure


def figure(tables: Tables, run: Path) -> Figure:
    """Draw the figure of a run of private deliberations."""
    episodes = measured_episodes(read_lines(record_of(run)))
    results = measure_movement(episodes)
    return draw_consensus(episodes, results, consensus_caption(tables, results))


def consensus_caption(tables: Tables, results: Sequence[Measure]) -> str:
    """Return the note below the figure."""
    scenario, unfinished = tables.header.scenario, "" if tables.finished else " (unfinished)"
    groups = max((measure.groups for measure in results), default=0)
    bars = "95% intervals over groups" if groups >= FEWEST else f"none, because there are fewer than {FEWEST} groups"
    movement = next((measure for measure in results if measure.name == "movement"), None)
    moved = "" if movement is None or movement.value is None else (
        " Change of position: the share of agents who moved toward the majority's side, minus the share who moved away, is "
        f"{format_estimate(movement.value, movement.low, movement.high)}; of people with the Habermas Machine it was "
        f"{HUMAN_MOVEMENT:.3f}."
    )  # fmt: skip
    return strip_controls(
        f"{scenario['name']}{unfinished}, mediator {scenario['mediator']}, on "
        f"{disclaimers.model_label(tables.header)}, seed {scenario['seed']}. Points are means over "
        f"{count_phrase(groups, 'group')}; bars are {bars}; each grey line is one episode.{moved}"
    )


def _in_short(tables: Tables, results: Sequence[Measure], run: Path, episodes: Sequence[Episode]) -> Iterator[str]:
    """Yield whether the model plays people, then whether its texts are broken, then the findings, unless they are withheld."""
    yield from first_sentences(tables.header, run)
    if broken := broken_headline(tables):
        yield broken
    yield from repeated_drafts(episodes)
    yield from [missing_ratings(tables)] if withholds(tables.header, run) else short_findings(tables, results)


def repeated_drafts(episodes: Sequence[Episode]) -> Iterator[str]:
    """Yield a warning where most revisions are their drafts, word for word: then no critique can have changed anything."""
    revised = [episode for episode in episodes if episode.draft and episode.revision]
    repeated = sum(str(episode.draft).split() == str(episode.revision).split() for episode in revised)
    if repeated > len(revised) / 2:
        of_all = f"in {repeated} of {count_phrase(len(revised), 'episode')}"
        yield (
            f"**The mediator's revision repeats the draft word for word {of_all}: the revision took up nothing that the agents "
            "criticised.**"
        )


def broken_headline(tables: Tables) -> str:
    """Return which faults of opinions, critiques and statements are so frequent that the texts are broken; "" without any."""
    faults = broken_replies.headline(broken_replies.compute(tables))
    return faults if faults.startswith("**") else ""


def short_findings(tables: Tables, results: Sequence[Measure]) -> Iterator[str]:
    """Yield the findings in sentences: agreement with the revised statement, who moved, group agreement, missing ratings.

    Fewer than five groups give no interval, and then no verdict.
    """
    measures = {measure.name: measure for measure in results}
    gain, moved = measures["gain"], measures["movement"]
    if gain.value is None:
        yield "Nothing can be said about agreement: no agent rated both statements."
    else:
        draft, revision = (f"{measures[name].value:.1f}" for name in (DRAFT, REVISION))
        scale, clear = "on a scale from 1 to 7", _verdict(gain, GAIN, HIGHER)
        yield f"Agreement went from {draft} with the draft to {revision} with the revision, {scale}. {clear}"
    if moved.value is None:
        yield (
            "Nothing can be said about moves to the majority's side: no group had both a majority at the start "
            "and a member who was rated twice."
        )
    else:
        changed = measures["moved"].value
        stayed = "" if changed is None else f"{changed:.0%} of the agents changed their position. "
        yield f"{stayed}{_verdict(moved, MOVES, Sides('more toward it than away', 'more away from it than toward'), PERCENT)}"
    yield missing_ratings(tables)


GAIN = ("The revision pleased the agents more than the draft", "The revision pleased the agents less than the draft")
MOVES = ("Agents moved toward the majority", "Agents moved away from the majority")


def _verdict(measure: Measure, says: tuple[str, str], sides: Sides, factor: float = 1) -> str:
    """Return what an interval says: above 0, below 0, or that neither was found; without one, that nothing can be concluded."""
    if np.isnan(measure.low):
        few = measure.groups < FEWEST
        reason = f"there are {too_few('group')}" if few else "the value is the same in all groups"
        return f"No interval is given, because {reason}{'; nothing can be concluded' if few else ''}."
    unit, digits = ("points", 2) if factor == 1 else ("percentage points", 0)
    ends = factor * float(measure.value or 0.0), factor * measure.low, factor * measure.high
    start = verdict(measure.low, measure.high, *says, "This difference can be due to chance")
    return f"{start}: {amount(ends, sides, unit, digits)}."


def _add_measures(report: Report, tables: Tables, episodes: Sequence[Episode], results: Sequence[Measure]) -> None:
    sessions = len({episode.session for episode in episodes})
    about = (
        "The unit of analysis is the group: the same people in one session of several questions. The episodes of a group are "
        f"averaged first. There are {count_phrase(sessions, 'group')} and {count_phrase(len(episodes), 'episode')}. Brackets "
        "hold 95% intervals over groups."
    )
    value = rating_value_note(tables.attitudes, str(tables.header.scenario.get("measure", "mean")))
    report.section(
        "Agreement and movement",
        " ".join(filter(None, [about, value, cluster_caution(sessions), sharing_caution(seats_of(episodes))])),
    )
    rows = [
        [result.label, format_estimate(result.value, result.low, result.high), f"{result.groups}", f"{result.episodes}"]
        for result in results
    ]
    report.table(rows, ["what", "mean", "groups", "episodes"])
    report.add(PEOPLE, uncorrected(pd.DataFrame({"low": [result.low for result in results]})))


def _add_example(report: Report, tables: Tables, episodes: Sequence[Episode]) -> None:
    """Add the first episode that has all its texts, in full."""
    for episode in episodes:
        if episode.revision and episode.draft and all(voice.opinion and voice.critique for voice in episode.voices):
            break
    else:
        return
    here = tables.agents[(tables.agents["room"] == episode.id) & (tables.agents["party"] != MEDIATOR)]
    members = here.to_dict("records")
    report.section(f"One episode: {episode.question.question}", who_moved(members, episode.voices, tables.names))
    texts = {"opinion": ("Opinions", "Draft", episode.draft), "critique": ("Critiques", "Revision", episode.revision)}
    for attribute, (heading, title, statement) in texts.items():
        report.add(f"{heading}:")
        report.lines(
            f"- **{escape_markdown(member['name'])}:** {escape_markdown(getattr(voice, attribute))}"
            for member, voice in zip(members, episode.voices, strict=True)
        )
        report.add(f"**{title}:** {escape_markdown(statement)}")


def _add_considered(report: Report, choices: Choices, record: Sequence[events.Event], mediator: str) -> None:
    """Add how many candidates, rankings and answers about oneself were asked for, and how many are missing."""
    own_calls = [(call, call.agent in choice.represented) for choice in choices.values() for call in choice.own]
    calls: dict[str, list[events.Proposed | events.Ranked | events.Balloted]] = {
        "candidate statements": [candidate for choice in choices.values() for candidate in choice.candidates],
        "predicted rankings": [ranking for choice in choices.values() for ranking in choice.rankings],
        "own rankings": [call for call, represented in own_calls if not represented],
        "rankings by representatives": [call for call, represented in own_calls if represented],
    }
    rows = []
    for what, made in calls.items():
        reasons = [call.reason for call in made if call.reason is not None]
        repeated = sum(call.asked > 1 for call in made)
        rows.append([what, f"{len(made)}", f"{len(reasons)}", count_table(reasons), f"{repeated}"])
    items, unanswered = unanswered_items(record)
    answers = count_table(unanswered.elements())
    rows.append(["answers about oneself", f"{items}", f"{unanswered.total()}", answers, ""])
    if rows := [row for row in rows if row[1] != "0"]:
        report.section("Candidates, rankings and answers about oneself")
        report.table(rows, ["what", "count", "missing", "reasons", "asked more than once"])
    if ties := [choice.chosen.tied > 1 for choice in choices.values() if choice.chosen]:
        report.add(
            f"In {sum(ties)} of {count_phrase(len(ties), 'choice')}, the rule `{rule_of(mediator)}` put more than one candidate "
            "first; the statement was drawn from these at random."
        )


def _run_rows(tables: Tables, episodes: Sequence[Episode]) -> dict[str, str]:
    """Return the rows of the table of settings that differ from those of a debate."""
    scenario, members = tables.header.scenario, tables.agents[tables.agents["party"] != MEDIATOR]
    questions = count_phrase(len({episode.question.id for episode in episodes}), "question")
    sessions = count_phrase(len({episode.session for episode in episodes}), "session")
    people = f"{members['persona'].nunique():,} people in {len(members):,} seats"
    return {
        "topics": f"{questions} of the set {scenario['questions']} (split: {scenario['split']})",
        "rooms": f"{len(episodes):,} episodes of {sessions}, {people}",
        "mediator": str(scenario["mediator"]),
    }


AGREED = "agreement with the revision (1-7)"
VOICE_MEASURES = {AGREED: lambda voice: voice.agreement.get(REVISION), "revision minus draft": voice_gain}


def representation_lines(tables: Tables, episodes: Sequence[Episode], represented: Represented) -> Iterator[str]:
    """Yield the summary's section on representatives; nothing where no one was represented."""
    if not represented:
        return
    turns = tables.utterances
    theirs = turns[[key in represented for key in zip(turns["room"], turns["iteration"], strict=True)]]
    silent = count_table(theirs.loc[theirs["text"].isna(), "reason"]) or "none"
    knows = next(iter(represented.values())).knows or "the base"
    written = " and ".join(count_phrase(len(form_turns), form) for form, form_turns in theirs.groupby("form"))
    yield "## Representatives\n"
    yield (
        f"Representatives wrote {written} in {count_phrase(theirs['room'].nunique(), 'episode')}; they knew {knows} "
        f"(silent: {silent}). In `{EPISODES}` the text of a represented participant is missing, with the "
        f"reason `{WRITTEN}`: the participant did not write it.\n"
    )
    header = ["measure", "represented", "before, writing themselves", "difference", "groups"]
    yield markdown_table(header, [_representation_row(name, episodes) for name in VOICE_MEASURES]) + "\n"
    yield (
        "The table compares each represented person with the same person in the earlier episodes of the session. The earlier "
        "episodes are on other questions, drawn at random. Brackets hold 95% intervals over groups. To compare the same "
        "questions, repeat the command with `--set represented=none` and another --out.\n"
    )


def representation_means(name: str, episodes: Sequence[Episode]) -> list[tuple[float, float]]:
    """Return a pair per session: a measure of the represented people with their representative, and before.

    People without one of the two are left out.
    """
    after, before = (_person_values(name, episodes, wrote_self) for wrote_self in (False, True))
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key in after.keys() & before.keys():
        pairs[key[0]].append((fmean(after[key]), fmean(before[key])))
    return [(fmean(x for x, _ in values), fmean(y for _, y in values)) for _, values in sorted(pairs.items())]


def _person_values(name: str, episodes: Sequence[Episode], wrote_self: bool) -> dict[tuple[str, str], list[float]]:
    """Return a measure by session and participant, over episodes whose texts they `wrote_self`, or a representative."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for episode in episodes:
        for voice in episode.voices:
            value = VOICE_MEASURES[name](voice)
            if value is not None and (WRITTEN not in voice.reasons.values()) == wrote_self:
                values[episode.session, voice.participant].append(value)
    return values


def _representation_row(name: str, episodes: Sequence[Episode]) -> list[str]:
    pairs = np.array(representation_means(name, episodes)).reshape(-1, 2)
    bounds = AGREEMENT if name == AGREED else None
    columns = ((pairs[:, 0], bounds), (pairs[:, 1], bounds), (pairs[:, 0] - pairs[:, 1], None))
    means = [
        format_estimate(float(values.mean()), *mean_interval(values, bounds=ends)) if len(pairs) else "–"
        for values, ends in columns
    ]
    return [name, *means, str(len(pairs))]


def draw_consensus(episodes: Sequence[Episode], results: Sequence[Measure], caption: str) -> Figure:
    """Draw agreement with both statements, who moved, and group agreement. results: the measures of these episodes."""
    measures = {measure.name: measure for measure in results}
    title = "Agreement with the mediator's statements, and how positions changed"
    with new_figure(TWO_COLUMNS, 2.6, caption, title=title) as figure:
        agreed, moved, sides = figure.subplots(1, 3, width_ratios=(1, 1.3, 1))
        _draw_pairs(agreed, episodes, measures, STATEMENTS, (DRAFT, REVISION))
        agreed.set(
            title="Agreement with the statement", ylabel="mean rating, 1 (disagree) to 7 (agree)", ylim=(0.8, 7.2)
        )
        _draw_moves(moved, episodes)
        _draw_pairs(sides, episodes, measures, ("margin_before", "margin_after"), ("before", "after"))
        sides.set(title="Group agreement", ylabel="margin of one side, 0 (even) to 1 (all)", ylim=(-0.04, 1.04))
        for axis in (agreed, moved, sides):
            axis.yaxis.label.set_size(LABEL)
    return figure


def _draw_pairs(
    axis: Axes, episodes: Sequence[Episode], measures: Mapping[str, Measure], names: Sequence[str], ticks: Sequence[str]
) -> None:
    """Draw a grey line per episode from the first measure to the second, and their means over groups with intervals."""
    values = [[MEASURES[name][1](episode) for name in names] for episode in episodes]
    both = np.array([pair for pair in values if None not in pair], dtype=float)
    shifts = np.linspace(-0.08, 0.08, len(both)) if len(both) > 1 else np.zeros(len(both))
    for shift, pair in zip(shifts, both, strict=True):
        axis.plot(np.arange(2) + shift, pair, color=GREY, linewidth=0.4, alpha=max(0.15, 0.7 - len(both) / 100))
    for place, name in enumerate(names):
        value, low, high = measures[name].value, measures[name].low, measures[name].high
        if value is not None:
            bars = None if np.isnan(low) else [[value - low], [high - value]]
            axis.errorbar(place, value, bars, fmt="o", color=GREEN, markersize=5, capsize=3, zorder=5)
            axis.annotate(f"{value:.2f}", (place, value), (8, 0), "data", "offset points", va="center", bbox=PALE)
    axis.set_xticks(range(2), ticks)
    axis.set_xlim(-0.4, 1.5)


def _draw_moves(axis: Axes, episodes: Sequence[Episode]) -> None:
    """Draw how far agents moved toward the side of their majority or away from it."""
    steps = Counter(
        round(side * (voice.after - voice.position))
        for episode in episodes
        if (side := majority_position(episode.voices))
        for voice in episode.voices
        if voice.position is not None and voice.after is not None
    )
    reach, total = max([2, *map(abs, steps)]), sum(steps.values()) or 1
    places = range(-reach, reach + 1)
    colors = [ORANGE if place < 0 else GREY if place == 0 else GREEN for place in places]
    axis.bar(list(places), [steps[place] / total for place in places], color=colors, width=0.8)
    axis.set(title="Change of position", xlabel="points toward the majority (below 0: away)", ylabel="share of agents")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_ylim(bottom=0)
