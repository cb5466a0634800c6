"""What a server sends is bounded: bytes, text, pauses, the host that is called, and the model that replies."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import logging
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from data_checks import check_each

from parley.llm.backends import open_spec
from parley.llm.backends.openai import payload
from parley.llm.backends.openai.answers import MOST_BYTES
from parley.llm.backends.openai.pauses import retry_after
from parley.llm.backends.openai.transport import Endpoint, HttpAnswer, NoAnswer, proxy_of
from parley.llm.budget import REPEATED
from parley.llm.errors import Unreachable, UserError

from .loopback import Act, Body, Loopback, completed, echo, problem, said
from .test_openai import Quick, after_the_probe, backend, client, one, question, questions

__all__ = ["client"]
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
DATE = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """120 MB of blanks in 120 kB of gzip."""
    packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join([*(packing.compress(b" " * 2**20) for _ in range(120)), packing.flush()])


@pytest.mark.parametrize("kind", ["bomb", "flood", "long", "brotli", "broken gzip", "no gzip"])
def test_a_body_is_read_up_to_a_length_and_no_further(kind: str, bomb: bytes, client: str) -> None:
    """3 MB of gzip took 1.3 GB of memory, and a body without an end all there is. Now each is one call and one named failure."""
    act, why = {
        "bomb": (Act(body=bomb, headers={"Content-Encoding": "gzip"}), "too long: more than 8 MB"),
        "flood": (Act(headers={"Content-Length": "1000000000000"}, flood=True), "too long: more than 8 MB"),
        "long": (Act(body=b" " * (MOST_BYTES + 1)), "too long: more than 8 MB"),
        "brotli": (Act(body=b"\x0b", headers={"Content-Encoding": "br"}), "packed with 'br', although only gzip"),
        "broken gzip": (Act(body=gzip.compress(b"{}")[:-9], headers={"Content-Encoding": "gzip"}), "it breaks off"),
        "no gzip": (Act(body=b"{}", headers={"Content-Encoding": "gzip"}), "no gzip"),
    }[kind]
    with Loopback(after_the_probe(lambda body, time: act)) as server:
        opened = backend(server, client=client)
        tracemalloc.start()
        try:
            (reply,) = opened.complete([question()])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert reply.failure is not None
    assert (reply.failure.name, reply.notes) == ("malformed", {})
    assert why in reply.failure.detail
    assert peak < 8 * MOST_BYTES, f"{peak / 1e6:.0f} MB"


def test_a_probe_with_an_endless_answer_is_one_line(client: str) -> None:
    endless = Act(headers={"Content-Length": "1000000000000"}, flood=True)
    with Loopback(lambda body, time: endless) as server, pytest.raises(Unreachable, match="malformed: too long"):
        backend(server, client=client)
    assert len(server.asked) == 1


def test_a_packed_reply_is_unpacked(client: str) -> None:
    packed = Act(body=gzip.compress(said("Yes.").body), headers={"Content-Encoding": "gzip"})
    assert one(packed, client=client).text == "Yes."


@check_each("api", ["chat", "completions"])
def test_more_text_than_the_tokens_can_have_is_cut_and_counted(api: str) -> None:
    """A question for 30 tokens: 2,000 characters are kept of any text, 20 for each token of a longer one."""
    long = "\n" * 2500 + "7"
    reply = said(f"7{long}", message={"reasoning_content": "Hm." * 10_000}) if api == "chat" else completed(f"7{long}")
    with Loopback(lambda body, time: reply if "sky" not in str(body) else echo(body)) as server:
        (got,) = backend(server, api=api, thinking=0).complete([question()])
        more = replace(question(), sampling=question().sampling._replace(max_tokens=120))
        (whole,) = backend(server, api=api, thinking=0).complete([more])
    assert got.text == "7" + "\n" * 1999
    thought = 28_000 if api == "chat" else 0
    assert (got.notes, len(got.thinking)) == ({"shortened": 502 + thought}, 2000 if thought else 0)
    assert whole.text is not None
    assert len(whole.text) == 2400


@pytest.mark.parametrize("begins", [True, False])
def test_no_redirect_is_followed(begins: bool, client: str) -> None:
    """A prompt went to whatever host the server named, without a word. Now the run stops with one line that names the host."""
    with Loopback(echo) as other:
        away = Act(307, headers={"Location": f"{other.url}/chat/completions"})
        plan = (lambda body, time: away) if begins else after_the_probe(lambda body, time: away)
        named = f"sends calls on to {other.url[7:-3]}, and no redirect"
        with Loopback(plan) as server, pytest.raises(UserError, match=named) as caught:
            backend(server, client=client).complete([question()])
    assert other.asked == []
    assert len(str(caught.value).splitlines()) == 1


@check_each(
    ("text", "date", "seconds"),
    [
        ("7", "", 7.0),
        ("nan", "", None),
        ("inf", "", None),
        ("1e400", "", None),
        ("-5", "", None),
        ("soon", "", None),
        ("", "", None),
        ("86400", "", 86400.0),
        (format_datetime(DATE, usegmt=True), format_datetime(DATE - timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(DATE, usegmt=True), format_datetime(DATE + timedelta(days=1), usegmt=True), 0.0),
        ("Wed, 99 Foo 2026 25:00:00 GMT", "", None),
        ("Sat, 28 Nov 2026 12:00:00 -0000", format_datetime(DATE, usegmt=True), None),
    ],
)
def test_a_pause_is_a_finite_number_or_a_date(text: str, date: str, seconds: float | None) -> None:
    """nan, inf and 1e400 were ten minutes, and a date was not read. A date counts by the server's own clock."""
    assert retry_after(HttpAnswer(429, {"retry-after": text, "date": date}, b"")) == seconds


