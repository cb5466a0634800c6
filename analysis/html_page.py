"""Markdown as one HTML document with its figures inside. It fetches nothing and executes nothing.

Texts of a model were escaped where the Markdown was written (analysis/formatting.py). This module is the second lock: raw HTML is
shown as text (except the empty anchors of our transcripts), links lead to places of the same document or nowhere, and the
document forbids scripts and remote content.
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

from parley.analysis.formatting import strip_controls

STYLE = Path(__file__).with_name("html_page.css")
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
ANCHOR = re.compile(r'<a id="([\w-]+)">(</a>)?\s*')
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of the text after them round. Right-to-left scripts need none of them."""
SCROLL = '<div class="table" role="region" aria-label="table" tabindex="0">'
KINDS = {".svg": "image/svg+xml", ".png": "image/png"}


class Chapter(NamedTuple):
    """A Markdown text. `folder` has its figures; a `closed` chapter is folded until the reader opens it.

    `mark` is its anchor, and the prefix of the anchors in its text.
    """

    mark: str
    title: str
    text: str
    folder: Path
    closed: bool = False


def document(
    title: str, chapters: Sequence[Chapter], lead: Chapter | None = None, byline: str = "", opening: str = ""
) -> str:
    """Return the document. Several chapters get a table of contents: at the top, or folded after the `lead`.

    A lead is below the title and has only the headings of its text. byline: the line below the title, as plain text. opening:
    HTML of our own between the title and the lead.
    """
    contents = ""
    if len(chapters) > 1:
        items = "".join(f'<li><a href="#{chapter.mark}">{escape(chapter.title)}</a></li>\n' for chapter in chapters)
        contents = f'<nav aria-label="Contents"><ol>\n{items}</ol></nav>\n'
    title, by = strip_controls(title), strip_controls(byline)
    head = f'<h1>{escape(title)}</h1>\n{f"""<p class="by">{escape(by)}</p>{chr(10)}""" if by else ""}'
    header, first = f"{head}{contents}", ""
    if lead:
        header = head
        first = (
            f'<section id="{lead.mark}" aria-label="{escape(lead.title)}">\n{_html(lead)}</section>\n'
            f"<details>\n<summary>Contents</summary>\n{contents}</details>\n"
        )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n"
        f"<body>\n<header>{header}</header>\n<main>\n{opening}"
        f"{first}{''.join(map(_section, chapters))}</main>\n</body>\n</html>\n"
    )


def _section(chapter: Chapter) -> str:
    title, text, quiet = escape(chapter.title), _html(chapter), ""
    if chapter.closed:
        text, quiet = f"<details>\n<summary>{title}</summary>\n{text}</details>\n", ' class="quiet"'
    head = f'<h2 id="{chapter.mark}-title"{quiet}>{title}</h2>'
    return f'<section id="{chapter.mark}" aria-labelledby="{chapter.mark}-title">\n{head}\n{text}</section>\n'


def _html(chapter: Chapter) -> str:
    """Return a chapter's text as HTML, without its first heading, which the document shows already."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    text = BIDI.sub("", chapter.text)
    for name, rule in RULES.items():
        reader.add_render_rule(name, rule)
    tokens = reader.parse(text)
    if tokens and (tokens[0].type, tokens[0].tag) == ("heading_open", "h1"):
        tokens = tokens[3:]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        _keep_local_links(token.children or [], chapter.mark)
    place = {"mark": chapter.mark, "folder": chapter.folder}
    html = str(reader.renderer.render(tokens, reader.options, place))
    html = html.replace("<pre>", '<pre tabindex="0">')  # a long line scrolls, also by keyboard
    return html.replace("<table>", f"{SCROLL}\n<table>").replace("</table>", "</table>\n</div>")


def _keep_local_links(tokens: list[Token], mark: str) -> None:
    """Replace links that leave the document by their text."""
    local: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrGet("href"))
            local.append(href.startswith("#"))
            token.attrSet("href", f"#{mark}-{href[1:]}")
        if token.type in ("link_open", "link_close"):
            keep = local[-1] if token.type == "link_open" else local.pop()
            if not keep:
                token.type, token.tag, token.nesting, token.content = "text", "", 0, ""


def _anchor(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Render an empty anchor of our own, and all other raw HTML as text."""
    content = tokens[place].content
    if match := ANCHOR.fullmatch(content):
        return f'<a id="{env["mark"]}-{match[1]}"></a>'
    return "" if content == "</a>" else escape(content)


def _image(self: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    """Render a figure, as SVG if the folder has it; a line of text when there is no figure."""
    label, named = escape(tokens[place].content), env["folder"] / str(tokens[place].attrGet("src"))
    inside = named.resolve().is_relative_to(env["folder"].resolve())
    path = next((path for path in (named.with_suffix(".svg"), named) if inside and path.is_file()), None)
    if path is None or path.suffix not in KINDS:
        return f"<em>(figure: {label})</em>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{label}" src="data:{KINDS[path.suffix]};base64,{data}">'


RULES = {"html_inline": _anchor, "html_block": _anchor, "image": _image}
