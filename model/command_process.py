"""A command of Parley in a process of its own, in a folder of results: started, watched by its journals, stopped."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import parley
from parley.llm.errors import UserError
from parley.llm.journal import count_outcomes

LOG = "command.log"
"""The file in the folder of results with what the command printed."""
LONGEST = 500
"""Characters of the line that says why a command ended."""


class CommandProcess:
    """A command that was started in `folder`. It ends with this process, and what was answered is kept."""

    def __init__(self, words: Sequence[str], folder: Path, withheld: Collection[str] = ()):
        """withheld: environment variables that the command does not get, such as a key. Errors: UserError."""
        self.folder, self.stopped = folder, False
        environment = {name: value for name, value in os.environ.items() if name not in withheld}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / LOG).open("w", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    [*_program(), *words, "--out", str(folder)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment,
                )  # fmt: skip
        except OSError as error:
            raise UserError(f"cannot start in {folder}: {error.strerror}") from error
        atexit.register(self.stop)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def replies(self) -> int:
        """The replies in the journals of the folder."""
        return sum(count_outcomes(path) for path in self.folder.rglob("*.sqlite"))

    @property
    def problem(self) -> str:
        """Why the command ended before its end; "" while it runs, after it was stopped, and at its end."""
        if self.running or self.stopped or self._process.returncode == 0:
            return ""
        return last_line(self.folder) or f"the command ended with code {self._process.returncode}"

    def stop(self) -> None:
        """End the command as Ctrl-C does: every answer that came in is kept."""
        if self.running:
            self.stopped = True
            self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended."""
        self._process.wait(seconds)


def last_line(folder: Path) -> str:
    """Return the last line that a command printed in a folder; "" where it printed nothing."""
    try:
        lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][-LONGEST:] if lines else ""


def _program() -> list[str]:
    """Return the words that start Parley as this process has it: of a checkout, or as installed."""
    checkout = Path(str(parley.__file__)).resolve().with_name("run.py")
    return [sys.executable, str(checkout)] if checkout.exists() else [sys.executable, "-m", "parley"]
