"""The openai backend against a server that lies, breaks off, storms and dies: each request ends as a reply or a named failure."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.llm.backends import open_spec
from parley.llm.backends.openai import payload
from parley.llm.backends.openai.backend import EndpointSettings, Openai
from parley.llm.backends.openai.capabilities import open_endpoints
from parley.llm.backends.openai.payload import sanitise
from parley.llm.backends.openai.transport import CONNECTIONS, Clock, Endpoint, HttpAnswer, NoAnswer
from parley.llm.budget import REPEATED
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import Unreachable, UserError
from parley.llm.journal import Journal
from parley.llm.prices import Account
from parley.llm.request import BEGUN, Message, Reply, Request, Sampling, Usage

from .loopback import Act, Body, Loopback, Plan, completed, digest, echo, likely, problem, said

KEY = "sk-very-secret-1234567890"
SCALE = tuple(str(point) for point in range(11))


class Quick(Clock):
    """A clock on which waiting takes no time but moves the hands."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        until = self.time + seconds
        self.waits.append(seconds)
        await asyncio.sleep(0)
        self.time = max(self.time, until)


@pytest.fixture(params=["fast", "official"])
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def backend(*servers: Loopback, key: str = KEY, **more: object) -> Openai:
    given = {"api": "chat", "closed": "text", "thinking": -1, "in_flight": 16, "rpm": 0, "tpm": 0, "timeout": 5.0}
    given |= {"attempts": 4, "patience": 600.0} | more
    urls = [server.url for server in servers]
    return open_endpoints(EndpointSettings("echo", urls, key, **given), Quick())  # type: ignore[arg-type]


def question(
    text: str = "Why?", seed: int = 1, answers: tuple[str, ...] = (), prefix: str = "", t: float = 0.7
) -> Request:
    return Request((Message("user", text),), Sampling(t, 30), seed, answers, "survey" if answers else "speech", prefix)


def questions(count: int) -> list[Request]:
    return [question(f"Question {number}?", number) for number in range(count)]


def after_the_probe(plan: Plan) -> Plan:
    """The probe's own questions are answered well; the plan is for all others."""
    return lambda body, time: plan(body, time) if "sky" not in str(body) else said("Yes.")


def one(act: Act, **more: object) -> Reply:
    """The outcome of one question to which the server always does the same."""
    with Loopback(after_the_probe(lambda body, time: act)) as server:
        return backend(server, **more).complete([question()])[0]  # type: ignore[arg-type]


def test_what_is_sent(client: str) -> None:
    """Every field of the sampling, the key in its header and nowhere else, and the reply's text and usage back."""
    with Loopback(echo) as server:
        asked = Request(
            (Message("system", "You are Ann."), Message("user", "Why?")), Sampling(0.5, 33, 0.9, ("\n",)), 7
        )
        (reply,) = backend(server, client=client).complete([asked])
        body = server.asked[-1]
    assert body == {
        "model": "echo",
        "messages": [{"role": "system", "content": "You are Ann."}, {"role": "user", "content": "Why?"}],
        "max_tokens": 33,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["\n"],
        "seed": 7,
    }
    assert (reply.text, reply.usage) == (digest(body), Usage(20, 5))
    assert server.keys == {f"Bearer {KEY}"}


@check_each("status", [400, 500])
@check_each("words", ["System role not supported", "Conversation roles must alternate user/assistant/user/..."])
def test_a_model_without_a_system_role_is_found_and_told_in_its_first_message(status: int, words: str) -> None:
    """The probe had no system message: every call of the run that followed failed, and it ended with exit code 0."""

    def gemma(body: Body, time: int) -> Act:
        return problem(status, words) if body["messages"][0]["role"] == "system" else echo(body)

    with Loopback(gemma) as server:
        asked = backend(server)
        turns = (
            Message("system", "You are Ann."),
            Message("user", "Why?"),
            Message("assistant", "So."),
            Message("user", "Ah?"),
        )
        (reply,) = asked.complete([Request(turns, Sampling(), 7)])
        sent = [(one["role"], one["content"]) for one in server.asked[-1]["messages"]]
    assert reply.failure is None
    assert sent == [("user", "You are Ann.\n\nWhy?"), ("assistant", "So."), ("user", "Ah?")]
    assert dict(asked.identity["can"])["system"] is False
    assert "no system role" in asked.says


def test_what_a_model_thinks_for_one_word_is_said() -> None:
    """Thinking tokens are in no plan: the console says what the probe saw of them, before all are asked and paid for."""
    with Loopback(lambda body, time: said("<think>Blue.</think>Yes.")) as server:
        assert (
            "thinks first (took 5 for one word, up to 4000 tokens allowed; no plan counts them)" in backend(server).says
        )


def test_keys_of_earlier_runs_hold() -> None:
    """What is new in the abilities stands in the identity only where it differs: a journal is not asked anew."""
    with Loopback(echo) as server:
        assert "system" not in dict(backend(server).identity["can"])


def test_a_key_is_hidden_and_the_word_is_not() -> None:
    """OpenAI's own line read "Incorrect API (secret): ..."."""
    said = "Incorrect API key provided: sk-proj-abc***xyz. You can find your API key at https://platform.example."
    assert sanitise(said) == said.replace("sk-proj-abc***xyz.", "(secret)")
    for hidden in ("key abc123def456", "Bearer abcdefgh", "key-abcdefgh"):
        assert "(secret)" in sanitise(f"with {hidden} it is")


def test_a_completion_is_one_text() -> None:
    with Loopback(echo) as server:
        asked = Request((Message("system", "You are Ann."), Message("user", "Why?")), Sampling(), 7)
        backend(server, api="completions").complete([asked])
    assert server.asked[-1]["prompt"] == "You are Ann.\n\nWhy?\n\nMe:"
    assert server.asked[-1]["stop"] == ["\nMe:"], "or it goes on with the next turn"


