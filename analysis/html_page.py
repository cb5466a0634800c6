"""Markdown as one HTML document that needs nothing beside it: figures are inside, nothing is fetched, nothing is executed.

What a model said was made harmless where the Markdown was written (analysis/formatting.py). Here is the second lock: raw HTML is
shown as text (but for the empty anchors of our transcripts), links lead to places of the same document or nowhere, and the
document forbids a browser scripts and anything from elsewhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

STYLE = Path(__file__).with_name("html_page.css")
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
ANCHOR = re.compile(r'<a id="([\w-]+)">(</a>)?\s*')
KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


class Chapter(NamedTuple):
    """A Markdown text; `folder` is where its figures lie, `closed` says that it is unfolded by who wants to read it.

    `mark` is its anchor, and what keeps the anchors of its text apart from those of other chapters.
    """

    mark: str
    title: str
    text: str
    folder: Path
    closed: bool = False


def document(title: str, chapters: Sequence[Chapter], lead: Chapter | None = None) -> str:
    """The whole document; several chapters have a list of them, at the top or, folded, after the `lead`.

    A lead has no heading but those of its text and stands right below the title.
    """
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n"
    )
    top, first = f"<h1>{escape(title)}</h1>\n", _lead(lead, chapters) if lead else ""
    top += _contents(chapters) if not lead else ""
    body = f"<header>{top}</header>\n<main>\n{first}{''.join(map(_chapter, chapters))}</main>\n"
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}</head>\n<body>\n{body}</body>\n</html>\n'


def _contents(chapters: Sequence[Chapter]) -> str:
    listed = "".join(f'<li><a href="#{one.mark}">{escape(one.title)}</a></li>\n' for one in chapters)
    return f'<nav aria-label="Contents"><ol>\n{listed}</ol></nav>\n' if len(chapters) > 1 else ""


def _lead(one: Chapter, chapters: Sequence[Chapter]) -> str:
    contents = f"<details>\n<summary>Contents</summary>\n{_contents(chapters)}</details>\n"
    return f'<section id="{one.mark}" aria-label="{escape(one.title)}">\n{_html(one)}</section>\n{contents}'


def _chapter(one: Chapter) -> str:
    inside = _html(one)
    head = f'<h2 id="{one.mark}-title">{escape(one.title)}</h2>'
    if one.closed:
        inside = f"<details>\n<summary>{escape(one.title)}</summary>\n{inside}</details>\n"
        head = f'<h2 id="{one.mark}-title" class="quiet">{escape(one.title)}</h2>'
    return f'<section id="{one.mark}" aria-labelledby="{one.mark}-title">\n{head}\n{inside}</section>\n'


def _html(one: Chapter) -> str:
    """A chapter's text without its own first heading, which stands over it already."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for name in ("html_inline", "html_block"):
        reader.add_render_rule(name, _anchor)
    reader.add_render_rule("image", _image)
    reader.add_render_rule("table_open", _table_open)
    reader.add_render_rule("table_close", _table_close)
    place = {"mark": one.mark, "folder": one.folder}
    tokens = _without_title(reader.parse(one.text))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        _local_links(token.children or [], one.mark)
    return str(reader.renderer.render(tokens, reader.options, place))


def _without_title(tokens: list[Token]) -> list[Token]:
    return tokens[3:] if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1" else tokens


def _local_links(tokens: list[Token], mark: str) -> None:
    """Links within the document stay; of all others their text."""
    open_: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            open_.append(href.startswith("#"))
            token.attrSet("href", f"#{mark}-{href[1:]}")
        if token.type in ("link_open", "link_close"):
            local = open_[-1] if token.type == "link_open" else open_.pop()
            if not local:
                token.type, token.tag, token.nesting, token.content = "text", "", 0, ""


def _anchor(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """An empty anchor of our own, and nothing else."""
    found = ANCHOR.fullmatch(tokens[place].content)
    if found:
        return f'<a id="{env["mark"]}-{found[1]}"></a>'
    return "" if tokens[place].content == "</a>" else escape(tokens[place].content)


def _image(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """A figure, drawn rather than painted where there is a drawing; a line in its place where there is none."""
    told, named = tokens[place].content, env["folder"] / str(tokens[place].attrGet("src"))
    inside = named.resolve().is_relative_to(env["folder"].resolve())
    path = next((path for path in (named.with_suffix(".svg"), named) if inside and path.is_file()), None)
    if path is None or path.suffix not in KINDS:
        return f"<em>(figure: {escape(told)})</em>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(told)}" src="data:{KINDS[path.suffix]};base64,{data}">'


def _table_open(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return '<div class="table" role="region" aria-label="table" tabindex="0">\n<table>\n'


def _table_close(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return "</table>\n</div>\n"
