"""A model that steps out of its role: what it says then is no line of the debate."""

from __future__ import annotations

import re

_CANNOT = r"i(?: am|'m)? (?:cannot|can't|can not|won't|will not|unable to|not able to|not comfortable)"
_ROLE = r"(?:role|persona|character|perspective|viewpoint|person|identity)"
_REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:assistant|model|language model))?\b"
    r"(?! (?:researcher|engineer|expert|developer|scientist|ethicist|company|executive|investor|user))"
    rf"|^(?:i(?: am|'m) (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|apologies)[,.;:]? (?:but )?{_CANNOT} "
    r"(?:assist|help(?! but\b)|fulfil|comply|participate|engage|continue|provide|create|generate|write|produce|respond"
    r"|do (?:that|this))"
    rf"|\b{_CANNOT} (?:to )?(?:role-?play|impersonat\w+|pretend to be"
    rf"|(?:tak|adopt|assum|speak|argu)\w* (?:on |from |in )?(?:this|that|the|a|an) (?:\w+ )?{_ROLE}"
    r"|(?:fulfil+|comply with|complete) (?:this|that|your|the) (?:request|task|prompt))"
)


def refuses(text: str) -> bool:
    """Does a speaker refuse to speak in its role? "I cannot support this law" is a position, and none.

    >>> refuses("As an AI language model, I cannot role-play."), refuses("I can't accept that, Bob.")
    (True, False)
    """
    return bool(_REFUSAL.search(" ".join(text.lower().replace("’", "'").split())))
