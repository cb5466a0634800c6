"""A corrector: what it is sent, what is read of its reply, and which posts it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.evidence import Passage, load_evidence
from parley.agents.language import ENGLISH, load_language
from parley.agents.speech import Speech
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.studies.corrections.corrector import SHIPPED, Corrector, load_posts, read_correction

SHOWN = (Passage("dam.txt", 1, "It has no crack."), Passage("dam.txt", 2, "It was built in 1987."))


@pytest.mark.parametrize("language", ["en", "de"])
def test_it_is_sent_post_passages_and_draft_and_nothing_else(language: str) -> None:
    """Without passages no prompt may ask for quotations; with a draft the draft is in the prompt, on one line."""
    writer = Corrector(load_language(language), 40)
    alone, quoting = writer.compose("It\ncracked!", (), 1), writer.compose("It cracked!", SHOWN, 1)
    replacing = writer.compose("It cracked!", SHOWN, 1, "A draft\nof mine.")
    texts = [request.messages[1].content for request in (alone, quoting, replacing)]
    assert all("It cracked!" in text and "40" in text for text in texts)
    assert ["[1] It has no crack.\n[2] It was built in 1987." in text for text in texts] == [False, True, True]
    assert ["A draft of mine." in text for text in texts] == [False, False, True]
    assert ['"..." [1]' in text for text in texts] == [False, True, True]
    assert {request.purpose for request in (alone, quoting, replacing)} == {"correction"}


@check_each(
    ("reply", "speech"),
    [
        (Reply("Not\n so."), Speech("Not so.", None)),
        (Reply("  "), Speech(None, "empty")),
        (Reply("As an AI language model, I cannot role-play."), Speech(None, "refusal")),
        (Reply.failed("timeout"), Speech(None, "timeout")),
    ],
)
def test_a_reply_is_read_or_missing_with_its_reason(reply: Reply, speech: Speech) -> None:
    assert read_correction(reply) == speech


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_shipped_posts_have_an_answering_passage_each(language: str) -> None:
    """Without it, the check of the retrieval would be wrong."""
    posts = load_posts(language)
    sources = {passage.source for passage in load_evidence(posts.folder).passages}
    assert posts.language.code == language
    assert len({post.text for post in posts.posts}) == len(posts.posts) >= 5
    assert all(post.evidence and set(post.evidence) <= sources for post in posts.posts)
    assert posts.folder == SHIPPED / language / "evidence"


@check_each(
    ("text", "words"),
    [
        ("", "has 0 posts"),
        ("[[posts]]\ntext = 'a b'\n", "has 1 posts"),
        ("[[posts]]\ntext = 'a'\n[[posts]]\ntext = ' '\n", "the text of post 2 is empty"),
        ("[[posts]]\ntxt = 'a'\n", "post 1"),
        ("posts = 3", r"begin each with \[\[posts\]\]"),
        ("lang = 'en'", "unknown key lang"),
    ],
)
def test_a_broken_file_of_posts_is_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "posts.toml").write_text(text)
    with pytest.raises(UserError, match=words):
        load_posts(str(tmp_path / "posts.toml"))


def test_unknown_posts_name_what_there_is() -> None:
    with pytest.raises(UserError, match="give one of de, en, or the path"):
        load_posts("fr")
    assert load_posts("en").language == ENGLISH
