"""Reads columns of a table (.csv, .tsv, also .gz or .bz2) as texts, without an object for each cell."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from parley.environments.edge_table import read_texts, split_header, unpacked
from parley.llm.registry import unknown_name

TABLES = (".csv", ".tsv")


def read_columns(path: str, wanted: Sequence[str]) -> pa.Table:
    """Return the wanted columns as plain texts (`plain_texts`), a row for each line below the names of columns.

    A cell without text is missing. Errors: OSError, UserError for an unknown column, ValueError for what is no table.
    """
    content, ending = unpacked(path)
    if ending not in TABLES:
        raise ValueError(f"{path} must end in {' or '.join(TABLES)}, perhaps with .gz or .bz2 after it")
    content = content.removeprefix(b"\xef\xbb\xbf")
    names, mark = split_header(content, tabs=ending == ".tsv")
    for name in wanted:
        if name not in names:
            raise unknown_name(f"column of {path}", name, names)
        if names.count(name) > 1:
            raise ValueError(f"{path} has two columns called {name}: rename one")
    table = read_texts(content, names, mark, header=True, wanted=list(dict.fromkeys(wanted)))
    return pa.table({name: plain_texts(table[name].combine_chunks()) for name in table.column_names})


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
