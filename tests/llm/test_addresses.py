"""A conversation stays with one of several addresses; none gets much more than its share, and one that fails loses its own."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest

from benchmarks.scale.prefix_cache import CachedServer, by_conversation, by_load
from benchmarks.scale.servers import simulate
from parley.llm.backends import open_spec
from parley.llm.backends.openai.addresses import (
    ABOVE,
    BEGINNING,
    MOST_KNOWN,
    SPARE,
    Addresses,
    Load,
    conversation_of,
    most_flying,
    order_of,
)
from parley.llm.driver import Conversation, ask, drive
from parley.llm.request import Backend, Message, Request, Sampling
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

from .loopback import Act, Body, Loopback, Plan, digest, echo, problem, said

NAMES = [f"http://lab{number}.example/v1" for number in range(8)]
IDLE = [Load()] * len(NAMES)


def conversations(count: int) -> list[bytes]:
    return [conversation_of([Message("user", f"Number {number}")]) for number in range(count)]


def test_turns_of_one_agent_are_one_conversation() -> None:
    persona, turn = Message("system", "You are Ann. " * 30), Message("user", "Why?")
    same = {conversation_of([persona, turn]), conversation_of([persona, turn, Message("assistant", "So."), turn])}
    assert len(same) == 1
    assert conversation_of([Message("system", "You are Bob. " * 30), turn]) not in same


def test_agents_without_a_persona_are_told_apart_by_what_follows() -> None:
    plain = Message("system", "You are an American.")
    rooms = {conversation_of([plain, Message("user", f"The others are {name}.")]) for name in ("Ann", "Bob", "Cem")}
    assert len(rooms) == 3


def test_only_the_beginning_counts_and_any_text_has_a_digest() -> None:
    long = "x" * BEGINNING
    assert conversation_of([Message("user", long + "a")]) == conversation_of([Message("user", long + "b")])
    assert len(conversation_of([])) == len(conversation_of([Message("user", "\ud800")])) == 16


def test_the_order_is_that_of_the_names_not_of_their_places() -> None:
    """Who writes the addresses in another order finds what is in the caches."""
    for conversation in conversations(50):
        turned = NAMES[3:] + NAMES[:3]
        assert [NAMES[place] for place in order_of(conversation, NAMES)] == [
            turned[place] for place in order_of(conversation, turned)
        ]


def test_one_address_less_moves_only_its_own() -> None:
    """Rendezvous hashing: without the last address, each other conversation has the order it had."""
    for conversation in conversations(50):
        assert [place for place in order_of(conversation, NAMES) if place < 7] == order_of(conversation, NAMES[:7])


def test_first_places_are_even() -> None:
    firsts = Counter(order_of(conversation, NAMES)[0] for conversation in conversations(8000))
    assert all(880 < firsts[place] < 1120 for place in range(8)), "1,000 each, four standard errors of 30"


def test_a_conversation_stays_while_its_address_is_open() -> None:
    """Twenty rounds, each in another order, as rooms of a run that are not in step."""
    addresses, drawn, asked, homes = (
        Addresses(NAMES),
        random.Random(1),
        conversations(200),
        defaultdict[bytes, set[int | None]](set),
    )
    for _ in range(20):
        drawn.shuffle(asked)
        for conversation in asked:
            homes[conversation].add(addresses.choose(conversation, IDLE))
    assert all(len(places) == 1 for places in homes.values())


def test_new_conversations_are_spread_evenly() -> None:
    addresses = Addresses(NAMES)
    calls = Counter(addresses.choose(conversation, IDLE) for conversation in conversations(80))
    assert set(calls.values()) == {10}, "each goes to an address that has no more than the mean"


def test_a_conversation_with_most_calls_leaves_an_address_that_is_full() -> None:
    """By hand: after 8 conversations with one call each, the mean is (8 + 1) / 8; then one conversation asks alone."""
    addresses, (busy, *others) = Addresses(NAMES), conversations(8)
    home = addresses.choose(busy, IDLE)
    for conversation in others:
        addresses.choose(conversation, IDLE)
    calls = [1.0] * 8
    while True:
        place = addresses.choose(busy, IDLE)
        if place != home:
            break
        calls[home] += 1
    assert calls[home] >= (1 + ABOVE) * (sum(calls) + 1) / 8 + SPARE > calls[home] - 1
    assert place == next(place for place in order_of(busy, NAMES) if calls[place] < (sum(calls) + 1) / 8)


def test_no_address_has_many_more_calls_under_way_than_the_mean() -> None:
    """By hand: with 6 calls under way at one of eight addresses the bound is 2 * 7 / 8 + 4 = 5.75, with 5 it is 5.5."""
    addresses, conversation = Addresses(NAMES), conversations(1)[0]
    home, next_home = order_of(conversation, NAMES)[:2]
    for flying, place in ((0, home), (5, home), (6, next_home), (0, next_home)):
        loads = [Load(flying if place == home else 0) for place in range(8)]
        assert addresses.choose(conversation, loads) == place


def test_a_failed_address_gives_its_conversations_to_the_next_in_their_order() -> None:
    addresses, asked = Addresses(NAMES), conversations(400)
    homes = {conversation: addresses.choose(conversation, IDLE) for conversation in asked}
    down = [Load(is_open=place != 3) for place in range(8)]
    moved = {conversation: addresses.choose(conversation, down) for conversation in asked}
    assert 3 not in moved.values()
    assert all(moved[conversation] == home for conversation, home in homes.items() if home != 3)
    assert max(Counter(moved.values()).values()) <= (1 + ABOVE) * 400 / 7 + SPARE
    assert addresses.choose(asked[0], [Load(is_open=False)] * 8) is None


def test_what_is_kept_of_conversations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_KNOWN >= 100_000
    monkeypatch.setattr("parley.llm.backends.openai.addresses.MOST_KNOWN", 10)
    addresses = Addresses(NAMES)
    for conversation in conversations(100):
        addresses.choose(conversation, IDLE)
    assert len(addresses._homes) == 10


def test_one_address_gets_all_and_several_some_room() -> None:
    assert [most_flying(32, count) for count in (1, 2, 8, 64)] == [32, 32, 12, 6]


def test_a_prefix_cache_by_hand() -> None:
    """16 words a block: of 40 words two blocks are kept, and of the reply what fills the third."""
    server = CachedServer(0.1, 1.0)
    prompt, reply = [str(number) for number in range(40)], ["a"] * 10
    assert server.look_up(prompt, reply) == 0
    assert server.look_up(prompt, reply) == 32
    assert server.look_up([*prompt, *reply, "b"], []) == 48
    assert server.look_up(["x", *prompt], []) == 0, "a block counts with all before it"
    assert (server.ends_at(5.0, 10), server.ends_at(5.0, 10)) == (7.0, 8.0), "prompts one after the other"
    small = CachedServer(0.1, 1.0, room=1)
    small.look_up(prompt, [])
    assert small.look_up(prompt, []) == 0, "the oldest block left first"


@contextmanager
def servers(*plans: Plan) -> Iterator[list[Loopback]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Loopback(plan)) for plan in plans]


def client(opened: Sequence[Loopback], in_flight: int = 8) -> Backend:
    return open_spec(
        f"openai:echo,base_url={'+'.join(server.url for server in opened)},closed=text,in_flight={in_flight}"
    )


def room(name: int) -> Conversation[list[str | None]]:
    """Six turns of an agent, with all that was said before."""
    messages, texts = [Message("system", f"You are agent {name}. " * 20), Message("user", "Begin.")], []
    for turn in range(6):
        reply = yield from ask(Request(tuple(messages), Sampling(0.7, 30), turn))
        texts.append(reply.text)
        messages += [Message("assistant", reply.text or ""), Message("user", "Go on.")]
    return texts


def agents_of(server: Loopback) -> set[str]:
    return {body["messages"][0]["content"] for body in server.asked if "agent" in body["messages"][0]["content"]}


def test_each_agent_asks_one_server_and_replies_are_those_of_one() -> None:
    """24 agents at three servers: no agent asks two of them, each server has a third, and no reply says who gave it."""
    with servers(echo, echo, echo) as opened:
        texts = drive([room(name) for name in range(24)], client(opened, in_flight=24))
        asked = [agents_of(server) for server in opened]
        assert sorted(map(len, asked)) == [8, 8, 8]
        assert len(set().union(*asked)) == 24
    with servers(echo) as opened:
        assert drive([room(name) for name in range(24)], client(opened)) == texts


def test_the_agents_of_a_server_that_fails_go_on_at_the_others() -> None:
    """The first server answers the test calls and then only its first ten."""
    asked = count()

    def tired(body: Body, time: int) -> Act:
        return problem(503, "down") if "agent" in str(body) and next(asked) >= 10 else echo(body)

    with servers(tired, echo) as opened:
        texts = drive([room(name) for name in range(8)], client(opened))
        assert all(text for each in texts for text in each)
        assert len(agents_of(opened[1])) == 8


@pytest.mark.thorough
def test_a_record_is_the_same_with_one_and_with_eight_servers(tmp_path: Path) -> None:
    records = []
    for number in (1, 8):
        with servers(*[person] * number) as opened:
            scenario = load_preset("three_way").with_settings({"repetitions": 2, "rounds": 2, "topic": "racism"})
            outcome = run_scenario(RunSpec(scenario, tmp_path / str(number)), backend=client(opened))
        records.append(outcome.record.read_text().splitlines()[1:])  # without the header, which has the time
    assert records[0] == records[1]


def person(body: Body, time: int = 1) -> Act:
    return said("7" if "one number" in str(body["messages"][-1]) else f"{digest(body)}.")


@pytest.mark.thorough
@pytest.mark.parametrize(("repetitions", "in_flight"), [(12, 32), (12, 64)])
def test_eight_servers_compute_hardly_more_than_one(repetitions: int, in_flight: int) -> None:
    """Counted, not timed. By load alone it is three times as much."""
    scenario = load_preset("three_way").with_settings({"repetitions": repetitions, "rounds": 5})
    one, many = (
        simulate(scenario, count, choose, in_flight) for count, choose in ((1, by_load), (8, by_conversation(8)))
    )
    assert many.computed <= 1.1 * one.computed
