"""Reads columns of a table (.csv, .tsv, also .gz or .bz2, and other formats) as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from parley.environments.edge_table import Floats, as_numbers, read_texts, row_words
from parley.llm.registry import unknown_name
from parley.llm.table_text import TableText, table_text, unpacked
from parley.llm.user_file import CODE, READERS, read_user_table

TABLES = (".csv", ".tsv")


class TextColumns(NamedTuple):
    """Columns of a table as plain texts (`plain_texts`), a row for each line below the names of columns; a cell without text is
    missing. text: what was read; None for a format that is no text.
    """

    table: pa.Table
    text: TableText | None

    def numbers(self, texts: pa.ChunkedArray, name: str, what: str) -> Floats:
        """Return texts of a column as numbers, NaN where they are missing; `10 - A very big problem` is 10.

        Errors: ValueError that names the row.
        """
        texts = pc.replace_substring_regex(texts, rf"^{CODE}\pL.*$", r"\1")
        if self.text is None:
            return as_numbers(texts, what)
        return as_numbers(texts, what, self.text.mark == ";", partial(row_words, self.text, name))


def read_columns(path: str, wanted: Sequence[str]) -> TextColumns:
    """Return the wanted columns of a table of any format (docs/files.md), coded answers as their codes.

    Errors: OSError, UserError for an unknown column or a row that is torn, ValueError for what is no table.
    """
    if Path(path).suffix.lower() in READERS:
        given = replace(read_user_table(path, wanted), labels={})
        return TextColumns(pa.table({name: _plain(given.texts(name)) for name in wanted}), None)
    content, ending = unpacked(path)
    if ending not in TABLES:
        raise ValueError(f"the name {path} must end in {', '.join((*TABLES, *READERS))} or .csv.gz")
    text = table_text(content, path, wanted)
    for name in wanted:
        if name not in text.names:
            raise unknown_name(f"column of {path}", name, [name for name in text.names if name])
        if text.names.count(name) > 1:
            raise ValueError(f"{path} has two columns called {name}: rename one")
    table = read_texts(text, list(dict.fromkeys(wanted)))
    return TextColumns(pa.table({name: plain_texts(table[name].combine_chunks()) for name in table.column_names}), text)


def _plain(texts: Sequence[str]) -> pa.Array:
    return plain_texts(pa.array(texts, pa.string()))


def plain_texts(texts: pa.Array) -> pa.Array:
    """Return texts without spaces around them, and whole numbers without decimals (99.0 is 99); empty texts are missing."""
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^(-?\d+)\.0+$", r"\1")
    return without(plain, [""])


def without(texts: pa.Array, values: Sequence[str]) -> pa.Array:
    """Return texts in which these values are missing.

    >>> without(pa.array(["1", "99"]), ["99"]).to_pylist()
    ['1', None]
    """
    return pc.if_else(pc.is_in(texts, value_set=pa.array(values, pa.string())), pa.scalar(None, pa.string()), texts)
