"""The library of items of news: complete, made up, in two languages; a file of the user needs six lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.news import BELIEVER, SUSCEPTIBLE
from parley.agents.topic import is_news, load_topic, news_names
from parley.llm.errors import UserError

MINE = """title = "the ferry story"

[news]
subject = "travel"
claim = "the ferry to Osk sank"
report = "The ferry to Osk was late on Monday. It arrived at noon."
rumour = "The ferry to Osk sank with all on board."
"""


def test_there_are_twelve_items_two_of_each_subject() -> None:
    """Results by subject need more than one item of each; every language has the same items."""
    subjects = Counter(item.subject for name in news_names() if (item := load_topic(name).news))
    assert set(subjects) == {"politics", "science", "health", "economy", "disasters", "entertainment"}
    assert set(subjects.values()) == {2}
    assert news_names("germany") == news_names()
    for name in news_names():
        both = [load_topic(slug).news for slug in (name, f"germany/{name}")]
        assert both[0]
        assert both[1]
        assert both[0].subject == both[1].subject


@check_each("slug", [*news_names(), *[f"germany/{name}" for name in news_names()]])
def test_an_item_can_be_told_and_asked(slug: str) -> None:
    """A report is long enough to lose something on the way, and short enough for a line; the rumour is another text."""
    topic = load_topic(slug)
    assert topic.news is not None
    assert 45 <= len(topic.news.report.split()) <= 75
    assert 15 <= len(topic.news.rumour.split()) <= 45
    assert topic.axis == "belief"
    assert topic.claim in topic.probe("agreement").question
    told = {topic.news.opening(belief, topic.language) for belief in (BELIEVER, SUSCEPTIBLE)}
    assert len(told) == 2
    assert all(topic.news.rumour in text for text in told)


def test_an_item_of_the_user_needs_title_and_texts(tmp_path: Path) -> None:
    """Questions follow from title and claim; what is missing is named."""
    path = tmp_path / "ferry.toml"
    path.write_text(MINE)
    topic = load_topic(str(path))
    assert topic.probe("attitude").question == "How true is the ferry story, that the ferry to Osk sank?"
    assert topic.question == "Is it true that the ferry to Osk sank?"
    assert is_news(str(path))
    assert not is_news("racism")
    lacking = tmp_path / "lacking.toml"
    lacking.write_text(MINE.replace("claim", "#"))
    with pytest.raises(UserError, match=r"\[news\] of topic .* lacks claim"):
        load_topic(str(lacking))
