"""`run.py --ui` without a page: what a user gets wrong is one line."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from data_checks import check_each

import run
from parley.analysis.commands import page
from parley.analysis.serving import own_files, server
from parley.analysis.serving.guard import Guard

ROOT = Path(__file__).parents[2]
UI = ["--scenario", "three_way", "--llm", "oracle", "--ui"]


@pytest.mark.thorough
def test_the_first_page_loads_neither_mesa_nor_matplotlib() -> None:
    """The first screen is there in seconds: what runs, figures and statistics need is imported when it has been drawn.

    The server answers before a scenario is imported; the gallery reads presets without a check, which reads all personas; and
    a browser, not the server alone, says that the page is drawn.
    """
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    code = (
        "import sys, run\nfrom parley.analysis.commands import page\n"
        "run.main.__globals__['page_settings'](run.main.__globals__['run_parser']().parse_args(['--ui']))\n"
        "early = {'parley.model.scenario', 'networkx', 'pandas'} & set(sys.modules)\n"
        "from parley.analysis.views import _gallery, page\nfrom parley.model import validation\n"
        "import solara\n"
        "validation.check_scenario = None\n_gallery.cards()\n"
        "solara.render_fixed(page.Page(), handle_error=False)\n"
        "heavy = {'mesa', 'matplotlib', 'statsmodels', 'scipy.optimize', 'scipy.stats'} & set(sys.modules)\n"
        "told = [*early, *heavy, *(['drawn without a browser'] if page.DRAWN.is_set() else [])]\n"
        "sys.exit(f'too early: {told}' if told else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert run.main(UI) == 2
    assert (
        capsys.readouterr().err
        == 'run.py: the app needs packages that are not installed: python -m pip install -e ".[app]"\n'
    )


def test_a_taken_port_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A second page must not end in a traceback, nor take the first one's place without a word."""
    monkeypatch.setattr(server, "find_spec", lambda name: name)
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        first.listen()
        port = first.getsockname()[1]
        assert run.main([*UI, "--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"run.py: cannot serve the app at 127.0.0.1:{port}: ")
    assert told.count("\n") == 1


def test_the_printed_address_has_the_token_and_the_started_browser_another_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command line of a browser can be read by other users of the machine, so it has a token that works once."""
    guards, opened = list[Guard](), list[str]()

    def served(guard: Guard, started: Callable[[], None]) -> SimpleNamespace:
        guards.append(guard)
        return SimpleNamespace(run=lambda sockets: [sockets[0].close(), started()])

    monkeypatch.setattr(server, "find_spec", lambda name: name)
    monkeypatch.setattr(page, "solara_page", lambda file: file)
    monkeypatch.setattr(page, "server_of", served)
    monkeypatch.setattr(page, "load_page", lambda: None)
    monkeypatch.setattr(page.webbrowser, "open", opened.append)
    monkeypatch.setattr(page, "address_of", lambda listening, host: "http://127.0.0.1:8765/")
    monkeypatch.setattr(own_files, "_allowed", [])
    monkeypatch.setenv("DISPLAY", ":0")
    assert run.main([*UI, "--port", "0", "--public-name", "lab.example", "--allow-files", str(tmp_path)]) == 0
    gc.enable()  # the page does so once it is imported
    (guard,) = guards
    printed = capsys.readouterr().out.split()[1]
    assert printed == f"http://127.0.0.1:8765/?scenario=three_way&llm=oracle&token={guard.token}"
    assert len(guard.token) >= 32
    assert opened[0].startswith("http://127.0.0.1:8765/?scenario=three_way&llm=oracle&token=")
    assert guard.token not in opened[0]
    assert "lab.example" in guard.names
    assert own_files._allowed == [tmp_path]


def test_what_the_address_cannot_hold_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A page that silently left an intervention out would run another experiment than was asked for."""
    assert run.main([*UI, "--intervene", "mute round=1"]) == 2
    assert "--ui cannot be combined with --intervene or" in capsys.readouterr().err
    assert run.main([*UI, "--llm", "republican=oracle,mu=0"]) == 2


@check_each(
    "idle",
    [
        ["--max-calls", "0"],
        ["--max-tokens", "9"],
        ["--max-cost", "2"],
        ["--price", "1,2"],
        ["--prices", "mine.toml"],
        ["--out", "runs/x"],
        ["--dry-run"],
        ["--retry-failures"],
    ],
)
def test_what_a_page_cannot_keep_to_is_refused(idle: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who set a limit on money believes that it holds."""
    assert run.main([*UI, *idle]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"run.py: --ui does not work with {idle[0]}, because ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("place", [["--host", "0.0.0.0"], ["--port", "0"]])
def test_a_place_for_no_page_is_refused(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([*UI[:-1], *place, "--dry-run"]) == 2
    assert f"{place[0]} only works with --ui" in capsys.readouterr().err


def test_without_a_scenario_the_first_screen_opens(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A newcomer knows no scenario yet. Settings without one would be lost without a word, so they are refused."""
    served: list[object] = []
    monkeypatch.setattr(page, "serve", lambda app, settings, *_: served.append(settings) or 0)
    assert run.main(["--ui"]) == 0
    assert served == [{}]
    assert run.main(["--ui", "--rounds", "3", "--llm", "oracle"]) == 2
    assert "--ui cannot use settings (llm, rounds)" in capsys.readouterr().err
    assert len(served) == 1
