"""The backend: reads each request, and has it answered by its purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from parley.llm.backends.oracle import judging, mediation, speech, stance, surveys, writing
from parley.llm.backends.oracle.dynamics import Parameters, attitude, biased, law, planted
from parley.llm.backends.oracle.phrases import fingerprint
from parley.llm.backends.oracle.prompt_parser import Reading, read
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, Request, Usage


class Oracle:
    """The known-truth speaker; `parameters` by topic are the truth that an analysis should find again."""

    in_flight = 0
    stance_in_speech, stance_in_interviews, stance_first = 0.4, 0.55, False
    """Shares of replies and answers with the stance sentence, the same that answers a labelled survey (docs/oracle.md), and
    whether it comes before the sentences that go with it (else anywhere among them)."""

    def __init__(self, changes: Mapping[str, float] | None = None, pull: float | None = None):
        self.parameters: dict[str, Parameters] = planted(changes)
        self.pull = law("pull") if pull is None else pull

    @property
    def identity(self) -> Mapping[str, Any]:
        truth = {slug: asdict(values) for slug, values in self.parameters.items()}
        return {
            "backend": "oracle",
            "kind": "rule-based speaker with a planted, known bias",
            "parameters": truth,
            "pull": self.pull,
            "banks": fingerprint(),
        }

    def seedless(self, request: Request) -> bool:
        """A survey at temperature 0 has the likeliest answer; its judges and those who break ties draw at any temperature."""
        return request.sampling.temperature == 0 and request.purpose == "survey"

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def attitude(self, reading: Reading) -> tuple[float, int]:
        """Attitude on the reading's topic, and the number of lines that could not be read."""
        if reading.topic is None:
            raise ValueError("the reading has no topic")
        planted = biased(self.parameters[reading.topic], reading.bias)
        value, unread = attitude(reading.persona, reading.topic, reading.heard, planted)
        return value, unread + reading.unheard

    def _reply(self, request: Request) -> Reply:
        reading = read(request)
        reply = HANDLERS.get(request.purpose, no_answer)(reading, self)
        if reply.text is not None:
            prompt_words = sum(message.content.count(" ") + 1 for message in request.messages)
            reply.usage = Usage(prompt_words, reply.text.count(" ") + 1)
        return reply


def no_answer(reading: Reading, oracle: Oracle) -> Reply:
    """The named failure of a purpose that it does not know."""
    return unknown(reading)


HANDLERS: dict[str, Callable[[Reading, Oracle], Reply]] = {
    "speech": speech.answer_speech,
    "check": speech.answer_check,
    "survey": surveys.answer_survey,
    "questionnaire": surveys.answer_questionnaire,
    "interview": surveys.answer_interview,
    "bdi": stance.answer_bdi,
    "latent": stance.answer_latent,
    "bounded": stance.answer_bounded,
    "importance": stance.answer_importance,
    "reflection": stance.answer_reflection,
    "summary": stance.answer_summary,
    "statement": mediation.answer_statement,
    "ranking": mediation.answer_ranking,
    "critique": mediation.answer_critique,
    "alignment": judging.judge_alignment,
    "appeal": judging.judge_appeal,
    "deviation": judging.judge_deviation,
    "agreement": judging.judge_agreement,
    "payoff": judging.judge_payoff,
    "payoff_ranking": mediation.answer_ranking,
    "preference": judging.judge_preference,
    "authorship": judging.judge_authorship,
    "backstory": writing.write_backstory,
    "persona": writing.write_persona,
    "persona_variant": writing.rewrite_persona,
    "case": writing.write_case,
    "questions": writing.write_questions,
}
"""What answers each purpose of llm/purposes.py. It cannot rewrite a case, nor write divisive questions."""
