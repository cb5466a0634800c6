"""Words for what came from outside: interventions in summary and transcript. Their texts are shown as plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from parley.analysis.formatting import DASH, count_phrase, escape_markdown, join_phrases, markdown_table
from parley.analysis.tables import Tables

MOST = 6
"""Agents up to which each is named."""


def intervention_table(tables: Tables) -> Iterator[str]:
    """What happened from outside, one line for what was done in the same words; nothing where nothing was."""
    if tables.interventions.empty:
        return
    yield "## Interventions\n"
    yield "Each intervention came before the round shown. Its messages are not replies and are not counted as replies.\n"
    rows = []
    acts = tables.interventions.assign(agents=tables.interventions["agents"].map(json.loads).map(len))
    for (round_, what, by, text, reason), same in acts.groupby(
        ["round", "what", "by", "text", "reason"], dropna=False, sort=False
    ):
        whom = f"{count_phrase(int(same['agents'].sum()), 'agent')} in {count_phrase(same['room'].nunique(), 'room')}"
        said = text if isinstance(text, str) else f"nothing ({reason})" if isinstance(reason, str) else ""
        rows.append([str(round_), what, by or DASH, whom, said])
    yield markdown_table(["before round", "what", "by", "to", "text"], rows) + "\n"


def intervention_sentence(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """What was done to whom from outside, as plain text in Markdown; between two asterisks too."""
    return escape_markdown(intervention_event(row, seated)).strip()


def intervention_event(row: dict[str, Any], seated: Sequence[dict[str, Any]]) -> str:
    """The same as text."""
    agents = json.loads(row["agents"])
    names = [str(one["name"]) for one in seated if one["agent"] in agents]
    whom = join_phrases(names) if len(names) <= MOST else f"{len(names)} of {len(seated)}"
    whom = "everybody" if len(names) == len(seated) else whom
    who = f"{row['by']}, to {whom}" if row["by"] else f"{row['what']}, {whom}"
    words = row["text"] if isinstance(row["text"], str) else f"{DASH} ({row['reason']})" if row["reason"] else ""
    return f"Intervention: {who}{f': {words}' if words else ''}"
