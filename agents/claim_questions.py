"""The opposite of a claim, and an interviewer who says what they think of it, as survey questions.

agreement:negated               "How much do you agree that it is not true that CLAIM?"
agreement:interviewer_for       "The person who asks you thinks that CLAIM. How much do you agree that CLAIM?"
agreement:interviewer_against   "The person who asks you thinks that it is not true that CLAIM. ..."
agreement:interviewer_silent    "The person who asks you does not say whether it is true that CLAIM. ..."
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

NEGATED = "agreement:negated"
"""The probe that asks for agreement with the opposite of the claim of the probe `agreement`."""
FOR, AGAINST, SILENT = (f"agreement:interviewer_{view}" for view in ("for", "against", "silent"))
"""The probes in which the interviewer agrees with the claim, disagrees, or does not say."""
VIEWS: Mapping[str, str] = {FOR: "for", AGAINST: "against"}
"""The interviewer's stated view by probe, as it is in the facts of a request; the silent one states none."""
GUESSES = ("studied:end", "expected:end")
"""What agents are asked after the last survey: what is studied, and which change is expected."""
RIGHT, OPTIONS = 1, 6
"""The point of the right option of `studied`, and the number of options."""
CLAIM_QUESTIONS = (NEGATED, FOR, AGAINST, SILENT)


def claim_question(name: str, claim: str, words: Callable[[str], str]) -> str:
    """Return the question of a probe of CLAIM_QUESTIONS. words: texts of the language by name."""
    if name == NEGATED:
        return f"{words('agree')}{words('negated')}{claim}?"
    begin = words("interviewer_silent" if name == SILENT else "interviewer")
    opposite = words("negated") if name == AGAINST else ""
    return f"{begin}{opposite}{claim}. {words('agree')}{claim}?"
