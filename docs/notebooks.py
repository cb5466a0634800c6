"""Runs the notebooks of docs/ and stores them with their outputs: `python docs/notebooks.py`, after a change that they show.

tests/docs/test_notebooks.py checks that what is stored is still what a notebook shows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbclient
import nbformat

NOTEBOOKS = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.ipynb"))}


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with all outputs that it has in a folder."""
    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=here).execute()
    return notebook


def results(notebook: Any) -> Any:
    """Return the notebook with tables, figures and values alone: without progress bars, messages and times."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.output_type == "execute_result"]
    notebook.metadata.pop("widgets", None)
    return notebook


def main() -> int:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1] / ".links"), *sys.path[1:]])
    for path in NOTEBOOKS.values():
        with TemporaryDirectory() as folder:
            nbformat.write(results(executed(path, Path(folder))), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
