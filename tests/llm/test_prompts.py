"""Prompts: strict slots, fillers as they are, and one-line errors that name the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.llm.errors import UserError
from parley.llm.prompts import Template, digests, prompt

from .conftest import any_text

literals = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=10)
slots = st.from_regex(r"[a-z_]+", fullmatch=True) | st.just("self")
fillers = any_text | st.sampled_from(["{", "}", "{name}", "{{x}}", "{self}", "%s", "\\1"])


@given(st.lists(st.tuples(literals, slots), max_size=5), literals, st.data())
def test_fillers_are_inserted_as_they_are(pieces: list[tuple[str, str]], end: str, data: st.DataObject) -> None:
    """What an agent said is never read as a slot, however many braces it has; a slot may stand twice."""
    given_ = {name: data.draw(fillers, name) for _, name in pieces}
    template = Template("".join([f"{literal}{{{name}}}" for literal, name in pieces]) + end)
    assert template.slots == set(given_)
    assert template.fill(**given_) == "".join([f"{literal}{given_[name]}" for literal, name in pieces]) + end


@check_each(
    ("given_", "told"),
    [
        ({}, "has {name}, {topic}, which nothing fills: take it out"),
        ({"name": 1}, "has {topic}, which nothing fills: take it out"),
        ({"name": 1, "topic": 2, "other": 3}, "lacks {other}: put it back"),
        ({"name": 1, "Topic": 2}, "lacks {Topic}: put it back, and has {topic}, which nothing fills: take it out"),
    ],
)
def test_slots_are_exactly_the_fillers(given_: dict[str, int], told: str) -> None:
    """Prompts are files that a user edits: a slot left out or misspelt is one line that names the file, and no traceback."""
    with pytest.raises(UserError) as caught:
        Template("{name} on {topic}", "turn.txt").fill(**given_)
    assert str(caught.value) == f"the prompt turn.txt {told}"


@check_each("text", ["{", "}", "{}", "{Name}", "{a b}", "{{name}}", "{name!r}", "{name} }", "{0}", "{näme}"])
def test_a_stray_brace_is_refused(text: str) -> None:
    """A misspelt slot would otherwise reach the model as braces, in every one of its prompts."""
    with pytest.raises(UserError, match=r"prompt turn\.txt: a brace"):
        Template(text, "turn.txt")


def test_load_takes_the_text_without_outer_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "turn.txt").write_text("\n {name}: é\n\nGo.\n\n", encoding="utf-8")
    template = Template.load(tmp_path / "turn.txt")
    assert (template.text, template.source) == (" {name}: é\n\nGo.", "turn.txt")


def test_load_names_what_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    (tmp_path / "folder.txt").mkdir()
    for name, reason in (("latin", "UTF-8"), ("missing", "No such file"), ("folder", "directory")):
        with pytest.raises(UserError, match=f"cannot read the prompt .*{name}.txt.*{reason}") as caught:
            Template.load(tmp_path / f"{name}.txt")
        assert "\n" not in str(caught.value)


def test_digest_follows_the_text_only(tmp_path: Path) -> None:
    """The digest in the record's header: any changed letter shows, the file's place does not."""
    assert Template("a {b}").digest == Template("a {b}", "elsewhere").digest
    assert Template("a {b}").digest != Template("a {c}").digest != Template("a {c} ").digest


def test_digests_of_a_folder_are_sorted_and_complete(tmp_path: Path) -> None:
    for name in ("turn", "opening", "survey"):
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
    (tmp_path / "notes.md").write_text("{", encoding="utf-8")
    assert list(digests(tmp_path).items()) == [(n, Template(n).digest) for n in ("opening", "survey", "turn")]
    assert prompt(tmp_path, "turn") is prompt(tmp_path, "turn"), "read once"
