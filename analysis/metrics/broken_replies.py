"""Do agents debate at all? Shares of replies that are lost, copied, cut off, under another name or in another language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from parley.analysis.reply_faults import COPIED, reply_faults, sample_sentence
from parley.analysis.tables import Tables
from parley.model.titles import join_phrases

ORDER = 8.2
TITLE = "Broken replies"
NOTE = (
    "Each number is a share of replies. *Repeats*: more than half of the five-word phrases of the reply occur earlier in the "
    "debate. The first reply of a debate is left out. The value expected by chance counts phrases of other debates on the "
    "topic, whose agents never met. *Loops*: more than half of the phrases of the reply occur earlier in the same reply. "
    "*Another name*: the reply begins with the name of another agent (Parley cuts this name), or the agent claims to be another "
    "agent or of another party. A reply in which the agent writes of itself in the third person counts too. *Recites*: the reply "
    "copies a phrase of the prompt about the agent's persona. The value expected by chance counts phrases of another persona. "
    "*Cut off*: the reply ends within a sentence, for example at the "
    'limit of tokens. *Lost*: the reply has no message of the agent (the section "What is missing" has the reasons).'
)
LABELS = {
    "turns": "turns", "lost": "lost", "copied": "repeats", "copied_null": "repeats, expected by chance", "looped": "loops",
    "misnamed": "another name", "recited": "recites", "recited_null": "recites, expected by chance", "unended": "cut off",
    "foreign": "other language",
}  # fmt: skip
NEEDS = "replies"


class Fault(NamedTuple):
    """A kind of broken reply: the column of its share and of its null, the least share of a warning, what it is in words, and
    of which replies."""

    share: str
    null: str
    level: float
    words: str
    among: str = "{} of {} replies"


COPIES = Fault(
    "copied",
    "copied_null",
    0.2,
    "repeat earlier replies of the debate",
    "{} of the {} replies that followed an earlier reply",
)
FAULTS = (
    Fault("lost", "", 0.1, "have no message of the agent"),
    COPIES,
    Fault("looped", "", 0.1, "repeat their own phrases over and over"),
    Fault("misnamed", "", 0.1, "are written under another name or for another party"),
    Fault("recited", "recited_null", 0.1, "recite the prompt about the persona"),
    Fault("unended", "", 0.3, "end in the middle of a sentence"),
    Fault("foreign", "", 0.1, "are not in the language of the debate"),
)
"""A share counts above its null. The levels warned in 0 of 48 runs of rule-based speakers and 0 of 47 stretches of two debates of
candidates in 2020.
"""


LESS_CHANCE = "--set temperature=0.7 --set top_p=0.9 --set cut=sentence"
REPETITIVE = {"copied", "looped"}
"""Faults that a lower temperature does not mend: SmolLM2 (135M) repeats 0 of 16 replies at temperature 1, and 23 of 23 at .7."""
KEYS = ("topic", "group", "round")
COUNTS = ("turns", "replies", "compared")
SHARES = tuple(dict.fromkeys(name for fault in FAULTS for name in (fault.share, fault.null) if name))
FEWEST, FEWEST_BROKEN = 6, 2
"""A share is a warning only with so many replies of a run, so many of them broken: at a true share of 2%, one of eight replies is
broken in 15% of runs, and two in 1%.
"""
BROKEN = "**These debates are not usable:**"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: turns, replies (with text), compared (with earlier lines), and shares."""
    frame = reply_faults(tables)
    unsaid = frame["reason"].notna()
    frame["lost"], frame["replies"] = unsaid.astype(float), ~unsaid
    frame["misnamed"] = frame[["relabelled", "slipped"]].max(axis=1)
    for name in ("copied", "copied_null", "looped"):
        frame[name] = (frame[name] > COPIED).astype(float).where(frame[name].notna())
    grouped = frame.groupby([*KEYS], sort=False)
    table = grouped.agg(turns=("lost", "size"), replies=("replies", "sum"), compared=("copied", "count"))
    table = table.join(grouped[[*SHARES]].mean()).reset_index()
    kinds = dict.fromkeys(KEYS, "object") | {"round": "int64"} | dict.fromkeys(COUNTS, "int64")
    table = table.astype(kinds | dict.fromkeys(SHARES, "float64"))[[*KEYS, *COUNTS, *SHARES]]
    table.attrs = dict(frame.attrs)
    return table


def note(frame: pd.DataFrame) -> str:
    """Return what the section says; of a large run also which turns were measured."""
    return f"{NOTE} {sample_sentence(frame)}".strip()


def headline(frame: pd.DataFrame) -> str:
    """Return how many replies repeat the debate, and which faults make the debates not usable; "" without any."""
    faults = [fault for fault in FAULTS if _is_frequent(frame, fault)]
    if faults:
        settings = "" if {fault.share for fault in faults} <= REPETITIVE else f", or `{LESS_CHANCE}`,"
        advice = f"Read the transcript before you use the results. A larger model{settings} may help."
        broken = join_phrases([_in_words(frame, fault) for fault in faults])
        return " ".join(filter(None, (f"{BROKEN} {broken}.", sample_sentence(frame), advice)))
    return f"{_in_words(frame, COPIES)}. {sample_sentence(frame)}".strip() if frame["compared"].sum() else ""


def broken_line(faults: Iterable[pd.DataFrame]) -> str:
    """Return the sentence on several runs whose debates are not usable; "" if they are not. faults: `compute` of each run."""
    line = headline(pd.concat([*faults], ignore_index=True))
    return line if line.startswith(BROKEN) else ""


def run_share(frame: pd.DataFrame, name: str) -> float:
    """Return a share over all replies of a run; NaN where no reply has it."""
    weights = frame[_of(name)].where(frame[name].notna(), 0)
    return float((frame[name].fillna(0) * weights).sum() / weights.sum()) if weights.sum() else float("nan")


def _of(name: str) -> str:
    return "turns" if name == "lost" else "compared" if name.startswith("copied") else "replies"


def _is_frequent(frame: pd.DataFrame, fault: Fault) -> bool:
    chance = run_share(frame, fault.null) if fault.null else 0.0
    share, replies = run_share(frame, fault.share), frame[_of(fault.share)].sum()
    excess = share - (0.0 if pd.isna(chance) else chance)
    return bool(replies >= FEWEST and excess >= fault.level and round(share * replies) >= FEWEST_BROKEN)


def _in_words(frame: pd.DataFrame, fault: Fault) -> str:
    total = int(frame[_of(fault.share)].sum())
    chance = run_share(frame, fault.null) if fault.null else float("nan")
    null = "" if pd.isna(chance) else f" ({chance * total:.0f} expected by chance)"
    return f"{fault.among.format(f'{run_share(frame, fault.share) * total:.0f}', f'{total:,}')} {fault.words}{null}"
