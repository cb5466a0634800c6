"""The published files of the schemas, in the folder of this module; `python -m parley.analysis.schemas.published` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parley.analysis.schemas.card_schema import card_schema
from parley.analysis.schemas.table_schema import VERSION, table_schema

FOLDER = Path(__file__).parent
CARD, TABLES = FOLDER / "card-4.schema.json", FOLDER / f"tables-{VERSION}.schema.json"


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=1, ensure_ascii=True) + "\n"


def write_schemas() -> None:
    """Write both schemas anew."""
    for path, schema in ((CARD, card_schema()), (TABLES, table_schema())):
        path.write_text(schema_text(schema), encoding="utf-8")


def read_schema(path: Path) -> dict[str, Any]:
    """Return a published schema."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    write_schemas()
