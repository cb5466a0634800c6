"""Data are not code: what a file names is neither imported nor called, unless the user's words name it (llm/trust.py)."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from select import select
from typing import NamedTuple
from urllib.parse import quote

import pytest

import parley
import run
from parley.agents.topic import TOPICS
from parley.environments.graphs import _read
from parley.llm import trust
from parley.llm.backends import server_lines
from parley.llm.errors import UserError
from parley.llm.trust import Contact, Gate, refuse_named
from parley.model.files import RECORD
from parley.model.scenario import PRESETS, load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sweep.cell_runner import CellTask

EVIL = """
from pathlib import Path
Path(__file__).with_name("loaded").touch()
from parley.environments.round_table import RoundTable as Coin
"""
CODE = "./evil.py:Coin"


class Place(NamedTuple):
    """A folder with evil.py, which leaves a mark when it is imported, and a server that counts who comes."""

    folder: Path
    server: socket.socket
    run: Path

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.getsockname()[1]}"

    @property
    def spec(self) -> str:
        return f"openai:m,base_url=http://{self.host}/v1,key=AWS_SECRET_ACCESS_KEY"

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def preset(self, lines: str = "", environment: str = "round_table", options: str = "") -> str:
        text = (PRESETS / "two_way.toml").read_text().replace('"round_table"', f'"{environment}"')
        return self.write("theirs.toml", f"{lines}\n{text}\n{options}")

    def record(self, **fields: object) -> str:
        """Write a run whose header has other fields."""
        shutil.copytree(self.run, self.folder / "theirs")
        for file in (RECORD, "experiment.json"):
            path = self.folder / "theirs" / file
            first, _, rest = path.read_text().partition("\n" if file == RECORD else "\0")
            header = json.loads(first)
            header["scenario"] |= fields
            path.write_text("\n".join(filter(None, [json.dumps(header), rest])))
        return "theirs"

    def claim(self, settings: str = "", model: str = "oracle", outcome: str = "drift") -> str:
        return self.write(
            "theirs-claim.toml",
            f'claim = "T"\nscenario = "two_way"\nsettings = [{settings}]\noutcome = "{outcome}"\nexpected = "less"\n'
            'smallest = 1.0\n[contrast]\nfirst = ["rounds=1"]\nsecond = ["rounds=2"]\n'
            f'[population]\ntopics = ["racism"]\npersonas = ["voters"]\nmodels = ["{model}"]\n',
        )

    def persona_set(self, llm: str) -> str:
        for party in ("republican", "democrat", "default"):
            people = [
                f'[[persona]]\nname = "{name}"\nbackstory = "You are {name}."\nllm = "{llm}"\n'
                for name in ("Ann", "Bo")
            ]
            self.write(f"people/{party}.toml", "\n".join(people))
        return "./people"

    def organism(self, model: str) -> str:
        return str(Path(self.write("org/organism.toml", f'model = "{model}"\n')).parent)

    @property
    def untouched(self) -> bool:
        """Whether nothing was imported and nobody has called the server."""
        return not (self.folder / "loaded").exists() and not select([self.server], [], [], 0)[0]


@pytest.fixture(autouse=True)
def _own_gate() -> Iterator[None]:
    """Each test begins with an open gate, as Python does."""
    before = trust.gate()
    trust.use_gate(Gate())
    yield
    trust.use_gate(before)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    settings = {"topic": "racism", "repetitions": 1, "rounds": 1, "llm": "oracle"}
    run_scenario(RunSpec(load_preset("two_way", settings), folder))
    return folder


@pytest.fixture
def place(tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-CANARY-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-0123456789")
    (tmp_path / "evil.py").write_text(EVIL)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Place(tmp_path, server, finished)


def debate(*words: str) -> list[str]:
    return ["--topic", "racism", "--repetitions", "1", "--rounds", "1", "--out", "out", *words]


HOSTILE: dict[str, Callable[[Place], list[str]]] = {
    "preset: environment": lambda place: debate("--scenario", place.preset(environment=CODE)),
    "preset: model in a file": lambda place: debate("--scenario", place.preset(f'llm = "{CODE}"')),
    "preset: server and key": lambda place: debate("--scenario", place.preset(f'llm = "{place.spec}"')),
    "preset: server, other model typed": lambda place: debate(
        "--scenario", place.preset(f'llm = "{place.spec}"'), "--llm", "oracle"
    ),
    "preset: key for the usual server": lambda place: debate(
        "--scenario", place.preset('llm = "openai:m,key=AWS_SECRET_ACCESS_KEY"')
    ),
    "preset: the usual server": lambda place: debate("--scenario", place.preset('llm = "openai:gpt-4o"')),
    "preset: a model of the hub": lambda place: debate("--scenario", place.preset('llm = "hf:evil/model"')),
    "preset: model of a party": lambda place: debate("--scenario", place.preset(f'llms = ["first={place.spec}"]')),
    "preset: mediator": lambda place: debate("--scenario", place.preset(f'mediator = "second,of=({CODE})"')),
    "preset: ability": lambda place: debate("--scenario", place.preset(f'think = "{CODE}"')),
    "preset: intervention": lambda place: debate("--scenario", place.preset(f'interventions = ["{CODE} round=1"]')),
    "preset: model of an intervention": lambda place: debate(
        "--scenario", place.preset(f"""interventions = ["model round=1 to=first llm='{place.spec}'"]""")
    ),
    "preset: option of the environment": lambda place: debate(
        "--scenario", place.preset(options=f'mediators = "{CODE}"')
    ),
    "preset: path with blanks": lambda place: debate(
        "--scenario", place.preset(environment=f"{place.folder}/../{place.folder.name}/ evil.py".replace("/ e", "/./e"))
    ),
    "preset: dry run": lambda place: ["--scenario", place.preset(environment=CODE), "--dry-run"],
    "preset: sweep": lambda place: [
        "sweep", "--scenario", place.preset(f'llm = "{place.spec}"'), "--vary", "rounds=1,2", "--seeds", "0", "--out", "out",
    ],
    "personas: server and key": lambda place: debate(
        "--scenario", "two_way", "--llm", "oracle", "--set", f"personas={place.persona_set(place.spec)}"
    ),
    "personas: file": lambda place: debate(
        "--scenario", "two_way", "--llm", "oracle", "--set", f"personas={place.persona_set(CODE)}"
    ),
    "personas: server that no word opens": lambda place: debate(
        "--scenario", "two_way", "--llm", "oracle", "--set", f"personas={place.persona_set('openai:gpt-4o')}"
    ),
    "personas: key of an open server": lambda place: debate(
        *["--scenario", "two_way", "--llm", f"openai:m,base_url=http://{place.host}/v1"],
        *["--set", f"personas={place.persona_set(place.spec)}"],
    ),
    "organism: file": lambda place: debate("--scenario", "two_way", "--llm", f"organism:{place.organism(CODE)}"),
    "claim: environment": lambda place: ["study", "claim", place.claim(settings=f'"environment={CODE}"')],
    "claim: model": lambda place: ["study", "claim", place.claim(model=place.spec)],
    "claim: outcome": lambda place: ["study", "claim", place.claim(outcome="./evil.py:drift")],
    "claim: registered": lambda place: ["study", "register", place.claim(model=place.spec), "--units", "6"],
    "record: bundle": lambda place: ["export", "bundle", place.record(environment=CODE), "--out", "b.zip"],
    "record: branch": lambda place: ["branch", place.record(environment=CODE), "--round", "1"],
    "record: branch on a server": lambda place: ["branch", place.record(llm=place.spec), "--round", "1"],
    "record: model": lambda place: ["branch", place.record(llm=CODE), "--round", "1"],
}  # fmt: skip
"""By what they try: the command, on a file of a stranger."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_loads_nothing_and_sends_nothing(name: str, place: Place, capsys: pytest.CaptureFixture[str]):
    """One line that names the file, what it names, and the option that allows it; exit code 2."""
    words = HOSTILE[name](place)
    assert run.main(words) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert "--trust" in line
    assert "CANARY" not in line
    assert any(file in line for file in ("theirs", "people/", "organism.toml"))
    assert place.untouched


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command", ["report", "show", "study sheet", "branch --tree", "study fit-law", "export own-lines"]
)
def test_looking_at_a_hostile_run_loads_nothing(command: str, place: Place, capsys: pytest.CaptureFixture[str]):
    """What only reads a run needs none of its code, and calls none of its servers."""
    theirs = place.record(environment=CODE, llm=place.spec, mediator=CODE)
    assert run.main([*command.split(), theirs, *(["--out", "x.html"] if command == "report" else [])]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err
    assert place.untouched


OUTSIDE: dict[str, tuple[str, dict[str, object]]] = {
    "graph": ("links.csv", {"environment": "network", "options": {"graph": "file,path=./secret/links.csv", "size": 4}}),
    "graph of a place": (
        "links.csv", {"environment": "places", "options": {"topology": "network,graph=(file,path=./secret/links.csv)", "size": 4}}
    ),
    "survey": ("links.csv", {"environment": "network", "options": {"mix": "./secret/links.csv,party=a", "size": 4}}),
    "topic": ("topic.toml", {"topic": ["./secret/topic.toml"]}),
    "society": ("society.toml", {"society": "./secret"}),
    "topic of a society": ("society.toml", {"topic": ["./secret/town"]}),
    "personas": ("republican.toml", {"personas": "./secret"}),
    "table of personas": ("links.csv", {"personas": "./secret/links.csv"}),
    "wording": ("prompts/opening.txt", {"wording": "./secret"}),
    "surrogate": ("fit.json", {"llms": ["first=surrogate:./secret/fit.json"]}),
    "preset": ("topic.toml", {"name": "./secret/topic.toml"}),
    "questions": ("topic.toml", {"questions": "./secret/topic.toml"}),
    "evidence": ("prompts/opening.txt", {"interventions": [
        {"kind": "fact_check", "round": 1, "evidence": "./secret", "llm": "oracle", "text": ""}]}),
}  # fmt: skip
"""By kind: a file outside of the run, and the fields of a header that name it."""
READING = (
    "show RUN", "show RUN --agent 1", "report RUN --out x.html", "compare RUN RUN", "check RUN", "export bundle RUN --out b.zip",
    "export eval RUN --out x.eval", "study sheet RUN", "branch RUN --tree",
)  # fmt: skip
_watched: list[str] = []
"""The names of what was opened, while a test watches."""
sys.addaudithook(
    lambda event, arguments: _watched.append(str(arguments[0])) if event in ("open", "os.scandir") else None
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name.startswith("graph") else pytest.mark.thorough) for name in OUTSIDE]
)
def test_a_command_that_reads_a_run_opens_no_file_that_only_the_record_names(
    name: str, place: Place, capsys: pytest.CaptureFixture[str]
):
    """A run folder of a stranger names a file of yours: what shows the run shows it without the file, or refuses in one line."""
    file, fields = OUTSIDE[name]
    place.write(f"secret/{file}", "CANARY")
    theirs = place.record(**fields)
    if name.startswith("topic"):
        record = place.folder / theirs / RECORD
        record.write_text(record.read_text().replace('"topic":"racism"', f'"topic":"{fields["topic"][0]}"'))  # type: ignore[index]
    for command in READING:
        _watched.clear()
        code = run.main([theirs if word == "RUN" else word for word in command.split()])
        opened = [path for path in _watched if "secret" in path]
        assert (opened, code in (0, 2)) == ([], True), command
    assert "CANARY" not in "".join(capsys.readouterr())


