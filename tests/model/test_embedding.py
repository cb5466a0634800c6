"""Retrieval by embedding: the same thought in other words is found, each text is embedded once, and missing is not zero."""

from __future__ import annotations

import json
from typing import Any

import pytest
from standins import opinionated

from parley.agents.language import ENGLISH
from parley.agents.memory import Retrieval, Trace, memory_scores, vector_relevance
from parley.llm.backends.fake import Fake
from parley.llm.backends.openai.capabilities import EndpointAbilities
from parley.llm.backends.openai.payload import EMBEDDINGS, parse_response, refuse, request_body
from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.errors import UserError
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.events import Called, Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.run_plan import plan_run
from parley.model.scenario import load_preset

SMALL: dict[str, Any] = {
    "repetitions": 2,
    "rounds": 4,
    "llm": "oracle",
    "memory": "retrieve:2",
    "relevance": "embedding",
}


class Listening(Oracle):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def complete(self, requests: Any) -> list[Reply]:
        self.texts += [one.messages[0].content for one in requests if one.purpose == EMBEDDING]
        return super().complete(requests)


def run(backend: Any, **settings: Any) -> list[Any]:
    recorder = MemoryRecorder()
    DebateModel("two_way", backend=backend, recorder=recorder, **SMALL | settings).run()
    return recorder.events


def ask(text: str) -> Request:
    return Request((Message("user", text),), Sampling(0.0, 1), 0, purpose=EMBEDDING)


def test_relevance_by_hand() -> None:
    """The cosine with the mean direction of the query; an unknown embedding is unknown, not unlike."""
    assert vector_relevance([(1.0, 0.0), (0.0, 1.0)], [(5.0, 0.0), (-1.0, -1.0), None]) == [0.71, -1.0, None]
    assert vector_relevance([None], [(1.0, 0.0)]) == [None]
    traces = [Trace("Bob", "a", 1, 5.0), Trace("Bob", "b", 2, 5.0)]
    recency = memory_scores(traces, "", 2, [None, None])
    assert recency == [0.0, 0.5]


def test_the_same_opinion_in_other_words_is_found() -> None:
    """By hand, with equal importance: recency is 0, .5, 1. By words the first line fits, and ties with the last, which is later;
    by embedding the second fits, and wins with 0.5 + 1.
    """
    memory = Retrieval("Opening.", 1, ENGLISH)
    for text in ("Is bigotry grave?", "Racism harms us.", "Filler.", "And now?"):
        memory.hear("Bob", text)
    for trace in memory.traces:
        trace.importance = 5.0
    assert [trace.text for trace in memory.retrieved("Bigotry grave")] == ["Filler."]
    memory.vectors = {"Is bigotry grave?": (0.0, 1.0), "Racism harms us.": (1.0, 0.0), "Filler.": (0.0, -1.0)}
    memory.vectors |= {"Bigotry grave": (1.0, 0.0)}
    assert [trace.text for trace in memory.retrieved("Bigotry grave")] == ["Racism harms us."]


def test_sentences_of_one_opinion_are_alike_to_the_oracle() -> None:
    """Two texts of the same grade: cosine 1; of the other end of the axis: 0. No known sentence: no embedding."""
    texts = [
        "I think racism is a catastrophic problem.",
        "I think racism is a catastrophic problem. I think racism is a catastrophic problem.",
        "I think racism is a nonexistent problem.",
    ]
    vectors = [tuple(json.loads(reply.text or "")) for reply in Oracle().complete([ask(text) for text in texts])]
    assert vector_relevance([vectors[0]], vectors) == [1.0, 1.0, 0.0]
    assert Oracle().complete([ask("Nice weather.")])[0].text is None


def test_each_text_of_a_room_is_embedded_once() -> None:
    """Rooms of two agents: every line once in its room, whoever remembers it, and nothing else."""
    listening = Listening()
    events = run(listening)
    said = [event.text for event in events if isinstance(event, Utterance)]
    assert sorted(listening.texts) == sorted(said)
    assert sum(event.purpose == EMBEDDING for event in events if isinstance(event, Called)) == len(said)


def test_by_words_nothing_is_embedded() -> None:
    listening = Listening()
    run(listening, relevance="words")
    assert listening.texts == []


def test_a_text_without_embedding_is_ranked_by_what_is_known() -> None:
    """A failed embedding is no failure of the run; without any embedding at all, one line says what to do."""
    count = iter(range(1000))

    def speak(request: Request) -> str:
        if request.purpose == EMBEDDING:
            return "[1, 2]" if next(count) < 2 else "[0, 0]"
        return opinionated(request)

    assert [event for event in run(Fake(speak)) if isinstance(event, Rated) and event.round == 4]
    with pytest.raises(UserError, match="returns no embeddings"):
        run(Fake(opinionated))


def test_the_plan_counts_embeddings() -> None:
    by_words = plan_run(load_preset("two_way", SMALL | {"relevance": "words", "topic": "racism"}))
    assert plan_run(load_preset("two_way", SMALL | {"topic": "racism"})).notes == by_words.notes + 2 * 2 * 4


def test_an_endpoint_that_embeds() -> None:
    """What is sent and read; a model that writes is not asked to embed, nor one that embeds to write."""
    can = EndpointAbilities(EMBEDDINGS, sampling=False, seed=False)
    assert request_body("m", ask("Trees."), can) == {"model": "m", "input": "Trees."}
    body = json.dumps({"data": [{"embedding": [0.25, -1]}], "usage": {"prompt_tokens": 2, "total_tokens": 2}}).encode()
    reply = parse_response(HttpAnswer(200, {}, body), ask("Trees."), can)
    assert (reply.text, reply.usage.prompt_tokens) == ("[0.25, -1.0]", 2)
    speech = Request((Message("user", "Speak."),), Sampling(), 0, purpose="speech")
    assert refuse(ask("Trees."), can) is None is refuse(speech, EndpointAbilities())
    failures = [refuse(speech, can), refuse(ask("Trees."), EndpointAbilities())]
    assert [reply.failure.name for reply in failures if reply and reply.failure] == ["only_embeddings", "no_embeddings"]


def test_a_wrong_setting_is_one_line() -> None:
    with pytest.raises(UserError, match="only work with memory=retrieve"):
        load_preset("two_way", {"relevance": "embedding"})
    with pytest.raises(UserError, match="embedder"):
        load_preset("two_way", {"llms": ["embedder=oracle"]})
    assert load_preset("two_way", SMALL | {"llms": ["embedder=oracle"]}).llm_by_party == {"embedder": "oracle"}
