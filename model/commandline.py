"""What the commands have in common: one-line errors, numbers, a progress bar."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm.errors import UserError

if TYPE_CHECKING:
    from model.scenario import Scenario
    from model.session import Outcome


class Parser(argparse.ArgumentParser):
    """Options in full, not the beginnings of their names; says what is wrong in one line."""

    def __init__(self, **keywords: Any):
        super().__init__(allow_abbrev=False, **keywords)

    def error(self, message: str) -> Any:
        raise UserError(f"{message} (see --help)")


def natural(text: str) -> int:
    """A count given on the command line: 0, 1, 2, ..."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def positive(text: str) -> int:
    """A count of 1 or more."""
    if not (found := natural(text)):
        raise argparse.ArgumentTypeError("must be 1 or more, not 0")
    return found


def amount(text: str) -> float:
    """Money: a finite number of 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return found


def price(text: str) -> tuple[float, float]:
    """`0.5,1.5`: money per million tokens in and out."""
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not IN,OUT, two numbers")
    return amount(parts[0]), amount(parts[1])


@contextmanager
def bar(title: str, total: int, unit: str = "call") -> Iterator[Callable[[int], object]]:
    """A progress bar with rate and time left on a terminal, quiet elsewhere; 0 is a total that nobody knows."""
    from tqdm import tqdm

    with tqdm(total=total or None, unit=unit, desc=title, disable=None, dynamic_ncols=True) as shown:
        yield shown.update


class Progress:
    """Rooms, calls done, calls per second and time left on a terminal; quiet elsewhere."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario

    def __enter__(self) -> Progress:
        from tqdm import tqdm

        from model.plan import count, others

        _, self.rooms, replies, ratings = count(self.scenario)
        self.bar = tqdm(
            total=replies + ratings + others(self.scenario),
            unit="call",
            desc=self.scenario.name,
            disable=None,
            dynamic_ncols=True,
            postfix=f"{self.rooms} rooms",
        )
        return self

    def calls(self, number: int) -> None:
        self.bar.update(number)

    def found(self, backend: Any) -> None:
        """What a backend says of the endpoint that it found."""
        if says := getattr(backend, "says", ""):
            self.bar.write(f"model    {says}")

    def step(self, model: Any) -> None:
        self.bar.set_postfix_str(f"{self.rooms} rooms, round {model.round + 1}/{self.scenario.rounds}")

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def told(scenario: Scenario, folder: Path, outcome: Outcome) -> str:
    """One line on what the sitting did."""
    if outcome.already:
        return f"{folder} is finished; nothing was asked (--retry-failures asks the failed calls again)"
    rate = f" ({outcome.asked / outcome.seconds:,.0f} calls/s)" if outcome.seconds and outcome.asked else ""
    replayed = f", {outcome.replayed:,} from the journal" if outcome.replayed else ""
    replayed += f", {outcome.twins:,} the same as others" if outcome.twins else ""
    cost = f"; this folder has cost {outcome.cost:.4g} so far" if outcome.cost else ""
    asked = f"{outcome.asked:,} calls asked{replayed} in {outcome.seconds:.1f} s{rate}{cost}"
    return f"{scenario.name} on {scenario.llm}: {asked}"