def test_a_run_is_continued_with_the_files_that_it_was_made_with(place: Place, capsys: pytest.CaptureFixture[str]):
    """Only what runs again opens them, and what the user names with --trust."""
    place.write("links.csv", "source,target\n" + "".join(f"{one},{(one + 1) % 4}\n" for one in range(4)))
    words = ["--scenario", "network", "--set", "graph=file,path=links.csv", "--set", "size=4", "--llm", "oracle"]
    assert run.main([*words, "--topic", "racism", "--repetitions", "1", "--rounds", "2", "--out", "mine"]) == 0
    _read.cache_clear()  # as another process has read nothing
    assert run.main(["show", "mine", "--agent", "1"]) == 2
    assert "add --trust links.csv" in capsys.readouterr().err
    assert run.main(["show", "mine", "--agent", "1", "--trust", "links.csv"]) == 0
    assert run.main([*words, "--topic", "racism", "--repetitions", "1", "--rounds", "2", "--out", "mine"]) == 0
    assert run.main(["branch", "mine", "--round", "2", "--rounds", "3", "--out", "longer"]) == 0


@pytest.mark.parametrize("people", ["people.csv", "./mine"])
def test_a_run_is_read_with_its_copies_of_own_people_and_topics(
    people: str, place: Place, capsys: pytest.CaptureFixture[str]
):
    """What is outside of its folder may have changed and is not opened; a copy that was changed, or is a link, is none."""
    place.write("people.csv", "party,name,job\nrepublican,Ann,farmer\ndemocrat,Bo,nurse\n")
    for party, job in {"republican": "farmer", "democrat": "nurse", "default": "person"}.items():
        place.write(f"mine/{party}.toml", f'[[persona]]\nname = "A{party}"\nbackstory = "You are a {job}."\n')
    place.write("topic.toml", (TOPICS / "racism.toml").read_text())
    words = debate("--scenario", "two_way", "--llm", "oracle", "--set", f"personas={people}", "--topic", "./topic.toml")
    assert run.main(words) == 0
    shutil.move("out", "theirs")
    originals = [
        place.folder / name for name in ("people.csv", "mine/democrat.toml", "mine/republican.toml", "topic.toml")
    ]
    for path in originals:
        path.write_text("CANARY")
    for command in ("show theirs --agent 2", "report theirs --out x.html"):
        _watched.clear()
        assert run.main(command.split()) == 0, command
        assert not {Path(name).absolute() for name in _watched} & set(originals)
        out = capsys.readouterr().out
        assert ("farmer" in out or "nurse" in out) is ("--agent" in command), command
    (copy,) = Path("theirs/files").glob(f"*/{Path(people).name}")
    whole = copy / "republican.toml" if copy.is_dir() else copy
    for change in ("text", "link"):
        if change == "link":
            shutil.copy(whole, "elsewhere")
            whole.unlink()
            whole.symlink_to(Path("elsewhere").absolute())
        else:
            text = whole.read_text()
            whole.write_text(text.replace("farmer", "baker"))
        assert run.main(["show", "theirs", "--agent", "2"]) == 2
        assert f"--trust {people.removeprefix('./')}" in capsys.readouterr().err.replace("./", "")
        whole.write_text(text)


