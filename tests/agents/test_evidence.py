"""Evidence: which passages a folder has, which are found, and which quotations are really in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.evidence import Evidence, Passage, is_quoted, load_evidence, name_sources, plain, read_quotations
from parley.llm.errors import UserError

BREAD = Passage("bread.txt", 1, "The bread of Orrin is dark. It contains no sawdust, said the food office.")
DAM = Passage("dam.txt", 2, "The wall has no crack.")
TRAM = Passage("tram.txt", 1, "Headaches were as frequent as on the bus.")
KNOWN = Evidence((BREAD, DAM, TRAM))
POST = "The wall of the dam is cracked from top to bottom!"


def test_a_folder_is_cut_into_paragraphs_with_their_sources(tmp_path: Path) -> None:
    """A reader has to find the passage: its number counts the paragraphs of its file, without headings."""
    (tmp_path / "in").mkdir()
    (tmp_path / "b.md").write_text("# Title\n\nOne\nline.\n\n\n## More\nTwo.\n")
    (tmp_path / "in" / "a.txt").write_text("Three.")
    (tmp_path / "c.csv").write_text("no,text")
    assert load_evidence(tmp_path).passages == (
        Passage("b.md", 1, "One line."),
        Passage("b.md", 2, "Two."),
        Passage("in/a.txt", 1, "Three."),
    )


def test_a_folder_without_texts_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no text in \.txt or \.md files"):
        load_evidence(tmp_path)
    with pytest.raises(UserError, match="is not a folder"):
        load_evidence(tmp_path / "none")
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="as UTF-8 text"):
        load_evidence(tmp_path)


def test_the_search_finds_by_words_and_never_pads() -> None:
    """A passage without a common word is no evidence, even where more were wanted."""
    assert KNOWN.search("Is there sawdust in the bread?", 1) == [BREAD]
    assert KNOWN.search("crack", 3) == [DAM]
    assert KNOWN.search("xylophone", 3) == []


@check_each(
    ("reply", "kinds"),
    [
        ('No: "It contains no sawdust" [1].', ["verbatim"]),
        ("No: “it contains NO sawdust, said ... office.” [1]", ["verbatim"]),
        ('No: "It contains no sawdust".', ["unnumbered"]),
        ('No: "It contains no sawdust" [2].', ["elsewhere"]),
        ('No: "It contains no sawdust" [9].', ["elsewhere"]),
        ('No: "It contains little sawdust" [1].', ["fabricated"]),
        ('No: "office said ... no sawdust" [1].', ["fabricated"]),
        ('You say "cracked from top to bottom", but "The wall has no crack." [2]', ["of_post", "verbatim"]),
        ('A so-called "crack" in a "dam wall".', []),
        ('"crack" [2]', ["verbatim"]),
        ("„It contains no sawdust“ [1] and «The wall has no crack» [2]", ["verbatim", "verbatim"]),
        ('"..." [1]', ["fabricated"]),
    ],
)
def test_each_quotation_is_compared_word_for_word(reply: str, kinds: list[str]) -> None:
    """A quotation that is in no source must never pass; one in another source must not count as found in the named one."""
    assert [quotation.kind for quotation in KNOWN.check(reply, [BREAD, DAM], POST)] == kinds


def test_quotations_and_their_sources_are_read_from_the_reply() -> None:
    assert read_quotations('"One two three" [1] and "four five six".') == [
        ("One two three", 1),
        ("four five six", None),
    ]
    assert name_sources('"The wall has no crack." [2] [7]', [BREAD, DAM]) == '"The wall has no crack." (dam.txt 2) [7]'
    assert not is_quoted("", plain("anything"))
