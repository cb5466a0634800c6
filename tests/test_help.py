"""The help of every command: words that a first reader knows, and no party of one country."""

from __future__ import annotations

import re

import pytest

from parley.commands import commands, overview, parser_of

NAMES = list(commands())
PARTIES = re.compile(r"republican|democrat", re.IGNORECASE)
RIDDLES = re.compile(r"\b(told|nobody|somebody|everybody|stands|beside|whom)\b", re.IGNORECASE)
SHORT = {"SFT": "supervised fine-tuning", "DPO": "direct preference", "LoRA": "added weights"}
"""Short forms, and words with which the help of `train` explains them."""


@pytest.mark.parametrize("name", NAMES)
def test_options_name_no_party_of_one_country_and_no_riddle(name: str) -> None:
    """Examples may have the adapter of a party in a path, because files are named after parties."""
    text = " ".join(parser_of(name).format_help().split("\nexample")[0].split())
    assert not PARTIES.search(text)
    assert not RIDDLES.search(re.sub(r"--[\w-]+", "", text))


def test_the_overview_says_what_new_and_check_take() -> None:
    """It left out the party, which `new` writes as well."""
    lines = {line.split()[0]: line for line in overview().splitlines() if line.startswith("  ")}
    for name in ("new", "check"):
        assert all(part in lines[name] for part in ("society", "party", "topic", "personas"))


def test_train_explains_its_short_forms() -> None:
    text = " ".join(parser_of("train").format_help().split()).replace("- ", "-")
    assert all(short in text and words in text for short, words in SHORT.items())
