"""Models of GGUF files: how requests become calls and calls become replies, on an engine of the same shape without a model."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each
from fake_gguf_engine import FakeEngine, NextTokens

from parley.llm.backends import (
    check_spec,
    full_spec,
    identity_spec,
    open_spec,
    recorded_name,
    run_costs,
    split_spec,
    suited_sampling,
)
from parley.llm.backends import gguf as gguf_module
from parley.llm.backends.gguf import context_of
from parley.llm.backends.gguf.answering import drawn
from parley.llm.backends.gguf.backend import Gguf
from parley.llm.backends.gguf.engine import EngineSettings
from parley.llm.backends.gguf.header import read_header
from parley.llm.backends.gguf.speed import OVERHEAD, READING, WRITING, SpeedLog, free_cores, known_speed
from parley.llm.errors import UserError
from parley.llm.purposes import EMBEDDING
from parley.llm.request import Message, Reply, Request, Sampling, Usage
from parley.model.arguments import with_suited_sampling
from parley.model.custom import scenario_on

SCALE = tuple(str(point) for point in range(11))
ASKED = Request(
    (Message("system", "You are Ann."), Message("user", "How big a problem is it?")), Sampling(0.0, 8), 1, SCALE
)
FIELDS = {
    "general.architecture": "llama",
    "llama.context_length": 2048,
    "llama.embedding_length": 576,
    "llama.block_count": 30,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "tokenizer.ggml.tokens": ["a", "b"],
    "tokenizer.chat_template": "{{ messages }}",
}


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _entry(name: str, value: object) -> bytes:
    if isinstance(value, str):
        return _text(name) + struct.pack("<I", 8) + _text(value)
    if isinstance(value, list):
        return _text(name) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return _text(name) + struct.pack("<II", 4, value)


def write_header(path: Path, fields: Mapping[str, object] = FIELDS) -> Path:
    """Write a GGUF file without weights."""
    entries = b"".join(_entry(name, value) for name, value in fields.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(fields)) + entries)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_header(tmp_path / "tiny.gguf")


def opened(file: Path, next_tokens: NextTokens, slots: int = 1, keep: int = 512, is_chat: bool = True) -> Gguf:
    settings = EngineSettings(file, 1, 2048, slots, keep)
    return Gguf(FakeEngine(next_tokens, 500), read_header(file), settings, 1.0, is_chat)


def fixed(tables: Mapping[str, Mapping[str, float]]) -> NextTokens:
    """Return an engine's next tokens by the reply so far, whatever the prompt."""
    return lambda prompt, begun: tables.get(begun, {"": 1.0})


def answer(backend: Gguf, request: Request) -> Reply:
    (reply,) = backend.complete([request])
    return reply


def test_a_closed_question_has_its_distribution_however_little_it_covers(file: Path) -> None:
    """Before, a distribution below one half was thrown away and a text was read in its place."""
    tables = {"": {"I": 0.9, "1": 0.06, "7": 0.04}, "1": {"0": 0.5, ".": 0.5}}
    reply = answer(opened(file, fixed(tables)), ASKED)
    assert reply.answers == pytest.approx(dict.fromkeys(SCALE, 0.0) | {"1": 0.3, "10": 0.3, "7": 0.4})
    assert (reply.text, reply.way, reply.covered) == ("7", "exact", pytest.approx(0.1))


def test_an_answer_is_read_behind_the_begun_sentence(file: Path) -> None:
    """The texts that the engine continues are a last message of the assistant, and end with a word."""
    answers = ("a small problem", "a big problem")
    tables = {
        "I think it is": {" a": 1.0},
        "I think it is a": {" small": 0.25, " big": 0.75},
        "I think it is a small": {" problem": 1.0},
        "I think it is a big": {" problem": 0.5, " issue": 0.5},
    }
    backend = opened(file, fixed(tables))
    reply = answer(backend, replace(ASKED, answers=answers, answer_prefix="I think it is "))
    assert reply.answers == pytest.approx({"a small problem": 0.4, "a big problem": 0.6})
    calls = backend.engine.calls  # type: ignore[attr-defined]
    assert {call["messages"][-1]["content"] for call in calls} == set(tables)
    assert reply.usage.completion_tokens == len(calls) == 4


def test_letters_have_to_be_the_whole_answer(file: Path) -> None:
    """ "A small problem" is no answer A."""
    tables = {"": {"A": 0.8, "B": 0.2}, "A": {" small": 0.9, ".": 0.1}, "B": {"": 1.0}}
    reply = answer(opened(file, fixed(tables)), replace(ASKED, answers=("A", "B")))
    assert reply.answers == pytest.approx({"A": 0.08 / 0.28, "B": 0.2 / 0.28})


