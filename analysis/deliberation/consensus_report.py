"""The report of a run of private deliberations: tables, figure, pages, summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parley.analysis import asked, honesty
from parley.analysis.deliberation.clusters import caution
from parley.analysis.deliberation.consensus_figure import draw
from parley.analysis.deliberation.considered import Considered, considered, unanswered
from parley.analysis.deliberation.episode import Episode, to_line
from parley.analysis.deliberation.movement import HUMAN_MOVEMENT, Measure, measured, statements, voices
from parley.analysis.deliberation.pages import who_moved, write_pages
from parley.analysis.deliberation.record import from_record
from parley.analysis.deliberation.represented import Stood, represented
from parley.analysis.deliberation.represented import lines as representatives
from parley.analysis.load import Tables
from parley.analysis.plots import save
from parley.analysis.summary import again, missing, run_on
from parley.analysis.tables import write_table, write_tables
from parley.analysis.wording import counted, estimate, harmless, markdown_table, plain, tally
from parley.llm.prices import UNPRICED, Prices
from parley.model.scenario import MEDIATOR

EPISODES = "episodes.jsonl"


def deliberates(tables: Tables) -> bool:
    """Whether a run is one of private deliberations."""
    return bool((tables.agents["party"] == MEDIATOR).any())


def write(tables: Tables, run: Path, summary: Path, prices: Prices = UNPRICED) -> Path:
    """Write tables/, figures/, episodes.jsonl, transcript.md and, last, the summary; the figure's path."""
    episodes, found, stood = from_record(run), considered(run), represented(run)
    write_tables(tables, run / "tables")
    for name, frame in (("voices", voices(episodes)), ("episodes", statements(episodes))):
        write_table(frame, run / "tables" / name)
    (run / EPISODES).write_text("".join(map(to_line, episodes)), encoding="utf-8")
    results = measured(episodes)
    (run / "figures").mkdir(exist_ok=True)
    figure = save(draw(episodes, results, caption(tables, results)), run / "figures" / "consensus")
    write_pages(tables, episodes, found, stood, run / "transcript.md")
    lines = _lines(tables, episodes, results, found, stood, run, figure.relative_to(run).as_posix(), prices)
    summary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return figure


def caption(tables: Tables, results: Sequence[Measure]) -> str:
    scenario = tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    groups = max((measure.groups for measure in results), default=0)
    run = f"{scenario['name']}{unfinished}, mediator {scenario['mediator']}, on {honesty.model(tables.header)}"
    return plain(
        f"{run}, seed {scenario['seed']}: {counted(groups, 'group')}; means over groups with 95% intervals, a line an episode"
    )


def _lines(
    tables: Tables,
    episodes: Sequence[Episode],
    results: Sequence[Measure],
    found: Mapping[tuple[str, int], Considered],
    stood: Stood,
    run: Path,
    figure: str,
    prices: Prices,
) -> Iterator[str]:
    scenario = tables.header.scenario
    yield f"# {harmless(scenario['name'])}\n"
    yield harmless(f"{asked.title(tables.header)}.") + "\n"
    if not tables.finished:
        yield "**Unfinished**. Run the same command again to go on.\n"
    if note := honesty.note(tables.header):
        yield f"> {note}\n"
    yield f"![Agreement, movement, group agreement]({figure})\n"
    yield from _measures(tables, episodes, results)
    yield from _example(tables, episodes)
    yield from representatives(tables, episodes, stood)
    yield from _considered(found, run)
    yield from missing(tables)
    yield from run_on(tables, prices, _changed(tables, episodes))
    yield from again(tables)
    yield f"\nEvery episode is a line of `{EPISODES}` (docs/deliberation.md), and is to be read in `transcript.md`."


