"""Sentences and planted numbers for every item of news.

An item of a language (agents/languages/<code>/topics/news) is known to the speaker of every society of that language. A society
may have a bank of its own for it (oracle/news/NAME.toml), and planted numbers in oracle/parameters.toml; those win.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.backends.oracle.bank_files import read_file

LANGUAGES = Path(__file__).parents[3] / "agents" / "languages"


class Item(NamedTuple):
    """An item of news: its title, what it is about, what the rumour claims, and the true report."""

    title: str
    subject: str
    claim: str
    report: str


def read_items(*folders: Path) -> dict[str, Item]:
    """Return the items of news in these folders (topics/news) by name; a later folder wins."""
    paths = {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}
    return {name: item for name, path in paths.items() if (item := _item(path))}


def _item(path: Path) -> Item | None:
    values = read_file(path)
    about = values.get("news")
    texts = {key: str(about.get(key, "")) for key in ("subject", "claim", "report")} if isinstance(about, dict) else {}
    return Item(str(values.get("title", "")), **texts) if texts.get("claim") else None


def sentences_on(item: Item, bank: dict[str, Any]) -> dict[str, Any]:
    """Return what the speaker says on an item, in the shape of a file oracle/topics/NAME.toml."""
    fill = {"{title}": item.title, "{claim}": item.claim}
    true, false = (_filled(bank[key], fill).lower() for key in ("true", "false"))
    claims = [{"phrase": item.claim.lower(), "direction": 1}, {"phrase": true, "direction": 1}]
    return {
        "title": item.title,
        "recognise": [item.claim.lower()],
        "stance": _filled(bank["stance"], fill),
        "labels": bank["labels"],
        "propositions": [*claims, {"phrase": false, "direction": -1}],
        "grades": {grade: [_filled(form, fill) for form in forms] for grade, forms in bank["grades"].items()},
    }


def planted_on(item: Item, bank: dict[str, Any]) -> dict[str, float]:
    """Return the planted numbers of an item: those of all items, and of its subject where they differ."""
    return {**bank["planted"], **bank.get("subjects", {}).get(item.subject, {})}


def _filled(text: str, fill: dict[str, str]) -> str:
    for slot, value in fill.items():
        text = text.replace(slot, value)
    return text