def test_a_date_counts_by_this_clock_where_the_server_tells_no_time() -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert retry_after(HttpAnswer(429, {"retry-after": until}, b"")) == pytest.approx(3600, abs=5)


def test_a_pause_beyond_the_patience_ends_the_run_and_a_shorter_one_is_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A day: each further call would have waited ten minutes to be lost, without a line. Now one line says what to do."""
    act = problem(429, "slow down", retry_after="20")
    with Loopback(after_the_probe(lambda body, time: act if time < 3 else echo(body))) as server:
        asked = backend(server)
        assert asked.complete([question()])[0].text
        host = asked.endpoints[0].connection.host
    assert capsys.readouterr().err == f"{host} accepts no calls now, so Parley sends the next call in 20 s\n"
    day = problem(429, "slow down", retry_after="86400")
    told = pytest.raises(UserError, match="asks for a pause of 86,400 s, and patience=600 is shorter")
    with Loopback(after_the_probe(lambda body, time: day)) as server, told:
        backend(server).complete(questions(10))


def test_one_of_two_addresses_that_wants_a_day_does_not_end_the_run() -> None:
    day = problem(429, "slow down", retry_after="86400")
    with Loopback(after_the_probe(lambda body, time: day)) as tired, Loopback(after_the_probe(echo)) as well:
        assert all(reply.text for reply in backend(tired, well).complete(questions(50)))


def test_a_probe_does_not_wait_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    """`429 Retry-After: 86400` was 90 seconds of nothing."""
    with Loopback(lambda body, time: problem(429, retry_after="86400")) as server:
        with pytest.raises(Unreachable, match="is busy and asks for a pause of 86,400 s"):
            backend(server)
        assert len(server.asked) == 1
    with Loopback(lambda body, time: problem(429, retry_after="60") if time < 2 else echo(body)) as server:
        backend(server)
    assert "accepts no calls now, so Parley sends the test call again in 30 s" in capsys.readouterr().err


def test_time_outs_halve_the_calls_at_once() -> None:
    """32 in flight before a server of one stream: all time out, are dropped, and are sent again together. Now half of them."""

    class Slow:
        url = host = "slow"
        timeout = 120.0

        async def post(self, path: str, body: bytes) -> HttpAnswer:
            await clock.sleep(1)
            raise NoAnswer("timeout", "after 1 s")

    async def storm(count: int) -> None:
        calls = [endpoint.post("/", b"", 1, 60) for _ in range(count)]
        assert all(isinstance(each, NoAnswer) for each in await asyncio.gather(*calls, return_exceptions=True))

    clock = Quick()
    endpoint = Endpoint(Slow(), 32, 0, 0, clock)  # type: ignore[arg-type]
    asyncio.run(storm(32))
    assert (endpoint.limit, endpoint.pause) == (16, 0), "once for the calls of one moment, and without a pause"
    assert endpoint.connection.timeout == 120, "and no more time than `patience` allows, here 60 s"
    asyncio.run(storm(16))
    assert endpoint.limit == 8


def test_calls_in_flight_end_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """After Ctrl-C Python printed "Task was destroyed but it is pending!" for each of them."""
    with (
        caplog.at_level(logging.ERROR, "asyncio"),
        Loopback(after_the_probe(lambda body, time: Act(hang=True))) as server,
    ):
        opened = backend(server)
        opened.send(questions(4))
        while len(server.asked) < 5:
            pass
        opened.close()
        del opened
        gc.collect()
    assert caplog.records == []


def test_the_network_s_proxy_is_used(monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    """It was not, so that behind a university's proxy no server could be reached."""
    with Loopback(echo) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://ann:secret@{proxy.url[7:-3]}")
        opened = open_spec(f"openai:echo,base_url=http://model.invalid/v1,closed=text,client={client}")
        assert opened.complete([question()])[0].text
    assert set(proxy.targets) == {"http://model.invalid/v1/chat/completions"}
    assert proxy.passes == {"Basic YW5uOnNlY3JldA=="}, "ann:secret"