def test_python_reads_a_hostile_run_without_its_code(place: Place):
    """A notebook has no command line: what a record names is refused there too, and what it passes itself is not."""
    theirs = parley.load(place.record(environment=CODE, mediator=CODE, llm=CODE))
    assert "rooms" in theirs.summary
    assert len(theirs.attitudes)
    with pytest.raises(UserError, match=r"parley\.trust"):
        parley.branch(theirs.folder, 1, out="branch")
    assert place.untouched


def _draw(search: str) -> None:
    """Do what the page does with an address: read the form and plan it."""
    from parley.analysis.views._form import wanted
    from parley.analysis.views._plan import scenario_of_draft

    draft = wanted(search)
    assert draft
    scenario_of_draft(draft)


@pytest.mark.parametrize(
    "field",
    [{"llm": CODE}, {"environment": CODE}, {"scenario": "theirs.toml"}, {"llm": "HOST"}, {"llms": "first=HOST"}],
)
def test_an_address_of_the_page_names_nothing(field: dict[str, str], place: Place):
    """A link in a mail opens the page with settings: the form refuses what a file may not do either."""
    pytest.importorskip("solara")
    place.preset(environment=CODE)
    settings = {"scenario": "two_way"} | {key: value.replace("HOST", place.spec) for key, value in field.items()}
    search = "&".join(f"{key}={quote(value)}" for key, value in settings.items())
    with trust.typed([]), pytest.raises(UserError, match="form or address of this page names"):
        _draw(search)
    assert place.untouched