FAILURES: dict[str, tuple[Act, str, str]] = {
    "bad request": (problem(400, "temperature is too odd"), "bad_request", "400: temperature is too odd"),
    "long prompt": (problem(400, "This model's maximum context length is 8192 tokens"), "context_overflow", "8192"),
    "filtered prompt": (problem(400, "no", "content_filter"), "content_filter", "400"),
    "filtered reply": (said("Some", "content_filter"), "content_filter", ""),
    "refusal": (said(None, message={"refusal": "I won't."}), "refusal", "I won't."),
    "no choices": (Act(body=b'{"choices": []}'), "malformed", "index out of range"),
    "no message": (Act(body=b'{"choices": [{"finish_reason": "stop"}]}'), "malformed", "'message'"),
    "a list": (Act(body=b"[1, 2]"), "malformed", ""),
    "no json": (Act(body=b"<html>proxy</html>"), "malformed", "no JSON"),
    "deep json": (Act(body=b"[" * 100_000), "malformed", "no JSON"),
    "empty": (said(""), "empty", "stop"),
    "a tool call": (said(None, "tool_calls"), "empty", "tool_calls"),
    "cut before a word": (said("", "length"), "out_of_tokens", "length"),
    "server error": (problem(500, "oops"), "server_error", "500: oops"),
    "half a body": (Act(body=said("whole").body, half=0.5), "connection", ""),
    "reset": (Act(reset=True), "connection", ""),
    "storm": (problem(429, "slow down"), "busy", "429: slow down"),
    "filtered with a 403": (problem(403, "input flagged by moderation"), "content_filter", "403"),
    "slow server": (problem(500, "upstream took too long"), "server_error", "500"),
    "error in a 200": (Act(body=b'{"error": {"message": "no luck", "code": 502}}'), "busy", "no luck"),
}


@pytest.mark.thorough
@check_each(("act", "name", "detail"), FAILURES.values(), ids=FAILURES.keys())
def test_failures_by_name(act: Act, name: str, detail: str, client: str) -> None:
    """Each is a named failure in the end, none an exception and none a made-up text."""
    reply = one(act, client=client, patience=20)
    assert reply.text is None
    assert reply.failure is not None
    assert (reply.failure.name, reply.failure.transient) == (name, False)
    assert detail in reply.failure.detail


def test_a_call_that_takes_too_long_is_a_timeout(client: str) -> None:
    reply = one(Act(hang=True), client=client, timeout=0.2, attempts=2)
    assert reply.failure is not None
    assert (reply.failure.name, reply.notes) == ("timeout", {REPEATED: 1})


@check_each("trouble", ["server error", "half a body", "reset", "storm", "no json", "empty"])
def test_what_passes_is_asked_again(trouble: str, client: str) -> None:
    """Twice a fault, then a reply: the reply stands, and says that it took two calls more."""
    act = FAILURES[trouble][0]
    with Loopback(after_the_probe(lambda body, time: act if time < 3 else echo(body))) as server:
        (reply,) = backend(server, client=client).complete([question()])
    assert reply.text == digest(server.asked[-1])
    assert reply.notes == {REPEATED: 2}


def test_what_will_not_pass_is_asked_once() -> None:
    with Loopback(after_the_probe(lambda body, time: problem(400, "never"))) as server:
        backend(server).complete(questions(3))
    assert Counter(server.times.values()) == {1: 8}, "three questions and the probe's own"


def test_a_server_says_how_long_it_wants_to_be_left_alone() -> None:
    act = problem(429, "slow down", retry_after="7")
    with Loopback(after_the_probe(lambda body, time: act if time == 1 else echo(body))) as server:
        asked = backend(server)
        asked.complete([question()])
    assert isinstance(asked.clock, Quick)
    assert asked.clock.waits == [pytest.approx(7)]


def test_a_server_that_says_at_once_again_and_again_is_not_believed() -> None:
    act = problem(429, "slow down", retry_after="0")
    with Loopback(after_the_probe(lambda body, time: act if time < 5 else echo(body))) as server:
        asked = backend(server)
        asked.complete([question()])
    assert isinstance(asked.clock, Quick)
    assert asked.clock.waits == pytest.approx([0, 1, 2, 4])


def test_a_call_that_had_to_wait_its_turn_was_sent_when_it_was_sent() -> None:
    """Else one refusal would halve the load again for each call that had been waiting when it came."""

    class Slow:
        url, timeout = "slow", 60.0

        async def post(self, path: str, body: bytes) -> HttpAnswer:
            await clock.sleep(5)
            return HttpAnswer(200, {}, b"")

    async def both() -> list[tuple[HttpAnswer, float]]:
        endpoint = Endpoint(Slow(), 1, 0, 0, clock)  # type: ignore[arg-type]
        return list(await asyncio.gather(*[endpoint.post("/", b"", 1, 60) for _ in range(2)]))

    clock = Quick()
    assert [sent for _, sent in asyncio.run(both())] == [0, 5]


