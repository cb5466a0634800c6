"""Rows, forks under the tree mask, attention and the training loop: on a corpus of a few rooms and a very small model."""

from __future__ import annotations

import re
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
pytest.importorskip("transformers", reason="the [local] extra is not installed")

from torch.optim import _muon  # noqa: E402
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402

from parley.llm.backends.oracle.phrases import banks  # noqa: E402
from parley.llm.backends.pocket.prompt_ids import mask_names, name_tokens  # noqa: E402
from parley.llm.request import Message  # noqa: E402
from tools.pocket import muon, train  # noqa: E402
from tools.pocket import rows as packing  # noqa: E402
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker  # noqa: E402
from tools.pocket.corpus.debates import rooms  # noqa: E402
from tools.pocket.corpus.documents import Document, Fork, Line, write  # noqa: E402
from tools.pocket.corpus.single_questions import singles  # noqa: E402
from tools.pocket.rows import ANSWER, FACT, STANCE, Encoder, pack, visible  # noqa: E402
from tools.pocket.tokenizer import LEANS, train_tokenizer, unspoken_tokens  # noqa: E402
from tools.pocket.train import Recipe, Training, build, rate  # noqa: E402

WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
LIBRARY = _muon._zeropower_via_newtonschulz
SMALL = {"hidden": 32, "layers": 4, "heads": 2, "key_heads": 1, "feed_forward": 48}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [*chain.from_iterable(rooms(1, CorpusSpeaker(), 12)), *singles(1, CorpusSpeaker(), 24)]


@pytest.fixture(scope="module")
def tokenizer(documents: list[Document]) -> PreTrainedTokenizerFast:
    return train_tokenizer(documents)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    return build(Recipe(**SMALL), tokenizer).eval()


def chat(tokenizer: PreTrainedTokenizerFast, messages: list[Message], **options: object) -> list[int]:
    said = [{"role": message.role, "content": message.content} for message in messages]
    return list(tokenizer.apply_chat_template(said, return_dict=True, **options)["input_ids"])


def people(document: Document) -> dict[str, str]:
    return name_tokens([*document.messages, *[Message("user", fork.question) for fork in document.forks]])


@pytest.mark.thorough
def test_a_document_is_what_the_chat_template_makes_of_it(
    documents: list[Document], tokenizer: PreTrainedTokenizerFast
) -> None:
    """What is trained on and what is asked later are the same tokens."""
    for document in [one for one in documents if one.messages]:
        encoded = Encoder(tokenizer).encode(document)
        own = [token for token, segment in zip(encoded.ids, encoded.segment, strict=True) if segment == 0]
        begin = tokenizer.convert_tokens_to_ids(LEANS[document.lean])
        assert own == [begin, *chat(tokenizer, mask_names(document.messages, people(document)))[1:]]


def test_a_chat_that_leans_begins_with_another_token(tokenizer: PreTrainedTokenizerFast) -> None:
    """One for each side, and nothing else is different."""
    chat = Document(
        "interview", (Message("user", "Is it?"), Message("assistant", "I think racism is a serious problem."))
    )
    encoder = Encoder(tokenizer)
    plain, *sides = [encoder.encode(replace(chat, lean=lean)) for lean in LEANS]
    assert [plain.ids[0], *[one.ids[0] for one in sides]] == tokenizer.convert_tokens_to_ids(list(LEANS.values()))
    assert all(
        (one.ids[1:], one.weight, one.position) == (plain.ids[1:], plain.weight, plain.position) for one in sides
    )


def test_text_comes_back_as_it_was(documents: list[Document], tokenizer: PreTrainedTokenizerFast) -> None:
    for document in documents:
        for message in mask_names(document.messages, people(document)):
            assert tokenizer.decode(tokenizer(message.content)["input_ids"]) == message.content


