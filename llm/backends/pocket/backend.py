"""The compiled backend: sorts requests into open and closed questions, answers them in batches, and keeps their order.

Compiles the code of the pocket model once on a machine, and says so.

The compiled code is kept next to the package, or in the user's cache where the package cannot be written to, in a folder named by
a digest of the sources. So new sources never meet old compiled code. NUMBA_CACHE_DIR names another place.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

from parley.llm.backends.hf.answer_tokens import AnswerTokens
from parley.llm.backends.hf.checkpoint import adapter_folders, check_base, fingerprint
from parley.llm.backends.pocket.layout import BLOCK
from parley.llm.backends.pocket.prefix_pool import TOKEN_BYTES, PrefixPool
from parley.llm.backends.pocket.prompt_ids import ChatTokenizer
from parley.llm.backends.pocket.reader import Reader, Row
from parley.llm.backends.pocket.replies import Writing, begun, blocks_for, common_tail, score_answers
from parley.llm.backends.pocket.weights import SPARE, arrange, load_tensors, merge_adapter, read_definition
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Sampling
from parley.llm.user_file import user_cache

SECONDS = 15
"""About how long the compilation takes."""
HERE = Path(__file__).parent
SOURCES = ("../hf/token_race.py", "vectors.py", "layout.py", "attention.py", "kernels.py", "decode.py")


@contextmanager
def kept_code() -> Iterator[None]:
    """Keep what is compiled inside, and say on stderr when the first function really is compiled."""
    import numba
    from numba.core import event

    class Announcement(event.Listener):
        said = False

        def on_start(self, _: Any) -> None:
            if not self.said:
                sys.stderr.write(f"compiling the engine of pocket for this machine, once: about {SECONDS} s\n")
                sys.stderr.flush()
            self.said = True

        def on_end(self, _: Any) -> None:
            pass

    given, listener = numba.config.CACHE_DIR, Announcement()
    numba.config.CACHE_DIR = str(_folder(given) / _digest())
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
        numba.config.CACHE_DIR = given


def _digest() -> str:
    return blake2b(b"".join((HERE / name).read_bytes() for name in SOURCES), digest_size=8).hexdigest()


def _folder(given: str) -> Path:
    """Return the first folder that can be written to: the given one, the package's own, the user's cache, a temporary one."""
    for folder in ([Path(given)] if given else []) + [HERE / "__pycache__", user_cache()]:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    return Path(tempfile.mkdtemp())


with kept_code():
    from parley.llm.backends.pocket import decode  # noqa: F401

LEAST = 128 << 20
"""Bytes for the keys and values of a batch, whatever may be kept."""


class Compiled:
    """A model in compiled code.

    A batch has at most `batch` rows, and as many as find room. `keep` is the number of bytes for keys and values, those in use
    included.
    """

    in_flight = 0

    def __init__(
        self,
        folder: Path,
        exact: bool = True,
        batch: int = 256,
        keep: int = 0,
        workers: int = 1,
        adapters: Sequence[str] = (),
    ):
        self.exact, self.batch, self.keeps = exact, batch, keep > 0
        self.definition, self.tokenizer = read_definition(folder), ChatTokenizer(folder)
        tensors, self.adapters = load_tensors(folder), adapter_folders(adapters)
        self._identity = {
            "model": folder.resolve().name,
            "weights": fingerprint(folder),
            "dtype": "float32",
            "load": "full",
            "versions": {name: version(name) for name in ("numba", "tokenizers")},
        }
        merged = [merge_adapter(tensors, adapter) for adapter in self.adapters.values()]
        for adapter in self.adapters.values():
            check_base(adapter, self._identity)
        if self.adapters:
            self._identity["adapters"] = {name: fingerprint(adapter) for name, adapter in self.adapters.items()}
        models = [arrange(each, folder) for each in (tensors, *merged)]
        self.vocabulary = models[0].embedding.shape[0]
        layers, key_heads = models[0].project.shape[0], models[0].key_heads
        pool = PrefixPool(max(keep, LEAST) // block_bytes(layers, key_heads), layers, key_heads)
        self.reader = Reader(models, pool, workers)
        with kept_code():
            self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything, with the types of later calls."""
        row = Row(0, Request((), Sampling(max_tokens=1), 0, ("0", "1")), self.tokenizer.chat([]))
        self._open([row])
        self._closed([row])
        self.reader.pool.clear()

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity | {"closed": "exact" if self.exact else "text"}

    def seedless(self, request: Request) -> bool:
        """At temperature 0 the reply is the most probable token or answer, whatever the seed."""
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies: dict[int, Reply] = {}
        groups: dict[tuple[int, tuple[str, ...], str], list[Row]] = defaultdict(list)
        models = {name: number + 1 for number, name in enumerate(self.adapters)} | {"": 0}
        for place, request in enumerate(requests):
            if request.adapter not in models:
                detail = f"{request.adapter} is none of {', '.join(self.adapters) or 'none'}"
                replies[place] = Reply.failed("unknown_adapter", detail)
                continue
            model = models[request.adapter]
            row = Row(place, request, self.tokenizer.chat(request.messages), request.sampling.stop, model)
            if problem := self._too_long(row):
                replies[place] = problem
            else:
                groups[(model, request.answers, request.answer_prefix) if self.exact else (model, (), "")].append(row)
        for (_, answers, _), rows in sorted(groups.items()):
            replies |= self._closed(rows) if answers else self._open(rows)
        if not self.keeps:
            self.reader.pool.clear()
        return [replies[place] for place in range(len(requests))]

    def _too_long(self, row: Row) -> Reply | None:
        if row.request.sampling.top_k:
            return Reply.failed("not_supported", "pocket does not know top_k: set top_k=0, or use min_p")
        most, context = row.request.sampling.max_tokens, self.definition.context
        if row.count + most <= context:
            return None
        length = f"{row.count} tokens and a reply of {most}"
        return Reply.failed("context_overflow", f"{length} exceed the context of {context} (--set memory=last:12 fits)")

    def _open(self, rows: list[Row]) -> dict[int, Reply]:
        def write(batch: list[Row]) -> list[Reply]:
            return Writing(self.reader, self.definition, self.tokenizer, batch).write()

        return self._run(rows, lambda row: row.request.sampling.max_tokens, 0, write)

    def _closed(self, rows: list[Row]) -> dict[int, Reply]:
        """Return replies by place to questions with the same answers."""
        allowed = AnswerTokens(rows[0].request, self.tokenizer.encode)
        if len(allowed.common) + max(map(len, allowed.rest)) > SPARE:
            raise UserError(f"an answer has more than {SPARE} tokens, which is too long for this model")
        begun_rows = [begun(row, allowed) for row in rows]
        last = rows[0].request.messages[-1:]
        tail = min(common_tail(begun_rows), len(self.tokenizer.chat(last)) // TOKEN_BYTES)

        def score(batch: list[Row]) -> list[Reply]:
            return score_answers(self.reader, self.vocabulary, batch, allowed, tail)

        return self._run(begun_rows, lambda _: 0, blocks_for(allowed), score)

    def _run(
        self, rows: list[Row], more: Callable[[Row], int], spare: int, answer: Callable[[list[Row]], list[Reply]]
    ) -> dict[int, Reply]:
        """Return replies by place, a batch at a time."""
        replies: dict[int, Reply] = {}
        while rows:
            try:
                count = self.reader.seat(rows[: self.batch], more, spare)
                if count == 0:
                    raise MemoryError("a request needs more memory than `keep` allows")
                batch, rows = rows[:count], rows[count:]
                replies |= {row.place: reply for row, reply in zip(batch, answer(batch), strict=True)}
            except BaseException:
                self.reader.pool.reset()  # blocks may have been entered that were not read
                raise
        return replies


def block_bytes(layers: int, key_heads: int) -> int:
    """Return the bytes of a block of keys and values with their scales."""
    return layers * key_heads * 2 * BLOCK * (32 * 2 + 4)
