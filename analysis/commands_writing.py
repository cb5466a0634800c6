"""`run.py personas`, `questions`, `case`: what a debate is held with, written by any model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.llm.errors import UserError
from parley.model.commandline import Parser, natural


def personas(arguments: Sequence[str]) -> int:
    """`run.py personas`: write persona files anew with any model."""
    parser = Parser(
        prog="run.py personas",
        description="Write the personas of a set with a model, through the meta-prompts in agents/prompts (docs/personas.md).",
    )
    parser.add_argument("--set", choices=("voters", "enhanced", "twins"), default="voters", help="(voters)")
    parser.add_argument("--party", choices=("republican", "democrat", "default"), help="(all that the set writes)")
    parser.add_argument(
        "--topic",
        dest="topics",
        metavar="NAME[,NAME]",
        default="",
        help="for voters: topics on which each persona takes a position, names or paths to .toml files (the shipped ones)",
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", default="oracle")
    parser.add_argument("--seed", metavar="N", type=int, default=0)
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder for <party>.toml; agents/personas is where the shipped ones are",
    )
    options = parser.parse_args(arguments)
    from parley.agents.persona_generator import check_unused, write_personas
    from parley.agents.persona_variants import write_enhanced, write_twins
    from parley.agents.topic import load_topic, topic_names
    from parley.llm.backends import open_spec
    from parley.model.validation import check_topics

    write, known = {
        "voters": (write_personas, ("republican", "democrat")),
        "enhanced": (write_enhanced, ("republican", "democrat", "default")),
        "twins": (write_twins, ("republican", "democrat", "default")),
    }[options.set]
    wanted = (options.party,) if options.party else known
    if not set(wanted) <= set(known):
        raise UserError(f"the {options.set} that are written are {' and '.join(known)}; the Default is one sentence")
    if options.set == "voters":
        check_topics(options.llm, [topic for topic in map(load_topic, topic_names()) if topic.in_backstories])
    for party in wanted:
        check_unused(options.out, party)
    backend = open_spec(options.llm)
    topics = [topic.strip() for topic in options.topics.split(",") if topic.strip()]
    if topics and options.set != "voters":
        raise UserError(f"--topic is for --set voters: personas of {options.set} name no topic of a debate")
    more = {"topics": topics} if topics else {}
    for party in wanted:
        print(f"personas {write(party, options.out, backend, options.llm, options.seed, **more)}")
    return 0


def questions(arguments: Sequence[str]) -> int:
    """`run.py questions`: have a model write divisive questions."""
    parser = Parser(
        prog="run.py questions",
        description="Have a model write divisive questions with their declarative forms, screened and split (docs/questions.md).",
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", required=True)
    parser.add_argument("--count", metavar="N", type=natural, default=150, help="(150)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the new file, .toml")
    options = parser.parse_args(arguments)
    from parley.agents.question_generator import question_text, write_questions
    from parley.llm.backends import open_spec

    written = write_questions(options.count, options.out, open_spec(options.llm), options.llm, options.seed)
    print(f"questions {options.out}: {len(written.questions)} (dropped: {question_text(written.dropped)})")
    return 0


def case(arguments: Sequence[str]) -> int:
    """`run.py case`: write the case of a structured debate into a topic file."""
    parser = Parser(
        prog="run.py case",
        description="Write the case that opens a structured debate from arguments for and against, with any model; "
        "a file in agents/topics is a topic of its own (--topic <file name>).",
    )
    parser.add_argument("--topic", metavar="SLUG", required=True, help="the topic whose question and probes are kept")
    parser.add_argument(
        "--for", dest="pro", metavar="TEXT", action="append", default=[], help="an argument (repeatable)"
    )
    parser.add_argument(
        "--against", dest="con", metavar="TEXT", action="append", default=[], help="an argument (repeatable)"
    )
    parser.add_argument(
        "--refine", metavar="TEXT", action="append", default=[], help="a change to it (repeatable, in turn)"
    )
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", default="oracle")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="the new topic file, .toml")
    options = parser.parse_args(arguments)
    from parley.agents.case_generator import write_topic
    from parley.agents.topic import load_topic
    from parley.llm.backends import open_spec

    topic = load_topic(options.topic)
    path = write_topic(
        topic, options.pro, options.con, options.refine, options.out, open_spec(options.llm), options.seed
    )
    print(f"topic    {path}")
    return 0