def test_answers_of_which_none_is_likely_are_a_named_failure(file: Path) -> None:
    reply = answer(opened(file, fixed({"": {"Hello": 1.0}})), ASKED)
    assert reply.text is None
    assert reply.failure is not None
    assert (reply.failure.name, reply.covered) == ("not_covered", 0.0)


def test_a_speech_goes_on_from_its_beginning(file: Path) -> None:
    """The reply is what follows the beginning, and notes that it was begun."""
    tables = {"": {"Bob:": 1.0}, "Ann:": {" Yes": 1.0}, "Ann: Yes": {" indeed": 1.0}}
    speech = replace(ASKED, answers=(), begin="Ann:")
    reply = answer(opened(file, fixed(tables)), speech)
    assert (reply.text, reply.notes) == (" Yes indeed", {"begun": 1})
    assert answer(opened(file, fixed(tables)), replace(speech, begin="")).text == "Bob:"


def test_every_setting_of_the_sampler_is_in_the_call(file: Path) -> None:
    """Protects from defaults of the engine: llama.cpp would cut at 40 tokens, and temperature would come last."""
    backend = opened(file, fixed({"": {"Yes": 1.0}}))
    answer(backend, replace(ASKED, answers=(), sampling=Sampling(0.7, 8, 0.9, ("\n",), 0.05), seed=1 << 40 | 5))
    (call,) = backend.engine.calls  # type: ignore[attr-defined]
    expected = {"temperature": 0.7, "top_p": 0.9, "top_k": 0, "min_p": 0.05, "repeat_penalty": 1.0, "seed": 5}
    assert {name: call[name] for name in expected} == expected
    assert call["samplers"] == ["penalties", "temperature", "top_k", "top_p", "min_p"]
    assert (call["stop"], call["max_tokens"]) == (["\n"], 8)
    assert backend.identity["penalty"] == 1.0


def test_a_base_model_gets_one_plain_text(file: Path) -> None:
    seen = []

    def next_tokens(prompt: str, begun: str) -> Mapping[str, float]:
        seen.append(prompt)
        return {" 3": 0.5, " 4": 0.25, "": 0.25}

    backend = opened(file, next_tokens, is_chat=False)
    reply = answer(backend, ASKED)
    assert reply.answers == pytest.approx(dict.fromkeys(SCALE, 0.0) | {"3": 2 / 3, "4": 1 / 3})
    answer(backend, replace(ASKED, answer_prefix="My rating:"))
    assert seen[0] == "You are Ann.\n\nHow big a problem is it?\n\nAnswer:"
    assert seen[-1].endswith("Answer: My rating:")


def test_a_prompt_too_long_is_a_named_failure(file: Path) -> None:
    long = replace(ASKED, messages=(Message("user", "word " * 600),))
    for request in (long, replace(long, answers=())):
        failure = answer(opened(file, fixed({})), request).failure
        assert failure is not None
        assert failure.name == "context_overflow"


@check_each(
    ("tables", "name"),
    [({"": {"": 1.0}}, "empty"), ({"": {" ": 1.0}, " ": {" ": 1.0}, "  ": {" ": 1.0}}, "out_of_tokens")],
)
def test_a_reply_without_words_is_a_named_failure(file: Path, tables: dict, name: str) -> None:
    reply = answer(opened(file, fixed(tables)), replace(ASKED, answers=(), sampling=Sampling(0.0, 2)))
    assert reply.failure is not None
    assert reply.failure.name == name


def test_a_cut_reply_says_so(file: Path) -> None:
    tables = {"": {"One": 1.0}, "One": {" two": 1.0}, "One two": {" three": 1.0}}
    reply = answer(opened(file, fixed(tables)), replace(ASKED, answers=(), sampling=Sampling(0.0, 2)))
    assert (reply.text, reply.notes) == ("One two", {"cut": 1})


def test_a_vector_is_refused(file: Path) -> None:
    reply = answer(opened(file, fixed({})), replace(ASKED, answers=(), purpose=EMBEDDING))
    assert reply.failure is not None
    assert reply.failure.name == "no_embeddings"


def test_replies_belong_to_their_requests_whatever_the_slots(file: Path) -> None:
    def next_tokens(prompt: str, begun: str) -> Mapping[str, float]:
        return {"": 1.0} if begun else {prompt.rpartition(" ")[2]: 1.0}

    requests = [Request((Message("user", f"Say word{number}"),), Sampling(), number) for number in range(30)]
    for slots in (1, 4):
        replies = opened(file, next_tokens, slots).complete(requests)
        assert [reply.text for reply in replies] == [f"word{number}" for number in range(30)]


