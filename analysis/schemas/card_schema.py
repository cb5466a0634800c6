"""The schema of card.json, from the classes of a card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from parley.analysis.card.card import SCHEMA
from parley.analysis.card.estimates import COLUMNS, CardEstimate
from parley.analysis.card.sections import Quantity
from parley.analysis.card.verdicts import Verdict

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT, WHOLE, TRUTH, OBJECT = ({"type": name} for name in ("string", "integer", "boolean", "object"))
NUMBER = {"type": ["number", "null"]}
NUMBERS = {"type": "object", "additionalProperties": {"type": "number"}}
TYPES: dict[Any, dict[str, Any]] = {str: TEXT, int: WHOLE, float: NUMBER, Mapping[str, float]: NUMBERS}
"""The schema of a field by its type. A missing number is null."""


def card_schema() -> dict[str, Any]:
    """Return the JSON schema of card.json."""
    claim = closed(
        {name: TYPES[kind] for name, kind in get_type_hints(CardEstimate).items() if name in (*COLUMNS, "values")}
    )
    claim["allOf"] = [missing_has_reason("estimate", "reason")]
    texts = {"type": "array", "items": TEXT}
    counts = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
    top = {
        "schema": {"const": SCHEMA},
        "model": TEXT,
        "parties": texts,
        "note": {"type": ["string", "null"]},
        "battery": OBJECT,
        "manner": OBJECT,
        "blocks": counts,
        "calls": {"type": "integer", "minimum": 0},
        "stopped": TEXT,
        "rounded": TRUTH,
        "revision": TEXT,
        "versions": {"type": "object", "additionalProperties": TEXT},
        "warnings": texts,
        "verdicts": {"type": "array", "items": closed(_named(Verdict))},
        "sentences": texts,
        "quantities": {"type": "object", "additionalProperties": closed({"section": TEXT, **_named(Quantity)})},
        "claims": {"type": "array", "items": claim},
    }
    number = SCHEMA.rpartition("-")[2]
    return {
        "$schema": DRAFT,
        "$id": f"urn:parley:card:{number}",
        "title": f"A bias card of Parley, version {number}",
        "description": "docs/card.md explains every quantity. A missing number is null, and `reason` says why.",
        **closed(top),
    }


def _named(kind: type) -> dict[str, Any]:
    return {name: TYPES[hint] for name, hint in get_type_hints(kind).items()}


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def missing_has_reason(value: str, reason: str) -> dict[str, Any]:
    """Return the rule that a missing value has a reason."""
    return {
        "if": {"properties": {value: {"type": "null"}}},
        "then": {"properties": {reason: {"type": "string", "minLength": 1}}},
    }
