"""What a reader has to know when debates were run by one of our own speakers: in every summary, figure and transcript."""

from __future__ import annotations

from collections.abc import Mapping

from parley.agents.own_people import is_own_set
from parley.agents.society import is_sentence
from parley.llm.backends import identity_spec, split_spec
from parley.model.events import Header
from parley.model.model_shares import STAND_IN

NOTES = {
    "oracle": "The **rule-based speaker** (oracle, the known-truth speaker) wrote these debates. No language model "
    "took part. The speaker's bias, influence and drift are set in advance, and the record's header states "
    "them. So the figures show that the analysis works. The figures are not evidence about people or about "
    "language models.",
    "pocket": "These debates were written by **pocket**, a model organism: a small language model trained from "
    "scratch on texts of the known-truth speaker. docs/models.md and `python run.py study calibrate` "
    "measure how much of that speaker's bias, influence and drift pocket learned. The tokens and "
    "probabilities of pocket are real, but its opinions come from the training texts. Figures that resemble "
    "a paper's show that the pipeline works. The figures are not evidence about people or about large "
    "language models.",
    "fake": "A **stand-in** with one fixed sentence wrote these debates, which only show that the pipeline runs.",
    "chatter": "The stand-in **chatter** wrote these debates. Chatter picks one of the offered answers by chance and words "
    "the answer as chat models do. The debates only show that prompts can be followed and replies can be read.",
}
BRIEF = {
    "oracle": "**A rule-based test speaker, no language model** (oracle, the known-truth speaker). The bias, influence and "
    "pull of this speaker are set in advance. No other difference is set, for example none between men and women. This page "
    "shows how the measurement works, but nothing about humans or language models.",
    "pocket": "**A model organism** (pocket, a small language model trained on texts of a rule-based speaker). The "
    "bias, influence and pull of this model come from its training texts. This page shows how the "
    "measurement works, but nothing about humans or large language models.",
    "fake": "**A stand-in with one fixed sentence, no language model.** This page only shows that the pipeline runs.",
    "chatter": "**A stand-in that answers by chance, no language model.** This page only shows that replies can be read.",
}
"""The note at the top of a page."""
LABELS = {
    "oracle": "known-truth speaker", "pocket": "model organism, planted bias", "organism": "model organism, planted bias",
    "fake": "stand-in", "chatter": "stand-in that answers by chance",
}  # fmt: skip


def disclaimer(header: Header) -> str | None:
    """Return what a reader has to know of our own speakers; None for other models."""
    return _notes(header, NOTES)


def short_disclaimer(header: Header) -> str | None:
    """Return the same in a sentence or two each."""
    return _notes(header, BRIEF)


OWN_TOPIC = (
    "The rule-based speaker does not understand a topic of your own. Whatever the question is, parties on the left begin near "
    "yes, and parties on the right near no."
)


OWN_PEOPLE = (
    "Of the people in your file, the rule-based speaker knows only the party and the opinions that it can read. The "
    "rule-based speaker ignores the rest of the file, and makes up where the people come from."
)


def _notes(header: Header, notes: Mapping[str, str]) -> str | None:
    speakers = dict.fromkeys(notes[name] for _, name in _speakers(header) if name in notes)
    topics = header.scenario.get("topic", ())
    if notes["oracle"] in speakers and any(is_sentence(topic) or topic.endswith(".toml") for topic in topics):
        speakers[OWN_TOPIC] = None
    if notes["oracle"] in speakers and is_own_set(str(header.scenario.get("personas", ""))):
        speakers[OWN_PEOPLE] = None
    surrogates = [
        f"On {surrogate['topic']} a **surrogate** spoke for {surrogate['seats']:,} of {surrogate['of']:,} agents "
        f"({surrogate['seats'] / surrogate['of']:.0%}). No model was called for these agents: {surrogate['caption']}. "
        "Surrogates repeat replies of the run that they were fitted to, and change their ratings by the fitted "
        "response (docs/populations.md)."
        for surrogate in header.stand_ins
    ]
    return "\n\n".join([*speakers, *surrogates]) or None


def is_own_model(*specs: str) -> str | None:
    """Return what a reader has to know when some of these models are ours, outside of debates; None otherwise."""
    backends = dict.fromkeys(split_spec(spec)[0] for spec in specs)
    names = ", ".join(f"{name} ({LABELS[name]})" for name in backends if name in LABELS)
    note = "The results show what the procedure measures, but nothing about people or large language models."
    return f"Of our own: {names}. {note}" if names else None


def spec_label(spec: str) -> str:
    """Return a model's name for captions, with its kind if it is our own."""
    return _labelled(spec, split_spec(spec)[0])


def model_label(header: Header) -> str:
    """Return the models' names for captions: `pocket (model organism, planted bias); labour: openai:gpt-4o`."""
    models = [_labelled(*speaker) for speaker in _speakers(header)]
    surrogates = [
        f"{surrogate['seats'] / surrogate['of']:.0%} of seats: {surrogate['caption']}" for surrogate in header.stand_ins
    ]
    return "; ".join([*models, *surrogates])


def _labelled(spec: str, backend: str) -> str:
    return f"{spec} ({LABELS[backend]})" if backend in LABELS else spec


def own_models(header: Header) -> dict[str, str]:
    """Return the models of parties and seats with a model of their own; a surrogate is no model."""
    entries = [entry.partition("=") for entry in header.scenario["llms"]]
    return {who: spec for who, _, spec in entries if not spec.startswith(STAND_IN)}


def _speakers(header: Header) -> list[tuple[str, str]]:
    """Return each model as it was named, with its backend: first the shared one, then those of a party, seat or round."""
    llm = str(header.scenario["llm"])
    voices = header.model.get("voices", {}) | header.branch.get("models", {})
    if not voices:
        return [(llm, str(header.model.get("backend")))]
    speakers = [(llm, str(header.model.get("first", header.model)["backend"]))]
    speakers += [(f"{who}: {spec}", str(voices[who]["backend"])) for who, spec in own_models(header).items()]
    titles = {"model": "from round {}", "fact_check": "fact check before round {}"}
    for change in header.scenario.get("interventions", []):
        if change.get("llm"):
            spec = identity_spec(change["llm"])
            title = titles[change["kind"]].format(change["round"])
            speakers.append((f"{title}: {spec}", str(voices[spec]["backend"])))
    named_speakers = {title.partition(": ")[2] for title, _ in speakers} | set(own_models(header))
    return speakers + [
        (f"some personas: {who}", str(voice["backend"])) for who, voice in voices.items() if who not in named_speakers
    ]
