"""Data are not code: what a file names is neither imported nor called, unless the user's words name it (llm/trust.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.__main__ import main
from parley.llm import trust
from parley.llm.errors import UserError
from parley.llm.trust import Contact, Gate
from parley.model.scenario import PRESETS, load_preset

EVIL = """
from pathlib import Path
Path(__file__).with_name("loaded").touch()
from parley.environments.round_table import RoundTable as Coin
"""


@pytest.fixture(autouse=True)
def _own_gate() -> object:
    """Each test begins with an open gate, as Python does."""
    before = trust.gate()
    trust.use_gate(Gate())
    yield
    trust.use_gate(before)


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of code that leaves a mark when it is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    return tmp_path


def preset(folder: Path, lines: str = "", environment: str = "round_table") -> str:
    """Write a preset with these further lines."""
    text = (PRESETS / "two_way.toml").read_text().replace('"round_table"', f'"{environment}"')
    (folder / "theirs.toml").write_text(f"{lines}\n{text}")
    return "theirs.toml"


def test_words_of_the_user_name_files_servers_and_keys():
    """Every way of writing a model on the command line opens what it names, and binds a key to the server beside it."""
    words = ["--llm", "first=openai:m,key=MY_KEY,base_url=http://h:1/v1", "--vary", "llm=openai:a,openai:b"]
    words += ["--base-url", "http://b:2/v1", "--set", "mediator=./m.py:S,of=(habermas,candidates=4)"]
    with trust.typed([*words, "--intervene", "/tmp/z.py:Rumour round=2", "--trust", "K@lab.org:8000"]):
        gate = trust.gate()
        assert {Path("m.py").resolve(), Path("/tmp/z.py").resolve()} <= gate.files
        assert {
            Contact("h:1", "MY_KEY"),
            Contact("b:2", "OPENAI_API_KEY"),
            Contact("lab.org:8000", "K"),
        } <= gate.contacts
        assert {contact.host for contact in gate.contacts} == {"h:1", "b:2", "lab.org:8000"}
    assert not trust.gate().closed


def test_a_preset_runs_no_code_until_it_is_trusted(evil: Path, capsys: pytest.CaptureFixture[str]):
    theirs = preset(evil, environment="./evil.py:Coin")
    assert main(["--scenario", theirs, "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert theirs in line
    assert "./evil.py:Coin" in line
    assert f"--trust {evil / 'evil.py'}" in line
    assert not (evil / "loaded").exists()
    with pytest.raises(UserError, match=r"parley\.trust"):
        load_preset(theirs)
    assert not (evil / "loaded").exists()
    assert main(["--scenario", theirs, "--dry-run", "--trust", "./evil.py"]) == 0
    assert (evil / "loaded").exists()


def test_a_preset_names_no_server_and_no_key(evil: Path, capsys: pytest.CaptureFixture[str]):
    theirs = preset(evil, 'llm = "openai:m,base_url=http://127.0.0.1:9/v1?api-key=CANARY,key=AWS_SECRET_ACCESS_KEY"')
    assert main(["--scenario", theirs, "--dry-run", "--llm", "oracle"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "AWS_SECRET_ACCESS_KEY@127.0.0.1:9" in line
    assert "CANARY" not in line
    assert (
        main(["--scenario", theirs, "--dry-run", "--llm", "oracle", "--trust", "AWS_SECRET_ACCESS_KEY@127.0.0.1:9"])
        == 0
    )


def test_what_the_user_types_is_loaded(evil: Path):
    words = ["--scenario", "two_way", "--dry-run", "--llm", "oracle"]
    assert main([*words, "--set", "environment=./evil.py:Coin", "--set", "seats=first,second"]) == 0
    assert (evil / "loaded").exists()
