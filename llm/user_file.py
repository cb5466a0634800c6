"""Reads a table of the user's, of any format, as texts and numbers (docs/files.md).

CSV of any common make, also packed (.csv.gz, .csv.bz2), JSON lines, Parquet, SPSS, Stata and Excel.

A file may be followed by options, wherever a command takes a table:

    survey.csv,columns=(Q1:answer,ResponseId:person)   what its columns are called here: THEIRS:OURS
    survey.csv,missing=(99,-1,refused)                 values that are no answer

All errors are UserErrors of one line that names the file, the row (as a spreadsheet program numbers it: the header is row 1; in
JSON lines, the line), the column and what to do.
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.errors import UserError, unknown_name
from parley.llm.spec import parse_spec
from parley.llm.table_text import table_text, unpacked
from parley.llm.trust import check_data, own_or_copy


def user_cache() -> Path:
    """Return the folder of the user's cache: that of XDG_CACHE_HOME, else of ~/.cache. It need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parley"


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
CODE = r"([+-]?\d+)(?: *[=:] *| +[-–—] +| *\()"
"""A code before its words, as survey platforms write the ends of a scale: `10 - A very big problem`, `0 (not at all)`."""
LABELLED = re.compile(rf"{CODE}[^\W\d_].*")
NONE = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "None", "."))
"""What programs write for a number that is missing. In a column of texts these are texts."""
OPTIONS = ("columns", "missing")
SPEC = re.compile(r"(?P<path>.+?\.\w+),(?P<options>\w+=.*)", re.DOTALL)
EXTRA = "install it with: pip install 'parley-debates[survey]', or save the table as CSV (UTF-8)"


class FileSpec(NamedTuple):
    """A file with its options. columns: our name of each column that is called otherwise in the file."""

    path: Path
    columns: Mapping[str, str]
    missing: frozenset[str]


def file_spec(given: Path | str) -> FileSpec:
    """Split FILE[,columns=(THEIRS:OURS,...)][,missing=(VALUE,...)]. Errors: UserError.

    >>> file_spec("a.csv,columns=(Q1:answer),missing=(99,-1)").columns
    {'Q1': 'answer'}
    """
    match = SPEC.fullmatch(str(given))
    if not match or Path(given).exists():
        return FileSpec(Path(given), {}, frozenset())
    options = parse_spec(f"file,{match['options']}").options
    if unknown := [name for name in options if name not in OPTIONS]:
        raise unknown_name(f"option of the file {match['path']}", unknown[0], OPTIONS)
    columns = {}
    for entry in _entries(options.get("columns", "")):
        theirs, _, ours = entry.rpartition(":")
        if not theirs or not ours:
            raise UserError(f"{given}: {entry!r} in columns must be THEIRS:OURS, such as columns=(Q1:answer)")
        columns[theirs.strip()] = ours.strip()
    return FileSpec(Path(match["path"]), columns, frozenset(_entries(options.get("missing", ""))))


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


@dataclass(frozen=True)
class UserTable:
    """The columns of a user's table, with values as the file has them: texts of a CSV, any value of JSON.

    file: its name, for messages. rows: the number of each row. comma: whether numbers may have a decimal comma. labels: by
    column, the words of its codes, as SPSS and Stata keep them. missing: values that are no answer.
    """

    file: str
    columns: Mapping[str, Sequence[Any]]
    rows: Sequence[int]
    comma: bool = False
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()

    def texts(self, name: str, key: bool = False) -> list[str]:
        """Return a column as texts on one line each; a missing value is "". key: in a column of names, no value means missing.

        Errors: UserError for a list or an object.
        """
        labels, missing = self.labels.get(name, {}), frozenset() if key else self.missing
        texts = []
        for row, value in zip(self.rows, self.columns[name], strict=True):
            if isinstance(value, list | dict):
                raise UserError(
                    f"{self.file}, row {row}: {name} is a list or an object, but must be a text or a number: "
                    "correct it, or leave the column out"
                )
            text = _text(labels.get(value, value))
            texts.append("" if missing and (text in missing or _text(value) in missing) else text)
        return texts

    def numbers(self, name: str, low: float = -math.inf, high: float = math.inf, advice: str = "") -> list[float]:
        """Return a column as numbers; a missing one is NaN. advice: what to do about a number beyond `low` and `high`.

        Errors: UserError for a value that is no number, or not from `low` to `high`.
        """
        texts = replace(self, labels={}).texts(name)
        if self.comma and not any("." in text for text in texts if NUMBER.fullmatch(text)):
            texts = [text.replace(",", ".") if COMMA.fullmatch(text) else text for text in texts]
        numbers = []
        for row, text in zip(self.rows, texts, strict=True):
            code = LABELLED.fullmatch(text)
            number = math.nan if text in NONE else _number(code[1] if code else text)
            if number is None or number < low or number > high:
                limits = "" if (low, high) == (-math.inf, math.inf) else f" {within(low, high)}"
                raise UserError(
                    f"{self.file}, row {row}: {name} must be a number{limits}, or empty if it is missing, not {text!r}"
                    f"{f': {advice}' if advice else f'. If {text} is no answer, add missing=({text}) after the file'}"
                )
            numbers.append(number)
        return numbers


def within(low: float, high: float) -> str:
    """Say between which ends a number must be.

    >>> within(0, 10), within(0, math.inf)
    ('from 0 to 10', 'of 0 or more')
    """
    return f"of {low:g} or more" if high == math.inf else f"from {low:g} to {high:g}"


def _text(value: object) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return " ".join(str(value).split())


