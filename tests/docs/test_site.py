"""The documentation site: generated pages say what is so, every page can be reached, nothing is loaded from elsewhere."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from data_checks import check_each

from docs import build, pages
from parley.agents import persona_generator, persona_variants
from parley.agents.agent import SUMMARY_TOKENS
from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.language import language_codes, load_language
from parley.agents.mediators.draft_revise import TOKENS_PER_WORD, DraftRevise
from parley.llm.backends.pocket import open_backend
from parley.llm.studies import PACKAGE, studies
from parley.model.scenario import load_preset, preset_names
from parley.model.scenario_blocks import FIELD_BLOCKS
from parley.training.tuning.recipe import DPO, RATES, SFT

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLOORS = ("llm", "agents", "environments", "model", "analysis", "training", "studies")


@check_each("name", preset_names())
def test_every_preset_has_its_row_and_its_departures(name: str) -> None:
    """A scenario whose departures nobody wrote down would pass for a replication."""
    said = pages.notes(name)
    assert said.command
    assert said.measured
    assert said.departures
    page = pages.scenario_page(name)
    assert load_preset(name).title in page
    assert load_preset(name).source in page


def test_every_field_is_in_the_table_with_its_explanation() -> None:
    """Read out of the source: a field without a comment would stand there without a word."""
    found = {name: says for name, _, says in pages.fields()}
    assert set(found) == set(FIELD_BLOCKS) - {"environment", "options"}
    assert {name for name, says in found.items() if not says} == {"name"}


def test_the_index_leads_to_every_page() -> None:
    _, under_headings = (
        (DOCS / "index.md").read_text(encoding="utf-8").split("\n## ", 1)
    )  # the lists of pages are made of these
    listed = set(re.findall(r"\]\((\w+\.md)\)", under_headings))
    assert listed == {path.name for path in DOCS.glob("*.md")} - {"index.md"}


def test_every_study_has_a_page_that_names_its_commands() -> None:
    """A study is found by its question, and its page says how it is called."""
    table = pages.studies_page()
    ours = [study for study in studies().values() if study.package.startswith(f"{PACKAGE}.")]
    assert len(ours) == len(pages.study_pages())
    for study in ours:
        text = (study.folder / "README.md").read_text(encoding="utf-8")
        for command in study.commands:
            assert f"study {command.name}" in text, command.name
            assert f"| `{command.name}` | {command.about} | [{study.folder.name}]" in table


def test_links_of_staged_pages_lead_to_pages_of_the_site(tmp_path: Path) -> None:
    """Sphinx refuses a link out of the site, minutes later: from docs/library.md to model/scenario.py it once stopped CI."""
    site = tmp_path / "site"
    build.stage(site)
    for page in sorted(site.rglob("*.md")):
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        links = re.findall(r"\]\(([^)#\s]+\.(?:md|py|toml|txt|cfg))\)", prose)
        local = [link for link in links if "://" not in link]
        assert [link for link in local if not (page.parent / link).exists()] == [], page.relative_to(site)


def test_files_that_are_named_are_there() -> None:
    """In README and docs: docs/NAME.md anywhere, files and folders of ours in code."""
    ours = "llm|agents|environments|model|analysis|training|benchmarks|tests|docs"
    for page in (ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md"), *pages.study_pages()):
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(build.PAGE, text))
        named |= set(re.findall(rf"`((?:{ours})/[\w/.]*\w)`", text))
        assert [one for one in sorted(named) if not (ROOT / one).exists()] == [], page.name


def test_the_decoding_table_is_that_of_the_code() -> None:
    """What ODD says of temperatures and lengths is what is sent."""
    text = (DOCS / "odd.md").read_text(encoding="utf-8")
    plain, structured, private = load_preset("three_way"), load_preset("structured_debate"), load_preset("consensus")
    words = DraftRevise().words
    again = f"if a rating is unreadable, Parley asks once more (`asks={plain.surveys.asks}`)"
    for row in (
        f"| an utterance | {plain.speech.temperature} (`temperature`) | {plain.speech.max_tokens} (`max_tokens`) "
        f"| top_p {plain.speech.top_p}; {plain.speech.words} words",
        f"`structured_debate` | {structured.speech.temperature} | {structured.speech.max_tokens} "
        f"| {structured.speech.words} words",
        f"its kin | {private.speech.temperature} | {private.speech.max_tokens} | {private.speech.words} words",
        f"| a rating | {plain.surveys.survey_temperature:g} (`survey_temperature`) | {ANSWER_TOKENS} | {again}",
        f"| a summary, an insight | 0, 1.0 | {SUMMARY_TOKENS} |",
        f"| a mediator's statement | {private.speech.temperature} (`temperature`) | {words * TOKENS_PER_WORD} | "
        f"{TOKENS_PER_WORD} a word; {words} words",
        f"| a persona | 1.0 | {persona_generator.BACKSTORY_TOKENS} | `enhanced` {persona_variants.TOKENS} |",
    ):
        assert row in text


def test_defaults_that_a_page_states_are_those_of_the_code() -> None:
    """What pocket keeps, and with what rates is trained: somebody plans a machine or a training by them."""
    keep = inspect.signature(open_backend).parameters["keep"].default
    assert f"{keep:,} MiB" in (DOCS / "models.md").read_text(encoding="utf-8")
    tuning = (DOCS / "tuning.md").read_text(encoding="utf-8")
    for method in (SFT, DPO):
        hf, pocket = (f"{RATES[kind][method]:.0e}".replace("e-0", "e-") for kind in ("hf", "pocket"))
        assert f"learning rate {hf} (pocket {pocket})" in tuning


def test_every_prompt_is_on_the_page_of_prompts() -> None:
    """Those that write the questions of a fine-tuning as well as those of a debate."""
    page = pages.prompts_page()
    files = [path for floor in FLOORS for path in (ROOT / floor).rglob("*.txt")]
    folders = {(language.folder / "prompts").resolve() for language in map(load_language, language_codes())}
    assert folders <= {path.parent.resolve() for path in files}
    assert {"opening", "interview", "political_questions"} <= {path.stem for path in files}
    for path in files:
        assert f"## {path.parent.relative_to(ROOT)}\n" in page
        assert path.read_text(encoding="utf-8").strip() in page


@check_each(
    ("text", "loaded"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', ["//fonts.example/a.css"]),
        ('<style>@import url("https://fonts.example/b.css");</style>', ["https://fonts.example/b.css"]),
        (
            '<a href="https://mesa.example">Mesa</a><link rel="canonical" href="https://here.example"><img src="a.svg">',
            [],
        ),
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(text: str, loaded: list[str], tmp_path: Path) -> None:
    """The site is read where there is no network; a page that asks another host also tells it who reads."""
    page = tmp_path / "page.html"
    page.write_text(text, encoding="utf-8")
    assert build.elsewhere(page) == loaded


def test_style_sheets_are_looked_through_too(tmp_path: Path) -> None:
    sheet = tmp_path / "site.css"
    sheet.write_text(
        "@font-face { src: url(https://fonts.example/f.woff2) } i { background: url('data:x') }", encoding="utf-8"
    )
    assert build.elsewhere(sheet) == ["https://fonts.example/f.woff2"]


def test_the_sources_of_the_site_are_made(tmp_path: Path) -> None:
    """What Sphinx reads: a page a scenario, links in the place of names, the lists of pages."""
    build.stage(tmp_path / "site")
    index = (tmp_path / "site" / "index.md").read_text(encoding="utf-8")
    assert {"fields.md", "prompts.md", "changelog.md"} <= {path.name for path in (tmp_path / "site").glob("*.md")}
    assert index.count("{toctree}") == index.count("\n## ")
    assert "[](../presets.md)" not in index
    assert "[](../oracle.md)" in (tmp_path / "site" / "scenarios" / "three_way.md").read_text(encoding="utf-8")


def test_names_of_pages_in_code_stay() -> None:
    assert build.linked("see docs/odd.md\n```sh\ncat docs/odd.md\n```\n`docs/odd.md`") == (
        "see [](odd.md)\n```sh\ncat docs/odd.md\n```\n`docs/odd.md`"
    )


@check_each(
    ("text", "source", "place", "linked"),
    [
        ("[a](../studies/flips/README.md#null)", "docs/card.md", "card.md", "[a](studies/flips.md#null)"),
        (
            "[a](../games/README.md), [b](https://x.org)",
            "studies/flips/README.md",
            "studies/flips.md",
            "[a](games.md), [b](https://x.org)",
        ),
        ("[a](../../CHANGELOG.md)", "studies/flips/README.md", "studies/flips.md", "[a](../changelog.md)"),
        (
            "see studies/games/README.md and docs/odd.md",
            "docs/card.md",
            "card.md",
            "see [](studies/games.md) and [](odd.md)",
        ),
        ("![](../../docs/img/a.svg)", "studies/flips/README.md", "studies/flips.md", "![](../img/a.svg)"),
    ],
)
def test_a_link_leads_to_the_same_page_in_the_repository_and_on_the_site(
    text: str, source: str, place: str, linked: str
) -> None:
    """A study's page is its README: on the site it stands in another folder."""
    assert build.linked(text, source, place) == linked