def test_an_address_that_takes_no_connection_is_unreachable(monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    """Not a time-out of a call: it is waited for as a server that is down."""
    monkeypatch.setattr("parley.llm.backends.openai.transport.CONNECT", 0.2)
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with closing(socket.create_connection(address)):  # the one that it has room for
            url = f"http://127.0.0.1:{address[1]}/v1"
            line = asyncio.run(_refused(client, url))
    assert line == "unreachable"


async def _refused(client: str, url: str) -> str:
    line = CONNECTIONS[client](url, KEY, 5.0)
    try:
        await line.post("/chat/completions", b"{}")
    except NoAnswer as error:
        return error.name
    finally:
        await line.close()
    return "answered"


def test_a_server_that_goes_on_and_on_is_a_timeout(client: str) -> None:
    """A byte now and then keeps the connection alive, not the call."""
    drip = replace(said("Yes."), drip=True)
    reply = one(drip, client=client, timeout=0.3, attempts=1)
    assert reply.failure
    assert reply.failure.name == "timeout"


def test_a_storm_makes_it_ask_less_at_once_and_quiet_more() -> None:
    """Half as many at most once for the calls of one moment; one more for each full round that goes well."""
    storm = iter(range(10**6))
    with Loopback(after_the_probe(lambda body, time: problem(429) if next(storm) < 3 else echo(body))) as server:
        asked = backend(server, in_flight=16)
        replies = asked.complete(questions(300))
        assert asked.endpoints[0].limit == 16
    assert all(reply.text for reply in replies)
    assert server.most <= 16


def test_a_dead_server_is_waited_for() -> None:
    """Busy for a minute of the clock; everything lands in the end."""
    clock: list[Quick] = []
    with Loopback(after_the_probe(lambda body, time: problem(503) if clock[0].time < 60 else echo(body))) as server:
        asked = backend(server)
        assert isinstance(asked.clock, Quick)
        clock.append(asked.clock)
        assert all(reply.text for reply in asked.complete(questions(100)))
    assert clock[0].time >= 60


def test_a_server_that_breaks_off_every_call_is_one_that_is_dead() -> None:
    """A gateway in front of a dead server takes connections and drops them: for a minute of it nothing is lost."""
    clock: list[Quick] = []
    with Loopback(after_the_probe(lambda body, time: Act(reset=True) if clock[0].time < 60 else echo(body))) as server:
        asked = backend(server)
        assert isinstance(asked.clock, Quick)
        clock.append(asked.clock)
        assert all(reply.text for reply in asked.complete(questions(100)))
    assert clock[0].time >= 60


def test_patience_ends_for_all_at_once() -> None:
    """A hundred requests to a server that stays down do not wait for it one after the other."""
    with Loopback(after_the_probe(lambda body, time: problem(503, "down"))) as server:
        asked = backend(server, patience=30, in_flight=100)
        replies = asked.complete(questions(100))
    assert [reply.failure.name for reply in replies if reply.failure] == ["busy"] * 100
    assert isinstance(asked.clock, Quick)
    assert 30 <= asked.clock.time < 90


def test_one_request_that_is_always_refused_is_given_up() -> None:
    """A server that takes all others will not take it for being asked a hundred times."""
    act = problem(429, "too large for your limit", retry_after="0")
    with Loopback(after_the_probe(lambda body, time: act if "Question 3?" in str(body) else echo(body))) as server:
        replies = backend(server).complete(questions(300))
    assert [place for place, reply in enumerate(replies) if reply.failure] == [3]
    assert 10 < max(server.times.values()) <= 50


@pytest.mark.parametrize(
    ("act", "words"), [(problem(401, "bad key"), "401: bad key"), (problem(429, "pay", "insufficient_quota"), "pay")]
)
def test_what_ends_the_run_leaves_nothing_behind(act: Act, words: str) -> None:
    """A key that is taken back: what was on its way lands first, then one line says why it stops."""
    count = iter(range(10**6))
    with Loopback(after_the_probe(lambda body, time: echo(body) if next(count) < 20 else act)) as server:
        asked, landed = backend(server, in_flight=8), []

        def room(number: int) -> Conversation[None]:
            for turn in range(5):
                landed.append((yield from ask(question(str(number), turn))))

        with pytest.raises(UserError, match=words):
            drive([room(number) for number in range(8)], asked)
    assert len(landed) == 20


def faulty(seed: int) -> Plan:
    """Every call has a fault with probability .4, of any kind but a hanging one."""
    drawn = random.Random(seed)
    acts = [act for name, (act, *_) in FAILURES.items() if name != "deep json"]
    return after_the_probe(lambda body, time: drawn.choice(acts) if drawn.random() < 0.4 else echo(body))


@pytest.mark.thorough
@check_each("seed", [1, 2])
def test_thousands_of_requests_with_random_faults(tmp_path: Path, seed: int, client: str) -> None:
    """Each ends as a reply or a named failure; a second sitting asks none of them again; no key is written anywhere."""
    asked = questions(2000 if client == "fast" else 300)
    path = tmp_path / "journal.sqlite"
    with Loopback(faulty(seed)) as server:
        with closing(Journal(path, backend(server, client=client))) as journal:
            replies = _through(journal, asked)
        calls = len(server.asked)
        with closing(Journal(path, backend(server, client=client))) as journal:
            assert _through(journal, asked) == replies
        assert len(server.asked) == calls + 5, "the probe's own questions"
    texts = {json.dumps(body, sort_keys=True): digest(body) for body in server.asked}
    for reply in replies:
        assert (reply.text is None) == (reply.failure is not None)
        assert reply.text is None or reply.text in texts.values() or reply.text == "whole"
        assert reply.failure is None or reply.failure.name in {name for _, name, _ in FAILURES.values()}
    assert sum(reply.text is not None for reply in replies) > 0.7 * len(asked)
    assert calls == len(asked) + 5 + sum(reply.notes.get(REPEATED, 0) for reply in replies)
    assert KEY.encode() not in path.read_bytes()


def _through(journal: Journal, asked: list[Request]) -> list[Reply]:
    def room(request: Request) -> Conversation[Reply]:
        return (yield from ask(request))

    return drive([room(request) for request in asked], journal)


def test_a_server_that_tells_the_key_is_not_repeated() -> None:
    """Some servers put the key into their error: it does not get into the record."""
    reply = one(problem(400, f"Incorrect API key provided: {KEY}. See"))
    assert reply.failure is not None
    assert KEY not in reply.failure.detail
    assert "(secret)" in reply.failure.detail


def test_addresses_share_the_load() -> None:
    """Two servers of one model get about half each; when one says that it is too much, the other takes over."""
    with Loopback(echo) as first, Loopback(echo) as second:
        backend(first, second).complete(questions(400))
        assert 120 < len(first.asked) < 280
        assert len(first.asked) + len(second.asked) == 400 + 2 * 5
    with Loopback(after_the_probe(lambda body, time: problem(503))) as down, Loopback(after_the_probe(echo)) as up:
        assert all(reply.text for reply in backend(down, up).complete(questions(50)))


def test_addresses_that_do_not_serve_alike_are_one_line() -> None:
    def seedless(body: Body, time: int) -> Act:
        return problem(400, "seed") if "seed" in body else echo(body)

    with (
        Loopback(echo) as one_,
        Loopback(seedless) as other,
        pytest.raises(UserError, match="accept different fields for echo"),
    ):
        backend(one_, other)


def test_thinking_is_kept_apart() -> None:
    """Nobody hears what a model thinks before it speaks, whichever way the server sends it."""
    for act in (
        said("I agree.", message={"reasoning_content": "Hm."}),
        said("<think>\nHm.\n</think>\n\nI agree."),
        said("[THINK]Hm.[/THINK]I agree."),
        said("analysisHm.assistantfinalI agree."),
        said("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>I agree."),
    ):
        reply = one(act, thinking=100)
        assert (reply.text, reply.thinking) == ("I agree.", "Hm.")
        assert Reply.from_json(reply.to_json()) == reply


def test_a_thought_without_an_end_is_no_reply() -> None:
    reply = one(said("<think>Let me see", "length"))
    assert reply.failure is not None
    assert (reply.failure.name, reply.thinking) == ("out_of_tokens", "Let me see")


def closed(
    act: Act, way: str, answers: tuple[str, ...] = SCALE, prefix: str = "", t: float = 0.0, api: str = "chat"
) -> Reply:
    """The outcome of a closed question at an endpoint that can do `way`."""

    def plan(body: Body, time: int) -> Act:
        if "dog" in str(body):
            four = {"4": 0.9, "5": 0.05, " four": 0.05}
            if api == "chat":
                return said("4", logprobs=likely(("4", four)))
            logs = {token: -1.0 - number for number, token in enumerate(four)}
            return completed("4", logprobs={"tokens": ["4"], "top_logprobs": [logs]})
        return said('{"answer": "okapi"}') if "quagga" in str(body) else act

    with Loopback(after_the_probe(plan) if api == "chat" else plan) as server:
        asked = backend(server, closed=way, api=api)
        return asked.complete([question("Rate it.", 3, answers, prefix, t)])[0]


def test_a_rating_comes_with_its_distribution() -> None:
    shares = {"7": 0.5, "8": 0.3, " 7": 0.1, "I": 0.1}
    reply = closed(said("7", logprobs=likely(("7", shares))), "logprobs")
    assert (reply.text, reply.way) == ("7", "logprobs")
    assert reply.answers == pytest.approx({**dict.fromkeys(SCALE, 0.0), "7": 2 / 3, "8": 1 / 3})


def test_an_improbable_answer_keeps_its_distribution() -> None:
    """The model was about to say "I": its answers had a tenth of the probability. They are read, and the tenth is told."""
    reply = closed(said("I think so", logprobs=likely(("I", {"I": 0.9, "7": 0.08, "8": 0.02}))), "logprobs")
    assert (reply.text, reply.way, reply.covered) == ("7", "logprobs", pytest.approx(0.1))
    assert reply.answers is not None
    assert (reply.answers["7"], reply.answers["8"]) == pytest.approx((0.8, 0.2))


def test_ten_is_not_one() -> None:
    """Where 10 is one token, 1 is told apart; where it is two, by what follows the 1; where nothing follows, not at all."""
    whole = closed(said("1", logprobs=likely(("1", {"1": 0.5, "10": 0.4, "2": 0.1}))), "logprobs")
    assert whole.answers is not None
    assert (whole.answers["1"], whole.answers["10"]) == pytest.approx((0.5, 0.4))
    split = said("10", logprobs=likely(("1", {"1": 0.8, "2": 0.2}), ("0", {"0": 0.75, ".": 0.25})))
    two = closed(split, "logprobs")
    assert two.answers is not None
    assert (two.answers["1"], two.answers["10"], two.answers["2"]) == pytest.approx((0.2, 0.6, 0.2))
    untold = closed(said("2", logprobs=likely(("2", {"2": 0.6, "1": 0.4}))), "logprobs")
    assert (untold.answers, untold.text, untold.way) == (None, "2", "text")


def test_an_answer_behind_its_beginning_is_read_there() -> None:
    labels = ("minor", "considerable", "big")
    places = [(token, {token: 1.0}) for token in ("I", " think", " it", " is", " a")]
    act = said(
        "I think it is a big one", logprobs=likely(*places, (" big", {" big": 0.7, " consider": 0.2, " min": 0.1}))
    )
    reply = closed(act, "logprobs", labels, "I think it is a ")
    assert reply.answers == pytest.approx({"minor": 0.1, "considerable": 0.2, "big": 0.7})


@check_each(
    "logprobs",
    [
        None,
        {"content": None},
        {"content": []},
        {"content": [{"token": "7"}]},
        likely(("7", {"7": 0.9, "8": 0.9})),
        {"content": [{"token": "7", "top_logprobs": [{"token": "7", "logprob": 3}]}]},
        {"content": [{"token": "7", "top_logprobs": [{"token": "7", "logprob": "nan"}]}]},
    ],
)
def test_likeliest_tokens_that_tell_nothing_leave_the_text(logprobs: object) -> None:
    """Ignored, missing, no probabilities, or not about the answer: the text is read as it would have been, and says so."""
    reply = closed(said("7", logprobs=logprobs), "logprobs")
    assert (reply.text, reply.answers, reply.way) == ("7", None, "text")


def test_a_completion_has_likeliest_tokens_too() -> None:
    logs = {"tokens": [" 7"], "top_logprobs": [{" 7": -0.5, " 8": -1.0}]}
    reply = closed(completed(" 7", logprobs=logs), "logprobs", api="completions")
    assert reply.answers is not None
    assert reply.answers["7"] == pytest.approx(0.6065 / (0.6065 + 0.3679), abs=1e-3)


def test_a_completion_in_the_form_of_a_chat_has_a_distribution_too() -> None:
    """llama.cpp answers /v1/completions so: every distribution was lost, and base models were read from their texts."""
    reply = closed(completed(" 7", logprobs=likely((" 7", {" 7": 0.6, " 8": 0.2}))), "logprobs", api="completions")
    assert (reply.way, reply.covered) == ("logprobs", pytest.approx(0.8))
    assert reply.answers is not None
    assert reply.answers["7"] == pytest.approx(0.75)


def speaker(tables: Mapping[str, Mapping[str, float]], begins: str, flags: bool = False) -> Plan:
    """A server that continues a message (with `flags` alone, if so): next tokens by what stands behind `begins`."""

    def plan(body: Body, time: int) -> Act:
        last = body["messages"][-1]
        if last["role"] != "assistant" or (flags and not body.get("continue_final_message")):
            return said("4", logprobs=likely(("4", {"4": 0.9, "5": 0.1}))) if body.get("logprobs") else said("Anew.")
        if last["content"].startswith("blackbird"):
            return said("bird.")
        if not body.get("logprobs"):
            return said(f"{last['content']} so it is." if not flags else " so it is.")
        return said("x", "length", logprobs=likely(("x", tables[last["content"].removeprefix(begins)])))

    return plan


@check_each("flags", [False, True])
def test_whole_answers_are_scored_behind_a_begun_sentence(flags: bool) -> None:
    """P(10) = P(1) P(0 after 1) whatever was sampled; one of four answers was lost where the first token was not the 1."""
    tables = {"": {" 1": 0.5, " 7": 0.4, " I": 0.1}, " 1": {"0": 0.25, ".": 0.75}}
    with Loopback(speaker(tables, "My rating:", flags)) as server:
        asked = backend(server, closed="auto")
        assert (asked.can.continues, asked.can.closed) == ("flags" if flags else "message", "whole")
        (reply,) = asked.complete([replace(question("Rate it.", 3, SCALE, t=0.0), begin="My rating:")])
        (open_,) = asked.complete([replace(question("Why?"), begin="Ann:")])
    assert (reply.way, reply.text, reply.covered) == ("whole", "7", pytest.approx(0.9))
    assert reply.answers is not None
    found = [reply.answers[answer] for answer in ("1", "7", "10")]
    assert found == pytest.approx([0.375 / 0.9, 0.4 / 0.9, 0.125 / 0.9])
    assert (reply.usage, reply.notes) == (Usage(40, 10), {}), "two calls"
    assert (open_.text, open_.notes) == (" so it is.", {BEGUN: 1}), "what a server repeats is cut off"


def test_phrases_of_several_tokens_are_told_apart() -> None:
    labels = ("no problem", "a minor problem", "a serious problem")
    tables = {"": {" no": 0.1, " a": 0.5, " very": 0.4}, " a": {" minor": 0.2, " serious": 0.3, " big": 0.5}}
    tables |= {" no": {" problem": 0.9, " one": 0.1}}
    tables |= {f" a {word}": {" problem": 0.5, " threat": 0.5} for word in ("minor", "serious")}
    with Loopback(speaker(tables, "I think it is")) as server:
        asked = backend(server, closed="auto")
        (reply,) = asked.complete([question("Rate it.", 3, labels, "I think it is ", t=0.0)])
    assert reply.answers is not None
    assert list(reply.answers.values()) == pytest.approx([0.09 / 0.215, 0.05 / 0.215, 0.075 / 0.215])
    assert reply.covered == pytest.approx(0.215)


def test_a_busy_server_that_rounds_otherwise_once_still_takes_top_k() -> None:
    """A llama.cpp server with other calls in flight gave two texts: the run lost its settings, and its resume asked all again."""
    heated = iter(["A line of gold", "A line of old", "A line of gold"])

    def busy(body: Body, time: int) -> Act:
        return said(next(heated)) if body.get("top_k") == 1 else said(digest(body))

    with Loopback(busy) as server:
        assert backend(server).can.filters
    with Loopback(echo) as server:
        assert not backend(server).can.filters


def test_top_k_min_p_and_penalties_are_sent_where_they_are_taken() -> None:
    """llama.cpp has top_k 40 and min_p .05 of its own: the same settings meant other things on hf."""

    def llama(body: Body, time: int) -> Act:
        return said("One line.") if body.get("top_k") == 1 else said(digest(body))

    warm = Request((Message("user", "Why?"),), Sampling(0.7, 30, 0.9, (), 0.05, 40), 1)
    with Loopback(llama) as server:
        asked = backend(server)
        assert asked.can.filters
        asked.complete([question()])
        plain = server.asked[-1]
        asked.complete([warm])
        assert (server.asked[-1]["top_k"], server.asked[-1]["min_p"]) == (40, 0.05)
    assert (plain["top_k"], plain["min_p"], plain["repeat_penalty"], plain["presence_penalty"]) == (0, 0.0, 1.0, 0.0)
    with Loopback(echo) as server:
        asked = backend(server)
        (refused,) = asked.complete([warm])
        asked.complete([question()])
        assert "top_k" not in server.asked[-1]
    assert refused.failure is not None
    assert refused.failure.name == "not_supported"
    assert "top_k, min_p and penalties are the server's own" in asked.says


def test_a_phrase_that_is_not_among_twenty_tokens_has_no_probability_of_zero() -> None:
    """SmolLM2 over a server: "a large problem" was 0 in 6 of 6 ratings, as "large" was not among 20 tokens behind "a"."""
    labels, tables = (
        ("no problem", "a large problem"),
        {"": {" no": 0.1, " a": 0.5}, " no": {" problem": 1.0}, " a": {" big": 0.9}},
    )
    for most, way in ((1000, "whole"), (20, "text")):

        def plan(body: Body, time: int, most: int = most) -> Act:
            if body.get("top_logprobs", 0) > most:
                return problem(400, "top_logprobs too large")
            return speaker(tables, "I think it is")(body, time)

        with Loopback(plan) as server:
            asked = backend(server, closed="auto")
            (reply,) = asked.complete([question("Rate it.", 3, labels, "I think it is ", t=0.0)])
        assert (asked.can.top, reply.way) == (most, way)


def test_a_server_that_begins_anew_gets_the_phrases_in_the_question() -> None:
    """Where a begun sentence is not continued, the sentence and its ends are listed, once."""
    labels = ("no problem", "a large problem")
    with Loopback(echo) as server:
        asked = backend(server)
        asked.complete([question("How bad?", 3, labels, "I think it is ")])
        assert server.asked[-1]["messages"][-1]["content"] == "How bad?\n\nI think it is [no problem / a large problem]"
        asked.complete([question("no problem or a large problem?", 3, labels, "I think it is ")])
        assert server.asked[-1]["messages"][-1]["content"] == "no problem or a large problem?"


def test_a_forced_answer_says_what_the_model_would_have_said() -> None:
    """Seven of seven "10" by a schema were complete ratings: the likeliest tokens beside it say that the answers had .08."""
    places = [
        ("{", {"{": 0.01, "I": 0.99}),
        ('"answer": "', {'"answer": "': 1.0}),
        ("10", {"10": 0.06, "7": 0.02, "I": 0.92}),
    ]

    def plan(body: Body, time: int) -> Act:
        if "quagga" in str(body):
            return said('{"answer": "okapi"}', logprobs=likely(("{", {"{": 0.2, "I": 0.8})))
        return said('{"answer": "10"}', logprobs=likely(*places)) if body.get("logprobs") else said("No.")

    with Loopback(after_the_probe(plan)) as server:
        (reply,) = backend(server, closed="choice").complete(
            [replace(question("Rate it.", 3, SCALE), begin="My rating:")]
        )
        assert server.asked[-1]["max_tokens"] >= 48, "8 of 8 replies were cut at 8 tokens"
        assert server.asked[-1]["messages"][-1]["role"] == "user", "a schema begins the reply itself"
    assert (reply.text, reply.way, reply.covered) == ("10", "choice", pytest.approx(0.08))
    assert reply.answers is not None
    assert reply.answers["10"] == pytest.approx(0.75)


def test_a_schema_leaves_only_the_answers() -> None:
    assert closed(said('{"answer": "7"}'), "choice").text == "7"
    lie = closed(said('{"answer": "eleven"}'), "choice")
    assert (lie.text, lie.way) == ('{"answer": "eleven"}', "text"), "left to the reader, who finds no number"


PERSONALITIES: dict[str, tuple[Callable[[Body], Act | None], dict[str, object]]] = {
    "plain": (lambda body: None, {"closed": "text", "sampling": True, "seed": True}),
    "no seed": (lambda body: problem(422, "Extra inputs: seed") if "seed" in body else None, {"seed": False}),
    "thinks first": (
        lambda body: problem(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'") if "max_tokens" in body
        else problem(400, "Unsupported value: 'temperature'") if "temperature" in body else None,
        {"most": "max_completion_tokens", "sampling": False, "thinking": 4000},
    ),
    "five likeliest": (
        lambda body: problem(400, "top_logprobs too large") if body.get("top_logprobs", 0) > 5
        else said("4", logprobs=likely(("4", {"4": 0.9, "5": 0.1}))) if body.get("logprobs") else None,
        {"closed": "logprobs", "top": 5},
    ),
    "too weak to count legs": (
        lambda body: said("I worry.", logprobs=likely(("I", {"I": 0.6, "We": 0.4}), (" worry", {" worry": 0.9, ".": 0.1})))
        if body.get("logprobs") else None, {"closed": "logprobs", "top": 20}
    ),
    "too weak, but keeps to a schema": (
        lambda body: said('{"answer": "quagga"}') if "response_format" in body
        else said("I", logprobs=likely(("I", {"I": 0.6, "We": 0.4}))) if body.get("logprobs") else None, {"closed": "choice"}
    ),
    "makes up logprobs": (
        lambda body: said("I", logprobs=likely(("I", {"We": 0.6, "You": 0.4}))) if body.get("logprobs") else None,
        {"closed": "text"},
    ),
    "ignores logprobs": (lambda body: said("4") if body.get("logprobs") else None, {"closed": "text"}),
    "keeps to a schema": (
        lambda body: said('{"answer": "quagga"}') if "response_format" in body else None, {"closed": "choice"}
    ),
    "ignores a schema": (lambda body: said("Green.") if "response_format" in body else None, {"closed": "text"}),
    "breaks on a schema": (lambda body: problem(500) if "response_format" in body else None, {"closed": "text"}),
    "thinks before it counts legs": (
        lambda body: said("<think>Hm.</think>Yes.", logprobs=likely(("I", {"I": 0.6, "We": 0.4})))
        if body.get("logprobs") else said("<think>Hm.</think>Yes."),
        {"closed": "text", "thinking": 4000},
    ),
    "thinks aloud": (lambda body: said("<think>Blue.</think>Yes."), {"thinking": 4000}),
    "thinks aloud in marks of its own": (lambda body: said("[THINK]Blue.[/THINK]Yes."), {"thinking": 4000}),
    "thinks in channels that are cut": (lambda body: said("analysisThe user asks", "length"), {"thinking": 4000}),
}  # fmt: skip


@check_each("first", [problem(429, retry_after="3"), problem(503), problem(500), Act(reset=True)])
def test_the_probe_outlasts_what_passes(first: Act, client: str) -> None:
    """A run that is started, or resumed, in a bad moment is not lost to it; and no ability is lost to it either."""

    def plan(body: Body, time: int) -> Act:
        if time < (2 if first.status == 500 else 3):
            return first
        return said("4", logprobs=likely(("4", {"4": 0.9, "5": 0.1}))) if body.get("logprobs") else echo(body)

    with Loopback(plan) as server:
        assert dict(backend(server, client=client, closed="auto").identity["can"])["closed"] == "logprobs"


@check_each("passing", [problem(429, "slow down"), problem(503), Act(reset=True)])
@check_each("marker", ["legs has a dog", "colour of grass"])
def test_no_ability_is_judged_by_a_call_that_nobody_answered(passing: Act, marker: str, client: str) -> None:
    """Ratings would be read in a worse way for a whole run, since a server was busy for one of the probe's questions."""
    with (
        Loopback(lambda body, time: passing if marker in str(body) else echo(body)) as server,
        pytest.raises(Unreachable, match=r"is still busy|does not answer"),
    ):
        backend(server, client=client, closed="auto")


def test_a_rating_of_a_model_that_thinks_first_has_room_for_its_thoughts() -> None:
    """Sixteen tokens would all be thoughts, and every rating `out_of_tokens`."""
    for api in ("chat", "completions"):
        can = payload.EndpointAbilities(api, "logprobs", 20, thinking=500)
        assert payload.request_body("m", question(answers=SCALE), can)["max_tokens"] == 516


@check_each(("act", "found"), PERSONALITIES.values(), ids=PERSONALITIES.keys())
def test_the_probe_believes_only_what_it_sees(act: Callable[[Body], Act | None], found: dict[str, object]) -> None:
    with Loopback(lambda body, time: act(body) or echo(body)) as server:
        asked = backend(server, closed="auto")
        can = dict(asked.identity["can"])
        assert {name: can[name] for name in found} == found
        assert asked.identity["served"] == "echo-1"


@check_each(
    ("plan", "words"),
    [
        (lambda body, time: problem(401, "no such key"), "refuses echo: 401: no such key"),
        (lambda body, time: problem(404, "no model"), r"404: no model \(it has echo, other\)"),
        (lambda body, time: Act(body=b"<html>"), "not an OpenAI-compatible server"),
        (lambda body, time: problem(400, "never"), "could not answer a test call to echo: 400: never"),
        (lambda body, time: Act(reset=True), "http://127.0.0.1.* does not answer"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_one_line(plan: Plan, words: str) -> None:
    with Loopback(plan) as server, pytest.raises(UserError, match=words) as caught:
        backend(server)
    assert "\n" not in str(caught.value)


@check_each(
    ("spec", "words"),
    [
        ("openai", "needs the name of a model"),
        ("openai:m,api=soap", "option api of openai is 'soap', but must be one of chat, completions"),
        ("openai:m,in_flight=0", "must be above 0"),
        ("openai:m,base_url=localhost:8000", "must begin with http"),
        (
            "openai:m,key=sk-0123456789abcdef",
            "must be the name of an environment variable, never the key itself",
        ),
        ("openai:m,key=gsk_0123456789abcdef", "names an environment variable that is not set"),
        (
            "openai:m,key=gsk_0123456789abcdef,base_url=http://127.0.0.1:9/v1",
            "names an environment variable that is not set",
        ),
        ("openai:m", "put the key into the environment variable OPENAI_API_KEY"),
        ("openai:m,base_url=http://user:word@127.0.0.1:9/v1", "must not contain a user name or password"),
        ("openai:m,base_url=http://127.0.0.1:9/v1", r"http://127.0.0.1:9/v1 does not answer \(unreachable"),
    ],
)
def test_what_cannot_be_opened_is_one_line(spec: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError, match=words) as caught:
        open_spec(spec)
    assert "0123456789abcdef" not in str(caught.value), "what may be a key is repeated nowhere"


def test_a_key_in_place_of_its_variable_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a dry run too, which opens no model."""
    asked = ["--scenario", "two_way", "--llm", "openai:m,key=sk-0123456789abcdef", "--out", str(tmp_path / "run")]
    for more in ([], ["--dry-run"]):
        assert run.main([*asked, *more]) == 2
        told = capsys.readouterr()
        assert "0123456789abcdef" not in told.out + told.err
    assert not (tmp_path / "run").exists()


@check_each("end", ["\n", "\r\n", " "])
def test_a_key_is_read_without_the_end_of_its_line(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `export OPENAI_API_KEY="$(cat file)"` of a file from elsewhere leaves it."""
    monkeypatch.setenv("MY_KEY", f"{KEY}{end}")
    with Loopback(echo) as server:
        open_spec(f"openai:echo,key=MY_KEY,closed=text,base_url={server.url}")
    assert server.keys == {f"Bearer {KEY}"}


@check_each("key", ["sk-näh0123456789", "sk-012\n345", "sk-\x1b[31m"])
def test_what_can_be_no_key_is_one_line(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(UserError, match="environment variable MY_KEY does not contain a valid key") as caught:
        open_spec("openai:echo,key=MY_KEY,base_url=http://127.0.0.1:9/v1")
    assert key not in str(caught.value)


def test_a_server_tells_the_terminal_nothing() -> None:
    """Names and errors are shown: an escape sequence in them would write over what stands there."""

    def plan(body: Body, time: int) -> Act:
        if "sky" in str(body):
            return replace(said("Yes."), body=said("Yes.").body.replace(b"echo-1", b"\\u001b[2Jecho\\u0007"))
        return problem(400, "\x1b]0;title\x07never\x00")

    with Loopback(plan) as server:
        asked = backend(server)
        (reply,) = asked.complete([question()])
    assert asked.identity["served"] == "[2Jecho"
    assert reply.failure is not None
    assert reply.failure.detail == "400: ]0;titlenever"
    assert (asked.says + reply.failure.detail).isprintable()


def test_no_more_a_minute_than_allowed() -> None:
    """60 requests a minute are one a second; 600 tokens a minute, at 38 a call, are longer apart."""
    with Loopback(echo) as server:
        asked = backend(server, rpm=60)
        asked.complete(questions(20))
        assert isinstance(asked.clock, Quick)
        assert asked.clock.time == pytest.approx(19, abs=1)
        asked = backend(server, tpm=600)
        asked.complete(questions(20))
        assert isinstance(asked.clock, Quick)
        assert asked.clock.time > 19 * 3


def test_a_reply_that_lands_with_the_end_of_the_run_does_not_hang() -> None:
    """The error is kept until all is there, and raised then, however the two land."""
    for _ in range(10):
        plan = after_the_probe(lambda body, time: problem(401) if "Question 1?" in str(body) else echo(body))
        with Loopback(plan) as server, pytest.raises(UserError, match="401"):
            backend(server).complete(questions(2))


def test_a_broken_address_does_not_eat_the_load() -> None:
    """It answers fastest, with nothing: the other is asked first, and every request has its reply."""
    probed = after_the_probe(echo)
    with Loopback(after_the_probe(lambda body, time: problem(500, "broken"))) as broken, Loopback(probed) as well:
        assert all(reply.text for reply in backend(broken, well, in_flight=4).complete(questions(100)))
        assert len(broken.asked) < 20


@check_each("key", ["gsk_0123456789abcdef", "AIzaSyA-0123456789", "my-own key 123456"])
def test_no_form_of_key_gets_into_a_failure(key: str, client: str) -> None:
    plan = after_the_probe(lambda body, time: problem(400, f"API key provided: {key} is wrong"))
    with Loopback(plan) as server:
        (reply,) = backend(server, client=client, key=key, attempts=1).complete([question()])
    assert key not in reply.to_json()
    assert "(secret)" in reply.to_json()


@check_each("count", ["1e999", "99999999999999999999", "-5", '"many"', "NaN", "null"])
def test_tokens_that_cannot_be_are_not_counted(count: str) -> None:
    body = said("Yes.").body.replace(b'"prompt_tokens": 20', f'"prompt_tokens": {count}'.encode())
    reply = one(Act(body=body))
    assert (reply.text, reply.usage, reply.notes) == ("Yes.", Usage(), {"uncounted": 1})


def test_tokens_of_replies_that_did_not_count_were_paid_for() -> None:
    with Loopback(after_the_probe(lambda body, time: said("") if time < 3 else echo(body))) as server:
        (reply,) = backend(server).complete([question()])
    assert (reply.usage, reply.notes) == (Usage(60, 15), {REPEATED: 2})


def test_a_thought_without_its_beginning_is_still_none_of_the_reply() -> None:
    """Templates that open the thought themselves send only its end."""
    reply = one(said("Let me see.\n</think>\nI agree."))
    assert (reply.text, reply.thinking) == ("I agree.", "Let me see.")


def test_a_completion_of_nothing_is_empty() -> None:
    with Loopback(lambda body, time: completed("Yes.") if "sky" in str(body) else completed(None)) as server:  # type: ignore[arg-type]
        (reply,) = backend(server, api="completions").complete([question()])
    assert reply.failure is not None
    assert reply.failure.name == "empty"


def test_beginnings_that_tell_nothing() -> None:
    """A token with which two answers begin and none is, and "I", with which most sentences begin."""
    shared = closed(
        said("Re", logprobs=likely(("Re", {"Republican": 0.5, "Reform": 0.3, "Re": 0.2}))),
        "logprobs",
        ("Republican", "Reform"),
    )
    assert (shared.answers, shared.way) == (None, "text")
    sentence = closed(
        said("I", logprobs=likely(("I", {"I": 0.9, "against": 0.1}))), "logprobs", ("in favour", "against")
    )
    assert (sentence.answers, sentence.covered) == ({"in favour": 0.0, "against": 1.0}, pytest.approx(0.1))


def test_calls_that_were_repeated_count_in_the_next_sitting(tmp_path: Path) -> None:
    plan = after_the_probe(lambda body, time: problem(500) if time == 1 else echo(body))
    with Loopback(plan) as server, closing(Journal(tmp_path / "journal.sqlite", backend(server))) as journal:
        _through(journal, questions(5))
        assert journal.spent() == (10, {Account(): Usage(100, 25)})
