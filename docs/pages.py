"""Pages that are generated: scenarios, from presets and docs/presets.md; studies, from declarations; fields; keys; lists."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FLOORS = ("agents", "analysis", "training", "studies")
"""Where there are prompts."""
TWO = ("--topic", "climate_change,illegal_immigration", "--repetitions", "10")
FEW = ("--repetitions", "4")
SHRUNK = dict.fromkeys(("consensus", "consensus_habermas", "representatives"), FEW) | {
    "network": ("--repetitions", "2"),
    "platform": ("--repetitions", "2"),
    "group_polarisation": ("--repetitions", "5", "--set", "size=20"),
    "herd_effect": ("--repetitions", "5"),
    "spread": ("--repetitions", "5"),
    "emotion_spread": ("--repetitions", "5", "--set", "size=20", "--set", "graph=blocks,degree=4"),
    "public_opinion": ("--repetitions", "2"),
    "fake_news": ("--repetitions", "2"),
    "news_evolution": ("--repetitions", "2"),
    "structured_debate": ("--topic", "illegal_immigration", "--repetitions", "4"),
    "intervention": ("--repetitions", "10"),
    "persuasion": ("--repetitions", "10"),
    "recollection": ("--repetitions", "10"),
    "honesty": ("--repetitions", "20"),
    "gun_polarisation": ("--repetitions", "2"),
    "inflammatory": ("--repetitions", "2"),
    "basic_income": ("--repetitions", "2"),
    "hurricane": ("--repetitions", "2"),
    "days": ("--repetitions", "5"),
}
"""Options with which the figure of a preset is drawn, in addition to --llm oracle, where not TWO: fewer than the preset has."""
OF_STUDIES = ("--repetitions", "40")
"""The same for presets of studies."""


class Notes(NamedTuple):
    """What docs/presets.md says of a preset: its row (command, measured) and its paragraph of departures ("" for none)."""

    command: str = ""
    measured: str = ""
    departures: str = ""


def presets() -> list[str]:
    """Every preset, sorted."""
    return sorted(_files())


def _files() -> Mapping[str, Path]:
    files: Mapping[str, Path] = importlib.import_module("parley.model.scenario").preset_files()
    return files


def shrunk(name: str) -> tuple[str, ...]:
    """The options of the run that draws the figure of a preset."""
    return SHRUNK.get(name, OF_STUDIES if "studies" in _files()[name].parts else TWO)


def notes(name: str) -> Notes:
    """Read out of the table and the departures of docs/presets.md."""
    text = (ROOT / "docs" / "presets.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{name}` \|(.*)\|$", text, re.M)
    told = re.search(rf"^\*\*{name}\.\*\* (.*?)(?:\n\n|\Z)", text, re.M | re.S)
    _, command, measured = [cell.strip() for cell in row[1].split(" | ")] if row else ("", "", "")
    return Notes(command, measured, told[1].strip() if told else "")


def scenario_page(name: str) -> str:
    """The page of a preset, in Markdown; its figure is in the same folder, as NAME.svg."""
    text = _files()[name].read_text(encoding="utf-8")
    preset, said = tomllib.loads(text), notes(name)
    environment = preset.get("environment", "places")  # a preset with a topology or with stages leaves it out
    drawn = " ".join(["python run.py --scenario", name, "--llm oracle", *shrunk(name)])
    parts = [
        f"# {name}",
        f"{preset['title']}.",
        f"**Source.** {preset['source']}.",
        f"**Run it.** {said.command or f'`python run.py --scenario {name}`'}.",
        f"**Measured.** {said.measured}." if said.measured else "",
        f"![The main figure of {name}](scenarios/{name}.svg)",
        f"*`{drawn}`: fewer rooms than the preset holds, on the rule-based speaker, whose bias is planted (docs/oracle.md). "
        "It shows what the figure looks like and that the procedure finds what was planted, nothing about people.*",
        f"## Departures from the source\n\n{said.departures}" if said.departures else "",
        "## The preset\n\nEvery field that it leaves out has the default of docs/fields.md; `--set field=value` sets any.",
        f"```toml\n{text}```",
        f"## The environment `{environment}`\n\n```text\n{_manual(environment)}\n```",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _manual(environment: str) -> str:
    kind = importlib.import_module("parley.environments").environment_class(environment)
    return inspect.getdoc(inspect.getmodule(kind)) or ""


def fields_page() -> str:
    """All fields of a scenario with defaults and what the source says about them."""
    rows = [f"| `{name}` | `{default}` | {says} |" for name, default, says in fields() if default]
    return (
        "# Fields of a scenario\n\nWhat a preset can name and `--set field=value` can set, from `model/scenario_blocks.py`. "
        "An environment has options of its own, set the same way: they are on the page of each scenario.\n\n"
        "| field | default | what it is |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def society_keys_page() -> str:
    """Every key of the files of a society, from agents/society_keys.toml; docs/societies.md has those of a party."""
    tables = tomllib.loads((ROOT / "agents" / "society_keys.toml").read_text(encoding="utf-8"))
    parts = [
        "# Keys of a society\n\nThe files of a society and what they hold (docs/societies.md). A key is required if its last "
        'column is empty. For any other key Parley stops with one line, such as "unknown key in society.toml of mycountry '
        "'demonim': did you mean demonym?\". The keys of `parties/<code>.toml` are under [Add a party](societies.md#add-a-party)."
    ]
    for title, rows in tables.items():
        lines = [f"| {' | '.join(cells)} |" for cells in rows]
        head = "| key | what it holds | example | without the key |\n|---|---|---|---|\n"
        parts.append(f"## {title}\n\n{head}" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def fields() -> list[tuple[str, str, str]]:
    """(name, default, explanation) of each field of Scenario and of its blocks: the comment within its lines."""
    return [field for file in ("scenario_blocks", "scenario") for field in _fields_in(ROOT / "model" / f"{file}.py")]


def _fields_in(path: Path) -> list[tuple[str, str, str]]:
    text = path.read_text(encoding="utf-8")
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    kinds = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name != "EnvironmentSpec"]
    found = []
    for node in (node for kind in kinds for node in kind.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            says = " ".join(comments[line] for line in lines if line in comments).replace("|", "\\|")
            if node.target.id not in (
                "environment_spec",
                "options",
                "subject",
                "people",
                "surveys",
                "speech",
                "models",
            ):
                found.append((node.target.id, ast.unparse(node.value) if node.value else "", says))
    return found


def trees(index: str) -> str:
    """The lists of pages that Sphinx wants, in the order of docs/index.md: one for each heading, of the links under it."""
    made = []
    for section in re.split(r"^## ", index, flags=re.M)[1:]:
        caption, _, body = section.partition("\n")
        pages = re.findall(r"\]\(([\w/]+)\.md\)", body)
        made.append(tree(pages, f":caption: {caption}\n"))
    return "\n" + "\n\n".join(made) + "\n"


def tree(pages: Iterable[str], more: str = "") -> str:
    """A list of pages for Sphinx, which shows it in the margin alone."""
    return f"```{{toctree}}\n:hidden:\n{more}\n" + "\n".join(pages) + "\n```"


def with_pages(text: str) -> str:
    """docs/presets.md with each preset's name leading to its page."""
    for name in presets():
        text = text.replace(f"| `{name}` |", f"| [`{name}`](scenarios/{name}.md) |")
    return f"{text}\n{tree(f'scenarios/{name}' for name in presets())}\n"


