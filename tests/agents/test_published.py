"""A paper's own prompts: cut out of a text by rules, checked slot by slot, read as data, named in records by a digest."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.agents.language import ENGLISH, GIVEN, load_language
from parley.agents.persona import load_personas
from parley.agents.published.cutting import PATTERN, cut, read_text, write_pack
from parley.agents.published.pack import pack_digest, pack_faults
from parley.agents.question import Question
from parley.agents.representative import CritiqueBrief, OtherOpinion, Representative
from parley.agents.society_check import check_path
from parley.agents.topic import load_topic, worded_topic
from parley.analysis.judging import compose, load_rubric
from parley.analysis.statement_judge import Judging, statement_item
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Header
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import check_folder, provenance_prompts
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
CASE = "A village votes on its clinic. Some are for it. Others fear it."
ROWS = {
    "Abortion": (CASE, "Should it?", "partial-birth abortions should be banned"),
    "Gun Violence": ("A town counts its shots. It is tired.", "Should the range stay?", "the U.S. range should stay"),
    "Illegal Immigration": ("A farm hires at night. It pays little.", "Do hands become cheaper?", "hands become cheaper"),
    "Climate Change": ("A mill wants a river. It asks.", "Should the mill get it?", "the mill should not get it"),
}  # fmt: skip
TABLE = "\n".join(
    f"{name} {case} {question} How strongly do they agree that {claim}?"
    for name, (case, question, claim) in ROWS.items()
)
DEBATES = f"""A Made-up Paper on Structured Multi-Agent Debate

A.2 is below, and Table 3 too.
Agent Type Persona Prompt
Neutral "You are Pat, an American."
Republican "You are Max, an American who reads the Republican weekly."
Democrat, Male "You are Lou, an American man who reads the Democrat weekly."
Table 1: People.
A.2 Prompts
Your task is to evaluate a line made up here
and to say whether it holds that <eval_prompt>
### Example 1 ###
Line: <example_response_1>
Points: <score_1>
### Example 2 ###
Line: <example_response_2>
Points: <score_2>
...
### Now evaluate this. ###
Line: <target_response>
Score on Likert scale:

Topic Scenario Debate Question Evaluation Prompt
{TABLE}
Table 3: Cases.
A.3 People
You are an expert persona creator of a made-up
kind. Tell of [Name] from [place].
- Name: [Pat or others]
- Political Alignment: [one /
another]
- Location: [here]

