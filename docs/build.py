"""Builds the documentation site: `sh do.sh docs` writes build/docs, to be opened in a browser, on any machine without a network.

The pages are docs/*.md and the README of each study, as they are. Added are a page for each scenario (from its preset,
docs/presets.md and a run on the rule-based speaker), the table of studies (from what they declare), the table of all fields
(from model/scenario.py), the columns of all tables (from analysis/schemas/columns.toml and the metrics), the list of files (from
their docstrings), every prompt and the changelog. A link that leads nowhere, a
page that no list names and a built page that would load anything from another host are errors.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
import run  # noqa: E402, F401  (`parley` is this checkout)
from docs import api, pages, tables_page  # noqa: E402

BUILD = ROOT / "build"
SOURCE, SITE, RUNS = BUILD / "docs-source", BUILD / "docs", BUILD / "docs-runs"
SCHEMAS = sorted((ROOT / "analysis" / "schemas").glob("*.schema.json"))
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
GENERATED = {
    "CHANGELOG.md": "changelog.md",
    "model/scenario.py": "fields.md",
    "model/scenario_blocks.py": "fields.md",
    "agents/languages/en/prompts": "prompts.md",
    "__init__.py": "api.md",
    "studies": "studies.md",
    "analysis/schemas/columns.toml": "tables.md",
    "agents/society_keys.toml": "society_keys.md",
    "llm/__init__.py": "code.md",
    **{f"docs/{path.name}": f"{path.stem}.md" for path in NOTEBOOKS},
    **{f"analysis/schemas/{path.name}": path.name for path in SCHEMAS},
}
"""Where something is in the repository, and on the site."""
PAGE = r"docs/\w+\.md|studies/\w+/README\.md"
"""A page, as prose names it."""
LOADING = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}
"""Elements that a browser loads by itself, and the attribute that says what."""
CODE = ("llm", "agents", "environments", "model", "analysis")


def main() -> int:
    """Write the sources, draw the figures, build, look for what is loaded from elsewhere. The exit code."""
    from sphinx.cmd.build import build_main

    stage(SOURCE)
    names = pages.presets()
    with ProcessPoolExecutor() as pool:
        list(pool.map(draw, names, [SOURCE / "scenarios" / f"{name}.svg" for name in names]))
    if code := build_main(["-W", "--keep-going", "-q", "-b", "html", str(SOURCE), str(SITE)]):
        return code
    loaded = [f"{path.relative_to(SITE)} loads {what}" for path in built(SITE) for what in elsewhere(path)]
    print("\n".join(loaded) or f"site     {SITE / 'index.html'}")
    return 1 if loaded else 0


def stage(folder: Path) -> None:
    """The pages as Sphinx reads them, in a folder of their own: with links, lists of pages and those that are generated."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / "docs" / "conf.py", folder)
    shutil.copy(ROOT / "CHANGELOG.md", folder / "changelog.md")
    for path in SCHEMAS:
        shutil.copy(path, folder)
    (folder / "scenarios").mkdir()
    (folder / "fields.md").write_text(pages.fields_page(), encoding="utf-8")
    (folder / "society_keys.md").write_text(pages.society_keys_page(), encoding="utf-8")
    (folder / "tables.md").write_text(tables_page.tables_page(), encoding="utf-8")
    (folder / "prompts.md").write_text(pages.prompts_page(), encoding="utf-8")
    (folder / "code.md").write_text(pages.code_page(), encoding="utf-8")
    (folder / "studies.md").write_text(pages.studies_page(), encoding="utf-8")
    (folder / "api.md").write_text(api.api_page(), encoding="utf-8")
    for path in NOTEBOOKS:
        page = api.notebook_page(path.name, path.read_text(encoding="utf-8"))
        (folder / f"{path.stem}.md").write_text(page, encoding="utf-8")
    told = folder / "presets.md"
    told.write_text(pages.with_pages(told.read_text(encoding="utf-8")), encoding="utf-8")
    for name in pages.presets():
        (folder / "scenarios" / f"{name}.md").write_text(pages.scenario_page(name), encoding="utf-8")
    for path in folder.rglob("*.md"):
        place = str(path.relative_to(folder))
        path.write_text(linked(path.read_text(encoding="utf-8"), f"docs/{path.name}", place), encoding="utf-8")
    (folder / "studies").mkdir()
    for path in pages.study_pages():
        source, place = str(path.relative_to(ROOT)), f"studies/{path.parent.name}.md"
        (folder / place).write_text(linked(path.read_text(encoding="utf-8"), source, place), encoding="utf-8")
    index = (folder / "index.md").read_text(encoding="utf-8")
    (folder / "index.md").write_text(index + pages.trees(index), encoding="utf-8")


