"""A fact checker: it has no seat; it reads recent public lines and writes a correction of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from parley.agents.evidence import Passage, listed
from parley.agents.language import Language
from parley.agents.reply_cleaning import clean_speech, is_refusal, shortened, speaks_for
from parley.agents.speech import Speech
from parley.agents.topic import Topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PURPOSE = "check"


class FactChecker(NamedTuple):
    """A fact checker: the name of its lines, the number of words it is asked for, and the model (voice) that writes."""

    name: str
    words: int
    voice: str

    def compose(
        self, topic: Topic, frame: str, lines: Sequence[tuple[str, str]], seed: int, passages: Sequence[Passage] = ()
    ) -> Request:
        """Ask for a correction of lines (name, text), the latest last. passages: what it may quote, numbered from 1.

        It remembers nothing from earlier requests.
        """
        transcript = "\n".join(f"{name}: {text}" for name, text in lines)
        opening = topic.language.prompt("check_opening").fill(frame=frame, topic=topic.title)
        ask = topic.language.prompt("check_ask").fill(words=self.words)
        if passages:
            shown = topic.language.prompt("correction_passages").fill(passages=listed(passages))
            ask = f"{shown}\n\n{ask} {topic.language.prompt('check_quote').text}"
        heard = frozenset([name for name, _ in lines])
        system = Message("system", topic.language.prompt("check").text)
        messages = (system, Message("user", f"{opening}\n\n{transcript}\n\n{ask}"))
        facts: Facts = {"topic": topic.title, "frame": frame, "words": self.words}
        if topic.own:
            facts["own"] = topic.title
        if passages:
            facts["passages"] = [passage.text for passage in passages]
        sampling = Sampling(0.0, 4 * self.words)
        return Request(messages, sampling, seed, (), PURPOSE, voice=self.voice, names=heard, facts=facts)

    def read(self, reply: Reply, names: Sequence[str], language: Language) -> Speech:
        """Read the correction as one line, or None with a reason. names: speakers in whose name the reply must not go on."""
        if reply.text is None:
            return Speech(None, reply.failure.name if reply.failure else "empty")
        text = clean_speech(reply.text, self.name, speaks_for(tuple(names)) if names else None)
        if not text:
            return Speech(None, "empty")
        if re.match(rf"\W*{re.escape(language.words('nothing_to_correct'))}\b", text, re.I):
            return Speech(None, "nothing_to_correct")
        return Speech(None, "refusal") if is_refusal(text) else Speech(_cut(text, self.words), None)


def _cut(text: str, words: int) -> str:
    """Return the sentences of a correction that fit, with the number of the passage that follows the last one.

    >>> _cut('It is "as they say." [2] And more follows here.', 5)
    'It is "as they say." [2]'
    """
    kept = shortened(text, words, "sentence")
    number = re.match(r"\s*\[\d+\]", text[len(kept) :]) if text.startswith(kept) else None
    return kept + number[0] if number else kept