You are an expert persona curator and know a [GENDER] and "[GENDER]".
[BASELINE PERSONA]
A.4 Questions
Left-Leaning (Democrat) Right-Leaning (Republican) Neutral
{"".join(f"Is {number} more than zero? " for number in range(21))}
Table 4: Questions.
"""
REPRESENTATIVES = """Made-up: Digital Representativesin Collective Decision-Making
Alias Description Example section as part of the prompt Base Current question here Current question here: Is it so? \
Base Opinion of participant Opinion of the participant about the matter: I say so. Base Draft Group draft text: We say \
so. D Profile You represent a participant such as this. One Thing: Yes. Two (in tens): 50. Three: No. Four: A (B, \
etc.). Five: E. Six: F. Seven: G.H. Eight: I. O Opinions Question 1 from a while ago: Is it? Opinion of the \
participant about question 1: Yes. C Critiques Question 1 from a while ago: Is it? Critique of the participant about \
question 1: No. P Position Question 1 from a while ago: Is it? Position of the participant about question 1: agree. \
Question 2 from a while ago: Was it? Position of the participant about question 2: disagree.
"""
Paper = Callable[..., Path]


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    """Write the made-up text of a paper with some words replaced by others."""

    def write(text: str = DEBATES, *changes: tuple[str, str]) -> Path:
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        file = tmp_path / "paper.txt"
        file.write_text(text, encoding="utf-8")
        return file

    return write


@pytest.fixture
def pack(paper: Paper, tmp_path: Path) -> Path:
    """The pack of the made-up text on debates."""
    write_pack([paper()], tmp_path / "published")
    return tmp_path / "published"


def pieces(file: Path) -> dict[str, str]:
    return {piece.file: piece.text for piece in cut(read_text(file))}


def test_every_piece_of_a_paper_on_debates_is_cut_with_parleys_slots(paper: Paper) -> None:
    cut_pieces = pieces(paper())
    assert cut_pieces["prompts/persona_variant.txt"] == (
        'You are an expert persona curator and know a {word} and "{word}".\n{persona}'
    )
    assert cut_pieces["prompts/persona_enhanced.txt"].endswith(
        "Tell of [Name] from [place].\n- Name: {name}\n- Political Alignment: {alignment}\n- Location: {location}"
    )
    judge = tomllib.loads(cut_pieces["judge.toml"])
    assert judge["case"] == (
        "Your task is to evaluate a line made up here\nand to say whether it holds that {claim}\n{examples}\n"
        "### Now evaluate this. ###\nLine: {statement}\nScore on Likert scale:"
    )
    assert judge["example"] == "### Example {number} ###\nLine: {statement}\nPoints: {answer}"
    for slug, (case, question, claim) in zip(
        ("abortion", "gun_violence", "illegal_immigration", "climate_change"), ROWS.values(), strict=True
    ):
        topic = tomllib.loads(cut_pieces[f"topics/{slug}.toml"])
        assert (topic["case"], topic["question"], topic["base"]) == (case, question, slug)
        assert topic["probes"]["agreement"]["question"] == f"How much do you agree that {claim}?"
        assert (
            topic["probes"]["attitude"]
            == tomllib.loads((load_topic(slug).society.folder / "topics" / f"{slug}.toml").read_text(encoding="utf-8"))[
                "probes"
            ]["attitude"]
        )
    assert len(tomllib.loads(cut_pieces["validation.toml"])["right"]) == 7
    assert len(cut_pieces) == 2 + 1 + 4 + 3 + 1


def test_people_follow_the_pattern_of_the_printed_ones(pack: Path) -> None:
    """Printed are a neutral, a Republican and a Democrat who is a man; the others differ from them in name and noun alone."""
    people = load_personas("democrat", pack / "personas"), load_personas("republican:female", pack / "personas")
    assert people[0][0].backstory == "You are Lou, an American who reads the Democrat weekly."
    assert people[1][0].backstory == "You are Max, an American woman who reads the Republican weekly."
    assert load_personas("democrat:male", pack / "personas")[0].backstory == (
        "You are Lou, an American man who reads the Democrat weekly."
    )
    assert {len(group) for group in people} == {4}, "the printed one, and those of Parley's set"
    stated = tomllib.loads((pack / "SOURCE.toml").read_text(encoding="utf-8"))
    assert {entry["how"] for entry in stated["piece"] if entry["file"].startswith("personas/")} == {PATTERN}


def test_the_lines_of_a_representative_are_cut_up_to_their_colons(paper: Paper) -> None:
    cut_pieces = pieces(paper(REPRESENTATIVES))
    assert {name.rpartition("/")[2]: text for name, text in cut_pieces.items()} == {
        "question.txt": "Current question here: {question}",
        "opinion.txt": "Opinion of the participant about the matter: {opinion}",
        "base.txt": "Current question here: {question}\nOpinion of the participant about the matter: {opinion}\n"
        "Group draft text: {draft}",
        "other.txt": "Question {number} from a while ago: {question}",
        "other_opinion.txt": "Opinion of the participant about question {number}: {opinion}",
        "other_critique.txt": "Critique of the participant about question {number}: {critique}",
        "other_position.txt": "Position of the participant about question {number}: {position}.",
        "demographics.txt": "You represent a participant such as this. {profile}",
        "profile_item.txt": "{title}: {answer}.",
    }  # fmt: skip


def test_the_source_names_the_text_and_no_place(paper: Paper, pack: Path) -> None:
    """What a colleague is sent says which text it is from, and nothing of the machine."""
    source = (pack / "SOURCE.toml").read_text(encoding="utf-8")
    assert hashlib.sha256(paper().read_bytes()).hexdigest() in source
    assert str(pack.parent) not in source
    assert "paper.txt" not in source
    assert check_path(str(pack)) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("A.3 People", "People"), "A.3 was not found"),
        (("A.4 Questions", ""), "A.3 was not found"),
        (("Table 1: People.", ""), "Table 1 was not found"),
        (('"[GENDER]"', "them"), "A.3 has the slot [GENDER] (word) 1 times, and not 2"),
        (("- Name: [Pat or others]", "- Name: [Pat]\n- Name: [Max]"), "A.3 has the slot [Pat] (name) 2 times, and not 1"),
        (("- Name: [Pat or others]", "- Name: Pat"), "A.3 has the slot for name 0 times, and not 1"),
        (("<target_response>", "<a_response>"), "A.2"),
        (("<eval_prompt>", "<eval_prompt>, <eval_prompt>"), "A.2 has the slot <eval_prompt> (claim) 2 times, and not 1"),
        (("Points: <score_1>", "Points: <score_1> <points_1>"), "A.2 has the slot <points_1>"),
        (("You are an expert persona curator", "You are a curator"), "A.3 has the piece that begins with"),
        (("kind. Tell", "kind {x}. Tell"), "A.3 has a brace"),
        (("Do hands become cheaper?", ""), "Table 3 has the row Illegal Immigration 0 times"),
        (("Neutral \"You", "Other \"You"), "Table 1 has no row Neutral"),
        (("Is 3 more than zero? ", ""), "Table 4 has 20 questions, and not 21"),
        (("Structured Multi-Agent Debate", "Debate"), "is not the text of a paper"),
    ],
)  # fmt: skip
def test_a_text_of_another_version_is_refused_by_section(
    paper: Paper, tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    """A piece that is cut short, or a slot that is not filled, would be called the paper's prompt and be another."""
    with pytest.raises(UserError) as refused:
        write_pack([paper(DEBATES, change)], tmp_path / "published")
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "published").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("Critique of the participant about question 1:", ""), "other_critique 0 times, and not 1"),
        (("Question 2 from a while ago:", "Question 2 from then on"), "other 3 times, and not 4"),
        (("Question 2 from a while ago:", "Question 2 from a day ago:"), "other in 2 forms"),
        (("Group draft text:", ""), "draft 0 times"),
        ((" Two (in tens): 50.", ". ;"), "answers behind the line"),
        (("Alias Description", ""), "Table 2 was not found"),
    ],
)
def test_a_line_of_a_representative_that_is_missing_is_refused(
    paper: Paper, change: tuple[str, str], told: str
) -> None:
    with pytest.raises(UserError, match=told.replace("(", r"\(")):
        pieces(paper(REPRESENTATIVES, change))


