"""Feelings by the law of speech_laws.py: what the speaker feels, rates and says, and what it reads in the lines of others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.phrases import Banks, sentences
from parley.llm.backends.oracle.positions import HIGH, LOW, MIDDLE, clip
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech_laws import FEELINGS, SPREAD, EmotionLaw
from parley.llm.errors import UserError
from parley.llm.seeding import digest


def feeling(banks: Banks, name: str, persona: str, heard: Sequence[tuple[str, str]], law: EmotionLaw) -> float:
    """Return a feeling (valence or arousal, 1 to 7) of a persona after the lines heard (speaker, text)."""
    value = clip(MIDDLE + SPREAD * normal(digest("baseline", name, persona)))
    chain = digest("feeling", name, persona)
    for speaker, text in heard:
        chain = digest(chain.hex(), speaker, text)
        line_feeling = felt(banks, name, text)
        drawn = 0.0 if line_feeling is None else law.contagion * (line_feeling - value)
        value = clip(value + drawn + law.volatility * normal(chain))
    return value


def felt(banks: Banks, name: str, text: str) -> float | None:
    """Return the feeling that a text says (1 to 7), the mean of its sentences; None if it says none."""
    levels = [level for sentence in sentences(text) if (level := _levels(banks, name).get(sentence)) is not None]
    return sum(levels) / len(levels) if levels else None


@cache
def _levels(banks: Banks, name: str) -> dict[str, float]:
    return {sentence: float(level) for level, sentence in enumerate(_sentences(banks, name), int(LOW))}


def _sentences(banks: Banks, name: str) -> Sequence[str]:
    """Return the sentences that say a feeling, from 1 to 7. Errors: UserError where the language has none."""
    feelings = tuple(banks.data("language").get("feelings", {}).get(name, ()))
    if len(feelings) != HIGH:
        raise UserError(
            f"the oracle needs {HIGH:g} sentences for {name} in [feelings] of language.toml, from the lowest to the highest, "
            f"and the language {banks.language} has {len(feelings)}: add them, or set chain= (empty)"
        )
    return feelings


def said_feelings(reading: Reading) -> str:
    """Return the sentences that say the feelings of which the prompt reminds the speaker; "" without any."""
    state = reading.facts.get("state", {})
    shares = {name: state[name] for name in FEELINGS if name in state}
    return " ".join([_sentences(reading.banks, name)[round(share * (HIGH - LOW))] for name, share in shares.items()])


def feeling_now(reading: Reading, speaker: Speaker, name: str) -> float:
    """Return the speaker's valence or arousal (1 to 7) after what it heard."""
    return feeling(reading.banks, name, reading.persona, reading.heard, speaker.laws.emotions)


NEUTRAL = 5.0
"""The tone of a text that says no feeling, from 0 (furious) to 10 (glad)."""
STEP = 2
"""Points of tone from one sentence to the next."""


def said_tone(banks: Banks, text: str) -> float | None:
    """Return how a text says its writer feels (0-10), the mean of its sentences on feeling; None without one."""
    tones = [tone for sentence in sentences(text) if (tone := _tones(banks).get(sentence)) is not None]
    return sum(tones) / len(tones) if tones else None


def mood_sentences(banks: Banks) -> list[str]:
    """Return the sentences on feeling, from furious to glad."""
    return list(banks.data("language")["tones"])


@cache
def _tones(banks: Banks) -> dict[str, float]:
    return {sentence: float(STEP * place) for place, sentence in enumerate(mood_sentences(banks))}
