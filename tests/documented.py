"""Every command that README and docs print, and what becomes of each: held, shrunken; or looked at, with the reason.

`RULES` is the table: the first rule whose pattern is found in a command decides. A command that none decides is an error, so that
nobody prints a command that no test has seen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BEGIN = r"(?:python3?|run\.py|pip|pytest|solara|sh|vllm|ray|ollama|llama-server|export|PYTHONPATH=\S+|git|cd)\b"
OURS = {r"\bopenai:MODEL\b": "openai:some-model", r"\bURL\b": "http://127.0.0.1:9/v1"}
STAND_IN = {
    r"--(llm|judge|against) (MODEL|OTHER|JUDGE|X|A)\b": r"--\1 oracle",
    r"--judge C\b": "--judge oracle",
    r"--compare PANEL\b": "--compare oracle",
    r"--llm B\b": "--llm oracle,kappa=0",
    r"--llm C\b": "--llm oracle,mu=0",
    r"\bRUN\b": "runs/a",
    r"\$SLURM_ARRAY_TASK_ID/10": "1/3",
    r"surrogate(:| )runs/net": r"surrogate\1runs/a",
    r"--data FOLDER": "--data data",
    r"\bFILE\b": "scores.csv",
    r"--topic T --probes P": "--topic racism --probes attitude",
    r"compare runs/a runs/b": "compare runs/x runs/y",
    r"branch runs/a --round 3": "branch runs/a --round 2",
}
"""What stands for something of the reader's own, and what the test puts there."""


