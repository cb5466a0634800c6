"""What an address, a form or a run folder names in the page: no file, server or key that its start did not name."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from data_checks import check_each

from parley.analysis.serving import own_files
from parley.analysis.serving.own_files import allow, check_named
from parley.llm import trust
from parley.llm.errors import UserError

ADDRESS = "the address of this page"


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The page has just been started in a folder with files of its user, who named none of them."""
    monkeypatch.setattr(own_files, "_allowed", [Path("runs")])
    monkeypatch.setattr(trust, "_gate", trust.Gate(closed=True))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'loaded')!r}).touch()\n")
    (tmp_path / "soc").mkdir()
    (tmp_path / "answers").write_text("1\n")
    (tmp_path / "evil.toml").write_text('title = "t"\nsource = "s"\nenvironment = "./x.py:E"\n')
    return tmp_path


@check_each(
    ("setting", "value"),
    [
        ("llm", "./x.py"),
        ("llm", "x.py:Model"),
        ("llm", "~/Downloads/x.py"),
        ("llm", "openai:m,base_url=http://127.0.0.1:9411/v1,key=AWS_SECRET_ACCESS_KEY"),
        ("llm", "openai:m,base_url=http://127.0.0.1:9411/v1"),
        ("llm", "openai:m,key=AWS_SECRET_ACCESS_KEY"),
        ("llm", "hf:/models/x"),
        ("llm", "hf:soc"),
        ("llm", "replay:/etc"),
        ("llm", "yoked:answers"),
        ("llm", "person,at=answers"),
        ("llm", "person,consent=/etc/passwd"),
        ("llm", "person,at='answers'"),
        ("llms", "republican=./x.py"),
        ("llms", "republican=hf:../models"),
        ("environment", "./x.py"),
        ("environment", "x.py:Own,size=3"),
        ("scenario", "evil.toml"),
        ("scenario", "/tmp/evil.toml"),
        ("society", "soc"),
        ("society", "./soc"),
        ("society", "~root"),
        ("personas", "soc"),
        ("topic", "racism,./evil.toml"),
        ("questions", "answers"),
        ("graph", "file,path=answers"),
        ("graph", "file,path=..\\answers"),
        ("adapters", "republican=soc"),
        ("judge", "./x.py"),
        ("memory", "retrieve:5,by=/x"),
        ("society", "runs/../soc"),
    ],
)
def test_no_address_or_form_names_a_file_a_server_or_a_key(start: Path, setting: str, value: str) -> None:
    """Opening a link was enough to run a file that a browser had saved unasked, or to send a key away."""
    with pytest.raises(UserError) as refused:
        check_named({setting: value}, ADDRESS)
    assert str(refused.value).startswith(f"{ADDRESS} names ")
    assert "\n" not in str(refused.value)
    assert not (start / "loaded").exists()


@check_each(
    ("setting", "value"),
    [
        ("llm", "oracle,kappa=0"),
        ("llm", "pocket,top_p=.5"),
        ("llm", "replay:runs/a"),
        ("scenario", "three_way"),
        ("society", "germany"),
        ("topic", "germany/speed_limit,racism"),
        ("personas", "voters"),
        ("seats", "republican,democrat,default"),
        ("memory", "last:5"),
        ("planner", "model"),
        ("graph", "small_world,degree=4,rewire=0.1"),
        ("cost", "0.5"),
    ],
)
def test_what_the_form_offers_is_no_file(start: Path, setting: str, value: str) -> None:
    (start / "model").mkdir(exist_ok=True)
    check_named({setting: value}, ADDRESS)
    check_named({"text": "Read /etc/passwd", "by": "./x.py:Ann"}, ADDRESS)


def test_what_was_named_at_the_start_is_opened(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the command line, files in an allowed folder, servers that are trusted; nothing next to them."""
    (start / "models" / "a").mkdir(parents=True)
    allow({"llm": "hf:soc,dtype=auto", "scenario": "evil.toml"}, [start / "models"])
    trust.trust("127.0.0.1:11434")
    for value in (
        "hf:soc,dtype=float32",
        f"hf:{start}/models/a",
        "hf:models/a",
        "openai:m,base_url=http://127.0.0.1:11434/v1",
    ):
        check_named({"llm": value, "scenario": "evil.toml"}, ADDRESS)
    for value in ("hf:models/../answers", f"hf:{start}", "openai:m,base_url=http://127.0.0.1:11435/v1"):
        with pytest.raises(UserError):
            check_named({"llm": value}, ADDRESS)
    with pytest.raises(UserError, match="--allow-files nowhere: there is no such folder"):
        allow({}, [Path("nowhere")])


@check_each(
    ("spec", "way"),
    [
        ("openai:m,base_url=http://127.0.0.1:11434/v1", "127.0.0.1:11434"),
        ("openai:m", "OPENAI_API_KEY@api.openai.com"),
        ("openai:m,base_url=https://lab.example/v1,key=LAB_KEY", "LAB_KEY@lab.example"),
    ],
)
def test_what_to_add_sends_no_key_of_the_openai_api_elsewhere(start: Path, spec: str, way: str) -> None:
    """Who copies the option from the message for a server on this machine must not send it a key by that."""
    with pytest.raises(UserError, match=re.escape(f" start the page again with --trust {way} (")):
        check_named({"llm": spec}, ADDRESS)


def test_a_number_of_an_address_cannot_keep_the_server_busy() -> None:
    """`?rounds=1000000000` counted the replies of a run that no one can run, for hours."""
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    from parley.analysis.views._form import wanted
    from parley.analysis.views._plan import plan_of

    for number in ("1000000000", "9" * 5000):
        draft = wanted(f"scenario=three_way&rounds={number}&seed=12345678901")
        assert draft is not None
        assert plan_of(draft).problem == "rounds is above 1,000,000, which the page cannot plan: use the command line"


def test_the_form_of_a_hostile_address_loads_nothing_and_says_why(start: Path) -> None:
    """`?scenario=two_way&llm=x.py` ran the file before a button was pressed; now it is the problem of the plan."""
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    from parley.analysis.views._form import wanted
    from parley.analysis.views._plan import plan_of

    for settings in (
        {"scenario": "evil.toml"},
        {"scenario": "two_way", "llm": "x.py"},
        {"scenario": "two_way", "environment": "./x.py"},
        {"scenario": "two_way", "llm": "oracle", "society": "./soc"},
        {"scenario": "two_way", "llm": "openai:m,base_url=http://127.0.0.1:9/v1,key=HOME"},
    ):
        draft = wanted(urlencode(settings))
        assert draft is not None
        plan = plan_of(draft)
        assert plan.problem.startswith("the form or address of this page names the "), plan
        assert plan.scenario is None
    assert not (start / "loaded").exists()