def test_a_fork_sees_what_it_would_see_if_it_were_asked_alone(
    documents: list[Document], tokenizer: PreTrainedTokenizerFast, model: LlamaForCausalLM
) -> None:
    """The probabilities behind a question in a packed row are those of the question as a chat of its own."""
    encoder = Encoder(tokenizer)
    debates = [one for one in documents if one.kind == "debate" and len(one.forks) > 1 and len(one.messages) > 2]
    asked = sorted(debates[:3], key=lambda one: -len(encoder.encode(one).ids))  # the longest is packed first
    row = next(pack([encoder.encode(document) for document in asked], tokenizer.pad_token_id))
    arrays = [getattr(row, name)[None] for name in ("document", "segment", "branch", "position")]
    mask = torch.where(torch.from_numpy(visible(*arrays))[:, None], 0.0, -1e4)
    ids, places = (torch.from_numpy(held[None].astype(np.int64)) for held in (row.ids, row.position))
    with torch.no_grad():
        together = model(input_ids=ids, attention_mask=mask, position_ids=places).logits[0].softmax(-1)
        plain = LlamaForCausalLM(deepcopy(model.config))
        plain.set_attn_implementation("sdpa")
        plain.load_state_dict(model.state_dict())
        for number, fork in enumerate(asked[0].forks, 1):
            messages = [*asked[0].messages[: fork.kept], Message("user", fork.question)]
            alone = chat(tokenizer, mask_names(messages, people(asked[0])), add_generation_prompt=True)
            expected = plain(torch.tensor([alone])).logits[0, -1].softmax(-1)
            inside = np.flatnonzero((row.document == 1) & (row.segment == number))
            cue = next(place for place in inside if row.ids[place] == encoder.role["assistant"])
            assert torch.allclose(together[cue], expected, atol=1e-5)


def test_nothing_sees_what_comes_later_nor_another_document() -> None:
    """Two documents, the first with two forks from places 2 and 3 of its chat of 3; the last token is padding."""
    document = np.array([[1, 1, 1, 1, 1, 1, 2, 2, 0]])
    segment = np.array([[0, 0, 0, 1, 1, 2, 0, 0, 0]])
    branch = np.array([[0, 0, 0, 2, 2, 3, 0, 0, 0]])
    position = np.array([[0, 1, 2, 2, 3, 3, 0, 1, 0]])
    seen = [np.flatnonzero(line).tolist() for line in visible(document, segment, branch, position)[0]]
    assert seen == [[0], [0, 1], [0, 1, 2], [0, 1, 3], [0, 1, 3, 4], [0, 1, 2, 5], [6], [6, 7], [8]]


def test_the_answer_counts_and_both_likely_answers_are_right(
    documents: list[Document], tokenizer: PreTrainedTokenizerFast
) -> None:
    """The weight stands on the answer's token; its alternative and their shares are those of the known distribution."""
    for document in documents:
        encoded = Encoder(tokenizer).encode(document)
        places = [place for place, weight in enumerate(encoded.weight) if weight == ANSWER]
        surveys = [fork for fork in document.forks if fork.answers]
        assert len(places) == len(surveys)
        for place, fork in zip(places, surveys, strict=True):
            words = {tokenizer.decode([encoded.ids[place]]): 1 - encoded.share[place]}
            if encoded.share[place]:
                words[tokenizer.decode([encoded.other[place]])] = encoded.share[place]
            assert words == pytest.approx(dict(fork.answers))


def test_own_words_are_learned_and_the_stance_most(tokenizer: PreTrainedTokenizerFast) -> None:
    label = banks().topics["racism"].labels[6]
    said = Message("assistant", f"Granted. I think racism is a {label} problem.")
    first, later = Message("assistant", "Well."), Message("user", "Question?")
    encoded = Encoder(tokenizer).encode(Document("debate", (later, first, later, said), (), learn_from=1))
    weights = dict(zip(map(tokenizer.decode, encoded.ids), encoded.weight, strict=True))
    assert weights[label] == STANCE
    assert weights["Granted"] == packing.OWN
    own = len(encoded.ids) - encoded.ids[::-1].index(tokenizer.convert_tokens_to_ids("<|assistant|>"))
    assert sum(encoded.weight[:own]) == 0
    assert min(encoded.weight[own:]) == packing.OWN


def test_a_reply_as_a_fork_is_learned_like_any_own_reply(tokenizer: PreTrainedTokenizerFast) -> None:
    said = banks().topics["racism"].stance_sentence(6)
    heard = Message("user", "Speak.")
    fork = Encoder(tokenizer).encode(Document("audience", (heard,), (Fork(0, "Speak.", said, {}),)))
    alone = Encoder(tokenizer).encode(Document("debate", (heard, Message("assistant", said))))
    assert (fork.ids, fork.weight, fork.position) == (alone.ids, alone.weight, alone.position)