@check_each(
    ("url", "proxy"),
    [
        ("https://api.example/v1", "http://proxy:3128"),
        ("https://inside.example/v1", None),
        ("http://127.0.0.1:8000/v1", None),
        ("http://localhost:8000/v1", None),
        ("http://[::1]:8000/v1", None),
    ],
)
def test_whom_the_proxy_serves(url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not this machine, and not what NO_PROXY names."""
    monkeypatch.setenv("HTTP_PROXY", "proxy:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert str(proxy_of(url)).rstrip("/") == str(proxy)


def test_another_kind_of_proxy_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://proxy:1080")
    with pytest.raises(UserError, match="HTTPS_PROXY begins with socks5://, but Parley can use only http:// proxies"):
        proxy_of("https://api.example/v1")


def test_a_query_stays_behind_the_path(client: str) -> None:
    """Azure's ?api-version=... had the path appended behind it: 404."""
    with Loopback(echo) as server:
        spec = f"openai:echo,base_url={server.url}/?api-version=2026-01&x=a%20b,closed=text,client={client}"
        assert open_spec(spec).complete([question()])[0].text
    assert {target.replace("+", "%20") for target in server.targets} == {
        "/v1/chat/completions?api-version=2026-01&x=a%20b"
    }


def test_a_model_that_changes_is_noted_and_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing read the name in a reply. A dated name of the first reply is the run's model; another one later is a change."""
    begun, later = (said(name) for name in ("One.", "Two."))
    begun = replace(begun, body=begun.body.replace(b"echo-1", b"echo-2026-08-06"))
    later = replace(later, body=later.body.replace(b"echo-1", b"\\u001b[2Jother" + b"x" * 1000))
    count = iter(range(100))

    def plan(body: Body, time: int) -> Act:
        return begun if next(count) < 10 else later

    with Loopback(plan) as server:
        asked = backend(server)
        replies = [asked.complete([question(str(number))])[0] for number in range(10)]
    assert asked.identity["served"] == "echo-2026-08-06"
    changed = "[2Jother" + "x" * 292
    assert [reply.notes for reply in replies] == [{}] * 5 + [{f"served:{changed}": 1}] * 5
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"now answers with the model {changed}, but began with echo-2026-08-06" in told


def test_a_repeated_call_keeps_its_notes() -> None:
    act = replace(said("Yes."), body=said("Yes.").body.replace(b"echo-1", b"other"))
    with Loopback(after_the_probe(lambda body, time: problem(500) if time == 1 else act)) as server:
        (reply,) = backend(server).complete([question()])
    assert reply.notes == {"served:other": 1, REPEATED: 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": 1e400}',
        '{"a": "\\ud83d"}',
        '\ufeff{"a": 1}',
        '{"a": 1, "a": 2}',
        '{"a": "x\ny"}',
        "[" * 100_000,
        "{",
    ],
)
def test_a_body_is_read_as_json_reads_it(text: str) -> None:
    """What the faster reader does not take is read by the other one, or refused by both."""

    def outcome(read: Callable[[bytes], object]) -> object:
        try:
            return repr(read(text.encode()))
        except (ValueError, RecursionError) as error:
            return type(error)

    assert outcome(payload.read_body) == outcome(json.loads)


def test_half_a_pair_of_surrogates_is_sent_as_an_escape() -> None:
    assert payload.encode_body({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
    assert json.loads(payload.encode_body({"a": "\u00fc", "b": 0.7})) == {"a": "\u00fc", "b": 0.7}


def test_calls_do_not_describe_this_machine() -> None:
    with Loopback(echo) as server:
        backend(server).complete([question()])
        assert not [name for name in server.names if "stainless" in name]
        assert "authorization" in server.names