def test_an_error_of_the_engine_reaches_the_caller_when_nothing_is_in_flight(file: Path) -> None:
    def next_tokens(prompt: str, begun: str) -> Mapping[str, float]:
        if "bad" in prompt:
            raise ValueError("broken")
        return {"": 1.0} if begun else {"Yes": 1.0}

    backend = opened(file, next_tokens, slots=2)
    requests = [Request((Message("user", text),), Sampling(), 1) for text in ("good", "bad", "good", "good")]
    with pytest.raises(ValueError, match="broken"):
        backend.complete(requests)
    assert answer(backend, requests[0]).text == "Yes"


def test_only_with_nothing_kept_a_request_is_read_alone(file: Path) -> None:
    """With keep=0 a reply depends on its request alone; within a request the prompt is read once."""
    tables = {"": {"1": 1.0}, "1": {"0": 0.5, "": 0.5}}
    for keep, expected in ((0, [False, True]), (512, [True, True])):
        backend = opened(file, fixed(tables), keep=keep)
        answer(backend, ASKED)
        assert [call["cache_prompt"] for call in backend.engine.calls] == expected  # type: ignore[attr-defined]


def test_the_header_says_what_a_model_takes(file: Path, tmp_path: Path) -> None:
    """By hand: 2 of keys and values, 30 layers, 3 heads of 64 numbers, 2 bytes each: 23,040 bytes a token."""
    header = read_header(file)
    assert (header.name, header.is_chat, header.context, header.bytes_per_token) == ("tiny", True, 2048, 23_040)
    assert header.fields["tokenizer.ggml.tokens"] == 2
    assert context_of(header) == 2048
    other = write_header(tmp_path / "other.gguf", FIELDS | {"llama.block_count": 31})
    assert read_header(other).digest != header.digest
    assert not read_header(write_header(tmp_path / "base.gguf", {"general.architecture": "llama"})).is_chat


def test_the_identity_names_no_place(file: Path) -> None:
    backend = opened(file, fixed({}))
    assert str(file.parent) not in str(backend.identity)
    assert backend.identity["weights"] == read_header(file).digest


