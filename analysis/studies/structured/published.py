"""What the UCL study reports, by experiment. Facts for the eye: nothing here enters a computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parley.analysis.formatting import markdown_table

REVERSION = {"neutral": (0.43, 0.31), "republican": (-2.18, -0.03), "democrat": (0.09, 0.07)}
"""Table 2: mean R with a closing statement and without."""
MODELS = {
    "climate change": ("0.005", "0.473", "0.384", "0.687", "0.029", "0.124"),
    "abortion": ("0.705", "0.403", "0.0001", "0.019", "0.842", "0.337"),
    "illegal immigration": ("3.5e-08", "0.532", "0.00017", "0.166", "0.001", "0.011"),
    "gun violence": ("2.3e-06", "0.159", "0.003", "0.008", "0.701", "0.316"),
}
"""Table 5: p by ANOVA and by Levene's test for Gemma/GPT, GPT/Llama, Gemma/Llama."""


def _reversion() -> list[str]:
    rows = [[agent, f"{closing:.2f}", f"{without:.2f}"] for agent, (closing, without) in REVERSION.items()]
    return [markdown_table(["agent", "mean R, closing (Table 2)", "without"], rows)]


def _models() -> list[str]:
    pairs = ("Gemma/GPT", "GPT/Llama", "Gemma/Llama")
    head = ["topic (Table 5)", *[f"{pair}: {test}" for pair in pairs for test in ("ANOVA p", "Levene p")]]
    return [markdown_table(head, [[topic, *values] for topic, values in MODELS.items()])]


def _said(*lines: str) -> Callable[[], Sequence[str]]:
    return lambda: ["\n".join(f"- {line}" for line in lines)]


PAPER: dict[str, Callable[[], Sequence[str]]] = {
    "baseline": _said(
        "Democrat and Neutral stay near where they began, the Neutral nearer to the Democrat; the Republican moves toward them.",
        "Llama and GPT are volatile; Gemma, DeepSeek and Qwen vary little.",
    ),
    "closing": _reversion,
    "models": _models,
    "orders": _said(
        "ANOVA of the order: abortion p = .00017, climate change p = .000035, gun violence p = .010; immigration not reported.",
        "Openings lean to the side of who speaks first; closings are alike.",
    ),
    "gender": _said(
        "Not informed: p = .0391, but for climate change. Informed: a mean gap of .32, p = .00281.",
        "Female Democrats against two males: p = .0327.",
    ),
    "echo": _said(
        "No echo chamber with two Republicans or two Democrats alone.",
        "With a Neutral: immigration (two Republicans), gun violence and abortion (two Democrats).",
        "Strongest: two female Democrats and a female Neutral, informed, on immigration.",
        "Republicans on abortion, medians: men 6.43 and 6.79, women 5.64 and 5.82 (p = .0206).",
        "Democrats on immigration, medians: women 2.78 and 2.35, men 3.47 and 3.01 (p = .0363).",
    ),
}
