"""What an audit may spend: one limit over everything in the folder of the card, and the price of everybody who is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from parley.analysis.card.outside import INTERVIEWS, VERDICTS
from parley.llm.errors import UserError
from parley.llm.journal import shared
from parley.llm.limits import FREE, Budget, Ledger, Price

_LIMIT = re.compile(r"(\d+(?:\.\d+)?)([kM]?) ?(calls|tokens|money)")
_TIMES = {"": 1.0, "k": 1e3, "M": 1e6}


def limit(text: str | None) -> Budget:
    """`5000calls`, `2Mtokens`, `10money`; None: no limit. Errors: UserError.

    >>> limit("2.5Mtokens").tokens
    2500000
    """
    found = _LIMIT.fullmatch((text or "").strip())
    if not found:
        if text is None:
            return Budget()
        raise UserError(
            f"--budget {text!r} is not a number of calls, tokens or money, such as 5000calls, 2Mtokens or 10money"
        )
    most = float(found[1]) * _TIMES[found[2]]
    limits = {"calls": Budget(calls=int(most)), "tokens": Budget(tokens=int(most)), "money": Budget(cost=most)}
    return limits[found[3]]


def budgets(most: Budget, models: Mapping[str, Price | None], judge: Price | None) -> tuple[Budget, Budget]:
    """The prices of the models by voice, and of the judge, as `Bench` wants them. Errors: UserError for a limit on money where a
    price is not known.
    """
    unknown = [voice or "the model" for voice, price in models.items() if price is None]
    unknown += ["the judge"] if judge is None else []
    if most.cost is not None and unknown:
        raise UserError(
            f"--budget in money needs a price, and none is known of {', '.join(unknown)}: --price IN,OUT for the model alone, "
            "or a table of all (--prices FILE)"
        )
    known = {voice: price for voice, price in models.items() if price is not None}
    return Budget(prices=known), Budget(prices={"": judge} if judge else {})


def ledger(most: Budget, folder: Path, budgets: tuple[Budget, Budget]) -> Ledger | None:
    """The limit less what earlier sittings spent; None: there is no limit. Interviews and what the judge said of them have one
    journal, counted at the dearer of the prices.
    """
    model, judge = budgets
    prices = {voice: max(price, judge.prices.get("", FREE), key=sum) for voice, price in model.prices.items()}
    own = {INTERVIEWS: Budget(prices=prices), VERDICTS: judge}
    return shared(most, [(path, own.get(path.parent.name, model)) for path in sorted(folder.rglob("*.sqlite"))])
