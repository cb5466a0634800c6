"""Agent-steps a second over an endpoint, journal and record on, and bare loops on the same server in the same run.

    python benchmarks/endpoint.py [--agents 10,100,1000] [--steps N] [--memory CALLS]

The server is a process of its own on loopback and answers at once, or after 50 ms. One agent-step is one agent that is asked
once. `parley` is a whole run (Mesa, environment, prompts with the last 4 lines, journal, record); `aiohttp` and `openai` send one
fixed prompt through a bare loop with as many calls in flight. CPU is that of this process alone. `--memory` instead asks so many
calls and prints how the memory of the process moves. Nothing is asserted; the figures of a machine are in tools/log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401  (`parley` is this checkout)

IN_FLIGHT = 128
SERVER = """
import asyncio, json, sys, zlib
def reply(text):
    told = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "echo", "choices": [{"index": 0, "message":
        {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}}).encode()
    return b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(told) + told
REPLY = reply("I have thought about it, and I think it is a serious problem for all of us. " * 2)
ACTS = [reply(act) for act in sys.argv[2].split(",")] if sys.argv[2:] else []
FIRST = reply("1")
def answer(body):
    if ACTS and b"with one word only" in body:
        return ACTS[zlib.crc32(body) % len(ACTS)]
    return FIRST if ACTS and b"with its number only" in body else REPLY
DELAY = float(sys.argv[1])
class Answer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.held = transport, b""
    def data_received(self, data):
        self.held += data
        while (end := self.held.find(b"\\r\\n\\r\\n")) >= 0:
            head = self.held[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15:].split(b"\\r\\n")[0]) if at >= 0 else 0
            if len(self.held) < end + 4 + size:
                return
            body, self.held = self.held[end + 4:end + 4 + size], self.held[end + 4 + size:]
            asyncio.get_running_loop().call_later(DELAY, self.say, body) if DELAY else self.say(body)
    def say(self, body):
        if not self.transport.is_closing():
            self.transport.write(answer(body))
async def main():
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
PROMPT = [
    {"role": "system", "content": "You are Ann, a teacher from Ohio who cares about her town. " * 5},
    {"role": "user", "content": "This is a debate about climate change. What do you say next? " * 10},
]


@contextmanager
def server(delay: float, acts: str = "") -> Iterator[str]:
    """A server that waits so many seconds. With acts (`post,like`) it answers the questions of a platform with one of them."""
    words = [sys.executable, "-c", SERVER, str(delay), *[acts][: len(acts)]]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.wait()


def timed(work: Callable[[], int]) -> tuple[float, float]:
    """Calls a second, and milliseconds of CPU a call."""
    started, cpu = time.perf_counter(), time.process_time()
    calls = work()
    return calls / (time.perf_counter() - started), 1000 * (time.process_time() - cpu) / calls


def parley(url: str, agents: int, steps: int) -> int:
    """Agents side by side, each with a room of its own, no agent surveyed: one call an agent and step."""
    from parley.llm.backends import open_spec
    from parley.model.scenario import load_preset
    from parley.model.scenario_run import RunSpec, run_scenario

    spec = f"openai:echo,base_url={url},closed=text,in_flight={IN_FLIGHT}"
    settings = {"topic": "climate_change", "repetitions": agents, "rounds": steps, "survey": "never", "llm": spec}
    settings |= {"memory": "last:4", "parties": "first", "size": 1, "default_agent": "without", "reference": ""}
    scenario = load_preset("echo_chamber").with_settings(settings)
    backend = open_spec(spec)
    with tempfile.TemporaryDirectory() as folder:
        return run_scenario(RunSpec(scenario, Path(folder) / "run"), backend=backend).asked


async def loop(ask: Callable[[], Awaitable[object]], agents: int, steps: int) -> int:
    """Each step all agents are asked, as many at once as there may be."""
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def ask_once() -> None:
        async with gate:
            await ask()

    for _ in range(steps):
        await asyncio.gather(*[ask_once() for _ in range(agents)])
    return agents * steps


def bare_aiohttp(url: str, agents: int, steps: int) -> int:
    import aiohttp

    async def main() -> int:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

            async def ask() -> object:
                body = json.dumps({"model": "echo", "messages": PROMPT, "max_tokens": 120}).encode()
                head = {"Content-Type": "application/json"}
                async with session.post(f"{url}/chat/completions", data=body, headers=head) as got:
                    return json.loads(await got.read())["choices"][0]["message"]["content"]

            return await loop(ask, agents, steps)

    return asyncio.run(main())


def bare_openai(url: str, agents: int, steps: int) -> int:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async def main() -> int:
        async with AsyncOpenAI(api_key="none", base_url=url, http_client=DefaultAioHttpClient()) as client:

            async def ask() -> object:
                told = await client.chat.completions.create(model="echo", messages=PROMPT, max_tokens=120)  # type: ignore[arg-type]
                return told.choices[0].message.content

            return await loop(ask, agents, steps)

    return asyncio.run(main())


WAYS = {"parley": parley, "aiohttp": bare_aiohttp, "openai": bare_openai}


def memory(calls: int) -> None:
    """Resident memory after each tenth of the calls, and what the imports alone take."""
    from parley.llm.backends import open_spec
    from parley.llm.driver import complete_all
    from parley.llm.request import Message, Request, Sampling

    with server(0.0) as url:
        backend = open_spec(f"openai:echo,base_url={url},closed=text,in_flight={IN_FLIGHT}")
        print(f"imports and probe: {resident():,.0f} MB")
        for tenth in range(10):
            for start in range(0, calls // 10, 1000):
                first = tenth * calls + start
                complete_all(
                    backend, [Request((Message("user", f"{first + n} " * 50),), Sampling(), n) for n in range(1000)]
                )  # type: ignore[arg-type]
            print(f"{(tenth + 1) * calls // 10:>8,} calls: {resident():,.0f} MB")


def resident() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default="10,100,1000")
    parser.add_argument(
        "--steps", type=int, default=0, help="steps (as many as make 5,000 calls, 50 at most with 50 ms)"
    )
    parser.add_argument("--memory", type=int, metavar="CALLS")
    given = parser.parse_args()
    if given.memory:
        return memory(given.memory)
    with server(0.0) as url:
        parley(url, 10, 2)  # imports
    print(f"{'agents':>6} {'latency':>8} {'way':>8} {'calls/s':>9} {'CPU ms':>7}  of aiohttp")
    for agents in map(int, given.agents.split(",")):
        for delay in (0.0, 0.05):
            steps = given.steps or min(5000 // agents, 50 if delay else 500)
            with server(delay) as url:
                speeds = {name: timed(partial(way, url, agents, steps)) for name, way in WAYS.items()}
            for name, (rate, cpu) in speeds.items():
                print(
                    f"{agents:>6} {delay * 1000:>5.0f} ms {name:>8} {rate:>9,.0f} {cpu:>7.2f} {rate / speeds['aiohttp'][0]:>7.2f}"
                )
    return None


if __name__ == "__main__":
    main()
