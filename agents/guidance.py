"""The styles in which an official account guides public opinion."""

from __future__ import annotations

from typing import Literal, get_args

Style = Literal["empathic", "factual", "empty"]
STYLES: tuple[Style, ...] = get_args(Style)
EMPATHIC, FACTUAL, EMPTY = STYLES