def study_pages() -> list[Path]:
    """The page of each study of this repository: its README."""
    return sorted((ROOT / "studies").glob("*/README.md"))


def studies_page() -> str:
    """Every command of every study under its question, with its page."""
    found = importlib.import_module("parley.llm.studies")
    studies = [study for study in found.studies().values() if study.package.startswith(f"{found.PACKAGE}.")]
    parts = [
        "# Studies by question\n\nA study is one folder with its people, its measure, its report and its tests. "
        "`run.py study NAME --help` explains its options, and docs/extending.md shows how to write one."
    ]
    for question in found.QUESTIONS:
        rows = [
            f"| `{command.name}` | {command.about} | [{study.folder.name}](studies/{study.folder.name}.md) |"
            for study in studies
            for command in study.commands
            if command.group == question
        ]
        if rows:
            parts.append(
                f"## {question}\n\n| `run.py study` | what it does | page |\n|---|---|---|\n" + "\n".join(sorted(rows))
            )
    parts.append(tree(f"studies/{path.parent.name}" for path in study_pages()))
    return "\n\n".join(parts) + "\n"


CODE = ("llm", "agents", "environments", "model", "analysis", "training", "studies", "benchmarks", "tools")
"""Folders of the code, from the lowest floor to the highest, then studies and what is not installed."""


def product_files() -> list[Path]:
    """Every Python file of the code, without tests."""
    found = [path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if "tests" not in path.relative_to(ROOT).parts]


def code_page() -> str:
    """A line for each file of the code: the first of its docstring."""
    parts = [
        "# Files of the code\n\nThe first line of each file, from the lowest floor up. "
        "docs/architecture.md shows how they work together."
    ]
    for folder in CODE:
        files = [path for path in product_files() if path.relative_to(ROOT).parts[0] == folder]
        rows = [f"| `{_name(path)}` | {_first_line(path)} |" for path in files if _first_line(path)]
        parts.append(f"## {folder}\n\n| file | what it does |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _name(path: Path) -> str:
    """The path of a file, that of a folder for its `__init__.py`."""
    return str(path.relative_to(ROOT)).replace("__init__.py", "")


def _first_line(path: Path) -> str:
    told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return told.split("\n")[0].replace("|", "\\|").replace("<", "\\<")


def prompts_page() -> str:
    """Every prompt as it is sent, with its digest."""
    sys.path.insert(0, str(ROOT))
    from parley.llm.prompts import prompt

    parts = [
        "# Prompts\n\nEvery prompt of the package, all in our own words. Words in braces are filled in; the digest of an "
        "agent's prompt is in the header of each record."
    ]
    for folder in sorted({path.parent for floor in FLOORS for path in (ROOT / floor).rglob("*.txt")}):
        parts.append(f"## {folder.relative_to(ROOT)}")
        for path in sorted(folder.glob("*.txt")):
            one = prompt(folder, path.stem)
            parts.append(f"### {path.stem}\n\nDigest `{one.digest}`.\n\n```text\n{one.text}\n```")
    return "\n\n".join(parts) + "\n"
