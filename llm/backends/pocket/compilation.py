"""Compiles the code of the pocket model once on a machine, and says so.

The compiled code is kept next to the package, or in the user's cache where the package cannot be written to, in a folder named by
a digest of the sources. So new sources never meet old compiled code. NUMBA_CACHE_DIR names another place.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from parley.llm.user_cache import user_cache

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
