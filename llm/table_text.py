"""Reads the text of a table, also packed: encoding, separator, names of columns, rows.

Nothing is guessed that could change a value: a row with more or fewer values than the header has columns is an error, and so
are a text in a column of numbers and a column that is named twice.

Cells of a CSV that a spreadsheet program would take for a formula, such as a reply `=HYPERLINK("http://...")`.

They get an apostrophe in front, at which spreadsheet programs take a cell for text; our readers take it off again.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from parley.llm.errors import UserError
from parley.llm.trust import check_data

FORMULA = re.compile(r"'*(?:\s*[=+@-]|[\t\r])")
"""What a program may calculate, also behind the apostrophes of a text that has some itself, so that each text has a cell."""
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def as_cell(text: str) -> str:
    """Return a text as a cell. A number stays as it is.

    >>> as_cell("=1+1"), as_cell("Yes - and no"), as_cell("-1.5")
    ("'=1+1", 'Yes - and no', '-1.5')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def from_cell(cell: str) -> str:
    """Return the text of a cell.

    >>> from_cell("'=1+1"), from_cell("'tis so")
    ('=1+1', "'tis so")
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


MARKS = {",": "commas", ";": "semicolons", "\t": "tabs"}
BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
START = re.compile(rb'(?:"?sep=.[^\r\n]*)?[\r\n]*')
"""What may precede the header: the line with which spreadsheet programs name the mark, and blank lines."""
LONGEST = 1000
"""Characters that the name of a column may have."""
LINE_END = re.compile(rb"[\r\n]")
MADE_BY = {
    b"PK\x03\x04": "an Excel workbook or a zip archive", b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"%PDF": "a PDF", b"PAR1": "a Parquet file", b"$FL2": "an SPSS file", b"SQLite": "a database", b"\x1f\x8b": "a gzip file",
}  # fmt: skip
"""How files begin that are no text."""
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
"""Bytes that a text in Windows-1252 does not have."""
IMPORT_ID = re.compile(r"""\{\s*["']ImportId["']""")
"""How the cells of Qualtrics' last header row begin."""
PLATFORM_ROWS = 2
"""Header rows of Qualtrics below the names of the columns: the text of each question, and its ImportId."""
UNPACK: Mapping[str, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
}
LARGE, RATIO = 1 << 26, 100
"""A packed file that unpacks to more than LARGE bytes and to more than RATIO times its own is no table: those shrink to a third
or a tenth.
"""
csv.field_size_limit(2**31 - 1)  # a cell may hold a whole debate; the default is 128 kB


class TableText(NamedTuple):
    """A table as text.

    file: its name, for messages. names: of its columns, "" for a column without one. mark: between columns. body: the rows below
    the header, in UTF-8. first: the number of the first of these rows; the header is row 1.
    """

    file: str
    names: list[str]
    mark: str
    body: bytes
    first: int

    def row_of(self, name: str, value: str) -> int:
        """Return the number of the first row that has a value in a column; 0 if none has."""
        place = self.names.index(name)
        return next((number for number, row in self.rows() if row[place] == value), 0)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the values of each row that has any; values beyond the header may only be empty. The apostrophe
        that Parley puts before a formula (llm/table_text.py) is taken off.

        Errors: UserError that names the row.
        """
        for number, row in enumerate(_records(self.body, self.mark, self.file, self.first), self.first):
            if not any(row):
                continue
            if len(row) < len(self.names) or any(row[len(self.names) :]):
                raise UserError(
                    f"{self.file}, row {number}: it has {len(row)} values, but the header names {len(self.names)} columns: give "
                    f"each row one value per column, and put texts with {MARKS[self.mark]} in quotation marks"
                )
            yield number, [from_cell(value) for value in row[: len(self.names)]]


def unpacked(path: Path | str) -> tuple[bytes, str]:
    """Return the bytes of a file and its ending in lower case, unpacked if it is packed.

    Errors: ValueError for a packed file that is far larger than its size lets expect; OSError, EOFError or zlib.error for one
    that is damaged.
    """
    check_data(path)
    place = Path(path)
    content = place.read_bytes()
    if unpack := UNPACK.get(place.suffix.lower()):
        most = max(LARGE, RATIO * len(content))
        with unpack(io.BytesIO(content)) as packed:
            content = packed.read(most + 1)
        if len(content) > most:
            raise ValueError(
                f"it has more than {most:,} bytes when unpacked, {RATIO} times its size: unpack it, and give the plain file"
            )
        return content, Path(place.stem).suffix.lower()
    return content, place.suffix.lower()


def utf8(content: bytes, file: str) -> bytes:
    """Return a text as UTF-8 without a byte order mark; say on stderr if it is read as Windows-1252.

    Errors: UserError for a file that is no text.
    """
    encoding = next((name for bom, name in BOMS.items() if content.startswith(bom)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = _from_windows(content, file) if encoding == "utf-8" and not CONTROL.search(content) else "\0"
    if "\0" in text:
        made_by = next((f" but {what}" for start, what in MADE_BY.items() if content.startswith(start)), "")
        raise UserError(f"{file} is not a text file{made_by}: save the table as CSV (UTF-8), and give that file")
    return text.encode(errors="replace")


def _from_windows(content: bytes, file: str) -> str:
    """Return a text that is not UTF-8, as Windows-1252; NUL if it is not that either."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return "\0"
    _say_once(
        f"{file} is not UTF-8: it is read as Windows-1252 (Latin-1). Check its accents, or save it as CSV (UTF-8)."
    )
    return text


@lru_cache(maxsize=64)
def _say_once(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def table_text(content: bytes, file: str, wanted: Collection[str] = ()) -> TableText:
    """Return the header and the rows of a table. The mark is the one with which the header has most of the wanted columns.

    Header rows of Qualtrics are left out. Errors: UserError for a file that is empty or no table.
    """
    plain = utf8(content, file)
    start = START.match(plain)
    assert start is not None  # the pattern also fits nothing
    plain, header = plain[start.end() :], 1 + start[0].count(b"\n")
    if not plain.strip():
        raise UserError(f"{file} is empty: give a table whose first row names the columns")
    first_line = LINE_END.split(plain, maxsplit=1)[0].decode()
    mark = max(MARKS, key=lambda candidate: _fit(first_line, candidate, wanted))
    names = [" ".join(name.split()) for name in next(_records(plain, mark, file, header))]
    if long := [name for name in names if len(name) > LONGEST]:
        raise UserError(
            f"{file}: its first row must name the columns, but the name {long[0][:20]!r}... has {len(long[0]):,} characters"
        )
    skipped = 1 + _platform_rows(plain, mark, file)
    while len(names) > 1 and not names[-1]:
        names.pop()
    return TableText(file, names, mark, _after(plain, mark, skipped), header + skipped)


def _fit(first_row: str, mark: str, wanted: Collection[str]) -> tuple[int, int]:
    """Return how many wanted columns a header has with this mark, and how many columns."""
    names = [name.strip().lower() for name in next(csv.reader([first_row], delimiter=mark), [])]
    return sum(name.lower() in names for name in wanted), len(names)


def _records(content: bytes, mark: str, file: str, number: int) -> Iterator[list[str]]:
    """Yield the values of each row without spaces around them; a blank line is a row without values.

    number: of the first row. Errors: UserError.
    """
    reader = csv.reader(_lines(content), delimiter=mark, strict=True)
    try:
        for row in reader:
            yield [value.strip() for value in row]
            number += 1
    except csv.Error as error:
        raise UserError(
            f"{file}, row {number}: {error}: put the text in quotation marks, and double each quotation mark within it"
        ) from error


def _lines(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _platform_rows(content: bytes, mark: str, file: str) -> int:
    """Return how many rows below the header are of a survey platform and hold no answers."""
    rows = _records(content, mark, file, 1)
    next(rows)
    for number, (row, _) in enumerate(zip(rows, range(PLATFORM_ROWS), strict=False), 1):
        if any(IMPORT_ID.match(value) for value in row):
            return number
    return 0


def _after(content: bytes, mark: str, rows: int) -> bytes:
    """Return what follows so many rows."""
    taken = 0

    def counted() -> Iterator[str]:
        nonlocal taken
        for line in _lines(content):
            taken += len(line.encode())
            yield line

    reader = csv.reader(counted(), delimiter=mark, strict=True)
    for _ in range(rows):
        next(reader)
    return content[taken:]