def _number(text: str) -> float | None:
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def read_user_table(given: Path | str, needed: Sequence[str] = (), page: str = "") -> UserTable:
    """Return the table of a file, with the columns that `needed` names, and perhaps more. page: of the docs, for messages.

    Errors: UserError for a file that cannot be read, lacks a column, names a column twice, or has no rows.
    """
    spec = file_spec(given)
    theirs = {ours: name for name, ours in spec.columns.items()}
    table = _open(spec, [theirs.get(name, name) for name in needed])
    names = [name for name in table.columns if name]
    if unknown := [name for name in spec.columns if name not in names]:
        raise unknown_name(f"column of {spec.path}", unknown[0], names)
    used = [name for name in names if name in spec.columns or name not in theirs]
    columns = {spec.columns.get(name, name): table.columns[name] for name in used}
    hint = f" ({page})" if page else ""
    if lacking := [name for name in needed if name not in columns]:
        shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise UserError(
            f"{spec.path} lacks the column {lacking[0]}: it has {shown or 'none'}, but needs {', '.join(needed)}. Rename a "
            f"column, or write {spec.path},columns=(THEIRS:{lacking[0]}), where THEIRS is the column's name in your file{hint}"
        )
    if not table.rows:
        raise UserError(f"{spec.path} has no rows below its header: give at least one row{hint}")
    labels = {spec.columns.get(name, name): words for name, words in table.labels.items()}
    return UserTable(table.file, columns, table.rows, table.comma, labels, spec.missing)


def _open(spec: FileSpec, wanted: Sequence[str]) -> UserTable:
    """Return the table of a file under its own names. Errors: UserError."""
    path, ending = own_or_copy(spec.path), spec.path.suffix.lower()
    check_data(path)
    try:
        if reader := READERS.get(ending):
            return reader(path)
        content, ending = unpacked(path)
        if ending in READERS:
            raise UserError(
                f"{path} is packed, but only a CSV file may be packed: unpack it, and give the file {path.stem}"
            )
        return _from_text(content, str(path), wanted)
    except ImportError as error:
        raise UserError(f"{path} needs the library {error.name}, which is not installed: {EXTRA}") from error
    except (OSError, EOFError, zlib.error, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UserError(f"cannot read {path}: {' '.join(why.split())}") from error


def _from_text(content: bytes, file: str, wanted: Sequence[str]) -> UserTable:
    text = table_text(content, file, wanted)
    rows = list(text.rows())
    names = refuse_twice(text.names, file)
    columns = {name: [row[place] for _, row in rows] for place, name in enumerate(names) if name}
    return UserTable(file, columns, [number for number, _ in rows], comma=text.mark == ";")


def refuse_twice(names: Sequence[str], file: str) -> Sequence[str]:
    """Return the names of columns. Errors: UserError if a name is there twice, or if there is none."""
    if twice := [name for place, name in enumerate(names) if name and name in names[:place]]:
        raise UserError(f"{file} has two columns called {twice[0]}: rename or remove one")
    if not any(names):
        raise UserError(f"{file} has no header: its first row must name the columns")
    return names


def _from_json(path: Path) -> UserTable:
    """Return the table of JSON lines: an object a line, or (.json) one list of objects."""
    file, records = str(path), dict[int, Any]()
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            records = dict(enumerate(json.loads(text), 1))
        else:
            for number, line in enumerate(text.split("\n"), 1):
                if line.strip():
                    records[number] = json.loads(line)
    except (ValueError, TypeError, RecursionError) as error:
        where = f"{file}, row {len(records) + 1}" if len(records) else file
        raise UserError(
            f"{where} is not a file of JSON lines with one object per line: {str(error).splitlines()[0]}"
        ) from error
    for number, record in records.items():
        if not isinstance(record, dict):
            raise UserError(f'{file}, row {number}: each line must be a JSON object, such as {{"text": "Hello"}}')
    names = list(dict.fromkeys(name for record in records.values() for name in record))
    columns = {name: [record.get(name) for record in records.values()] for name in names}
    return UserTable(file, columns, list(records))


def _from_frame(read: Callable[[Path], Any], path: Path) -> UserTable:
    """Return the table that a library reads; a file that it cannot read is an error of one line."""
    try:
        frame, labels = read(path)
    except (ImportError, OSError):
        raise
    except Exception as error:  # each library has errors of its own
        why = " ".join(str(error).split()) or repr(error)
        raise UserError(f"{path} cannot be read as {path.suffix}: {why}") from error
    columns = {
        str(name): frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns
    }
    refuse_twice(list(columns), str(path))
    return UserTable(str(path), columns, [number + 2 for number in range(len(frame))], labels=labels)


def _parquet(path: Path) -> tuple[Any, Mapping[str, Any]]:
    return import_module("pandas").read_parquet(path), {}


def _excel(path: Path) -> tuple[Any, Mapping[str, Any]]:
    import_module("python_calamine")
    return import_module("pandas").read_excel(path, engine="calamine", keep_default_na=False, na_values=[""]), {}


def _statistics(reader: str, path: Path) -> tuple[Any, Mapping[str, Any]]:
    """Read SPSS or Stata: values as codes, with the words of each code; what the file declares as missing is missing."""
    frame, about = getattr(import_module("pyreadstat"), reader)(str(path))
    return frame, about.variable_value_labels


READERS: Mapping[str, Callable[[Path], UserTable]] = {
    ".jsonl": _from_json,
    ".json": _from_json,
    ".parquet": partial(_from_frame, _parquet),
    ".xlsx": partial(_from_frame, _excel),
    ".sav": partial(_from_frame, partial(_statistics, "read_sav")),
    ".zsav": partial(_from_frame, partial(_statistics, "read_sav")),
    ".dta": partial(_from_frame, partial(_statistics, "read_dta")),
}
