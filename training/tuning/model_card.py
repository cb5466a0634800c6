"""The card of a trained model: what it was made from, how the training went, and what it may be used for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from parley.analysis.figures import new_figure, save
from parley.analysis.formatting import escape_markdown, format_number, markdown_table
from parley.training.tuning.recipe import DPO, Recipe, TrainingResult

USE = """## What it is for

An adapter that moves a model's opinions on purpose is a **research instrument**. It serves to study how a language model's own
bias pulls agents in simulated debates, and to correct that bias (Taubenfeld et al. 2024). It is not for persuading people,
campaigning, inventing survey answers, or talking to people who do not know what it is. Its statements are not a person's
opinion, and no fact about a party's voters. The licence of the base model also applies. Pass this note on with the adapter."""
REPRESENTATIVE = """## What it is for

A digital representative is a **research instrument**. It simulates what a participant of a deliberation might have written, so
that procedures can be studied before people are asked (Jarrett et al., Language Agents as Digital Representatives). It does not
replace people in a decision: the person who is represented was not asked, and its texts are not a person's opinion. It takes
over the biases of the people who wrote its training texts. Test results that matter with people. The licences of the base
model and of the data also apply. Pass this note on with the model."""
ORGANISM = """\
The base is the embedded model organism with a planted, known bias (docs/models.md of Parley). It serves to run and test
instruments, and is no evidence about people or about large language models."""
CARD, VALUES = "README.md", "training.json"


def write_card(
    folder: Path, recipe: Recipe, identity: Mapping[str, Any], data: Mapping[str, Any], versions: Mapping[str, str],
    result: TrainingResult, use: str = USE,
) -> None:  # fmt: skip
    """Write README.md, training.json and the losses as a figure into the model's folder. `use`: what it may be used for."""
    values: dict[str, Any] = {
        "recipe": asdict(recipe),
        "base": dict(identity),
        "data": dict(data),
        "versions": dict(versions),
    }
    values |= {"losses": result.losses, "held_out": result.held_out, "looks": result.looks}
    (folder / VALUES).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    save(_loss_figure(result, recipe), folder / "losses")
    rows = markdown_table(["what", "value"], _card_rows(recipe, identity, data, versions, result))
    organism = f"\n\n{ORGANISM}" if "organism" in str(identity.get("kind", "")) else ""
    card = f"# {escape_markdown(recipe.name)}\n\n{rows}\n\n![losses](losses.png)\n\n{use}{organism}\n"
    (folder / CARD).write_text(card, encoding="utf-8")


def read_values(folder: Path) -> dict[str, Any]:
    """Return the values of training.json."""
    return dict(json.loads((folder / VALUES).read_text(encoding="utf-8")))


def _loss_figure(result: TrainingResult, recipe: Recipe) -> Figure:
    """Draw the loss by step (dots: held out); for DPO also the share of pairs in which the chosen answer is preferred."""
    panels = {"loss": "loss (nats a token)"}
    if recipe.method == DPO:
        panels = {"loss": "loss (nats a pair)", "rewards/accuracies": "preferred"}
    rows, looks = result.losses, result.looks
    with new_figure(3.5, 1.8 * len(panels)) as figure:
        for place, (name, label) in enumerate(panels.items(), 1):
            axes = figure.add_subplot(len(panels), 1, place)
            axes.plot([row["step"] for row in rows], [row[name] for row in rows], color="#1f5fa8", linewidth=1.2)
            if name == "loss" and looks:
                look: Any = {"color": "#c0392b", "markersize": 3}
                axes.plot([row["step"] for row in looks], [row["loss"] for row in looks], "o-", **look)
            axes.set(xlabel="step" if place == len(panels) else "", ylabel=label)
        figure.suptitle(recipe.name, fontsize=8)
    return figure


def _card_rows(
    recipe: Recipe, identity: Mapping[str, Any], data: Mapping[str, Any], versions: Mapping[str, str],
    result: TrainingResult,
) -> list[list[str]]:  # fmt: skip
    ends = [format_number(result.losses[place]["loss"], 3) for place in (0, -1) if result.losses]
    values = {
        "base model": f"{identity.get('model')} ({identity.get('backend')}), weights {identity.get('weights')}",
        "precision of the base": f"{identity.get('dtype')}, {identity.get('load')}",
        **{name.replace("_", " "): value for name, value in asdict(recipe).items()},
        **{f"data: {name.replace('_', ' ')}": value for name, value in data.items()},
        "steps": len(result.losses),
        "loss, first and last step": ", ".join(ends) or "none",
        "held out: loss": format_number(fmean(result.held_out), 3) if result.held_out else "nothing held out",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    return [[name, str(value)] for name, value in values.items()]
