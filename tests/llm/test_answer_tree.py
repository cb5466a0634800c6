"""The probability of whole answers from tables of next tokens, against values computed by hand."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import pytest

from parley.llm.answer_tree import AnswerShares, Tokens, answer_lookups

NUMBERS = [str(number) for number in range(11)]


def score_answers(
    answers: Sequence[str], next_tokens: Callable[[str], Tokens], prefix: str = "", ended: bool = False
) -> AnswerShares:
    """Look the texts up in a function of the reply so far."""
    lookups = answer_lookups(answers, prefix, ended)
    texts = next(lookups)
    while True:
        try:
            texts = lookups.send([next_tokens(text) for text in texts])
        except StopIteration as end:
            return end.value


def scored(answers, tables: Mapping[str, Mapping[str, float]], prefix: str = "", ended: bool = False) -> AnswerShares:
    return score_answers(answers, tables.__getitem__, prefix, ended)


def test_ten_is_one_and_nought_and_one_does_not_take_what_belongs_to_ten():
    """Protects the ratings of every tokenizer that splits 10: P(10) = P(1) P(0 after 1)."""
    tables = {"": {"1": 0.4, "8": 0.3, "5": 0.2, "I": 0.1}, "1": {"0": 0.75, ".": 0.15, "5": 0.1}}
    shares, unseen, lookups = scored(NUMBERS, tables)
    assert shares[10] == pytest.approx(0.3)
    assert shares[1] == pytest.approx(0.06)  # 15 is neither 1 nor 10
    assert (shares[8], shares[5], shares[0]) == (0.3, 0.2, 0.0)
    assert (unseen, lookups) == (pytest.approx(0.0), 2)


def test_a_tokenizer_with_a_token_for_ten_adds_both_ways_to_it():
    tables = {"": {"10": 0.5, "1": 0.2, "9": 0.3}, "1": {"0": 0.5, " ": 0.5}}
    shares = scored(NUMBERS, tables).shares
    assert shares[10] == pytest.approx(0.6)
    assert shares[1] == pytest.approx(0.1)
    assert shares[9] == 0.3


def test_spaces_quotes_and_bold_marks_may_stand_before_an_answer():
    """Protects models whose tokenizer puts a space of its own before a number, and those that write answers in bold."""
    tables = {
        "": {"5": 0.1, " 5": 0.2, " ": 0.4, "**": 0.3},
        " ": {"5": 0.5, "7": 0.5},
        "**": {"7": 1.0},
    }
    shares, _, lookups = scored(["5", "7"], tables)
    assert shares == pytest.approx([0.5, 0.5])
    assert lookups == 3


def test_whole_phrases_behind_a_begun_sentence():
    """The texts to look up end with a word; a phrase has the product of its tokens; "a small" and "a very" part behind "a"."""
    answers = ["not a problem at all", "a small problem", "a very big problem"]
    begun = "I think climate change is"
    tables = {
        begun: {" a": 0.5, " not": 0.2, " real": 0.3},
        f"{begun} a": {" very": 0.4, " small": 0.1, " problem": 0.5},
        f"{begun} not": {" a": 0.5, " the": 0.5},
        f"{begun} not a": {" problem": 0.8, " joke": 0.2},
        f"{begun} not a problem": {" at": 0.5, ".": 0.5},
        f"{begun} not a problem at": {" all": 1.0},
        f"{begun} a small": {" problem": 0.9, " thing": 0.1},
        f"{begun} a very": {" big": 0.25, " large": 0.75},
        f"{begun} a very big": {" problem": 0.6, " issue": 0.4},
    }
    shares, unseen, lookups = scored(answers, tables, f"{begun} ")
    assert shares == pytest.approx([0.2 * 0.5 * 0.8 * 0.5, 0.5 * 0.1 * 0.9, 0.5 * 0.4 * 0.25 * 0.6])
    assert (unseen, lookups) == (pytest.approx(0.0), len(tables))


def test_all_that_can_be_looked_up_at_the_same_time_is_yielded_at_once():
    """Protects the speed of a server: calls of one wave are in flight together."""
    lookups = answer_lookups(["a b", "c d"], "It is ")
    assert next(lookups) == ["It is"]
    assert lookups.send([{" a": 0.6, " c": 0.4}]) == ["It is a", "It is c"]
    with pytest.raises(StopIteration) as end:
        lookups.send([{" b": 1.0}, {" d": 0.5}])
    assert end.value.value == AnswerShares([0.6, 0.2], pytest.approx(0.2), 3)


def test_words_that_tokens_split_differently_are_one_text():
    """ " not" is also " n" and "ot". A byway counts where it matters, and costs no lookup where it does not."""
    split = {"ot": 0.5, "ext": 0.5}
    shares, unseen, lookups = scored(["not"], {"It is": {" n": 0.3, " not": 0.7}, "It is n": split}, "It is ")
    assert (shares, unseen, lookups) == (pytest.approx([0.85]), pytest.approx(0.0), 2)
    shares, unseen, lookups = scored(["not"], {"It is": {" n": 0.01, " not": 0.99}}, "It is ")
    assert (shares, unseen, lookups) == ([0.99], pytest.approx(0.01), 1)


def _by_hand(answer: str, tokens: list[str], chance) -> float:
    """Return the probability of all ways to write an answer, by going through all sequences of tokens."""
    total = 0.0
    for length in range(1, len(answer) + 1):
        for way in itertools.product(tokens, repeat=length):
            if "".join(way) == answer:
                share = 1.0
                for place in range(length):
                    share *= chance("".join(way[:place]))[way[place]]
                total += share
    return total


def test_every_way_to_split_an_answer_counts():
    """Against a sum over all sequences of tokens, where next tokens depend on the text so far."""
    tokens = ["a", "ab", "b", "bc", "c", "x"]

    def chance(text: str) -> dict[str, float]:
        weights = [1 + (len(text) * 7 + place * 3) % 5 for place in range(len(tokens))]
        return {token: weight / sum(weights) for token, weight in zip(tokens, weights, strict=True)}

    shares = score_answers(["abc", "bca"], chance).shares
    assert shares == pytest.approx([_by_hand("abc", tokens, chance), _by_hand("bca", tokens, chance)])


def test_an_answer_may_have_to_end_the_reply():
    """ "A" of "A small problem" is no answer A where answers have to be the whole reply; a full stop or a bracket ends it."""
    tables = {"": {"A": 0.6, "B": 0.3, "a": 0.1}, "A": {"": 0.2, " small": 0.5, ".": 0.3}, "B": {")": 0.5, " is": 0.5}}
    assert scored(["A", "B"], tables, ended=True).shares == pytest.approx([0.3, 0.15])
    assert scored(["A", "B"], tables).shares == pytest.approx([0.6, 0.3])  # "a" begins many sentences: it is no "A"


def test_upper_and_lower_case_are_the_same_in_words():
    tables = {"": {"Yes": 0.5, " yes": 0.2, "No": 0.2, "Not": 0.1}}
    assert scored(["yes", "no"], tables).shares == pytest.approx([0.7, 0.2])


def test_a_token_may_hold_more_than_the_answer():
    tables = {"": {"5.": 0.5, "10%": 0.2, "51": 0.1, "1": 0.2}, "1": {"0/": 0.5, ",": 0.5}}
    shares = scored(NUMBERS, tables).shares
    assert (shares[5], shares[10], shares[1]) == pytest.approx((0.5, 0.3, 0.1))


def test_what_a_table_does_not_list_and_what_is_not_followed_is_said():
    """Protects against a share that looks exact: answers beyond the likeliest tokens may have up to `unseen` more."""
    tables = {"": {"agree": 0.7, "dis": 0.0004}}
    shares, unseen, lookups = scored(["agree", "disagree"], tables)
    assert shares == [0.7, 0.0]
    assert unseen == pytest.approx(0.3)  # .0004 of a branch not followed, .2996 not listed
    assert lookups == 1


def test_an_answer_that_another_one_continues():
    """ "I agree" is not "I agree strongly", and no "agreement"."""
    tables = {"I": {" agree": 1.0}, "I agree": {" strongly": 0.25, " with": 0.7, "ment": 0.05}}
    assert scored(["agree", "agree strongly"], tables, "I ").shares == pytest.approx([0.7, 0.25])


def test_shares_never_exceed_one_together():
    """Whatever the tables are: a bad table of a server adds no probability."""
    tables = {"": {"1": 0.5, "10": 0.25, " 1": 0.25}, "1": {"0": 0.9, "": 0.1}, " 1": {"0": 0.9, "": 0.1}}
    shares, _, lookups = scored(NUMBERS, tables)
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1] == pytest.approx(0.075)
    assert lookups == 2  # "1" and " 1" are one text
