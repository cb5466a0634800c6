"""What a docstring names is there, and its examples give what they print: a reader must not end in a file of yesterday."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ("llm", "agents", "environments", "model", "analysis", "training", "studies", "tools")
OPTIONAL = {"torch", "transformers", "peft", "trl", "solara", "inspect_ai", "datasets", "gguf"}
"""Packages that a small installation lacks; examples of modules that need them run with the local suite."""
OTHERS = {"types.py", "run.py", "app.py", "coin.py", "mine.py"}
"""Files of other projects, of the top level and of examples."""


def modules() -> list[Path]:
    files = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
    return [path for path in files if "tests" not in path.relative_to(ROOT).parts]


@pytest.mark.thorough
def test_files_that_a_docstring_names_are_there() -> None:
    """A bare `name.py` is beside the file or one folder up or down; with a folder it is at that path."""
    missing = []
    for path in modules():
        for name in re.findall(
            r"(?<![\w/.*:])([\w/]+\.py)\b", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        ):
            near = [path.parent / name, path.parent.parent / name, ROOT / name, *path.parent.glob(f"*/{name}")]
            if name not in OTHERS and not any(one.exists() for one in near):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


def test_names_that_a_package_lists_are_there() -> None:
    """`from parley.environments import *` must not fail on a name that is gone."""
    missing = []
    for path in modules():
        if path.name != "__init__.py" or "__all__" not in path.read_text("utf-8"):
            continue
        package = importlib.import_module("parley." + ".".join(path.parent.relative_to(ROOT).parts))
        missing += [f"{package.__name__}.{name}" for name in package.__all__ if not hasattr(package, name)]
    assert missing == []


@pytest.mark.thorough
def test_examples_give_what_they_print() -> None:
    """Every `>>>` of the package is run, as a reader would type it."""
    tried, wrong = 0, []
    for path in modules():
        if ">>>" not in path.read_text("utf-8"):
            continue
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = importlib.import_module(f"parley.{name}")
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            continue
        found: list[str] = []
        runner = doctest.DocTestRunner(verbose=False)
        for examples in doctest.DocTestFinder().find(module, module.__name__):
            runner.run(examples, out=found.append)
        tried += runner.tries
        wrong += ["".join(found)] if found else []
    assert wrong == []
    assert tried > 300