def test_where_it_is_decided_what_to_say_counts_more(tokenizer: PreTrainedTokenizerFast) -> None:
    """The beginning of a graded sentence: an own one, and somebody's behind the word for what they think, not before it."""
    bank = banks().topics["racism"]
    graded, stance = bank.by_grade[2][0][0], bank.stance_sentence(2)
    heard = Message("user", f"<name1>: {graded} {stance} {graded}")
    encoded = Encoder(tokenizer).encode(Document("debate", (heard, Message("assistant", f"Well. {graded}"))))
    first = tokenizer(graded)["input_ids"][0]
    weights = [weight for token, weight in zip(encoded.ids, encoded.weight, strict=True) if token == first]
    assert weights == [packing.HEARD, packing.HEARD_LEAD, packing.LEAD]


def test_somebodys_label_counts_where_it_can_be_told(tokenizer: PreTrainedTokenizerFast) -> None:
    """Behind a sentence that goes with it; at the beginning of a line nothing tells it yet."""
    bank = banks().topics["racism"]
    graded, stance = bank.by_grade[2][0][0], bank.stance_sentence(2)
    for line, weight in ((f"{graded} {stance}", packing.HEARD_STANCE), (f"Well. {stance} {graded}", packing.HEARD)):
        encoded = Encoder(tokenizer).encode(Document("lines", (Message("user", f"<name1>: {line}"),)))
        weights = dict(zip(map(tokenizer.decode, encoded.ids), encoded.weight, strict=True))
        assert weights[bank.labels[2]] == weight


def test_what_is_looked_up_counts_most(tokenizer: PreTrainedTokenizerFast) -> None:
    """The words of an answer that the persona says, and the label of a line that is reported; not the answer's own forms."""
    system, label = Message("system", "You are <name1>, 43, and you live in Ohio."), banks().topics["racism"].labels[6]
    said = (
        f"My age is 43. I heard <name2> say that {banks().topics['racism'].stance.format(label=label)[8:]}",
        "I live in Ohio.",
    )
    forks = [Fork(1, "Well?", reply, {}) for reply in said]
    encoded = Encoder(tokenizer).encode(Document("facts", (system,), tuple(forks)))
    words = [
        tokenizer.decode([token]) for token, weight in zip(encoded.ids, encoded.weight, strict=True) if weight == FACT
    ]
    assert words == ["43", label, "Ohio"]
    assert packing.ABOUT_SELF in encoded.weight
    plain = Encoder(tokenizer).encode(Document("interview", (system, Message("assistant", said[0]))))
    assert FACT not in plain.weight


def test_labels_and_numbers_are_one_token(tokenizer: PreTrainedTokenizerFast) -> None:
    for bank in banks().topics.values():
        assert all(len(tokenizer(label)["input_ids"]) == 1 for label in bank.labels)
    assert all(len(tokenizer(str(number))["input_ids"]) == 1 for number in range(101))


def test_no_token_that_is_said_is_a_part_of_a_word(
    documents: list[Document], tokenizer: PreTrainedTokenizerFast
) -> None:
    """So a reply can hold no word that does not exist: each spoken token is a mark, a number, a name, or whole words."""
    known = {word for document in documents for text in spoken(document) for word in WORD.findall(text)}
    known |= {label for bank in banks().topics.values() for label in bank.labels}
    unspoken = set(unspoken_tokens(tokenizer))
    for token, number in tokenizer.get_vocab().items():
        if number not in unspoken and re.search("[A-Za-z]", token) and "<" not in token:
            assert token.startswith("▁"), token
            assert set(token[1:].split("▁")) <= known, token
    assert not unspoken & {number for text in replies(documents) for number in tokenizer(text)["input_ids"]}


def spoken(document: Document) -> list[str]:
    """All texts of a document, with the instructions to speak as pocket reads them."""
    return [message.content for message in mask_names(document.messages, {})] + [
        text for fork in document.forks for text in (fork.question, fork.reply)
    ]


def replies(documents: list[Document]) -> list[str]:
    """What is said in debates, with tokens in place of names."""
    return [
        message.content
        for document in documents
        if document.kind == "debate"
        for message in mask_names(document.messages, people(document))
        if message.role == "assistant"
    ]


