"""Runs in which representatives wrote critiques: which ones, and how those they stood in for agree with what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from parley.analysis.bootstrap import Floats, mean_interval
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.load import Tables, record_of
from parley.analysis.wording import counted, estimate, markdown_table, tally
from parley.model import events
from parley.model.lines import read

DRAFT, REVISION = STATEMENTS
WRITTEN = "represented"
"""Why a participant's own critique is missing: its representative wrote one."""
Stood = Mapping[tuple[str, int], events.Represented]
"""By room and turn: whose critique is a representative's, and what that was told."""


def represented(run: Path) -> dict[tuple[str, int], events.Represented]:
    """Every critique of a run that a representative wrote. Errors: UserError when there is no record."""
    return stood(read(record_of(run)))


def stood(record: Iterable[events.Event]) -> dict[tuple[str, int], events.Represented]:
    """The same of a record's events."""
    found = [event for event in record if isinstance(event, events.Represented)]
    return {(event.room, event.iteration): event for event in found}


def lines(tables: Tables, episodes: Sequence[Episode], stood: Stood) -> Iterator[str]:
    """What the summary says of them; nothing where nobody was represented."""
    if not stood:
        return
    turns = tables.utterances
    theirs = turns[[key in stood for key in zip(turns["room"], turns["iteration"], strict=True)]]
    silent = theirs.loc[theirs["text"].isna(), "reason"]
    knows = next(iter(stood.values())).knows or "the base"
    yield "## Representatives\n"
    yield (
        f"{counted(len(stood), 'critique')} in {counted(theirs['room'].nunique(), 'episode')} by representatives, told {knows} "
        f"(silent: {tally(silent) or 'none'}). They are nobody's own words: in `episodes.jsonl` the critique of who was "
        f"represented is missing, with the reason `{WRITTEN}`.\n"
    )
    header = ["those represented", "represented", "before, writing themselves", "difference", "groups"]
    yield markdown_table(header, [_row(name, episodes) for name in MEASURES]) + "\n"
    yield (
        "The same people in the episodes of a session before, which are on other questions, drawn by lot; 95% intervals over "
        "groups. On the very same questions: the same command with `--set represented=none`.\n"
    )


def _agreement(voice: Voice) -> float | None:
    return voice.agreement.get(REVISION)


def _gain(voice: Voice) -> float | None:
    draft, revision = (voice.agreement.get(name) for name in STATEMENTS)
    return None if draft is None or revision is None else revision - draft


MEASURES = {"agreement with the revision (1-7)": _agreement, "revision less draft": _gain}


def means(name: str, episodes: Sequence[Episode]) -> list[tuple[float, float]]:
    """A measure of those represented, a pair a session: with a representative, and before. Who lacks one of them is left out."""
    with_, before = (_by_person(name, episodes, own) for own in (False, True))
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for key in with_.keys() & before.keys():
        found[key[0]].append((fmean(with_[key]), fmean(before[key])))
    return [(fmean(one for one, _ in pairs), fmean(other for _, other in pairs)) for _, pairs in sorted(found.items())]


def _by_person(name: str, episodes: Sequence[Episode], own: bool) -> dict[tuple[str, str], list[float]]:
    """The values by session and participant, of episodes in which it wrote for itself (`own`) or was represented."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for episode in episodes:
        for voice in episode.voices:
            value = MEASURES[name](voice)
            if value is not None and (voice.reasons.get("critique") != WRITTEN) == own:
                found[episode.session, voice.participant].append(value)
    return found


def _row(name: str, episodes: Sequence[Episode]) -> list[str]:
    pairs = np.array(means(name, episodes)).reshape(-1, 2)
    columns = {"with": pairs[:, 0], "before": pairs[:, 1], "gap": pairs[:, 0] - pairs[:, 1]}
    told = [_told(values) for values in columns.values()] if len(pairs) else ["–"] * 3
    return [name, *told, str(len(pairs))]


def _told(values: Floats) -> str:
    return estimate(float(values.mean()), *mean_interval(values))
