"""What models and adapters made here are for, and what not: a part of every card.

What stands beside an adapter: what it was made from and how, how the training went, what it is for and what not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from parley.analysis.figures import new_figure, save
from parley.analysis.formatting import escape_markdown, format_number, markdown_table
from parley.training.tuning.recipe import DPO, Recipe
from parley.training.tuning.trainers import Trained

USE = """## What it is for

An adapter that moves a model's opinions on purpose is a **research instrument**: it is there to study how a language
model's own bias pulls agents in simulated debates, and to correct for it (Taubenfeld et al. 2024). It is not for persuading
people, for campaigning, for making up survey answers or for speaking to anybody who does not know what it is. What it says
is nobody's opinion and no fact about a party's voters. The licence of the base model holds for it as well. Whoever passes
it on passes this on with it."""
REPRESENTATIVE = """## What it is for

A digital representative is a **research instrument**: it simulates what a participant of a deliberation might have written, so
that procedures can be studied before people are asked (Jarrett et al., Language Agents as Digital Representatives). It is not
for taking anybody's place in a decision: whoever is represented has not been asked, and what it writes is nobody's opinion. It
takes over the biases of those from whose texts it was made. Results that matter are to be tested with people. The licences
of the base model and of the data hold for it as well. Whoever passes it on passes this on with it."""
ORGANISM = """\
The base is the embedded model organism with a planted, known bias (docs/pocket.md of Parley): it is there to run and test
instruments, and is no evidence about people or about large language models."""


CARD, VALUES = "README.md", "training.json"


def write_card(
    folder: Path, recipe: Recipe, identity: Mapping[str, Any], data: Mapping[str, Any], versions: Mapping[str, str],
    trained: Trained, use: str = USE,
) -> None:  # fmt: skip
    """README.md, training.json and the losses as a picture, in the adapter's folder. `use`: what it is for and what not."""
    values: dict[str, Any] = {
        "recipe": asdict(recipe),
        "base": dict(identity),
        "data": dict(data),
        "versions": dict(versions),
    }
    values |= {"losses": trained.losses, "held_out": trained.held_out, "looks": trained.looks}
    (folder / VALUES).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    save(loss_table(trained.losses, recipe, trained.looks), folder / "losses")
    (folder / CARD).write_text(_card(recipe, identity, data, versions, trained, use), encoding="utf-8")


def read_values(folder: Path) -> dict[str, Any]:
    """What `write_card` wrote for machines."""
    return dict(json.loads((folder / VALUES).read_text(encoding="utf-8")))


def loss_table(
    rows: Sequence[Mapping[str, float]], recipe: Recipe, looks: Sequence[Mapping[str, float]] = ()
) -> Figure:
    """Loss by step (dots: held out), and under it for DPO the share of pairs in which the chosen answer is preferred."""
    shown = [("loss", "loss (nats a token)" if recipe.method != DPO else "loss (nats a pair)")]
    shown += [("rewards/accuracies", "preferred")] if recipe.method == DPO else []
    with new_figure(3.5, 1.8 * len(shown)) as figure:
        for place, (name, label) in enumerate(shown, 1):
            axes = figure.add_subplot(len(shown), 1, place)
            axes.plot([row["step"] for row in rows], [row[name] for row in rows], color="#1f5fa8", linewidth=1.2)
            if name == "loss" and looks:
                axes.plot(
                    [row["step"] for row in looks], [row["loss"] for row in looks], "o-", color="#c0392b", markersize=3
                )
            axes.set(xlabel="step" if place == len(shown) else "", ylabel=label)
        figure.suptitle(recipe.name, fontsize=8)
    return figure


def _card(
    recipe: Recipe, identity: Mapping[str, Any], data: Mapping[str, Any], versions: Mapping[str, str], trained: Trained,
    use: str,
) -> str:  # fmt: skip
    rows = trained.losses
    values = {
        "base model": f"{identity.get('model')} ({identity.get('backend')}), weights {identity.get('weights')}",
        "precision of the base": f"{identity.get('dtype')}, {identity.get('load')}",
        **{name.replace("_", " "): f"{value}" for name, value in asdict(recipe).items()},
        **{f"data: {name.replace('_', ' ')}": f"{value}" for name, value in data.items()},
        "steps": f"{len(rows)}",
        "loss, first and last step": f"{format_number(rows[0]['loss'], 3)}, {format_number(rows[-1]['loss'], 3)}"
        if rows
        else "none",
        "held out: loss": format_number(fmean(trained.held_out), 3) if trained.held_out else "nothing held out",
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }
    organism = f"\n\n{ORGANISM}" if "organism" in str(identity.get("kind", "")) else ""
    told = markdown_table(["what", "value"], [[name, value] for name, value in values.items()])
    return f"# {escape_markdown(recipe.name)}\n\n{told}\n\n![losses](losses.png)\n\n{use}{organism}\n"
