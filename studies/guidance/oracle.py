"""What the speaker says of its feelings, by the law of law.py."""

from __future__ import annotations

from parley.llm.backends.oracle.dynamics import dither, normal
from parley.llm.backends.oracle.emotions import NEUTRAL, STEP, mood_sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.seeding import digest, stream

from .law import QUIRK, GuidanceLaw, tone_shift


def tone_now(reading: Reading, law: GuidanceLaw) -> float:
    """Return how the speaker feels (0-10) after the statements that it has heard."""
    styles = reading.facts.get("outside", {})
    value = NEUTRAL if law.tone is None else law.tone
    value += QUIRK * normal(digest("tone", reading.persona))
    value += sum(tone_shift(styles[text], law) for _, text in reading.heard if text in styles)
    return min(max(value, 0.0), 10.0)


def tone_sentence(reading: Reading, law: GuidanceLaw) -> str:
    """Return the sentence that says how the speaker feels, its tone on average; "" where no one writes how it feels."""
    if law == GuidanceLaw():
        return ""
    messages = [(message.role, message.content) for message in reading.request.messages]
    draw = None if reading.greedy else stream(reading.seed, "tone", messages).random()
    return mood_sentences(reading.banks)[dither(tone_now(reading, law), STEP, draw) // STEP]