def add(name: str, text: str = "") -> Callable[[Path], object]:
    def change(pack: Path) -> None:
        (pack / name).parent.mkdir(parents=True, exist_ok=True)
        (pack / name).write_text(text, encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda pack: (pack / "prompts" / "turn.txt").symlink_to("/etc/hostname"), "turn.txt is a link"),
        (lambda pack: (pack / "topics").symlink_to((pack / "topics").rename(pack.parent / "a")), "topics is a link"),
        (add("prompts/mine.py"), "mine.py is no part of a wording"),
        (add("notes.txt"), "notes.txt is no part of a wording"),
        (add("prompts/mine.txt"), "no prompt called mine"),
        (add("prompts/critique.txt", "Say it."), "lacks the slot {words}"),
        (add("prompts/critique.txt", "{words} {words}"), "has the slot {words} 2 times"),
        (add("prompts/critique.txt", "{words} {host}"), "has the slot {host}, which nothing fills"),
        (add("prompts/critique.txt", "{words} }"), "brace"),
        (add("prompts/critique.txt", "{words}" + "x" * 70_000), "larger than 64,000 bytes"),
        (add("personas/democrat.toml", '[[persona]]\nname = "A"\nbackstory = "B"\nllm = "openai:x"'), "not llm"),
        (add("topics/abortion.toml", 'society = "/tmp/x"\ntitle = "x"'), "names no society"),
        (add("judge.toml", 'case = "{statement}"\nscale = "agreement_1_7"'), "has the slot {claim} 0 times"),
    ],
)  # fmt: skip
def test_a_pack_is_data_and_nothing_else(pack: Path, change: Callable[[Path], object], told: str) -> None:
    """A folder from a colleague opens no file outside of it, names no model, and holds only prompts that can be filled."""
    change(pack)
    faults = list(pack_faults(pack, ENGLISH))
    assert any(told in fault for fault in faults), faults
    with pytest.raises(UserError):
        ENGLISH.worded(str(pack))