@check_each(
    ("spec", "words"),
    [
        ("gguf", "needs a file"),
        ("gguf:nothing", "needs a file"),
        ("gguf:nothing.gguf", "there is no file nothing.gguf"),
        ("gguf:FILE,slots=0", "slots of gguf is 0, but must be 1 or more"),
        ("gguf:FILE,style=odd", "style of gguf is 'odd', but must be one of auto, chat, plain"),
    ],
)
def test_what_cannot_be_used_is_one_line(file: Path, spec: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as error:
        check_spec(spec.replace("FILE", str(file)))
    assert "\n" not in str(error.value)


@check_each(
    ("content", "words"),
    [(b"GGML" + b"x" * 40, "is not a GGUF file"), (b"GGUF" + b"\xff" * 40, "is damaged"), (b"GGUF\x03", "is damaged")],
)
def test_a_file_that_is_no_gguf_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        open_spec(f"gguf:{path}")


@check_each(("busy", "free"), [(0.0, 4), (12.0, 4), (50.0, 2), (100.0, 1)])
def test_threads_are_what_is_free(busy: float, free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now: the load average still counts the last minute, and a model then took one thread of two free ones."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(4), raising=False)
    monkeypatch.setattr("psutil.cpu_count", lambda: 4)
    monkeypatch.setattr("psutil.cpu_percent", lambda _: busy)
    assert free_cores() == free


def test_a_model_of_the_catalogue_is_named_alone() -> None:
    """The name stands in commands and records; no place on a machine does."""
    assert full_spec("smollm2,threads=2") == "gguf:smollm2,threads=2"
    assert split_spec("smollm2").after == "smollm2"
    assert identity_spec("smollm2,threads=2") == "gguf:smollm2"


def test_the_plan_says_memory_and_time_before_anything_is_loaded(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: a context of 2,048 tokens of 23,040 bytes; the time of the latest run, scaled by the bytes of the weights."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    costs = run_costs(f"gguf:{file},keep=100", Usage(1000, 100))
    assert costs.memory == file.stat().st_size + 2048 * 23_040 + (100 << 20) + OVERHEAD
    assert costs.seconds > 0
    assert not costs.measured
    log = SpeedLog(2 * file.stat().st_size)
    for _ in range(10):
        log.add(
            {
                "usage": {"prompt_tokens": 50, "completion_tokens": 11},
                "timings": {"prompt_ms": 100, "predicted_ms": 200},
            }
        )
    costs = run_costs(f"gguf:{file}", Usage(1000, 100))
    assert costs.measured
    assert costs.seconds == pytest.approx((1000 * 0.1 / 50 + 100 * 0.2 / 10) / 2)
    assert run_costs("oracle", Usage(1000, 100)) is None


def test_further_lookups_of_a_question_count_their_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects the plan: the prompt of a question is counted once, as the plan counts it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = SpeedLog(100)
    call = {"usage": {"prompt_tokens": 50, "completion_tokens": 1}, "timings": {"prompt_ms": 100, "predicted_ms": 0}}
    log.add(call)
    log.add(call, is_first=False)
    log.add({})
    assert (log.calls, log.sums["asked"], log.sums["reading"]) == (1, 50, pytest.approx(0.2))


def test_a_template_that_begins_a_new_reply_is_refused_in_one_line(file: Path) -> None:
    """Else every closed question would be asked at the wrong place, and every speech would lack its label."""

    class New(FakeEngine):
        def chat(self, body: Mapping[str, object]) -> Mapping[str, object]:
            return {"choices": [{"message": {"content": "Hello."}, "finish_reason": "length"}], "usage": {}}

    settings = EngineSettings(file, 1, 2048, 1, 512)
    backend = Gguf(New(fixed({})), read_header(file), settings, 1.0, True)
    with pytest.raises(UserError, match="tiny cannot continue a begun reply: add the option style=plain"):
        backend.check_begun()
    opened(file, fixed({"I think": {" so": 1.0}})).check_begun()


def test_a_begun_turn_ends_where_another_label_begins(file: Path) -> None:
    """Small models write the partners' lines as well: the turn of Ann ends before the line of Bob, and is not lost."""
    tables = {"Ann:": {" Yes.": 1.0}, "Ann: Yes.": {"\nBob:": 1.0}, "Ann: Yes.\nBob:": {" No.": 1.0}}
    speech = replace(ASKED, answers=(), begin="Ann:", names=frozenset({"Ann", "Bob"}))
    assert answer(opened(file, fixed(tables)), speech).text == " Yes."


def test_a_run_of_a_file_is_found_by_its_name(file: Path) -> None:
    """Protects the plan, which reads the speed of the latest run with this model."""
    assert recorded_name(f"gguf:{file}") == opened(file, fixed({})).identity["model"] == "tiny"
    assert recorded_name("oracle,kappa=0") == ""


def test_a_run_of_closed_questions_alone_tells_the_speed_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that wrote nothing knows how fast prompts are read; writing takes as many times longer as it usually does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = SpeedLog(100)
    for _ in range(10):
        log.add(
            {"usage": {"prompt_tokens": 50, "completion_tokens": 1}, "timings": {"prompt_ms": 100, "predicted_ms": 0}}
        )
    speed = known_speed()
    assert speed.measured
    assert speed.reading == pytest.approx(0.1 / 50 / 100)
    assert speed.writing == pytest.approx(speed.reading * WRITING / READING)


def test_a_small_model_never_draws_from_all_tokens_unless_the_user_says_so(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn from all tokens at temperature 1, a model of 135 million parameters writes noise: "Oundant. Dishonor."."""
    spec = f"gguf:{file}"
    assert with_suited_sampling({"llm": spec})["min_p"] == 0.05
    assert scenario_on("two_way", {"llm": spec}, None).value("min_p") == 0.05
    for own in ({"min_p": 0.0}, {"temperature": 0.7}, {"top_p": 0.9}, {"top_k": 40}):
        assert with_suited_sampling({"llm": spec, **own}) == {"llm": spec, **own}
    assert with_suited_sampling({"llm": "oracle"}) == {"llm": "oracle"}
    assert with_suited_sampling({"rounds": 2}) == {"rounds": 2}
    monkeypatch.setattr(gguf_module, "SMALL", 1)
    assert suited_sampling(spec) == {}


def test_a_speaker_that_ends_its_turn_at_once_gets_a_first_word(file: Path) -> None:
    """A base model of 270 million parameters ended 3 of 18 lines behind the label: its likeliest word is where it goes on."""
    ends = {"": 0.6, "\n\nBob:": 0.2, " Yes": 0.15, " No": 0.05}
    rest = {" Yes": {".": 1.0}, " Yes.": {"": 1.0}}
    begun = replace(ASKED, answers=(), begin="Ann:", sampling=Sampling(0.0, 9))
    chat = opened(file, fixed({"Ann:": ends} | {f"Ann:{text}": table for text, table in rest.items()}))
    reply = answer(chat, begun)
    assert (reply.text, reply.failure) == (" Yes.", None)
    assert answer(chat, replace(begun, sampling=Sampling(1.0, 9, min_p=0.5))).text == " Yes."
    nothing = answer(opened(file, fixed({"Ann:": {"": 0.9, "\n": 0.1}})), begun)
    assert nothing.failure is not None
    assert nothing.failure.name == "empty"


def test_a_first_word_is_drawn_as_the_sampling_says() -> None:
    shares = {" a": 0.6, " b": 0.3, " c": 0.01}
    seen = {drawn(shares, Sampling(1.0, 9, min_p=0.05), seed) for seed in range(60)}
    assert seen == {" a", " b"}
    assert drawn(shares, Sampling(0.0, 9), 1) == " a"
