"""What has to be said of debates that were held by one of our own speakers: in every summary, figure and transcript."""

from __future__ import annotations

from model.events import Header

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
LABELS = {"oracle": "known-truth speaker", "pocket": "model organism, planted bias", "fake": "stand-in"}


def note(header: Header) -> str | None:
    """What a reader has to know of the speaker; None for a model that is not ours."""
    return NOTES.get(str(header.model.get("backend")))


def model(header: Header) -> str:
    """The model as it is named in captions: `pocket (model organism, planted bias)`."""
    label = LABELS.get(str(header.model.get("backend")))
    return f"{header.scenario['llm']} ({label})" if label else str(header.scenario["llm"])
