"""The command `run.py study data`: public files of people, and their conversion into the table of `study twins`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option

EXAMPLES = """study data
study data convert salvi_rct_750_pre_post_agreement.csv --layout debategpt --out people.csv"""


def parser() -> Parser:
    """Return the options of `run.py study data`."""
    options = Parser(
        "study data",
        "List public data files about people, with their content, licence, checksum, and what their "
        "conversion needs. `study data convert FILE --layout NAME --out people.csv` converts a file for "
        "`study twins`. Nothing is downloaded.",
        EXAMPLES,
        cli.out("", "FILE", "the table of people to write, with convert"),
    )
    options.add_argument(
        "what", nargs="?", choices=("list", "convert"), default="list", help="list (default) or convert"
    )
    options.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="with convert: the file or folder to convert"
    )
    add_option(options, "--layout NAME", "with convert: the layout of the file, a name that study data lists")
    about = (
        "with --layout survey: the table of the survey's questions, with the columns question, text, "
        "lowest and highest; the column labels is optional"
    )
    add_option(options, "--questions FILE", about, Path)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study data`."""
    options = parser().parse_args(words)
    if options.what == "list":
        if options.file or options.layout or options.out:
            raise UserError("to convert a file, write: study data convert FILE --layout NAME --out people.csv")
        print("\n\n".join(_described()))
        return 0
    return _convert(options)


def _described() -> list[str]:
    """Return a paragraph for each layout."""
    from .layouts import layouts

    paragraphs = []
    for layout in layouts().values():
        lines = [f"{layout.name}: {layout.title}"]
        parts = ("source", "licence", "needs", "gives", "read_here")
        titles = ("source", "licence", "needs", "gives", "tried on")
        lines += [f"  {title:<9} {getattr(layout, name)}" for title, name in zip(titles, parts, strict=True)]
        lines += [f"  sha256    {checksum}  {name}" for name, checksum in layout.files.items()]
        paragraphs.append("\n".join(lines))
    return paragraphs


def _convert(options: argparse.Namespace) -> int:
    from parley.analysis.table_export import write_csv
    from parley.llm.user_file import file_spec

    from .layouts import convert, is_known
    from .people_file import KINDS, people_table

    if not (options.file and options.layout and options.out):
        raise UserError(
            "convert needs a file, --layout NAME and --out FILE: study data convert FILE --layout debategpt --out people.csv"
        )
    if options.out.suffix != ".csv":
        raise UserError(f"--out {options.out} must end in .csv")
    people = convert(options.file, options.layout, options.questions)
    if is_known(file_spec(options.file).path, options.layout) is False:
        print(f"caution  {options.file} is not the file whose conversion was tried: its checksum differs")
    table = people_table(people)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_csv(table, options.out)
    counts = table["kind"].value_counts()
    listed = ", ".join(f"{counts[kind]:,} rows of kind {kind}" for kind in KINDS if kind in counts)
    print(f"people   {options.out}: {len(people.by_person):,} people in {len(people.by_group):,} groups; {listed}")
    return 0