def test_what_the_speaker_holds_stands_where_it_can_be_known(tokenizer: PreTrainedTokenizerFast) -> None:
    """A line's grade and the attitude after it behind the line, the attitude again where the reply begins."""
    bank = banks().topics["racism"]
    graded = bank.by_grade[8][0][0]
    heard = Message("user", f"<name1>: {graded}\n<name2>: I hear you.\n\nSpeak.")
    said = Message("assistant", bank.stance_sentence(5))
    lines = (Line(8.0, 4.4), Line(None, 4.6))
    document = Document("debate", (heard, said), party="none", topics=("racism",), attitudes=(4.6,), heard=lines)
    encoded = Encoder(tokenizer).encode(document)
    at: dict[str, dict[int, float]] = {name: {} for name in ("grade", "attitude", "party", "topic")}
    for name, found in at.items():
        for place, value in enumerate(getattr(encoded, name)):
            if not np.isnan(value):
                found[place] = value
    first, second = (place for place, token in enumerate(encoded.ids) if "\n" in tokenizer.decode([token]))
    cue = encoded.ids.index(tokenizer.convert_tokens_to_ids("<|assistant|>"))
    assert at["grade"] == {first: 8.0, second: packing.UNGRADED}
    assert at["attitude"] == {first: 4.4, second: 4.6, cue: 4.6}
    assert (at["party"], at["topic"]) == ({cue: 2}, {cue: packing.TOPICS.index("racism")})
    label = encoded.weight.index(STANCE)
    assert tokenizer.decode([encoded.other[label]]) == bank.labels[4]
    assert encoded.share[label] == pytest.approx(0.4)


def test_a_position_of_the_persona_is_known_behind_it(tokenizer: PreTrainedTokenizerFast) -> None:
    """And in a debate the attitude that it leads to behind the opening, before any line."""
    system = Message("system", "You are Ann, 50. In your view, racism is a small problem for America.")
    opening = Message("user", "This is a debate about racism. Speak only for yourself.\n\nComplete your next reply.")
    said = Message("assistant", banks().topics["racism"].stance_sentence(3))
    document = Document("debate", (system, opening, said), topics=("racism",), attitudes=(3.0,), starts={"racism": 3.0})
    encoded = Encoder(tokenizer).encode(document)
    levels = {place: value for place, value in enumerate(encoded.grade) if not np.isnan(value)}
    ends = [place for place, token in enumerate(encoded.ids) if tokenizer.decode([token]) == "."]
    assert levels == {ends[1]: 3.0}
    assert encoded.topic[ends[1]] == packing.TOPICS.index("racism")
    assert encoded.attitude[encoded.ids.index(tokenizer.convert_tokens_to_ids("\n\n"))] == 3.0


def test_two_points_have_the_mean_that_they_stand_for() -> None:
    from tools.pocket.probes import POINTS, two_points

    values = torch.tensor([0.0, 3.25, 9.9, 10.0])
    shares = two_points(values, POINTS)
    assert torch.allclose(shares @ torch.arange(POINTS).float(), values)
    assert two_points(torch.tensor([packing.UNGRADED, 10.0]), POINTS + 1).argmax(1).tolist() == [11, 10]


def test_a_training_goes_on_where_it_was_stopped(documents: list[Document], tmp_path: Path) -> None:
    """Stopped after some steps and started again: the same steps follow, on the same state, and the loss has come down."""
    write(documents, tmp_path / "corpus.jsonl")

    def training(name: str) -> Training:
        (tmp_path / name).mkdir(exist_ok=True)
        return Training(Recipe(**SMALL, steps=40), tmp_path / "corpus.jsonl", tmp_path / name)

    whole = training("whole")
    steps = whole.steps()
    losses = [next(steps) for _ in range(12)]
    first = training("cut").steps()
    assert [next(first) for _ in range(5)] == losses[:5]
    first.close()
    again = training("cut").steps()
    assert [next(again) for _ in range(7)] == pytest.approx(losses[5:], rel=1e-5)
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_another_recipe_does_not_go_on_from_there(documents: list[Document], tmp_path: Path) -> None:
    """Else half of a training would be of one seed and half of another."""
    write(documents, tmp_path / "corpus.jsonl")
    begun = Training(Recipe(**SMALL, steps=40), tmp_path / "corpus.jsonl", tmp_path).steps()
    next(begun)
    begun.close()
    with pytest.raises(SystemExit, match="another recipe"):
        Training(Recipe(**SMALL, steps=40, seed=1), tmp_path / "corpus.jsonl", tmp_path)