def test_no_folder_and_no_language_but_its_own(pack: Path, tmp_path: Path) -> None:
    for path in (str(tmp_path), str(tmp_path / "none"), "/"):
        with pytest.raises(UserError, match="because it has no file SOURCE"):
            ENGLISH.worded(path)
    with pytest.raises(UserError, match="the society of the run speaks de"):
        load_language("de").worded(str(pack))
    with pytest.raises(UserError, match="did you mean second"):
        ENGLISH.worded("secnd")


def test_a_debate_has_the_papers_case_question_and_claim(pack: Path) -> None:
    """The topic stays the same one, so that runs in both wordings can be compared; only its words differ."""
    ours, theirs = load_topic("abortion"), worded_topic("abortion", str(pack))
    assert (theirs.slug, theirs.root, theirs.title) == (ours.slug, ours.root, ours.title)
    assert (theirs.case, theirs.question, theirs.claim) == ROWS["Abortion"]
    assert theirs.probe("attitude").question == ours.probe("attitude").question
    assert (
        worded_topic("racism", str(pack)).probe("agreement").question
        == load_topic("racism").probe("agreement").question
    )


def test_the_judge_gets_one_message_with_the_examples_inside(pack: Path) -> None:
    judging = Judging(shown=2)
    rubric, topic = judging.rubric_of(str(pack)), worded_topic("abortion", str(pack))
    item = statement_item("room 1", topic, "Close it.", "Max", "republican", judging, rubric)
    (message,) = compose(rubric, item, 0).messages
    shown = [example["statement"] for example in load_rubric("judge").examples_on("abortion")[:2]]
    assert message.content == (
        f"Your task is to evaluate a line made up here\nand to say whether it holds that {topic.claim}\n"
        f"### Example 1 ###\nLine: {shown[0]}\nPoints: 1\n### Example 2 ###\nLine: {shown[1]}\nPoints: 7\n"
        "### Now evaluate this. ###\nLine: Close it.\nScore on Likert scale:"
    )
    assert judging.rubric_of(GIVEN).name == rubric.name == "judge", "a seed hangs on the name"
    named = statement_item("room 1", topic, "Close it.", "Max", "republican", Judging(told=("party",)), rubric)
    with pytest.raises(UserError, match="by"):
        compose(rubric, named, 0)


def test_a_representative_reads_the_papers_lines(paper: Paper, tmp_path: Path) -> None:
    write_pack([paper(REPRESENTATIVES)], tmp_path / "published")
    now, before = (
        Question(name, f"Should {name} be?", "yes", "no", "x").worded(str(tmp_path / "published"))
        for name in ("a", "b")
    )
    brief = CritiqueBrief(
        now,
        "I think so.",
        "We think so.",
        {"gender": "woman", "age": "20 to 29"},
        (OtherOpinion(before, "It should.", "No.", 6),),
    )
    (message,) = Representative(brief, "DOCP").messages()
    role, *lines, ask = message.content.split("\n")
    assert (role, ask) == (ENGLISH.prompt("representative/role").text, ENGLISH.prompt("representative/ask").text)
    profile, *others = lines
    assert profile.startswith("You represent a participant such as this. ")
    assert profile.endswith(": 20 to 29.")
    assert others == [
        "Question 1 from a while ago: Should b be?",
        "Position of the participant about question 1: moderately agree.",
        "Opinion of the participant about question 1: It should.",
        "Critique of the participant about question 1: No.",
        "Current question here: Should a be?",
        "Opinion of the participant about the matter: I think so.",
        "Group draft text: We think so.",
    ]


