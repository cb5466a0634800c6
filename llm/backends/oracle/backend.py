"""The backend: reads each request, and has it answered by its purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from parley.llm.backends import ANY_TOPIC
from parley.llm.backends.oracle import (
    acts,
    attributes,
    judging,
    mediation,
    persuasion,
    recollection,
    speech,
    stance,
    surveys,
    writing,
)
from parley.llm.backends.oracle import mediation as representing
from parley.llm.backends.oracle import recollection as circumstances
from parley.llm.backends.oracle import surveys as polls
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading, read
from parley.llm.manners import said
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Reply, Request, Usage
from parley.llm.studies import answer_of


class Oracle(Speaker):
    """The rule-based speaker as a backend. `parameters` by topic are the truth that an analysis should recover.

    manner: how it says its answers (llm/manners.py), without probabilities, so that they have to be read; "": as they are.
    """

    in_flight, manner = 0, ""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "oracle",
            "kind": "rule-based speaker with a planted, known bias",
            "parameters": {slug: asdict(self.parameters[slug]) for slug in (*self.parameters, ANY_TOPIC)},
            "pull": self.pull,
            "banks": self.banks.fingerprint,
            **({"manner": self.manner} if self.manner else {}),
            **self.laws.planted(),
        }

    def seedless(self, request: Request) -> bool:
        """A survey at temperature 0 has the most probable answer; judges and broken ties are drawn at any temperature."""
        return request.sampling.temperature == 0 and request.purpose in ("survey", EMBEDDING)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        reading = read(request, self.banks.in_language(request.facts.get("spoken", "")))
        form = reading.facts.get("form", "")
        handler = answer_of(f"{request.purpose} {form}") or HANDLERS.get(request.purpose) or answer_of(request.purpose)
        reply = handler(reading, self) if handler else stance.unknown(reading)
        if reply.text is not None:
            prompt_words = sum(message.content.count(" ") + 1 for message in request.messages)
            reply.usage = Usage(prompt_words, reply.text.count(" ") + 1)
        if self.manner and reply.text is not None and request.purpose != EMBEDDING:
            closed = bool(request.answers) or request.purpose in RANKINGS
            reply.text, reply.answers, reply.covered = said(reply.text, self.manner, closed), None, None
        return reply


RANKINGS = ("ranking", "ballot", "represented_ballot", "payoff_ranking")
HANDLERS: dict[str, Callable[[Reading, Speaker], Reply]] = {
    "speech": speech.answer_speech,
    "check": speech.answer_check,
    "survey": circumstances.answer_survey,
    "questionnaire": surveys.answer_questionnaire,
    "poll": polls.answer_poll,
    "interview": recollection.answer_interview,
    "bdi": stance.answer_note,
    "latent": stance.answer_note,
    "bounded": stance.answer_note,
    "importance": stance.answer_importance,
    "plan": recollection.answer_plan,
    "reflection": stance.answer_reflection,
    "summary": stance.answer_summary,
    EMBEDDING: recollection.answer_embedding,
    "act": acts.answer_act,
    "target": acts.answer_target,
    "search": acts.answer_search,
    "statement": mediation.answer_statement,
    "ranking": mediation.answer_ranking,
    "ballot": mediation.answer_ballot,
    "critique": mediation.answer_critique,
    "represented_opinion": representing.answer_represented_opinion,
    "represented_ballot": representing.answer_represented_ballot,
    "persuasion": persuasion.answer_persuasion,
    "alignment": judging.judge_alignment,
    "appeal": judging.judge_appeal,
    "sentiment": judging.judge_sentiment,
    "agreement": judging.judge_agreement,
    "recall": recollection.judge_recall,
    "payoff": judging.judge_payoff,
    "payoff_ranking": mediation.answer_ranking,
    "preference": judging.judge_preference,
    "authorship": judging.judge_authorship,
    "attribute": attributes.write_attribute,
    "contradiction": attributes.judge_contradiction,
    "backstory": writing.write_backstory,
    "persona": writing.write_persona,
    "persona_variant": writing.rewrite_persona,
    "case": writing.write_case,
    "questions": writing.write_questions,
}
"""The function that answers each purpose of llm/purposes.py; studies declare theirs. The oracle cannot rewrite a case, nor
write divisive questions."""