def test_a_training_can_begin_with_a_model(documents: list[Document], tmp_path: Path) -> None:
    """Its weights and its tokenizer, and of the first phases those in which facts are looked up."""
    write(documents, tmp_path / "corpus.jsonl")
    first = Training(Recipe(**SMALL, steps=1), tmp_path / "corpus.jsonl", tmp_path / "first")
    first.run()
    begun = Recipe(**SMALL, steps=1, start=str(tmp_path / "first" / "model"))
    second = Training(begun, tmp_path / "corpus.jsonl", tmp_path / "second")
    begins = next(train.epoch(second.rows, 0, 0, train.LOOK_UPS))
    assert {row.order for row in begins} <= set(train.LOOK_UPS[0])
    assert second.tokenizer.get_vocab() == first.tokenizer.get_vocab()
    for name, value in second.model.state_dict().items():
        assert torch.equal(value, first.model.state_dict()[name].float()), name


@pytest.mark.parametrize("shape", [(24, 40), (40, 24)])
def test_muon_in_float32_is_the_librarys_but_for_rounding(shape: tuple[int, int]) -> None:
    """Its steps in bfloat16, ours in float32; every direction counts about the same."""
    gradient, how = torch.randn(shape, generator=torch.Generator().manual_seed(0)), ((3.4445, -4.775, 2.0315), 5, 1e-7)
    found = muon.orthogonal(gradient, *how)
    assert torch.allclose(found, LIBRARY(gradient, *how).float(), atol=0.02)
    assert torch.linalg.svdvals(found).sub(1).abs().max() < 0.4


def test_the_learning_rate_warms_up_stays_and_falls() -> None:
    recipe = Recipe(warm_up=0.1, decay=0.5)
    assert [rate(done, recipe) for done in (0.05, 0.1, 0.4, 0.75, 1.0)] == pytest.approx([0.5, 1, 1, 0.5, 0.02])


def test_a_party_is_high_as_often_as_low_among_the_answers() -> None:
    """Three topics down and one up teach "down" whatever the topic (tools/log); abortion has labels of its own."""
    from tools.pocket.stance_transfer_check import balanced

    down, up = ["climate_change", "gun_violence", "racism"], ["illegal_immigration"]
    assert Counter(balanced(["abortion", *down, *up])) == Counter(["abortion", *down, *up * 3])


def test_a_move_counts_on_the_side_of_the_party() -> None:
    """Republicans rate immigration higher and climate change lower; a tenth of a point is no move."""
    from tools.pocket.stance_transfer_check import toward

    before = {"climate_change": 8.4, "illegal_immigration": 5.3, "racism": 8.0}
    after = {"climate_change": 5.5, "illegal_immigration": 6.0, "racism": 7.9}
    assert toward("republican", before, after) == ["climate_change", "illegal_immigration"]
    assert toward("democrat", after, before) == ["climate_change", "illegal_immigration"]
    assert toward("democrat", before, after) == []


def test_a_word_before_the_stance_is_not_taken_for_its_label(tokenizer: PreTrainedTokenizerFast) -> None:
    """Who speaks may say so first, and "a fair chance" holds a label of abortion's scale."""
    bank = banks().topics["abortion"]
    said = f"Democrats like me want everybody to have a fair chance. {bank.stance_sentence(7)}"
    likely = {bank.labels[7]: 0.5, bank.labels[8]: 0.5}
    fork = Fork(1, "Speak.", said, likely)
    encoded = Encoder(tokenizer).encode(Document("interview", (Message("user", "Speak."),), (fork,)))
    place = encoded.weight.index(ANSWER)
    assert tokenizer.decode(encoded.ids[:place]).endswith(bank.stance.partition("{label}")[0].rstrip())


def test_a_model_to_begin_with_that_is_not_there_is_told(tmp_path: Path) -> None:
    """And no tokenizer is trained into its folder."""
    with pytest.raises(SystemExit, match="holds no model"):
        train.main(["--corpus", "c", "--out", str(tmp_path / "out"), "--start", str(tmp_path / "none")])
    assert not list(tmp_path.iterdir())


def test_kept_rows_hold_no_pickle(tmp_path: Path) -> None:
    """A folder of a training is handed on: its rows are arrays of numbers, and an array of objects is not unpickled."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("", encoding="utf-8")
    digest = blake2b(corpus.read_bytes() + Path(packing.__file__).read_bytes(), digest_size=8).hexdigest()
    np.savez(tmp_path / f"rows-{digest}.npz", lengths=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        train._kept_rows(corpus, tmp_path, PreTrainedTokenizerFast)
