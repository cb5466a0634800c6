"""The settings in which two runs differ, by their headers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.formatting import DASH
from parley.model.events import Header

WORDS = ("name", "title", "source")
"""Words about a scenario, which change nothing in it."""


def differences(one: Header, other: Header) -> list[tuple[str, str, str]]:
    """Return the settings that differ between two runs: (setting, in the one, in the other)."""
    mine, theirs = dict(_settings(one)), dict(_settings(other))
    pairs = [(name, mine.get(name, DASH), theirs.get(name, DASH)) for name in dict.fromkeys([*mine, *theirs])]
    return [pair for pair in pairs if pair[1] != pair[2]]


def _settings(header: Header) -> Iterator[tuple[str, str]]:
    yield "model", disclaimers.model_label(header)
    loaded = [f"loaded: {name}" for name in header.model.get("adapters", {})]
    yield "fine-tuned adapters", ", ".join([*header.scenario.get("adapters", []), *loaded]) or "none"
    for key, value in {**header.scenario, **header.scenario.get("options", {})}.items():
        if key not in (*WORDS, "options", "llm", "adapters"):
            yield key, _text(value)
    yield "prompts", ", ".join(f"{name} {digest[:8]}" for name, digest in header.prompts.items())
    yield "data", header.data[:12]
    yield "revision", header.revision
    yield "versions", ", ".join(f"{name} {version}" for name, version in header.versions.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_text(part)}" for key, part in value.items() if part not in ("", [], None))
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_table(names: Sequence[str], headers: Sequence[Header]) -> pd.DataFrame:
    """Return the settings that differ between runs: one row per setting, one column per run."""
    first, *others = names
    settings: dict[str, dict[str, str]] = {name: {} for name in names}
    for name, header in zip(others, headers[1:], strict=True):
        for setting, mine, other in differences(headers[0], header):
            settings[first][setting], settings[name][setting] = mine, other
    frame = pd.DataFrame(settings)
    for name in others:  # a setting that differs only in another run is the same as in the first
        frame[name] = frame[name].fillna(frame[first])
    return frame