def test_python_refuses_what_data_name_and_loads_what_is_passed(place: Place):
    """In Python, words are what is passed; `parley.trust` lets a preset name the file."""
    theirs = place.preset(environment=CODE)
    with pytest.raises(UserError, match=r"parley\.trust"):
        load_preset(theirs)
    assert place.untouched
    assert load_preset("two_way", {"environment": CODE, "seats": "first,second"}).environment_spec.name == CODE
    trust.trust("./evil.py")
    assert load_preset(theirs).environment_spec.name == CODE


OWN = ["--llm", "oracle", "--set", "seats=first,second"]
USERS: dict[str, Callable[[Place], list[str]]] = {
    "run": lambda place: ["--scenario", "two_way", *OWN, "--dry-run", "--set", f"environment={CODE}"],
    "with =": lambda place: ["--scenario", "two_way", *OWN, "--dry-run", f"--set=environment={CODE}"],
    "sweep": lambda place: [
        "sweep",
        "--scenario",
        "two_way",
        *OWN,
        "--vary",
        f"environment=round_table,{CODE}",
        "--dry-run",
    ],
    "trusted preset": lambda place: ["--scenario", place.preset(environment=CODE), "--dry-run", "--trust", "./evil.py"],
    "trusted claim": lambda place: [
        "study",
        "claim",
        place.claim(f'"environment={CODE}"'),
        "--dry-run",
        "--trust",
        "evil.py",
    ],
    "trusted record": lambda place: ["study", "sheet", place.record(environment=CODE), "--trust", "evil.py"],
}
"""Commands of a user who names the file."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", USERS)
def test_what_the_user_types_is_loaded(name: str, place: Place):
    assert run.main(USERS[name](place)) == 0
    assert (place.folder / "loaded").exists()


def test_the_same_command_continues_a_run_on_the_users_code(place: Place):
    """It names the file again, so nothing needs to be trusted. A worker of a sweep gets what the command trusts."""
    spec = RunSpec(load_preset("two_way", {"environment": CODE, "seats": "first,second", "llm": "oracle", "rounds": 1,
                                           "topic": "racism", "repetitions": 1}), place.folder / "own")  # fmt: skip
    with trust.typed(["--set", f"environment={CODE}"]):
        assert run_scenario(spec).asked > 0
        (place.folder / "own" / RECORD).unlink()
        assert run_scenario(spec).replayed > 0
        task = pickle.loads(pickle.dumps(CellTask(len)))
    assert task.trusted.closed
    assert (place.folder / "evil.py") in task.trusted.files


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
        for other in ("openai:m,base_url=http://h:1/v1,key=OTHER", "openai:m,base_url=http://b:2/v1,key=MY_KEY"):
            with pytest.raises(UserError, match="--trust"):
                refuse_named(other, "a file")
    assert not trust.gate().closed


def test_a_plan_names_servers_and_variables_and_no_key(place: Place, capsys: pytest.CaptureFixture[str]):
    """What a run is about to send, and where: hosts, not addresses, and names of variables, not their values."""
    spec = f"openai:m,base_url=http://{place.host}/v1?api-version=1,key=AWS_SECRET_ACCESS_KEY"
    assert run.main(["--scenario", "two_way", "--dry-run", "--llm", spec]) == 0
    shown = capsys.readouterr().out
    assert f"{place.host} gets the key in AWS_SECRET_ACCESS_KEY" in shown
    assert "CANARY" not in shown
    trust.trust("lab.example")
    assert server_lines(["openai:m,base_url=https://lab.example/v1"]) == ["lab.example gets no key"]


@pytest.mark.parametrize("name", ["api-key", "code", "other"])
def test_an_address_holds_no_key(name: str, place: Place, capsys: pytest.CaptureFixture[str]):
    """Addresses are shown and recorded, so a key in one is refused and not repeated."""
    url = f"http://{place.host}/v1?{name}=CANARY-0123456789-0123456789"
    assert run.main(["--scenario", "two_way", "--dry-run", "--llm", "openai:m", "--base-url", url]) == 2
    assert "CANARY" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", ["./nothing.py", "http://lab.example/v1", "a b", "@lab", "K@"])
def test_a_wrong_value_of_trust_is_one_line(name: str, place: Place, capsys: pytest.CaptureFixture[str]):
    assert run.main(["--scenario", "two_way", "--dry-run", "--trust", name]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
