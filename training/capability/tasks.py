"""Items as tasks of lm-evaluation-harness: a .yaml and a .jsonl file each, in a folder of our own. No network is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from parley.llm.request import Message
from parley.training.capability.completions import completions
from parley.training.capability.facts import facts
from parley.training.capability.items import TaskItem

LOCAL: Mapping[str, Callable[[int], list[TaskItem]]] = {"pocket_facts": facts, "pocket_sentences": completions}
"""Tasks by name: seed to items."""
METRICS = {"pocket_facts": ("acc",), "pocket_sentences": ("acc", "acc_norm")}
"""As in MMLU and in HellaSwag."""


def write_tasks(name: str, folder: Path, prompt: Callable[[tuple[Message, ...]], str], seed: int) -> None:
    """Write a task's two files. `prompt` puts a chat into the model's own format, so the harness is to apply no template."""
    items = folder / f"{name}.jsonl"
    rows = [json.dumps(_row(item, prompt(item.messages)), ensure_ascii=False) for item in LOCAL[name](seed)]
    items.write_text("\n".join(rows) + "\n", encoding="utf-8")
    # JSON is YAML as well, and quotes whatever stands in a path
    (folder / f"{name}.yaml").write_text(json.dumps(_settings(name, items, folder)), encoding="utf-8")


def _row(item: TaskItem, asked: str) -> dict[str, Any]:
    return {"kind": item.kind, "begun": asked + item.start, "choices": list(item.choices), "answer": item.answer}


def _settings(name: str, items: Path, folder: Path) -> dict[str, Any]:
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(items)}, "cache_dir": str(folder / "cache")},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "begun",
        "doc_to_choice": "choices",
        "doc_to_target": "answer",
        "target_delimiter": "",
        "metric_list": [{"metric": one, "aggregation": "mean", "higher_is_better": True} for one in METRICS[name]],
        "metadata": {"version": 1.0},
    }