def small(pack: Path | str, **more: str) -> dict[str, str]:
    return {"topic": "abortion", "repetitions": "1", "rounds": "2", "llm": "oracle", "wording": str(pack), **more}


def test_a_record_names_the_pack_by_what_it_says_and_not_by_its_place(pack: Path, tmp_path: Path) -> None:
    """The same pack at another path, cut on another day, gives the same replies; a word more is another run."""
    moved = tmp_path / "elsewhere" / "pack"
    shutil.copytree(pack, moved)
    (moved / "SOURCE.toml").write_text('language = "en"\n', encoding="utf-8")
    records = []
    for path in (pack, moved):
        recorder = MemoryRecorder()
        DebateModel(load_preset("structured_debate", small(path)), recorder=recorder).run()
        records.append([event for event in recorder.events if not isinstance(event, Header)])
    assert records[0] == records[1]
    assert len(records[0]) > 9
    assert provenance_prompts(load_preset("structured_debate", small(pack)))["published"] == pack_digest(str(moved))
    given = provenance_prompts(load_preset("structured_debate", small(GIVEN)))
    assert "published" not in given


def test_a_pack_that_changed_is_another_run(pack: Path, tmp_path: Path) -> None:
    spec = RunSpec(load_preset("structured_debate", small(pack)), tmp_path / "run")
    run_scenario(spec)
    check_folder(spec.folder, spec.scenario)
    topic = pack / "topics" / "abortion.toml"
    topic.write_text(topic.read_text(encoding="utf-8").replace("A village", "A small village"), encoding="utf-8")
    with pytest.raises(UserError, match="already has a run with other prompts"):
        check_folder(spec.folder, load_preset("structured_debate", small(pack)))


def test_a_pack_of_which_a_run_sends_nothing_is_refused(pack: Path, paper: Paper, tmp_path: Path) -> None:
    """Its results would be called those of the paper's prompts."""
    other = tmp_path / "other"
    write_pack([paper(REPRESENTATIVES)], other)
    for preset, settings, told in (
        ("structured_debate", small(other), "no topic of this debate"),
        ("structured_debate", small(pack, topic="racism"), "no topic of this debate"),
        ("consensus", {"wording": str(pack)}, "no prompts for deliberations"),
        ("consensus", {"wording": str(other)}, "set represented=all"),
        ("consensus", {"wording": "papers"}, "papers has no prompts for deliberations"),
    ):
        with pytest.raises(UserError, match=told):
            load_preset(preset, settings)
    load_preset("consensus", {"wording": str(other), "represented": "all"})


PRINTED = {
    "002": {"Table 1": 3, "A.2": 1, "Table 3": 4, "A.3": 2, "Table 4": 1},
    "004": {"App. B, Table 2": 9},
}
"""Files that are cut of each paper, by section."""


@pytest.mark.parametrize("number", PRINTED)
def test_all_that_the_papers_print_is_cut(number: str, tmp_path: Path) -> None:
    """Of the papers themselves, where their texts stand beside the checkout; none of their words is here."""
    files = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not files:
        pytest.skip("the papers' texts do not stand beside this checkout (shared/seeds)")
    cut_pieces = write_pack(files, tmp_path / "published")
    counts = {section: sum(piece.section == section for piece in cut_pieces) for section in PRINTED[number]}
    assert counts == PRINTED[number]
    assert check_path(str(tmp_path / "published")) == []
    for piece in cut_pieces:
        assert "Refer to caption" not in piece.text
