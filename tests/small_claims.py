"""The file of a claim, with changes, as tests of claims and of what audits share write it."""

from __future__ import annotations

from pathlib import Path

TEXT = """
claim = "Agents in one-sided rooms agree more than agents in mixed rooms."
scenario = "three_way"
settings = ["rounds=1"]
outcome = "polarisation.variance"
expected = "less"
smallest = 1.0

[contrast]
first = ["environment=groups"]
second = []

[population]
personas = ["enhanced", "simple"]
topics = ["racism", "gun_violence"]
models = ["oracle"]
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text, path = TEXT, folder / "claim.toml"
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def written_small(folder: Path) -> Path:
    """A claim of four specifications: eight runs."""
    fixed = [
        "probe=attitude",
        "memory=whole",
        "survey=ends",
        "temperature=1",
        "listing=given",
        "frame=debate",
        "spacing=given",
    ]
    settings = ", ".join(f'"{one}"' for one in ("rounds=1", *fixed))
    fewer = (('"racism", "gun_violence"', '"racism"'), ('"enhanced", "simple"', '"simple"'))
    return written(folder, ('"rounds=1"', f'{settings}, "wording=second"'), *fewer)
