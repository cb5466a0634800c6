"""One HTML file on a run: whole, without network or script, whatever a model said."""

from __future__ import annotations

import base64
import itertools
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import run
from parley.analysis.first_look import first_look
from parley.analysis.html_page import Chapter, document
from parley.analysis.html_report import examples, write
from parley.analysis.tables import load
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

pytestmark = pytest.mark.usefixtures("pictures")

PAYLOADS = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[click](https://evil.example/x) and ![see](https://evil.example/y.png)",
    "</p></section><iframe src='https://evil.example'></iframe>",
    '<a id="room-1">https://evil.example/z</a>',
    "# A heading\n\n> not a quotation | nor a cell",
    "&lt;script&gt; stays text",
)
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "nav",
        "main",
        "section",
        "details",
        "summary",
        "div",
    ),
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "ol",
        "ul",
        "li",
        "a",
        "em",
        "strong",
        "code",
        "blockquote",
        "pre",
        "hr",
    ),
    *("table", "thead", "tbody", "tr", "th", "td", "img", "br"),
    *("figure", "figcaption", "svg", "path", "circle", "rect", "text", "input", "label"),
}


class Read(HTMLParser):
    """Every tag with its attributes, and all text."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.tags if name == tag]


def harmless(html: str) -> Read:
    """Nothing that a browser would run or fetch."""
    page = Read(html)
    assert {tag for tag, _ in page.tags} <= TAGS
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert attributes.get("src", "data:image/").startswith("data:image/")
        assert attributes.get("href", "#").startswith("#")
    assert "default-src 'none'" in page.named("meta")[2]["content"]
    return page


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A run whose every reply is an attack."""
    attacks = itertools.cycle(PAYLOADS)

    def answer(request: Request) -> str:
        return request.answers[0] if request.answers else next(attacks)

    settings = {"topic": "racism", "repetitions": 4, "rounds": 3}
    scenario = load_preset("three_way").with_settings(settings)
    run_scenario(RunSpec(scenario, tmp_path / "run", tuple(settings)), backend=Fake(answer))
    return tmp_path / "run"


def test_what_a_model_says_is_text(held: Path) -> None:
    """A reply that became markup could forge a result, or call home from the reader's machine."""
    page = harmless(write([held], held / "report.html").read_text(encoding="utf-8"))
    assert "<script>alert(1)</script>" in page.text
    assert "onerror=" in page.text
    assert "A heading" not in [line.strip("# ") for line in page.text.splitlines() if line.startswith("#")]


def test_the_second_lock_holds_alone(tmp_path: Path) -> None:
    """Should a page forget to make a text harmless, the document still does nothing with it."""
    html = document("T", [Chapter("one", "One", "\n\n".join(PAYLOADS), tmp_path)])
    page = harmless(html)
    assert "alert(1)" in page.text


def test_what_leads_stands_before_the_contents(tmp_path: Path) -> None:
    """What a reader must not miss comes right below the title; the list of contents waits, folded, and leads where it says."""
    chapters = [Chapter(name, name, f"text of {name}", tmp_path) for name in ("one", "two")]
    html = document("T", chapters, Chapter("lead", "In short", "> warning\n\n" + "\n\n".join(PAYLOADS), tmp_path))
    order = [html.index(part) for part in ("<h1", "warning", "<details>", "<nav", "text of one")]
    assert order == sorted(order)
    page = harmless(html)
    assert [attributes["href"] for _, attributes in page.tags if attributes.get("href", "")[1:] in ("one", "two")] == [
        "#one",
        "#two",
    ]
    assert document("T", chapters).index("<nav") < html.index("<details>"), "without a lead at the top, not folded"


def test_it_holds_figures_tables_and_the_command(held: Path) -> None:
    page = Read(write([held], held / "report.html").read_text(encoding="utf-8"))
    (figure,) = page.named("img")
    kind, _, data = figure["src"].partition(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data) == (held / "figures" / "attitudes.svg").read_bytes()
    assert figure["alt"]
    assert len(page.named("table")) >= 2
    assert "python run.py --scenario three_way" in page.text
    assert "Examples from the transcript, 1 of 4 rooms" in page.text


