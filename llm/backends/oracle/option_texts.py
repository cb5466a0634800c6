"""Options of the oracle that are several numbers by name, as `by_trait=openness:0.3+neuroticism:-0.2`."""

from __future__ import annotations

from parley.llm.errors import UserError


def parse_numbers(option: str, text: str) -> dict[str, float]:
    """Return the numbers by name. option: its name, for the message. Errors: UserError.

    >>> parse_numbers("by_trait", "openness:0.3+neuroticism:-0.2")
    {'openness': 0.3, 'neuroticism': -0.2}
    """
    numbers: dict[str, float] = {}
    for pair in filter(None, text.split("+")):
        name, _, value = pair.partition(":")
        try:
            numbers[name] = float(value)
        except ValueError:
            raise UserError(
                f"oracle: {option}={text} does not have the form {option}=NAME:NUMBER+NAME:NUMBER"
            ) from None
    return numbers
