"""Acts in replies: one act is read, or none with a reason, and never an act that the model did not choose."""

from __future__ import annotations

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.act_names import ACTS
from parley.agents.acts import ShownPost, act_words, offered_acts, read_act, targets_of
from parley.agents.closed_answers import read_number
from parley.agents.language import load_language

GERMAN = load_language("de")

READ = [
    ("like", "like"),
    ("Like.", "like"),
    ("**Like**", "like"),
    ('"like"', "like"),
    ("LIKE!", "like"),
    (" dislike\n", "dislike"),
    ("like post 2", "like"),
    ("Like post #2.", "like"),
    ("follow the author of post 3", "follow"),
    ("Action: share", "repost"),
    ("repost", "repost"),
    ("Retweet", "repost"),
    ("Answer: nothing", "nothing"),
    ("My answer is: unfollow.", "unfollow"),
    ("I choose to reply", "reply"),
    ("I would like to post.", "post"),
    ("I'll reply to post 4", "reply"),
    ("comment", "reply"),
    ("do nothing", "nothing"),
    ("Like, because it says what I think.", "like"),
    ("Like - it is a fair post.", "like"),
    ("nothing\nI do not want to reply to any of these.", "nothing"),
    ("Mute: this author only shouts.", "mute"),
    ("search", "search"),
]
UNREAD = [
    ("", "empty"),
    ("   \n", "empty"),
    (None, "empty"),
    ("As an AI language model, I cannot role-play.", "refusal"),
    ("3", "no_answer"),
    ("Post 3", "no_answer"),
    ("I agree with Ann.", "no_answer"),
    ("block", "no_answer"),
    ("post, reply, quote, share, like", "several_answers"),
    ("like and share", "several_answers"),
    ("like/dislike", "several_answers"),
    ("Either like or nothing", "several_answers"),
    ("I would not like it", "denied_answer"),
    ("I don't want to post", "denied_answer"),
    ("I like the way Ann thinks about this.", "unclear_answer"),
    ("People like you are the problem", "unclear_answer"),
    ("What would a quote bring?", "unclear_answer"),
    ("liked", "no_answer"),
    ("likelihood", "no_answer"),
    ("pre-post", "no_answer"),
    ("like 2 people here", "unclear_answer"),
]


@check_each(("reply", "act"), READ)
def test_a_plain_choice_is_read(reply: str, act: str) -> None:
    assert read_act(reply, ACTS) == (act, None)


@check_each(("reply", "reason"), UNREAD)
def test_all_else_is_missing_with_its_reason(reply: str | None, reason: str) -> None:
    assert read_act(reply, ACTS) == (None, reason)


def test_an_act_that_is_not_offered_is_missing() -> None:
    """In an empty feed nothing can be liked; the reply is not turned into another act."""
    assert read_act("like", ("post", "nothing")) == (None, "not_offered")


@check_each(
    ("reply", "act"),
    [
        ("zustimmen", "like"),
        ("Teilen.", "repost"),
        ("nichts", "nothing"),
        ("Antwort: folgen", "follow"),
        ("like", "like"),
    ],
)
def test_german_words_are_read(reply: str, act: str) -> None:
    assert read_act(reply, ACTS, GERMAN) == (act, None)


@check_each("language", [load_language("en"), GERMAN])
def test_every_own_word_of_a_language_is_read_as_its_act_and_no_two_are_the_same(language: object) -> None:
    words = act_words(language)  # type: ignore[arg-type]
    assert len(set(words.values())) == len(ACTS)
    for act, word in words.items():
        assert read_act(word, ACTS, language) == (act, None)  # type: ignore[arg-type]


@given(st.text(max_size=60))
def test_any_text_gives_an_act_or_a_reason(text: str) -> None:
    act, reason = read_act(text, ACTS)
    assert (act is None) != (reason is None)


@check_each(
    ("reply", "number"),
    [
        ("2", 2),
        ("Post 2", 2),
        ("#2", 2),
        ("2.", 2),
        ("I choose post 2.", 2),
        ("Number 2", 2),
        ("two", 2),
        ("2, because it is fair", 2),
    ],
)
def test_the_number_of_a_post_is_read_like_a_rating(reply: str, number: int) -> None:
    assert read_number(reply, (1, 2, 4)) == (number, None)


@check_each(
    ("reply", "reason"),
    [("3", "not_offered"), ("9", "not_offered"), ("1 or 2", "several_numbers"), ("", "empty"), ("the second", "no_number"),
     ("not 2", "unclear_number"), ("2.5", "not_offered"), ("-1", "not_offered"), ("I have 2 sons", "unclear_number")],
)  # fmt: skip
def test_a_number_that_cannot_be_meant_is_missing(reply: str, reason: str) -> None:
    assert read_number(reply, (1, 2, 4)) == (None, reason)


def test_acts_are_offered_where_they_are_possible() -> None:
    """Strangers can be followed, those one follows can be unfollowed; an empty feed leaves post, search and nothing."""
    friend, stranger = ShownPost(1, 11, 2, "Ann", "Yes.", 0), ShownPost(2, 12, 3, "Bob", "No.", 0, followed=False)
    assert offered_acts(ACTS, ()) == ("post", "search", "nothing")
    assert "unfollow" not in offered_acts(ACTS, (stranger,))
    assert "follow" not in offered_acts(ACTS, (friend,))
    assert targets_of("follow", (friend, stranger)) == (stranger,)
    assert targets_of("like", (friend, stranger)) == (friend, stranger)
    assert targets_of("post", (friend, stranger)) == ()
