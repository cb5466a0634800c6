"""What has to be said of debates that were held by one of our own speakers: in every summary, figure and transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.llm.backends import identity_spec, split_spec
from parley.model.events import Header
from parley.model.scenario import STAND_IN

NOTES = {
    "oracle": "These debates were held by the **known-truth speaker**, a rule-based backend with a planted bias, "
    "influence and drift (its parameters are in the record's header). That the figures resemble a paper's shows that "
    "the pipeline works; it is no evidence about people or about language models.",
    "pocket": "These debates were held by **pocket**, a model organism: a small language model trained from scratch on "
    "what the known-truth speaker wrote. How much of the planted bias, influence and drift it took over is measured in "
    "docs/pocket.md and by `python run.py calibrate`. Its tokens and probabilities are real, its opinions are planted: that "
    "the figures resemble a paper's shows that the pipeline works; it is no evidence about people or about large language "
    "models.",
    "fake": "These debates were held by a **stand-in** that says a fixed line. They show nothing but that the pipeline "
    "runs.",
}
BRIEF = {
    "oracle": "**A rule-based test speaker, no language model** (oracle, the known-truth speaker). Its bias, influence and pull "
    "are planted, and nothing else is, such as a difference between men and women: this page shows how the measurement works, "
    "and nothing about humans or language models.",
    "pocket": "**A model organism** (pocket, a small language model trained on what a rule-based speaker wrote). Its bias, "
    "influence and pull are planted: this page shows how the measurement works, and nothing about humans or large language "
    "models.",
    "fake": "**A stand-in that says a fixed line, no language model.** This page shows nothing but that the pipeline runs.",
}
"""The same before anything else on a page."""
LABELS = {"oracle": "known-truth speaker", "pocket": "model organism, planted bias", "fake": "stand-in"}


def disclaimer(header: Header) -> str | None:
    """What a reader has to know of the speakers that are ours; None where none is."""
    return _told(header, NOTES)


def short_disclaimer(header: Header) -> str | None:
    """The same in a sentence or two each."""
    return _told(header, BRIEF)


def _told(header: Header, notes: Mapping[str, str]) -> str | None:
    found = dict.fromkeys(notes[name] for _, name in _speakers(header) if name in notes)
    return "\n\n".join([*found, *map(_stood_in, header.stand_ins)]) or None


def _stood_in(one: Mapping[str, Any]) -> str:
    """What a reader has to know of seats that a surrogate held."""
    held = f"{one['seats']:,} of {one['of']:,} seats ({one['seats'] / one['of']:.0%})"
    return (
        f"On {one['topic']} {held} were held by a **surrogate**, for which no model was asked: {one['caption']}. They say "
        "lines of the run that it was fitted to, and move by what was fitted (docs/populations.md)."
    )


def is_own_model(*specs: str) -> str | None:
    """What a reader has to know where some of these models are ours, outside of debates; None where none is."""
    names = [
        f"{name} ({LABELS[name]})" for name in dict.fromkeys(split_spec(spec)[0] for spec in specs) if name in LABELS
    ]
    told = "Of our own: {}. What is found shows what the procedure measures, and nothing about people or large language models."
    return told.format(", ".join(names)) if names else None


def spec_label(spec: str) -> str:
    """A model as it is named in captions, with what it is where it is our own."""
    label = LABELS.get(split_spec(spec)[0])
    return f"{spec} ({label})" if label else spec


def model_label(header: Header) -> str:
    """The models as they are named in captions: `pocket (model organism, planted bias); republican: openai:gpt-4o`."""
    models = [f"{spec} ({LABELS[name]})" if name in LABELS else spec for spec, name in _speakers(header)]
    held = [f"{one['seats'] / one['of']:.0%} of seats: {one['caption']}" for one in header.stand_ins]
    return "; ".join([*models, *held])


def own_models(header: Header) -> dict[str, str]:
    """The models of parties and seats that have one of their own; a surrogate is none."""
    entries = [entry.partition("=") for entry in header.scenario["llms"]]
    return {who: spec for who, _, spec in entries if not spec.startswith(STAND_IN)}


def _speakers(header: Header) -> list[tuple[str, str]]:
    """Each model as it was asked for, and its backend; the first is everybody's, others stand behind their party or round."""
    if header.model.get("backend") != "several":
        return [(str(header.scenario["llm"]), str(header.model.get("backend")))]
    voices, own = header.model["voices"], own_models(header)
    first = (str(header.scenario["llm"]), str(header.model["first"]["backend"]))
    later = [one for one in header.scenario.get("interventions", []) if one.get("llm")]
    names = {"model": "from round {}", "fact_check": "fact check before round {}"}
    return [
        first,
        *[(f"{party}: {spec}", str(voices[party]["backend"])) for party, spec in own.items()],
        *[
            (
                f"{names[one['kind']].format(one['round'])}: {identity_spec(one['llm'])}",
                str(voices[identity_spec(one["llm"])]["backend"]),
            )
            for one in later
        ],
    ]
