"""The lines of a run as `llm/backends/lines.py` reads them: a speaker an entry."""

from __future__ import annotations

import json
from pathlib import Path

from parley.agents.topic import load_topic
from parley.analysis.load import Tables


def write(tables: Tables, path: Path) -> Path:
    """Write who said what on which topic among whom; the path."""
    names = tables.agents.groupby("room")["name"].agg(list)
    spoken = tables.utterances.dropna(subset="text").sort_values(["room", "iteration"])
    found = [
        {"topic": load_topic(topic).title, "party": party, "names": names[room], "said": list(said)}
        for (room, topic, party, _), said in spoken.groupby(["room", "topic", "party", "agent"], sort=False)["text"]
    ]
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return path
