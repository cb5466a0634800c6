"""A model that steps out of its role: what it says then is no line of the debate."""

from __future__ import annotations

import re

from parley.agents.languages import refuses_elsewhere

_CANNOT = r"i(?<!\wi)(?: am|'m)? (?:cannot|can't|can not|won't|will not|unable to|not able to|not comfortable)"
_ROLE = r"(?:role|persona|character|perspective|viewpoint|person|identity)"
_NO_ROLE = re.compile(
    r"as(?<!\was) an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:assistant|model|language model))?\b"
    r"(?! (?:researcher|engineer|expert|developer|scientist|ethicist|company|executive|investor|user))"
)
_SORRY = re.compile(
    rf"(?:i(?: am|'m) (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|apologies)[,.;:]? (?:but )?{_CANNOT} "
    r"(?:assist|help(?! but\b)|fulfil|comply|participate|engage|continue|provide|create|generate|write|produce|respond"
    r"|do (?:that|this))"
)
_UNABLE = re.compile(
    rf"{_CANNOT} (?:to )?(?:role-?play|impersonat\w+|pretend to be"
    rf"|(?:tak|adopt|assum|speak|argu)\w* (?:on |from |in )?(?:this|that|the|a|an) (?:\w+ )?{_ROLE}"
    r"|(?:fulfil+|comply with|complete) (?:this|that|your|the) (?:request|task|prompt))"
)
"""Each begins with a letter, so that a search skips to it: one pattern of all three takes ten times as long."""
_DENIALS, _MACHINES = ("not", "n't", "n’t", "unable"), ("ai", "artificial", "model")
"""What stands in all that the patterns find; most lines have none of it."""


def refuses(text: str) -> bool:
    """Does a speaker refuse to speak in its role? "I cannot support this law" is a position, and none.

    >>> refuses("As an AI language model, I cannot role-play."), refuses("I can't accept that, Bob.")
    (True, False)
    >>> refuses("Als KI-Sprachmodell kann ich keine Meinung haben."), refuses("Als KI aufkam, war ich jung.")
    (True, False)
    """
    lower = text.lower()
    denies, machine = any(map(lower.__contains__, _DENIALS)), any(map(lower.__contains__, _MACHINES))
    said = " ".join(lower.replace("’", "'").split())
    if (denies or machine) and _NO_ROLE.search(said):
        return True
    return bool(denies and (_SORRY.match(said) or _UNABLE.search(said))) or refuses_elsewhere(said)