def test_a_report_opens_with_what_came_out_a_chart_that_moves_and_three_buttons(held: Path) -> None:
    """In this order, before the warnings and tables; a group's rating after each round is one point of its line; no script."""
    html = write([held], held / "report.html").read_text(encoding="utf-8")
    page = harmless(html)
    order = [
        html.index(part) for part in ("<h1", 'class="finding"', 'class="talk"', "<svg", 'class="steps"', "In short")
    ]
    assert order == sorted(order)
    assert [tag["id"] for tag in page.named("input")] == ["again"]
    lines = [tag["d"] for tag in page.named("path") if tag["class"] == "course"]
    assert [line.count(",") for line in lines] == [4, 4, 4], "a survey before the debate and after each of three rounds"
    buttons = ["Measure this model's bias", "Debate a question of my own", "Use a real model"]
    assert [button for button in buttons if f"<summary>{button}</summary>" in html] == buttons


def test_a_first_look_where_ratings_are_missing_or_people_many(ran: Callable[..., Path]) -> None:
    """A rating that could not be read leaves no point; more than eight people are drawn as parties; no ratings, no opening."""
    large, small = load(ran("network", size=12, repetitions=1)), load(ran("three_way", repetitions=1))
    shown = first_look(large, "It <moved>.")
    assert "It &lt;moved&gt;." in shown
    assert shown.count('class="course"') == 2
    assert "Mean private rating before" in shown
    agent = small.attitudes["agent"].iloc[-1]
    gone = (small.attitudes["agent"] == agent) & (small.attitudes["round"] == 1)
    unread = replace(small, attitudes=small.attitudes.assign(attitude=small.attitudes["attitude"].mask(gone)))
    assert first_look(small, "").count("<circle") - first_look(unread, "").count("<circle") == 1
    assert re.search(r'd="M[\d.]+,[\d.]+M[\d.]+,[\d.]+"', first_look(unread, "")), "no line over a missing rating"
    assert first_look(replace(small, attitudes=small.attitudes.iloc[:0]), "") == ""


def test_title_author_and_day_are_text_below_each_other(held: Path) -> None:
    """A title of a user is text; the day is that of the record, so that the record itself has none."""
    os.utime(held / "record.jsonl", (86_400, 86_400))
    html = write([held], held / "report.html", "Who <b>moves</b>?", "Ada \u202e& Co").read_text(encoding="utf-8")
    page = harmless(html)
    assert "<title>Who &lt;b&gt;moves&lt;/b&gt;?</title>" in html
    assert "Run of 2 January 1970" in page.text
    assert html.index("<h1>") < html.index("Ada ") < html.index("In short")
    assert "In short" not in html[: html.index("<main>")]


def test_a_text_cannot_turn_the_rest_round(tmp_path: Path) -> None:
    """U+202E would show what follows it backwards, also where the page that named it forgot to take it out."""
    chapter = Chapter("one", "One", "**Eve\u202e**: eton \u2067x\n\n| a\u202d | b |\n| - | - |\n| c | d |", tmp_path)
    html = document("T\u202e", [chapter])
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(html)
    assert "unicode-bidi: isolate" in html


def test_on_paper_heads_repeat_and_pages_have_numbers() -> None:
    """What a browser needs to print it, as its style says it."""
    html = document("T", [])
    assert "thead { display: table-header-group; }" in html
    assert "counter(page)" in html
    assert "position: sticky" in html


def test_links_lead_to_places_that_are_there(held: Path, tmp_path: Path) -> None:
    """Two runs in one file: each has its own rooms 1, 2, ..."""
    page = Read(write([held, held], tmp_path / "both.html").read_text(encoding="utf-8"))
    places = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(places) == len(set(places))
    targets = {attributes["href"][1:] for attributes in page.named("a") if "href" in attributes}
    assert targets
    assert targets <= set(places)


def test_a_figure_from_elsewhere_is_not_taken_along(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "run").mkdir()
    page = Read(document("T", [Chapter("one", "One", "![a](../secret.png) ![b](none.png)", tmp_path / "run")]))
    assert page.named("img") == []
    assert "(figure: a)" in page.text
    assert "(figure: b)" in page.text


def test_examples_are_the_first_room_of_each_part() -> None:
    rooms = "".join(f'<a id="room-{number}"></a>\n\nroom {number}\n' for number in (1, 2))
    told, shown = examples(f"# T\n\n## Contents\n\n- x\n\n## A\n\n{rooms}\n## A: asked outside the debates\n\n{rooms}")
    assert told == "Examples from the transcript, 1 of 2 rooms"
    assert re.findall(r"room \d", shown) == ["room 1"]


def test_what_is_no_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["report", str(tmp_path / "none")]) == 2
    assert "is not the folder of a run or a study" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"has no summary\.md or other page"):
        write([tmp_path], tmp_path / "report.html")