def linked(text: str, source: str = "docs/index.md", place: str = "index.md") -> str:
    """Lead links to where their pages are on the site, and make pages that prose names links; code stays as it is.

    source: where the text is in the repository. place: where it is on the site.

    >>> linked("see docs/odd.md, `docs/odd.md`")
    'see [](odd.md), `docs/odd.md`'
    >>> linked("[Fields](../model/scenario.py)")
    '[Fields](fields.md)'
    >>> linked("[Cards](../../docs/card.md#null)", "studies/flips/README.md", "studies/flips.md")
    '[Cards](../card.md#null)'
    """

    def lead(found: re.Match[str]) -> str:
        """The link, as it leads from the place of this page."""
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))
        return f"]({_from(place, there) or found[1]}"

    def whole(prose: str) -> str:
        led = re.sub(r"\]\(([^)#\s:]+)", lead, prose)
        return re.sub(rf"(?<![\w/])(?<!\]\()(?:{PAGE})", lambda found: f"[]({_from(place, found[0])})", led)

    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", text, flags=re.M | re.S)
    return "".join(part if number % 2 else whole(part) for number, part in enumerate(parts))


def _from(place: str, there: str) -> str:
    """How a page of the site links to something of the repository; "" for what the site does not have."""
    inside = re.sub(r"^studies/(\w+)/README\.md$", r"docs/studies/\1.md", there)
    here = GENERATED.get(there) or (inside.removeprefix("docs/") if inside.startswith("docs/") else "")
    return here and posixpath.relpath(here, posixpath.dirname(place) or ".")


def draw(name: str, path: Path) -> None:
    """The main figure of a preset on the rule-based speaker; a run is kept until the code or the data of a floor change."""
    from parley.__main__ import run_parser
    from parley.analysis.figures import save
    from parley.analysis.run_report import figures
    from parley.analysis.tables import load
    from parley.model.arguments import scenario_from_args
    from parley.model.scenario_run import RunSpec, run_scenario

    folder = RUNS / f"{name}-{_state(pages.shrunk(name))}"
    words = ["--scenario", name, "--llm", "oracle", *pages.shrunk(name)]
    scenario, given = scenario_from_args(run_parser().parse_args(words))
    run_scenario(RunSpec(scenario, folder, given))
    main, *_ = figures(load(folder), folder).values()
    shutil.copy(save(main(), folder / "main", ["svg"]).with_suffix(".svg"), path)


def _state(options: Sequence[str]) -> str:
    """A digest of code and data that a run depends on, and of its options."""
    files = sorted(
        path
        for floor in CODE
        for path in (ROOT / floor).rglob("*")
        if path.suffix in (".py", ".toml", ".txt") and path.parent.name != "tests"
    )
    found = hashlib.sha256(repr(options).encode())
    for path in files:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def built(folder: Path) -> list[Path]:
    """The pages and style sheets of a built site."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".html", ".css"))


def elsewhere(path: Path) -> list[str]:
    """What a browser would fetch from another host to show this page or style sheet, in the order of the file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return [url for url in re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + _imports(text) if _outside(url)]
    found = _Loads()
    found.feed(text)
    return [url for url in (*found.urls, *_imports(text)) if _outside(url)]


def _imports(text: str) -> list[str]:
    return re.findall(r"@import\s+(?:url\()?\s*['\"]?([^'\")\s;]+)", text)


def _outside(url: str) -> bool:
    return url.startswith(("http:", "https:", "//"))


class _Loads(HTMLParser):
    """Collects what elements load by themselves; a link that leads somewhere (rel=canonical, next, search) loads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given: Mapping[str, str | None] = dict(attrs)
        leads = tag == "link" and not {"stylesheet", "icon", "preload", "modulepreload"} & set(_words(given.get("rel")))
        if tag in LOADING and not leads:
            self.urls += filter(None, [given.get(LOADING[tag])])


def _words(text: str | None) -> Iterator[str]:
    yield from (text or "").split()


if __name__ == "__main__":
    sys.exit(main())