def _measures(tables: Tables, episodes: Sequence[Episode], results: Sequence[Measure]) -> Iterator[str]:
    yield "## Agreement and movement\n"
    sessions = len({episode.session for episode in episodes})
    sits = tables.agents[tables.agents["party"] != MEDIATOR].groupby("persona")[["group", "repetition"]]
    most = int(sits.apply(lambda seats: len(seats.drop_duplicates())).max())
    few = f" {caution(sessions)}".rstrip()
    shared = f" A persona sits in up to {most} groups: intervals are somewhat too narrow." if most > 1 else ""
    yield (
        "The unit is the group: the same people in a session of several questions, whose episodes are averaged first; "
        f"{counted(sessions, 'group')}, {counted(len(episodes), 'episode')}. Brackets hold 95% intervals over groups."
        f"{few}{shared}\n"
    )
    rows = [
        [measure.label, estimate(measure.value, measure.low, measure.high), f"{measure.groups}", f"{measure.episodes}"]
        for measure in results
    ]
    yield markdown_table(["what", "mean", "groups", "episodes"], rows) + "\n"
    yield (
        "Of people (1,047 rounds of 349 groups before the Habermas Machine, as summarised in a public replication) the share "
        f"who moved toward their majority's side, less those who moved away, was {HUMAN_MOVEMENT:+.3f}. It stands here to "
        "compare: other questions, another mediator, and people. Group agreement is how many more members are on one side of "
        "the question than on the other, as a share of the group; the majority is that of the positions before.\n"
    )


def _example(tables: Tables, episodes: Sequence[Episode]) -> Iterator[str]:
    """The first episode that has all its texts, in full."""
    whole = [
        one for one in episodes if one.revision and one.draft and all(v.opinion and v.critique for v in one.voices)
    ]
    if not whole:
        return
    episode = whole[0]
    seats = tables.agents[(tables.agents["room"] == episode.id) & (tables.agents["party"] != MEDIATOR)].to_dict(
        "records"
    )
    yield f"## One episode: {harmless(episode.question.question)}\n"
    yield who_moved(seats, episode.voices) + "\n"
    for heading, attribute, text in (
        ("Opinions", "opinion", episode.draft),
        ("Critiques", "critique", episode.revision),
    ):
        yield f"{heading}:\n"
        for seat, voice in zip(seats, episode.voices, strict=True):
            yield f"- **{harmless(seat['name'])}:** {harmless(getattr(voice, attribute))}"
        told = "Draft" if attribute == "opinion" else "Revision"
        yield f"\n**{told}:** {harmless(text or '')}\n"


def _considered(found: Mapping[tuple[str, int], Considered], run: Path) -> Iterator[str]:
    """What the mediators considered and could not read, and the questionnaire."""
    candidates = [candidate for one in found.values() for candidate in one.candidates]
    rankings = [ranking for one in found.values() for ranking in one.rankings]
    items, why = unanswered(run)
    rows = [
        _row("candidate statements", [one.asked for one in candidates], [one.reason for one in candidates]),
        _row("predicted rankings", [one.asked for one in rankings], [one.reason for one in rankings]),
        ["answers about oneself", f"{items}", f"{why.total()}", tally(why.elements()), ""],
    ]
    if told := [row for row in rows if row[1] != "0"]:
        yield "## What the mediator and the questionnaire asked\n"
        yield markdown_table(["what", "count", "missing", "reasons", "asked more than once"], told) + "\n"
    ties = [one.chosen.tied for one in found.values() if one.chosen]
    if ties:
        tied = sum(number > 1 for number in ties)
        yield f"Schulze's method put more than one candidate first in {tied} of {counted(len(ties), 'choice')}; lots decided.\n"


def _row(what: str, asked_: Sequence[int], reasons: Sequence[str | None]) -> list[str]:
    lacking = [reason for reason in reasons if reason is not None]
    return [what, f"{len(asked_)}", f"{len(lacking)}", tally(lacking), f"{sum(times > 1 for times in asked_)}"]


def _changed(tables: Tables, episodes: Sequence[Episode]) -> dict[str, str]:
    """Rows of what was run on what that read otherwise here."""
    scenario, members = tables.header.scenario, tables.agents[tables.agents["party"] != MEDIATOR]
    questions = len({episode.question.id for episode in episodes})
    sessions = len({episode.session for episode in episodes})
    return {
        "topics": f"{counted(questions, 'question')} of the set {scenario['questions']} (split: {scenario['split']})",
        "rooms": f"{len(episodes):,} episodes of {counted(sessions, 'session')}, {members['persona'].nunique():,} people "
        f"in {len(members):,} seats",
        "mediator": str(scenario["mediator"]),
    }
