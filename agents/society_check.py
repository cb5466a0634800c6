"""Says what is wrong with a society, a topic or a set of personas, in a line each (`parley check PATH`).

A check reads the same files as a run, and goes on after a fault, so that all faults are shown at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from parley.agents.datafiles import read_toml
from parley.agents.language import ENGLISH, Language, load_language
from parley.agents.persona import Persona, all_personas, parties, persona_file, persona_set
from parley.agents.persona_generator import names_party
from parley.agents.published.pack import PERSONAS, SOURCE, TOPICS, is_pack_folder, pack_faults
from parley.agents.question import OWN_QUESTIONS, load_questions, questionnaire
from parley.agents.scales import LABELLED
from parley.agents.society import (
    DEFAULT,
    FILE,
    PARTIES,
    PEOPLE_TABLE,
    SETS,
    Society,
    load_society,
    read_party,
    society_folder,
    society_names,
    society_of,
)
from parley.agents.topic import Topic, load_topic, news_names, society_topics, topic_names
from parley.llm.backends.oracle.dynamics import stated_level
from parley.llm.backends.oracle.phrases import Banks, TopicBank, banks, topic_bank
from parley.llm.backends.oracle.self_facts import persona_facts
from parley.llm.errors import UserError
from parley.llm.trust import refuse_named

SHOWN = 6
"""People whose names a line lists."""


def derived_parts(path: str) -> list[str]:
    """Return what is made up in a society, in a line each. Nothing for a topic, a set of personas or a broken society."""
    path = society_path(path)
    if path.endswith(".toml"):
        return []
    try:
        society = load_society(path)
        return [*_people(society), *_sets(society), *_questions(society), *_speech(society)]
    except UserError:
        return []


def _sets(society: Society) -> Iterator[str]:
    """Say which sets of personas have no file of a party."""
    for folder in sorted(path for path in (society.folder / SETS).glob("*") if path.is_dir()):
        if lacking := [party for party in society.parties if not (folder / f"{party}.toml").is_file()]:
            yield f"{SETS}/{folder.name} has no people of {', '.join(lacking)}, so they are made of `names` and `person`"


def _people(society: Society) -> Iterator[str]:
    for party, party_data in society.parties.items():
        if not read_toml(society.folder / PARTIES / f"{party}.toml").get(PEOPLE_TABLE):
            people = len(party_data.names)
            yield f"{_file(party)}: no [[persona]], so its {people} people say of themselves only: {party_data.person}"
        if not party_data.colour:
            yield f"{_file(party)}: no colour, so figures choose one"


def _questions(society: Society) -> Iterator[str]:
    """Say that private deliberations have no questions."""
    questions_file = society.folder / OWN_QUESTIONS
    if society.name not in society_names() and not questions_file.is_file():
        yield f"no {OWN_QUESTIONS}, so private deliberations (consensus) need --set questions=FILE"


def _speech(society: Society) -> Iterator[str]:
    if not (society.folder / "oracle").is_dir():
        yield "no folder oracle/, so --llm oracle cannot speak here; any other model can"
        return
    speaker = banks(society.name)
    try:
        speaker.check()
    except UserError as error:
        yield f"--llm oracle cannot speak here, any other model can: {error}"
        return
    stated = speaker.data("parameters").get("topics", {})
    planted = {slug: float(table["bias"]) for slug, table in stated.items()}
    debated = topic_names(society.folder / "topics")
    topics = {*debated, *news_names(society.name)}
    biases = {slug: bias for slug, bias in planted.items() if slug in topics}
    for party in speaker.parties.speakers:
        for topic in speaker.parties.without_start(party, biases):
            start = speaker.parties.start(party, topic, biases[topic])
            reason = "the bias" if start == biases[topic] else "from its side"
            yield f"{_file(party)}: no oracle.start for {topic}, so its people begin at {start:g} ({reason})"
        if not speaker.parties.files[party].oracle.identity:
            yield f"{_file(party)}: no oracle.identity, so its people say: {speaker.data('common')['identity'][party][0]}"
    for party in speaker.parties.speakers:
        if people := written_people(society, party):
            yield from _unstated_levels(
                party, people, speaker, {slug: biases[slug] for slug in debated if slug in biases}
            )
            yield from _unstated_facts(party, people, speaker)


def written_people(society: Society, party: str) -> tuple[Persona, ...]:
    """Return the people in the file of a party; none where they are made up."""
    file = society.folder / PARTIES / f"{party}.toml"
    return all_personas(party, file.parent) if read_toml(file).get(PEOPLE_TABLE) else ()


def _unstated_levels(
    party: str, people: Sequence[Persona], speaker: Banks, biases: Mapping[str, float]
) -> Iterator[str]:
    """Say who states no level on a topic, and where these people begin."""
    for topic, bias in biases.items():
        slug = f"{speaker.prefix}{topic}"
        spoken = [(person, speaker.in_language(person.language)) for person in people]
        if silent := [
            person.name for person, person_banks in spoken if stated_level(person_banks, person.backstory, slug) is None
        ]:
            begin = f"{speaker.parties.start(party, topic, bias):g}"
            yield f"{_file(party)}: {_names(silent, people)} no level on {topic}, so --llm oracle begins at {begin}"


def _unstated_facts(party: str, people: Sequence[Persona], speaker: Banks) -> Iterator[str]:
    """Say who does not state age or work, which the rule-based speaker can be asked for."""
    people_facts = [persona_facts(speaker.in_language(person.language), person.backstory) for person in people]
    stated: dict[str, list[str | bool]] = {
        "age": [facts.age != "" for facts in people_facts],
        "work": [facts.job or facts.work or facts.retired for facts in people_facts],
    }
    for fact, values in stated.items():
        if silent := [person.name for person, value in zip(people, values, strict=True) if not value]:
            yield f"{_file(party)}: {_names(silent, people)} no {fact}, so --llm oracle does not answer when asked for it"


def _names(silent: Sequence[str], people: Sequence[Persona]) -> str:
    """Return who states nothing, as the beginning of a sentence."""
    if len(silent) == len(people):
        return "its people state"
    more = [f"{len(silent) - SHOWN} more"] if len(silent) > SHOWN else []
    *first, last = [*silent[:SHOWN], *more]
    return f"{', '.join(first)} and {last} state" if first else f"{last} states"


def _file(party: str) -> str:
    return f"{PARTIES}/{party}.toml"


NEEDED = ("attitude", "attitude_labelled", "agreement")
"""Probes without which some command refuses a topic."""
FEWEST = 2
"""People of a party, so that a room can seat two of them."""
Problems = Iterator[str]


def check_path(path: str) -> list[str]:
    """Return every fault of a society, a topic (a .toml file) or a set of personas (a folder), each once; none if all is well.

    For the file of a party these are the faults of its society; outside of any, its own.

    Errors: UserError if there is nothing to check at the path.
    """
    path = society_path(path)
    if path.endswith(".toml"):
        is_party = Path(path).is_file() and "label" in read_toml(Path(path))
        return list(_told(partial(_check_party if is_party else _check_named_topic, path)))
    folder = Path(path).expanduser()
    if is_pack_folder(folder):
        return list(_told(partial(_check_wording, folder)))
    if folder.is_dir() and not (folder / FILE).is_file() and parties(folder):
        return list(_told(partial(check_personas, folder, society_of(folder) or load_society())))
    society_folder(path)
    return list(dict.fromkeys(_told(partial(_check_named_society, path))))


def _check_wording(folder: Path) -> Problems:
    """Yield faults of a pack, and then of its topics and personas."""
    given = load_language(str(read_toml(folder / SOURCE).get("language", "")))
    if faults := list(pack_faults(folder, given)):
        yield from faults
        return
    for file in sorted((folder / TOPICS).glob("*.toml")):
        yield from _told(partial(_check_named_topic, str(file)))
    if (folder / PERSONAS).is_dir():
        yield from _told(partial(check_personas, folder / PERSONAS, load_society()))


def society_path(path: str) -> str:
    """Return the folder of the society for the file of a party in it; any other path as it is."""
    file = Path(path).expanduser()
    home = file.parent.parent
    return str(home) if file.suffix and file.parent.name == PARTIES and (home / FILE).is_file() else path


def _check_party(path: str) -> Problems:
    read_party(Path(path))
    yield from ()


def _check_named_society(name: str) -> Problems:
    yield from check_society(load_society(name))


def _told(check: Callable[[], Problems]) -> Problems:
    """Yield the faults of a check; one that ends it is the last."""
    try:
        yield from check()
    except UserError as error:
        yield str(error)


def check_society(society: Society) -> Problems:
    """Yield the faults of a society, file by file."""
    for check in (check_looks, check_names, _check_questions, _check_topics, check_oracle):
        yield from _told(partial(check, society))
    yield from _told(partial(check_language, society.language))
    sets = [persona_set(f"{society.name}/{name}") for name in society.persona_sets]
    for folder in sets:
        yield from _told(partial(check_personas, folder, society))
    people = [person for folder in sets for party in society.parties for person in all_personas(party, folder)]
    for code in sorted({person.language for person in people} - {"", society.language.code}):
        yield from _told(partial(_check_translation, society, code))
    if (society.folder / OWN_QUESTIONS).is_file():
        yield from _told(partial(_check_divisive_questions, society))


def _check_questions(society: Society) -> Problems:
    """Yield faults of the questionnaire and of the questions that check personas."""
    if not questionnaire(society):
        yield "questionnaire.toml has no item"
    if not society.read("validation.toml"):
        yield "validation.toml has no question"


def _check_divisive_questions(society: Society) -> Problems:
    load_questions(society.folder / OWN_QUESTIONS)
    yield from ()


def _check_topics(society: Society) -> Problems:
    topics = society_topics(society)
    for name in society.topics:
        if society.qualified(name) not in topics:
            yield f"{FILE}: topics names {name}, which topics/ does not have"
    for slug in topics:
        yield from _told(partial(_check_named_topic, slug))


def _check_named_topic(slug: str) -> Problems:
    yield from check_topic(load_topic(slug))


def check_looks(society: Society) -> Problems:
    """Yield parties that figures could not tell apart."""
    for key in ("colour", "marker", "label"):
        counts = Counter(
            getattr(party_data, key) for party_data in society.parties.values() if getattr(party_data, key)
        )
        for value, number in counts.items():
            if number > 1:
                having = [party for party, party_data in society.parties.items() if getattr(party_data, key) == value]
                yield f"{' and '.join(map(_file, having))}: {number} parties have the {key} {value}: give each another"
    for party, party_data in society.parties.items():
        if party != DEFAULT and not party_data.words:
            yield f"{_file(party)} has no words, so no text can be known as one of this party"


def check_language(language: Language) -> Problems:
    """Yield prompts that a language lacks, and slots that differ from the English ones."""
    english = ENGLISH.folder / "prompts"
    for path in sorted(english.rglob("*.txt")):
        name = path.relative_to(english).with_suffix("").as_posix()
        slots, theirs = language.prompt(name).slots, ENGLISH.prompt(name).slots
        if slots != theirs:
            lacks, more = ", ".join(sorted(theirs - slots)), ", ".join(sorted(slots - theirs))
            yield f"prompts/{name}.txt of {language.code}: slots differ from the English ones (lacks: {lacks}; more: {more})"
    if missing := sorted(set(ENGLISH.data("sentences")) - set(language.data("sentences"))):
        yield f"sentences.toml of {language.code} lacks {', '.join(missing)}"


def _check_translation(society: Society, code: str) -> Problems:
    """Yield what a language lacks that only some people of a society speak."""
    yield from check_language(society.spoken(code))
    for slug in society_topics(society):
        topic = load_topic(slug, code)
        if (society.folder / "oracle").is_dir():
            speaker = banks(society.name).in_language(code)
            if bank := speaker.topics.get(slug):
                yield from _check_bank(topic, bank, speaker)
            else:
                yield f"languages/{code}/oracle/topics has no sentences on {slug}: people who speak {code} cannot debate it"


def check_names(society: Society) -> Problems:
    """Yield parties without first names, and names that two parties share."""
    for party, names in society.names.items():
        if not names:
            yield f"{_file(party)} has neither names nor [[persona]] tables"
    owners: dict[str, list[str]] = defaultdict(list)
    for party, names in society.names.items():
        for name in names:
            owners[name].append(_file(party))
    for name, files in owners.items():
        if len(files) > 1:
            yield f"{' and '.join(dict.fromkeys(files))}: the first name {name} is listed more than once"


def check_personas(folder: Path, society: Society) -> Problems:
    """Yield parties without people in a set, and people whose text names another party, or none."""
    for party in parties(folder):
        where = _source(party, folder, society)
        if party not in society.parties:
            yield f"{where}: {society.title} has no {_file(party)}"
            continue
        people = all_personas(party, folder)
        if len(people) < FEWEST:
            yield f"{where} has one person only: two of a party cannot meet"
        yield from _told(partial(_check_models, [person.llm for person in people], where))
        for person in people:
            if not names_party(person.backstory, party, society):
                words = ", ".join(society.parties[party].words)
                yield f"{where}: {person.name} does not name the party ({words})"


def _check_models(specs: list[str], where: str) -> Problems:
    """Yield whether models of personas name code, a server or a key: a command would refuse them (docs/files.md)."""
    refuse_named(specs, where, ["openai:any", "hf:any/model"])
    yield from ()


def _source(party: str, folder: Path, society: Society) -> str:
    """Return the file that the people of a party come from, from the folder of the society if it lies there."""
    file = persona_file(party, folder)
    return str(file.relative_to(society.folder) if file.is_relative_to(society.folder) else file)


def check_topic(topic: Topic) -> Problems:
    """Yield what some command would refuse in a topic."""
    for name in NEEDED:
        if name not in topic.probes:
            yield f"topic {topic.slug} has no probe {name}"
    if "agreement" in topic.probes and not topic.claim:
        yield f"topic {topic.slug}: its agreement probe states no claim"
    parties = set(topic.society.parties)
    if topic.high_party and topic.high_party not in topic.society.debaters:
        yield f"topic {topic.slug}: high_party {topic.high_party} is none of the debaters {', '.join(topic.society.debaters)}"
    for party in sorted(set(topic.positions) - parties):
        yield f"topic {topic.slug}: [positions] names {party}, which {topic.society.name} does not have"


def check_oracle(society: Society) -> Problems:
    """Yield what the rule-based speaker lacks; nothing where the society has no folder oracle/."""
    if not (society.folder / "oracle").is_dir():
        return
    speaker = banks(society.name)
    for slug in society_topics(society):
        if (bank := topic_bank(slug)) is None:
            yield f"oracle/topics has no sentences on {slug}: the rule-based speaker cannot debate it"
            continue
        yield from _told(partial(_check_bank, load_topic(slug), bank, speaker))
    speaker.check()
    yield from _check_parties(society, speaker)


def _check_parties(society: Society, speaker: Banks) -> Problems:
    """Yield what parameters and files of parties say of topics and answers that the society does not have."""
    items = {item.name: item.answers for item in questionnaire(society)}
    topics = {slug.rpartition("/")[2] for slug in society_topics(society)}
    for slug in sorted(set(speaker.data("parameters")["topics"]) - {*topics, *news_names(society.name)}):
        yield f"oracle/parameters.toml has [topics.{slug}], which topics/ does not have"
    for party, party_data in society.parties.items():
        for slug in sorted(set(party_data.positions) - topics):
            yield f"{_file(party)}: positions names {slug}, which topics/ does not have"
        for item, answer in speaker.parties.files[party].oracle.answers.items():
            if answer not in items.get(item, ()):
                yield f"{_file(party)}: oracle.answers: questionnaire.toml has no answer {answer!r} to {item}"


def _check_bank(topic: Topic, bank: TopicBank, speaker: Banks) -> Problems:
    """Yield what does not fit between a topic, its sentences and its planted parameters."""
    where = f"oracle/topics/{topic.slug.rpartition('/')[2]}.toml"
    if bank.title.lower() != topic.title.lower():
        yield f"{where}: title {bank.title!r} is not that of the topic ({topic.title!r})"
    if "agreement" in topic.probes and bank.direction(topic.claim.lower()) is None:
        yield f"{where}: no [[propositions]] has a phrase of the claim {topic.claim!r} (in small letters)"
    for probe in topic.probes.values():
        labels = (
            tuple(probe.scale.labels[point] for point in probe.scale.points) if probe.scale.kind == LABELLED else ()
        )
        is_relabelled = labels and labels != bank.labels and not speaker.is_ballot(labels)
        if is_relabelled and not probe.scale.name.endswith("_phrases"):
            yield f"{where}: labels are not those of the scale {probe.scale.name} of the probe {probe.name}"
    forms = Counter(sentence for forms in bank.by_grade.values() for form in forms for sentence in set(form))
    yield from (f"{where}: {sentence!r} is written twice" for sentence, number in forms.items() if number > 1)
    parameters = speaker.parameters.get(bank.slug)
    if parameters is None:
        yield f"oracle/parameters.toml has no [topics.{topic.slug.rpartition('/')[2]}]"
        return
