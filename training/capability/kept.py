"""Capability that was measured: a file for each model, adapter and set of tasks, so that a resumed sweep asks nothing again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from parley.agents.datafiles import save
from parley.llm.backends.hf.weights import adapter_weights, fingerprint
from parley.llm.randomness import digest
from parley.training.capability.harness import Score
from parley.training.capability.measure import SEED, Capability


def kept(measure: Callable[[str, str], Capability], folder: Path, settings: str) -> Callable[[str, str], Capability]:
    """Return `measure` with a memory in `folder`. settings: tasks, limit and precision, in any words.

    The name of a file is the digest of the model (its weights, where it is a folder), the adapter's weights, the settings and the
    version of the harness: another one of these is measured anew.
    """

    def remembered(model: str, adapter: str) -> Capability:
        path = folder / f"{_key(model, adapter, settings)}.json"
        if path.is_file():
            return _read(path)
        found = measure(model, adapter)
        part = save(path.with_suffix(".part"), json.dumps(asdict(found), indent=1))
        part.replace(path)
        return found

    return remembered


def _key(model: str, adapter: str, settings: str) -> str:
    weights = fingerprint(Path(model)) if Path(model).is_dir() else ""
    learned = adapter_weights(Path(adapter)) if adapter else ""
    try:
        harness = version("lm_eval")
    except PackageNotFoundError:
        harness = ""
    return digest(Path(model).name if weights else model, weights, learned, settings, harness, str(SEED)).hex()


def _read(path: Path) -> Capability:
    values = json.loads(path.read_text(encoding="utf-8"))
    return Capability(**{**values, "scores": tuple([Score(**one) for one in values["scores"]])})