def printed_files(page: str) -> dict[str, str]:
    """The TOML files that a page of docs/ prints, by the path in the comment of their first line."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return dict(re.findall(r"(?s)```toml\n# (\S+/\S+\.toml)\n(.*?)```", text))


class Command(NamedTuple):
    """One printed command: the page, the text as printed, whether it stands in a line of its own."""

    page: str
    text: str
    whole: bool

    @property
    def words(self) -> list[str]:
        """As a shell would part it, placeholders filled, `python run.py` as `run.py`."""
        text = self.text.replace("[--", "--").replace("]", "") if re.search(r" \[--", self.text) else self.text
        for pattern, filled in (OURS | STAND_IN).items():
            text = re.sub(pattern, filled, text)
        words = shlex.split(text, comments=True)
        return words[1:] if words[:2] == ["python", "run.py"] else words


class Rule(NamedTuple):
    """What becomes of the commands in which `pattern` is found.

    more: what is put after a command that is held. why: for what reason it is not held; then `how` says what is looked at: `plan`
    (--dry-run: its parser, its scenario, its calls), `parse` (its real parser), `exists` (what it names is there), `foreign`.
    """

    pattern: str
    more: str = ""
    why: str = ""
    how: str = "hold"


SMALL = "--repetitions 2 --rounds 1 --topic racism"
DELIBERATION = "--repetitions 1 --set episodes=2 --set size=3"
NETWORK = "--repetitions 2 --rounds 2 --set size=16"
CARD = "--topic climate_change --blocks 2 --sections bias,null_conditions --set rounds=1"
SERVER, TORCH, HERE = (
    "asks a server",
    "needs torch; tests/training runs it",
    "needs a file that is not in the box",
)
RULES = (
    Rule(r"^run\.py (representatives|questionnaire) \w+$", why="a name", how="exists"),
    Rule(
        r"^run\.py (export )?[a-z][a-z-]*$(?<!calibrate)(?<!archetypes)(?<!intervene)(?<!sweep-lora)",
        why="a name",
        how="exists",
    ),
    Rule(
        r"^(pip|python -m pip|sh do\.sh|solara|pytest|python benchmarks/)",
        why="sets up, serves or measures for minutes",
        how="exists",
    ),
    Rule(
        r"^(vllm|ray|ollama|llama-server|export|PYTHONPATH=|python -m llama_cpp)", why="another program", how="foreign"
    ),
    Rule(r"^run\.py models get", why="downloads 98 MB; tests/llm/test_model_catalogue.py has a stand-in", how="parse"),
    Rule(r"--llm (smollm2|gguf:)", why="needs weights; tests/llm/test_gguf_engine.py asks SmolLM2", how="parse"),
    Rule(r"--ui\b", why="serves a page until it is stopped", how="parse"),
    Rule(r"^python3 -m venv", why="Python's own", how="foreign"),
    Rule(
        r"^run\.py show runs/mine\b",
        why="needs a run with a file of one's own: tests/test_trust.py opens one",
        how="parse",
    ),
    Rule(r"^sbatch\b", why="Slurm's own", how="foreign"),
    Rule(r"^run\.py cluster-script\b", why="tests/analysis/test_cluster_script.py runs the jobs", how="exists"),
    Rule(
        r"<\w+>|\.\.\.( |$)|fitted:(FILE|scores)|--rubric|replay:$|^run\.py --scenario$",
        why="an example of the form",
        how="foreign",
    ),
    Rule(r"^run\.py( --help)?$", why="the command itself; tests/test_run.py asks for its help", how="foreign"),
    Rule(r"^python -m (parley(\.training[\w.]+)?|tools[\w.]+|benchmarks\.\w+)( FOLDER)?$", why="a name", how="exists"),
    Rule(r"^python -m parley\.training", why=TORCH, how="parse"),
    Rule(
        r"^run\.py (sheet |export bundle |check \S+\.(zip|json|csv)|check runs/)",
        why="reads files of the user; studies/sheets/tests/test_sheets.py, test_bundles.py and test_schemas.py have some",
        how="parse",
    ),
    Rule(r"^python -m parley\.analysis\.schemas", why="writes files of the package", how="exists"),
    Rule(
        r"^run\.py (import-log|export eval) ",
        why="needs a log, or Inspect; tests/analysis/test_logs.py and test_logs_inspect.py have some",
        how="parse",
    ),
    Rule(
        r"^run\.py export-network ",
        why="needs a run of a network; studies/network_export/tests/test_network_export.py has some",
        how="parse",
    ),
    Rule(
        r"^run\.py report runs/a/batch-1/",
        why="needs an audit of flips; studies/flips/tests/test_flips.py runs one",
        how="parse",
    ),
    Rule(
        r"^run\.py (train|fine-tuned|sweep-lora|export adapter|representatives (train|measure|grid))\b",
        why=TORCH,
        how="parse",
    ),
    Rule(r"^run\.py organisms list\b"),
    Rule(
        r"^run\.py organisms\b",
        why="trains, or asks for a minute; tests/training/test_organisms.py does it",
        how="parse",
    ),
    Rule(r"lab\.toml", why="refused on purpose; test_trust_page.py runs it", how="foreign"),
    Rule(r"path=trust\.csv", "--repetitions 1 --rounds 1 --topic racism"),
    Rule(
        r"rating_noise\.py:",
        why="a model of benchmarks/, audited for minutes",
        how="parse",
    ),
    Rule(r"organism:(FOLDER|runs/)", why="needs an organism that was built", how="foreign"),
    Rule(r"^run\.py correct .*--train", why=TORCH, how="parse"),
    Rule(r"^run\.py correct posts\.toml", why=HERE, how="parse"),
    Rule(r"^run\.py correct "),
    Rule(r"^run\.py distributions planted", "--questions 6"),
    Rule(r"^run\.py distributions ", why=HERE, how="parse"),
    Rule(r"^run\.py (predict|elicit) (\S+\.csv|.*--train)", why=HERE, how="parse"),
    Rule(r"^run\.py (predict|elicit) ", "--people 20"),
    Rule(r"^run\.py (twins people\.csv|data convert)", why=HERE, how="parse"),
    Rule(r"^run\.py twins ", "--groups 5 --points 1"),
    Rule(r"^run\.py data$"),
    Rule(r"^run\.py truthfulness statements\.csv", why=HERE, how="parse"),
    Rule(r"^run\.py mixed people\.csv", why=HERE, how="parse"),
    Rule(r"^run\.py raters codes\.csv", why=HERE, how="parse"),
    Rule(r"^run\.py claim ", why="runs 128 debates; its tests run a small one", how="parse"),
    Rule(
        r"^run\.py (register|confirm) ",
        why="needs a claim; studies/claims/tests/test_preregistration.py runs a small one",
        how="parse",
    ),
    Rule(r"^run\.py conjoint design\.toml", why=HERE, how="parse"),
    Rule(r"^run\.py conjoint ", "--respondents 6"),
    Rule(r"^run\.py prior-beliefs .*--train", why=TORCH, how="parse"),
    Rule(r"^run\.py prior-beliefs .*--compare", "--topic racism --repetitions 2 --rounds 1 --panel 3"),
    Rule(r"^run\.py bets .*--judge", "--topic racism --repetitions 1 --rounds 1"),
    Rule(r"^run\.py choose-side .*people\.csv", why=HERE, how="parse"),
    Rule(r"^run\.py choose-side", "--topic racism --respondents 6"),
    Rule(r"^run\.py calibrate .*pocket", why=TORCH, how="parse"),
    Rule(r"^run\.py representatives episodes", "--laps 1"),
    Rule(r"--data cascades\.csv", why=HERE, how="parse"),
    Rule(r"habermas_\w+\.json|--review|^run\.py case", why=HERE, how="parse"),
    Rule(r"^run\.py (questions|validate .*openai)", why=SERVER, how="parse"),
    Rule(
        r"outnumbered|whispers|coin|runs/agreed",
        why="needs a file of the page; tests/docs/test_extending.py runs it",
        how="foreign",
    ),
    Rule(r"^run\.py audit .*(--tuned|mine\.toml)", why=HERE, how="parse"),
    Rule(r"^run\.py audit --llm pocket", why=TORCH, how="parse"),
    Rule(r"--dry-run|^run\.py --list"),
    Rule(r"^run\.py branch "),
    Rule(r"^run\.py show "),
    Rule(
        r"--scenario .*llm.*surrogate:",
        "--topic racism --dry-run",
        "a fit to ten networks; tests/model holds one",
        "plan",
    ),
    Rule(r"^run\.py (--scenario|sweep|structured) .*(openai|hf):", "--dry-run", SERVER, "plan"),
    Rule(
        r"^(run\.py (study )?\./mine|pytest mine|python -m pytest mine)",
        why="a study of the reader's; tests/test_own_study.py writes and runs one",
        how="foreign",
    ),
    Rule(
        r"\./published|paper\.txt", why="needs the text of a paper; tests/agents/test_published.py has one", how="parse"
    ),
    Rule(r"^run\.py new ", why="makes a new folder; tests/agents/test_society.py makes all kinds", how="parse"),
    Rule(r"^run\.py check "),
    Rule(r"^run\.py --society ", "--repetitions 2 --rounds 1"),
    Rule(r"^run\.py evolve planted", "--size 2 --depth 1 --candidates 2 --generations 1 --repeats 1"),
    Rule(r"^run\.py evolve ", why=HERE, how="parse"),
    Rule(
        r"^run\.py depth ",
        why="needs deep personas; studies/deep_personas/tests/test_depth.py writes some",
        how="parse",
    ),
    Rule(r"personas=\./mine", why="needs the personas that the page writes", how="parse"),
    Rule(r"^run\.py personas .*--set deep", "--llm oracle --count 2 --depth 3"),
    Rule(r"^run\.py personas", "--llm oracle"),
    Rule(r"^run\.py audit ", CARD),
    Rule(r"--out runs/a\b|replay:runs/a|--out runs/rooms", "--repetitions 10 --rounds 2 --topic racism"),
    Rule(r"friends\.graphml", "--repetitions 1 --rounds 1 --topic racism"),
    Rule(r"network.* --intervene", "--repetitions 2 --set size=16"),
    Rule(r"--scenario platform .*runs/acts", "--repetitions 10 --rounds 6 --set size=16"),
    Rule(r"guidance round=4", "--repetitions 2 --rounds 4 --set size=16"),
    Rule(r"--scenario (platform|spread|herd_effect|group_polarisation)", "--repetitions 2 --rounds 2 --set size=16"),
    Rule(r"--scenario emotion_spread", "--repetitions 2 --rounds 2 --set size=16"),
    Rule(r"^run\.py (arena|rehearse) \w+\.csv", why=HERE, how="parse"),
    Rule(r"^run\.py compete .*--train", why=TORCH, how="parse"),
    Rule(r"^run\.py compete \w+\.toml", why=HERE, how="parse"),
    Rule(
        r"^run\.py compete --llm oracle --against oracle ",
        why="studies/competition/README.md has the same with numbers",
        how="parse",
    ),
    Rule(r"^run\.py compete\b", "--panel 3 --samples 1"),
    Rule(r"^run\.py community \w+\.toml", why=HERE, how="parse"),
    Rule(r"^run\.py community\b", "--rooms 1 --threads 1 --people 3 --continuations 2"),
    Rule(r"^run\.py arena\b", "--panel 5 --write 3 --llm oracle"),
    Rule(r"^run\.py rehearse\b", "--topic racism --audience 3 --llm oracle"),
    Rule(r"^run\.py judge .*sentiment", why="needs a run and a table of your own; tests make both", how="parse"),
    Rule(r"^run\.py guidance\b", "--repetitions 1 --rounds 6"),
    Rule(r"--scenario public_opinion", "--repetitions 2 --rounds 6"),
    Rule(
        r"--scenario (gun_polarisation|inflammatory|basic_income|hurricane)", "--repetitions 2 --rounds 3 --set size=16"
    ),
    Rule(r"--scenario days", "--repetitions 2 --rounds 3"),
    Rule(r"--scenario herding", "--repetitions 2 --rounds 1"),
    Rule(r"sweep .*--scenario consensus_phases", "--repetitions 1 --rounds 2 --workers 1"),
    Rule(r"--scenario consensus_phases", "--repetitions 2 --rounds 2"),
    Rule(r"^run\.py consensus-phases\b", "--repetitions 2 --rounds 2 --sizes 3 --respondents 6 --begins alone"),
    Rule(
        r"--human trust\.csv", why="needs a table of your own; studies/games/tests/test_games.py has one", how="parse"
    ),
    Rule(r"--scenario (trust_game|prisoners_dilemma|public_goods|negotiation)", "--repetitions 2 --rounds 2"),
    Rule(
        r"^run\.py honesty .*--lines",
        why="needs lines of the user; studies/honesty/tests/test_honesty.py has some",
        how="parse",
    ),
    Rule(r"^run\.py carry-over --scenario stages", why="needs a model of yours", how="parse"),
    Rule(r"^run\.py carry-over\b", "--repetitions 5 --set size=8"),
    Rule(r"--scenario (rooms_and_network|stages|two_topics)", "--repetitions 2 --set size=12"),
    Rule(r"^run\.py search \w+\.toml", why=HERE, how="parse"),
    Rule(r"^run\.py search refutations\b", "--set size=10 --trials 2 --rooms 1 --new-rooms 2 --runners 0"),
    Rule(r"^run\.py search\b", "--rounds 3 --trials 2 --rooms 1 --new-rooms 5 --runners 0"),
    Rule(r"^run\.py flips\b", "--topic racism --blocks 2 --set rounds=1"),
    Rule(r"--scenario readers", "--topic racism --repetitions 2 --rounds 2 --set size=4 --set listeners=2"),
    Rule(r"^run\.py belief-traces", why="needs public data", how="parse"),
    Rule(r"^run\.py belief-reader\b"),
    Rule(r"^run\.py honesty\b", "--repetitions 1 --rounds 2"),
    Rule(r"--scenario honesty", "--repetitions 2 --rounds 2"),
    Rule(r"^run\.py games negotiation .*--native", "--repetitions 2 --native oracle"),
    Rule(r"^run\.py games\b", "--repetitions 2"),
    Rule(r"--scenario network", NETWORK),
    Rule(r"=person", why="a person answers; tests/model/test_people.py has scripted ones", how="parse"),
    Rule(r"^run\.py export own-lines", why="tests/model/test_people.py runs it", how="parse"),
    Rule(r"--scenario (consensus|representatives)", DELIBERATION),
    Rule(r"--scenario structured_debate", "--repetitions 1 --rounds 2 --topic abortion"),
    Rule(r"^run\.py sweep", "--repetitions 1 --topic racism --seeds 0:1 --workers 1"),
    Rule(r"^run\.py archetypes", "--repetitions 4 --rounds 1 --topic racism --size 2"),
    Rule(r"--scenario (fake_news|news_evolution)", "--repetitions 2 --set size=10"),
    Rule(r"^run\.py population", "--agents 300 --steps 3"),
    Rule(r"^run\.py refutation", "--repetitions 2 --rounds 5 --set size=12"),
    Rule(r"--intervene|^run\.py intervene", "--repetitions 2 --topic racism"),
    Rule(r"^run\.py --scenario", SMALL),
    Rule(r"^run\.py calibrate --society", "--repetitions 10 --rounds 2"),
    Rule(r"^run\.py calibrate", "--repetitions 5 --rounds 2 --topic racism --llm oracle"),
    Rule(r"^run\.py structured", "--repetitions 2 --rounds 2 --topic abortion"),
    Rule(r"^run\.py (personalised|prior-beliefs|bets|arguments|herding)\b", "--repetitions 2 --topic racism"),
    Rule(r"^run\.py questionnaire orders", "--repeats 2 --personas simple"),
    Rule(r"^run\.py qualify .*--base-url", why="needs a server of the user", how="parse"),
    Rule(r"^run\.py qualify", "--short"),
    Rule(r"^run\.py stereotypes .*(--people|--answers) ", why="needs a table of your own; tests make one", how="parse"),
    Rule(r"^run\.py stereotypes", "--personas simple --topic racism"),
    Rule(
        r"^run\.py questionnaire panel .*--data",
        why="needs a panel of the user; tests/analysis/test_panel.py has one",
        how="parse",
    ),
    Rule(
        r"^run\.py dissonance",
        why="needs choices of the user; studies/dissonance/tests/test_dissonance.py has some",
        how="parse",
    ),
    Rule(r"^run\.py questionnaire panel\b", "--llm oracle --topic racism --people 5"),
    Rule(r"^run\.py questionnaire wave\b", "--llm oracle --repeats 1"),
    Rule(r"^run\.py validate", "--personas simple"),
    Rule(r"^run\.py representatives substitute .*trained:", why=TORCH, how="parse"),
    Rule(r"^run\.py representatives substitute", "--limit 2 --repetitions 1"),
    Rule(r"^run\.py mediators", why="studies/representatives/tests/test_fairness.py runs it", how="parse"),
    Rule(r"^run\.py representatives study", why=TORCH, how="parse"),
    Rule(r"^run\.py representatives (payoff|outcomes)", why=TORCH, how="parse"),
    Rule(r"^run\.py opinion-groups votes", why="needs a table of your own; tests make one", how="parse"),
    Rule(r"^run\.py opinion-groups planted", "--draws 19"),
    Rule(
        r"^run\.py opinion-groups runs", why="studies/opinion_groups/tests/test_opinion_groups.py runs it", how="parse"
    ),
    Rule(
        r"^run\.py representatives steps",
        why="needs ballots of a run; studies/representatives/tests/test_representative_steps.py has some",
        how="parse",
    ),
    Rule(r"^run\.py representatives ballots", why="studies/representatives/tests/test_ballots.py runs it", how="parse"),
    Rule(
        r"^run\.py judge .*--notes",
        why="needs a run with notes; tests/analysis/test_note_alignment.py has one",
        how="parse",
    ),
    Rule(
        r"^run\.py judge .*recall",
        why="needs a run with interviews; tests/analysis/test_recollection.py has one",
        how="parse",
    ),
    Rule(r"^run\.py (report|compare|surrogate|fit-law|judge|human|analyse) "),
)
REPORTED = ("README.md", "tutorial.md", "presets.md", "card.md")
"""Pages whose runs are reported in full: every preset is on one of them. What others set in it is held and recorded."""
WITH_MODEL = (
    r"^run\.py (--scenario|sweep|structured|archetypes|intervene|personalised|prior-beliefs|bets|arguments|herding"
    r"|games|refutation|guidance|honesty|consensus-phases)\b"
)
"""Commands that ask the model in the box unless they are told of another: the oracle is put there, which needs no torch."""


def pages() -> list[Path]:
    """README, every page, and the README of every study; not the log, nor docs/howto.md, which tests/docs/test_howto.py runs."""
    found = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "studies").glob("*/README.md"))]
    return [ROOT / "README.md", *(page for page in found if page.name != "howto.md")]


def name_of_page(path: Path) -> str:
    """How a page is called in messages: a page of docs/ by its file, a study's by its path.

    >>> name_of_page(ROOT / "docs" / "card.md"), name_of_page(ROOT / "studies" / "flips" / "README.md")
    ('card.md', 'studies/flips/README.md')
    """
    return path.name if path.parent in (ROOT, ROOT / "docs") else str(path.relative_to(ROOT))


def printed() -> list[Command]:
    """Every command of every page, in the order of reading."""
    return [command for page in pages() for command in commands(name_of_page(page), page.read_text(encoding="utf-8"))]


def commands(page: str, text: str) -> Iterator[Command]:
    """Lines of fenced blocks of shell (or of no language) and code within lines, that begin like a command.

    >>> [command.text for command in commands("p", "`run.py x`, `x.py`\\n```sh\\npython run.py --list  # all\\n```\\n")]
    ['python run.py --list  # all', 'run.py x']
    """
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
        for line in body.replace("\\\n", " ").splitlines() if language in ("", "sh") else []:
            if re.match(BEGIN, line):
                yield Command(page, line.strip(), True)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for code in re.findall(r"`([^`\n]+)`|^ {4}(python .*)$", rest, re.M):
        one = "".join(code)
        if re.match(BEGIN, one) and " " in one:
            yield Command(page, one, False)


def rule(command: Command) -> Rule | None:
    """The first rule for a command; None when the table has none."""
    text = " ".join(command.words).replace("run.py study ", "run.py ")  # rules name a study by its name alone
    return next((one for one in RULES if re.search(one.pattern, text)), None)


def shrunken(command: Command, one: Rule) -> list[str]:
    """The words of a command as the test holds it, `run.py` left out."""
    words = command.words[1:]
    if re.search(WITH_MODEL, text := " ".join(command.words)) and "--llm" not in words and "llm=" not in text:
        words += ["--llm", "oracle"]
    if "--llm" in one.more and "--llm" in words:  # the oracle in the place of the model that is named
        place = words.index("--llm")
        words = words[:place] + words[place + 2 :]
    return [*words, *one.more.split()]
