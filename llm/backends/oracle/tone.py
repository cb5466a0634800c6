"""What people feel, by the law of guidance_law.py: and the sentence with which they say it."""

from __future__ import annotations

from functools import cache

from parley.llm.backends.oracle.dynamics import Speaker, dither, normal
from parley.llm.backends.oracle.guidance_law import NEUTRAL, QUIRK, GuidanceLaw
from parley.llm.backends.oracle.phrases import Banks, sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.seeding import digest, stream

STEP = 2
"""Points of tone (0-10) from one sentence to the next."""


def tone_now(reading: Reading, law: GuidanceLaw) -> float:
    """Return how the speaker feels (0-10) after the statements that it has heard."""
    styles = reading.facts.get("guidance", {})
    value = NEUTRAL if law.tone is None else law.tone
    value += QUIRK * normal(digest("tone", reading.persona))
    value += sum(law.tone_shift(styles[text]) for _, text in reading.heard if text in styles)
    return min(max(value, 0.0), 10.0)


def tone_sentence(reading: Reading, speaker: Speaker) -> str:
    """Return the sentence that says how the speaker feels, its tone on average; "" where no one writes how it feels."""
    if not speaker.laws.guidance.feeling:
        return ""
    messages = [(message.role, message.content) for message in reading.request.messages]
    draw = None if reading.greedy else stream(reading.seed, "tone", messages).random()
    return _sentences(reading.banks)[dither(tone_now(reading, speaker.laws.guidance), STEP, draw) // STEP]


def said_tone(banks: Banks, text: str) -> float | None:
    """Return how a text says its writer feels (0-10), the mean of its sentences on feeling; None without one."""
    tones = [tone for sentence in sentences(text) if (tone := _tones(banks).get(sentence)) is not None]
    return sum(tones) / len(tones) if tones else None


def _sentences(banks: Banks) -> list[str]:
    """Return the sentences on feeling, from furious to glad."""
    return list(banks.data("language")["tones"])


@cache
def _tones(banks: Banks) -> dict[str, float]:
    return {sentence: float(STEP * place) for place, sentence in enumerate(_sentences(banks))}
