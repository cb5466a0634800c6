"""The transformers backend on tiny random models: what is asked, what is drawn, what a batch must not change."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the [local] extra is not installed")
transformers = pytest.importorskip("transformers", reason="the [local] extra is not installed")

from hf_models import FAMILIES, NO_SYSTEM, save  # noqa: E402

from parley.llm.backends import open_spec  # noqa: E402
from parley.llm.backends.hf import backend  # noqa: E402
from parley.llm.backends.hf.answer_tokens import encode  # noqa: E402
from parley.llm.backends.hf.backend import Hf  # noqa: E402
from parley.llm.backends.hf.generate import Sampler  # noqa: E402
from parley.llm.backends.hf.kv_cache import CachedPrefix, PrefixCache, can_cache  # noqa: E402
from parley.llm.backends.hf.prefill import PromptRow  # noqa: E402
from parley.llm.errors import UserError  # noqa: E402
from parley.llm.request import (  # noqa: E402
    BEGUN,
    Message,
    Reply,
    Request,
    Sampling,
    fold_system_message,
    plain_text,
)
from parley.model.debate import DebateModel  # noqa: E402
from parley.model.events import Rated, Utterance  # noqa: E402
from parley.model.recorder import MemoryRecorder  # noqa: E402

Models = Callable[..., Path]
SCALE = tuple(str(point) for point in range(11))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Two threads on busy cores are many times slower than one."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    made: dict[tuple, Path] = {}

    def make(family: str = "llama", **options: object) -> Path:
        key = (family, *sorted(options.items(), key=str))
        if key not in made:
            made[key] = save(tmp_path_factory.mktemp(family) / family, family, **options)  # type: ignore[arg-type]
        return made[key]

    return make


@pytest.fixture(scope="session")
def llama(models: Models) -> Hf:
    backend = open_spec(f"hf:{models()}")
    assert isinstance(backend, Hf)
    return backend


def question(text: str, seed: int = 1, answers: tuple[str, ...] = (), **sampling: object) -> Request:
    messages = (Message("system", "You are Ann."), Message("user", text))
    return Request(messages, Sampling(**{"max_tokens": 12} | sampling), seed, answers)  # type: ignore[arg-type]


def mixed() -> list[Request]:
    """Short and long, warm and greedy, open and closed, in no order."""
    words = [1, 40, 7, 120, 3, 66]
    opened = [question("word " * n, seed=n, temperature=n % 3 / 2, max_tokens=4 + n % 9) for n in words]
    return [*opened[:3], *[question("rate " * n, n, SCALE, temperature=0.0) for n in words], *opened[3:]]


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_answers_alike_alone_and_in_a_batch(models: Models, family: str) -> None:
    """A reply does not depend on who else is in the batch, to the last bit of its probabilities."""
    backend = open_spec(f"hf:{models(family)}")
    assert backend.complete(mixed()) == [backend.complete([request])[0] for request in mixed()]


def test_keys_that_heads_share_are_read_as_the_library_reads_them() -> None:
    """With padding, more than one new token and several heads to a key: the same numbers, without a copy for every head."""
    from types import SimpleNamespace

    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    from parley.llm.backends.hf.grouped_attention import grouped_attention

    drawn = torch.Generator().manual_seed(0)
    query = torch.randn(3, 4, 5, 8, generator=drawn)
    key, value = (torch.randn(3, 2, 9, 8, generator=drawn) for _ in range(2))
    mask = torch.ones(3, 1, 5, 9, dtype=torch.bool).tril(4)
    mask[1, :, :, :3] = False
    module = SimpleNamespace(num_key_value_groups=2, training=False, is_causal=True)
    found, expected = (
        ask(module, query, key, value, mask, scaling=0.5)[0]
        for ask in (partial(grouped_attention, step=4), sdpa_attention_forward)
    )
    assert torch.allclose(found, expected, atol=1e-6)


def test_greedy_is_the_librarys_greedy(llama: Hf) -> None:
    request = question("What do you think?", temperature=0.0)
    ids = torch.tensor([encode([request], llama.loaded.tokenizer, "auto")[0]])
    out = llama.loaded.model.generate(ids, do_sample=False, max_new_tokens=12)[0, ids.shape[1] :]
    assert llama.complete([request])[0].text == llama.loaded.tokenizer.decode(out, skip_special_tokens=True)


def test_a_reply_that_is_begun_goes_on_from_there(llama: Hf) -> None:
    """The reply is what follows the beginning, and notes that it was begun."""
    request = replace(question("What do you think?", temperature=0.0), begin="Ann:")
    tokenizer = llama.loaded.tokenizer
    ids = torch.tensor(
        [encode([request], tokenizer, "auto")[0] + tokenizer("Ann:", add_special_tokens=False)["input_ids"]]
    )
    out = llama.loaded.model.generate(ids, do_sample=False, max_new_tokens=12)[0, ids.shape[1] :]
    (reply,) = llama.complete([request])
    assert (reply.text, reply.notes) == (tokenizer.decode(out, skip_special_tokens=True), {"begun": 1})


def test_the_library_has_nothing_to_complain_about(llama: Hf) -> None:
    """Every run on hf printed that `past_key_values` is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert llama.complete([question("Well?"), question("Rate it.", answers=SCALE, temperature=0.0)])


def test_draws_follow_the_models_probabilities(llama: Hf) -> None:
    """At temperature 1 the first token is drawn as often as the model says, within 4 standard errors."""
    request = question("And then?")
    ids = torch.tensor([encode([request], llama.loaded.tokenizer, "auto")[0]])
    shares = llama.loaded.model(ids).logits[0, -1].softmax(-1).detach()
    seen = Counter(
        reply.text for reply in llama.complete([question("And then?", seed, max_tokens=1) for seed in range(1500)])
    )
    for token in shares.topk(5).indices.tolist():
        share = float(shares[token])
        text = llama.loaded.tokenizer.decode([token], skip_special_tokens=True)
        assert abs(seen[text] / 1500 - share) < 4 * (share * (1 - share) / 1500) ** 0.5 + 0.002


def test_top_p_leaves_only_the_likeliest(llama: Hf) -> None:
    asked = [question("And then?", seed, max_tokens=1, top_p=1e-6) for seed in range(50)]
    greedy = question("And then?", max_tokens=1, temperature=0.0)
    assert {reply.text for reply in llama.complete(asked)} == {llama.complete([greedy])[0].text}


def test_another_seed_another_text_the_same_seed_the_same(llama: Hf) -> None:
    first, again, other = (llama.complete([question("Well?", seed)])[0].text for seed in (1, 1, 2))
    assert first == again != other


def test_length_and_stop_strings_are_a_rows_own(llama: Hf) -> None:
    """In one batch each row ends at its own number of tokens and before its own stop string."""
    whole = llama.complete([question("Go on.", 5, max_tokens=20)])[0]
    assert whole.text is not None
    stop = whole.text[len(whole.text) // 2 :][:3]
    asked = [
        question("Go on.", 5, max_tokens=20, stop=(stop,)),
        question("Go on.", 5, max_tokens=3),
        question("Go on.", 5, max_tokens=20),
    ]
    cut, short, full = llama.complete(asked)
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert short.usage.completion_tokens <= 3
    assert whole.text.startswith(short.text or "?")
    assert full == whole


def test_a_plain_reply_ends_at_the_next_label(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one text the model knows no turns: its reply ends where a label stands, here one made of what it writes."""
    asked = question("Go on.", 5, max_tokens=20)
    (whole,) = open_spec(f"hf:{models()},style=plain").complete([asked])
    assert whole.text is not None
    stop = whole.text[len(whole.text) // 2 :][:3]
    monkeypatch.setattr("parley.llm.backends.hf.backend.stop_strings", lambda request: (stop,))
    (cut,) = open_spec(f"hf:{models()},style=plain").complete([asked])
    (chat,) = open_spec(f"hf:{models()},style=chat").complete([asked])
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert chat.text


def test_closed_answers_have_their_exact_probabilities(llama: Hf) -> None:
    """Against one plain forward pass per answer: the reply begins with it and with no longer answer; scaled over the answers."""
    answers = (*SCALE, "a very big problem", "no")
    request = question("How big a problem?", answers=answers, temperature=0.0)
    prompt = encode([request], llama.loaded.tokenizer, "auto")[0]
    tokens = llama.loaded.tokenizer
    begun = {}
    for text in answers:
        ids = tokens(text)["input_ids"]
        logs = llama.loaded.model(torch.tensor([prompt + ids])).logits[0].detach().log_softmax(-1)
        begun[text] = float(sum(logs[len(prompt) - 1 + place, token] for place, token in enumerate(ids)).exp())
    assert tokens("10")["input_ids"] == [*tokens("1")["input_ids"], *tokens("0")["input_ids"]]
    begun["1"] -= begun["10"]
    shares = [share / sum(begun.values()) for share in begun.values()]
    (reply,) = llama.complete([request])
    assert reply.answers == pytest.approx(dict(zip(answers, shares, strict=True)), abs=1e-5)
    assert reply.text == answers[shares.index(max(shares))]


def test_closed_answers_are_drawn_at_a_temperature(llama: Hf) -> None:
    drawn = {
        reply.text
        for reply in llama.complete([question("Rate it.", seed, SCALE, temperature=1.0) for seed in range(60)])
    }
    assert len(drawn) > 3
    assert drawn <= set(SCALE)


def test_an_answer_behind_its_beginning_is_read_there(llama: Hf) -> None:
    """A labelled scale: the label's probability after "I think it is a", in one pass where labels are one token each."""
    labels = ("minor", "big")
    request = replace(question("How severe?", answers=labels, temperature=0.0), answer_prefix="I think it is a ")
    prompt = encode([request], llama.loaded.tokenizer, "auto")[0]
    logs = []
    for label in labels:
        ids = llama.loaded.tokenizer(f"I think it is a {label}")["input_ids"]
        logits = llama.loaded.model(torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
        logs.append(sum(logits[len(prompt) - 1 + place, token] for place, token in enumerate(ids)))
    (reply,) = llama.complete([request])
    assert list((reply.answers or {}).values()) == pytest.approx(torch.stack(logs).softmax(-1).tolist(), abs=1e-5)


def test_a_number_behind_its_beginning_is_scored_whole(llama: Hf) -> None:
    """Behind "My rating:", "1" need not end the reply, and takes nothing of what belongs to "10"."""
    asked = replace(question("Rate it.", answers=("1", "7", "10"), temperature=0.0), begin="My rating:")
    tokenizer, model = llama.loaded.tokenizer, llama.loaded.model
    prompt = encode([asked], tokenizer, "auto")[0] + tokenizer("My rating:", add_special_tokens=False)["input_ids"]
    begun = {answer: tokenizer(f" {answer}", add_special_tokens=False)["input_ids"] for answer in asked.answers}
    shares = {}
    for answer, ids in begun.items():
        logits = model(torch.tensor([prompt + ids])).logits[0].log_softmax(-1)
        scores = [logits[len(prompt) - 1 + place, token] for place, token in enumerate(ids)]
        shares[answer] = torch.stack(scores).sum().exp().item()
    if begun["10"][: len(begun["1"])] == begun["1"]:
        shares["1"] -= shares["10"]
    (reply,) = llama.complete([asked])
    expected = {answer: share / sum(shares.values()) for answer, share in shares.items()}
    assert reply.answers == pytest.approx(expected, rel=1e-3)
    assert reply.notes[BEGUN]


def test_min_p_and_top_k_bar_what_is_unlikely(llama: Hf) -> None:
    """Of .5, .3, .15, .05: min_p .4 leaves two tokens, top_k 3 three, and neither all; rows have settings of their own."""
    settings = [{"min_p": 0.4}, {"top_k": 3}, {}]
    rows = [PromptRow(place, question("Why?", **own), [1], ()) for place, own in enumerate(settings)]
    sampler = Sampler(rows, (), torch.device("cpu"))
    kept = sampler._nucleus(torch.tensor([[0.5, 0.3, 0.15, 0.05]] * 3)) > 0
    assert kept.sum(-1).tolist() == [2, 3, 4]
    sampler.select([1])
    assert (sampler._nucleus(torch.tensor([[0.5, 0.3, 0.15, 0.05]])) > 0).sum() == 3


def test_an_improbable_answer_keeps_its_distribution_and_its_share(models: Models, small: Callable) -> None:
    """Below a half of the probability the distribution was thrown away, and with it the only valid readings of small models."""
    recorder = MemoryRecorder()
    DebateModel(small(max_tokens=8), backend=open_spec(f"hf:{models('mistral')}"), recorder=recorder).run()
    ratings = [event for event in recorder.events if isinstance(event, Rated)]
    assert ratings
    for event in ratings:
        assert event.how == "strict, exact"
        assert event.rating is not None
        assert sum(event.probabilities or ()) == pytest.approx(1)
        assert event.covered is not None
        assert 0 < event.covered < 0.5


def turns(count: int, asks: tuple[str, ...] = SCALE) -> Iterator[list[Request]]:
    """A conversation as an agent has it: it grows by what was heard and said; at each turn a survey, then a speech."""
    said = [Message("system", "You are Ann, and you care about this."), Message("user", "Bob: No. " * 12)]
    for turn in range(count):
        survey = Request(
            (*said[:-1], Message("user", f"{said[-1].content} Rate it.")), Sampling(0.0), turn, asks, "survey"
        )
        speech = Request((*said[:-1], Message("user", f"{said[-1].content} Speak.")), Sampling(1.0, 20), turn)
        yield [survey, speech]
        said = [*speech.messages, Message("assistant", f"Well {turn}."), Message("user", f"Bob: Yes {turn}. " * 9)]


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_read_before_changes_nothing_but_the_work(models: Models, family: str) -> None:
    """With keys and values kept, replies are the same to the last bit, and only what is new goes through the model."""
    kept, anew = open_spec(f"hf:{models(family)}"), open_spec(f"hf:{models(family)},keep=0")
    assert isinstance(kept, Hf)
    read: list[int] = []
    kept.loaded.model.register_forward_pre_hook(
        lambda _, __, given: read.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    for asked in turns(5):
        for request in asked:
            read.clear()
            assert kept.complete([request]) == anew.complete([request])
    assert read[0] < 40 < len(encode([request], kept.loaded.tokenizer, "auto")[0])


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_a_kept_row_beside_a_fresh_one_answers_as_it_does_alone(models: Models, family: str) -> None:
    """Padding then stands inside the kept row, between what was read before and what is new."""
    backend, anew = open_spec(f"hf:{models(family)}"), open_spec(f"hf:{models(family)},keep=0")
    begun, *_ = turns(1)
    backend.complete(begun)
    survey = begun[0]
    longer = replace(survey, messages=(survey.messages[0], Message("user", f"{survey.messages[1].content} And yet?")))
    fresh = question(
        "A question that nobody has put before, with some more words to it than the other has. " * 2, 5, SCALE
    )
    asked = [longer, replace(fresh, sampling=Sampling(0.0))]
    assert backend.complete(asked) == anew.complete(asked)


def test_models_that_count_in_columns_keep_nothing() -> None:
    """GPT-Neo's windows and MPT's distances are taken over columns of the cache: padding inside a row would change them."""
    shape = {
        "num_layers": 2,
        "attention_types": [[["global", "local"], 1]],
        "hidden_size": 32,
        "num_heads": 4,
        "vocab_size": 64,
    }
    assert not can_cache(transformers.AutoModelForCausalLM.from_config(transformers.GPTNeoConfig(**shape)))
    llama = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "vocab_size": 64,
    }
    assert can_cache(transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**llama)))


def test_what_is_kept_stays_within_its_bytes(llama: Hf) -> None:
    """Beyond the limit something is dropped; a prompt too large for it is not kept at all; what is left can be found."""
    layers = [(torch.zeros(2, 64, 4), torch.zeros(2, 64, 4))]
    prefixes = PrefixCache(3 * 2 * 2 * 64 * 4 * 4)
    for number in range(10):
        prefixes.keep(CachedPrefix([number] * 64, "", layers), None, 0)
        assert prefixes.used <= prefixes.most
    assert sum(prefixes.find([number] * 64, "")[1] == 63 for number in range(10)) == 3
    assert prefixes.find([9] * 64, "another adapter") == (None, 0)
    before = prefixes.used
    prefixes.keep(CachedPrefix([77] * 64, "", layers * 9), None, 0)
    assert (prefixes.used, prefixes.find([77] * 64, "")) == (before, (None, 0))


def test_a_prompt_that_goes_on_takes_the_place_of_what_it_goes_on_from() -> None:
    prefixes = PrefixCache(1 << 20)
    layers = [(torch.zeros(1, 64, 4), torch.zeros(1, 64, 4))]
    prefixes.keep(CachedPrefix(list(range(64)), "", layers), None, 0)
    source, shared = prefixes.find(list(range(90)), "")
    assert shared == 64
    prefixes.keep(CachedPrefix(list(range(90)), "", layers), source, shared)
    assert prefixes.used == layers[0][0].nbytes * 2
    assert prefixes.find(list(range(100)), "")[1] == 90


def test_workers_change_nothing_but_the_time(models: Models) -> None:
    """Batches beside each other are the same batches, and what is kept of them is kept in the same order."""
    alone, beside = (open_spec(f"hf:{models()},batch=150,keep=1,workers={workers}") for workers in (1, 3))
    assert isinstance(alone, Hf)
    assert isinstance(beside, Hf)
    for _ in range(2):
        assert alone.complete(mixed()) == beside.complete(mixed())
    assert alone.prefixes
    assert beside.prefixes
    assert [kept.ids for kept in alone.prefixes._prefixes] == [kept.ids for kept in beside.prefixes._prefixes]


@pytest.fixture(scope="session")
def adapters(models: Models, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two LoRA adapters of the tiny Llama that do not leave it as it is."""
    peft = pytest.importorskip("peft", reason="the [local] extra is not installed")
    folder, made = tmp_path_factory.mktemp("adapters"), {}
    for seed, name in enumerate(("left", "right")):
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_pretrained(models())
        config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
        peft.get_peft_model(model, config).save_pretrained(folder / name)
        made[name] = folder / name
    return made


def test_adapters_share_a_batch_and_do_not_mix(models: Models, adapters: dict[str, Path]) -> None:
    """Three seats, three speakers, one batch: each answers as it does alone, and unlike the others."""
    backend = open_spec(f"hf:{models()},adapters={'+'.join(map(str, adapters.values()))}")
    base = open_spec(f"hf:{models()}")
    asked = [replace(question("Rate it.", 3, SCALE, temperature=0.0), adapter=name) for name in ("", "left", "right")]
    asked += [replace(question("Speak.", 3), adapter=name) for name in ("", "left", "right")]
    together = backend.complete(asked)
    for request, reply in zip(asked, together, strict=True):
        (alone,) = backend.complete([request])
        assert alone == reply
    assert len({str(reply.answers) for reply in together[:3]}) == 3
    assert together[0].answers == pytest.approx(base.complete(asked[:1])[0].answers, abs=1e-4)
    (lost,) = backend.complete([replace(asked[0], adapter="middle")])
    assert lost.failure is not None
    assert lost.failure.name == "unknown_adapter"
    assert set(backend.identity["adapters"]) == {"left", "right"}


def test_parties_speak_through_their_adapters(models: Models, adapters: dict[str, Path], small: Callable) -> None:
    """A preset's field gives a party its adapter; one that the model does not have is one line."""
    backend = open_spec(f"hf:{models()},adapters={adapters['left']}")
    asked: list[Request] = []

    class Heard:
        in_flight, identity = 0, backend.identity

        def complete(self, requests: list[Request]) -> list[Reply]:
            asked.extend(requests)
            return backend.complete(requests)

    scenario = small(max_tokens=4).with_settings({"adapters": "republican:left"})
    DebateModel(scenario, backend=Heard()).run()
    assert {request.adapter for request in asked} == {"", "left"}
    assert {request.adapter == "left" for request in asked if "Republican" in request.messages[0].content} == {True}
    with pytest.raises(UserError, match="unknown adapter 'lift': did you mean left"):
        DebateModel(scenario.with_settings({"adapters": "republican:lift"}), backend=backend)


def test_a_folder_without_an_adapter_is_one_line(models: Models, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not an adapter folder"):
        open_spec(f"hf:{models()},adapters={tmp_path}")


def test_a_prompt_too_long_is_a_named_failure(models: Models) -> None:
    """Nothing is cut off in silence."""
    backend = open_spec(f"hf:{models(context=64)}")
    long, short = backend.complete([question("word " * 80), question("Hi.")])
    assert long.failure is not None
    assert long.failure.name == "context_overflow"
    assert short.text is not None


def test_a_batch_that_does_not_fit_is_halved() -> None:
    def run(batch: list[int]) -> list[int]:
        if len(batch) > 3:
            raise RuntimeError("CPU: can't allocate memory")
        return [-number for number in batch]

    assert backend.halve_on_memory_error(list(range(10)), run) == [-number for number in range(10)]
    with pytest.raises(RuntimeError, match="something else"):
        backend.halve_on_memory_error([1, 2], lambda batch: (_ for _ in ()).throw(RuntimeError("something else")))


def test_batches_are_alike_in_length_and_small_enough() -> None:
    """Of what is to be read and in all; one row that nothing is known of does not pad those of which most was read before."""
    made = list(backend.batches_by_length([5, 100, 6, 7, 90, 500], lambda row: (row, 0), 200))
    assert made == [[5, 6, 7], [90, 100], [500]]
    known = [(40, 1960)] * 3 + [(2000, 0)]
    assert list(backend.batches_by_length(known, lambda row: row, 16000)) == [[(40, 1960)] * 3, [(2000, 0)]]


def test_a_template_without_a_system_role_still_gets_the_persona(models: Models) -> None:
    backend = open_spec(f"hf:{models(template=NO_SYSTEM)}")
    assert isinstance(backend, Hf)
    told = backend.loaded.tokenizer.decode(encode([question("Hello?")], backend.loaded.tokenizer, "auto")[0])
    assert told == "<|user|>You are Ann.\n\nHello?<|end|><|assistant|>"
    assert fold_system_message([Message("user", "a")]) == [Message("user", "a")]


def test_a_tokenizer_without_a_template_gets_one_plain_text(models: Models) -> None:
    backend = open_spec(f"hf:{models(template=None)}")
    opened, closed = backend.complete([question("Hello?"), question("Rate.", answers=SCALE, temperature=0.0)])
    assert opened.text is not None
    assert closed.text in SCALE
    said = (Message("system", "S"), Message("user", "U"), Message("assistant", "A"), Message("user", "V"))
    assert plain_text(said, closed=False) == "S\n\nU\n\nMe: A\n\nV\n\nMe:"


@pytest.mark.parametrize("load", ["8bit", "4bit"])
def test_quantised_models_answer(models: Models, load: str) -> None:
    pytest.importorskip("bitsandbytes", reason="the [local] extra is not installed")
    backend = open_spec(f"hf:{models()},load={load},dtype=float32")
    replies = backend.complete(mixed())
    assert all(reply.text is not None for reply in replies)
    assert backend.identity["load"] == load


def test_four_bit_gradients_are_right_after_generating(models: Models) -> None:
    """The trap of bitsandbytes on processors with AVX512-BF16: generate, then train, and the gradients are silently wrong."""
    pytest.importorskip("bitsandbytes", reason="the [local] extra is not installed")

    def gradient(generated: bool) -> torch.Tensor:
        backend = open_spec(f"hf:{models()},load=4bit,dtype=float32")
        assert isinstance(backend, Hf)
        if generated:
            backend.complete([question("Hello?")])
        model = backend.loaded.model
        embedded = model.get_input_embeddings()(torch.tensor([[5, 6, 7, 8]])).detach().requires_grad_()
        model(inputs_embeds=embedded).logits.float().pow(2).sum().backward()
        assert embedded.grad is not None
        return embedded.grad.flatten()

    fresh, after = gradient(False), gradient(True)
    assert torch.nn.functional.cosine_similarity(fresh, after, dim=0) > 0.999
    assert float(after.norm() / fresh.norm()) == pytest.approx(1, abs=0.01)


def test_a_debate_runs_on_a_real_transformer(models: Models, small: Callable) -> None:
    """From the first survey to the last: every reply is text of the model, every rating has its distribution."""
    recorder = MemoryRecorder()
    DebateModel(small(max_tokens=16), backend=open_spec(f"hf:{models()}"), recorder=recorder).run()
    assert all(event.text for event in recorder.events if isinstance(event, Utterance))
    ratings = [event for event in recorder.events if isinstance(event, Rated)]
    assert ratings
    assert all(event.rating is not None and event.probabilities is not None for event in ratings)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("hf", "hf needs a model"),
        ("hf:/nowhere/at/all", "cannot load the model /nowhere/at/all"),
        ("hf:x,dtype=int3", "option dtype of hf is 'int3', but must be one of auto, float32"),
        ("hf:x,load=2bit", "option load of hf is '2bit', but must be one of full, 8bit, 4bit"),
        ("hf:x,dtpe=float32", "did you mean dtype"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(spec: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        open_spec(spec)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_adapters_of_one_name_are_one_line(models: Models, adapters: dict[str, Path]) -> None:
    with pytest.raises(UserError, match="two adapters are called left"):
        open_spec(f"hf:{models()},adapters={adapters['left']}+{adapters['left']}")


def test_an_adapter_of_another_model_is_one_line(models: Models, adapters: dict[str, Path], tmp_path: Path) -> None:
    """Of the same shape it would load, and be measured, as if it had been trained on this one."""
    left = shutil.copytree(adapters["left"], tmp_path / "left")
    base = {"model": "llama", "weights": open_spec(f"hf:{models()}").identity["weights"]}
    other = save(tmp_path / "llama", "llama", context=1024)
    for known, spec in ((base, models()), ({**base, "weights": "a" * 40}, models()), ({}, other)):
        (left / "training.json").write_text(json.dumps({"base": known}))
        assert open_spec(f"hf:{spec},adapters={left}").identity["adapters"]
    (left / "training.json").write_text(json.dumps({"base": base}))
    with pytest.raises(UserError, match=f"was trained on another model, llama with weights {base['weights'][:8]}, not"):
        open_spec(f"hf:{other},adapters={left}")


def test_a_change_anywhere_in_the_weights_is_another_model(models: Models, tmp_path: Path) -> None:
    """Same size, same first megabyte: a merged adapter changes the layers and not the embeddings."""
    shutil.copytree(models(), tmp_path / "llama")
    weights = tmp_path / "llama" / "model.safetensors"
    held = bytearray(weights.read_bytes())
    held[-3] ^= 1
    weights.write_bytes(held)
    one, two = open_spec(f"hf:{models()}"), open_spec(f"hf:{tmp_path / 'llama'}")
    assert one.identity["weights"] != two.identity["weights"]


@pytest.mark.parametrize("broken", ["model.safetensors", "device"])
def test_a_broken_file_or_device_is_one_line(models: Models, tmp_path: Path, broken: str) -> None:
    shutil.copytree(models(), tmp_path / "llama")
    (tmp_path / "llama" / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(UserError, match="device 'gpu' is unknown" if broken == "device" else "cannot load the model"):
        open_spec(f"hf:{tmp_path / 'llama'}{',device=gpu' if broken == 'device' else ''}")


def test_a_temperature_close_to_zero_still_draws(llama: Hf) -> None:
    (reply,) = llama.complete([question("Rate it.", 1, SCALE, temperature=0.0005)])
    assert reply.text in SCALE


def test_the_identity_knows_the_weights_and_not_the_place(models: Models, tmp_path: Path) -> None:
    """Other weights under the same name are another model; the folder they lie in is nobody's business."""
    one, two = open_spec(f"hf:{models()}"), open_spec(f"hf:{save(tmp_path / 'llama', 'llama', context=128)}")
    assert one.identity["model"] == two.identity["model"] == "llama"
    assert one.identity["weights"] != two.identity["weights"]
    assert str(tmp_path) not in str(two.identity)


def test_an_embedding_is_the_mean_of_the_last_hidden_states(llama: Hf) -> None:
    """Recomputed here; in its place among other requests, and the same alone as among others."""
    texts = [Request((Message("user", text),), Sampling(0.0, 1), 0, purpose="embedding") for text in ("Trees.", "No!")]
    speech = Request((Message("user", "Speak."),), Sampling(1.0, 3), 1)
    replies = llama.complete([texts[0], speech, texts[1]])
    loaded = llama.loaded
    ids = loaded.tokenizer("No!", add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = loaded.model(input_ids=ids, output_hidden_states=True).hidden_states[-1][0].mean(dim=0)
    assert json.loads(replies[2].text or "") == pytest.approx(expected.tolist(), abs=2e-6)
    assert llama.complete([texts[0]])[0].text == replies[0].text
    assert replies[1].text is None or not replies[1].text.startswith("[")
    long = Request((Message("user", "No! " * loaded.context),), Sampling(0.0, 1), 0, purpose="embedding")
    (cut,) = llama.complete([long])
    assert cut.text is None
    assert cut.failure
    assert cut.failure.name == "context_overflow"


def test_thoughts_are_no_part_of_a_reply(llama: Hf) -> None:
    """A model that thinks first: the agent says the answer alone; a thought that is cut is out_of_tokens, and no line."""
    from types import SimpleNamespace

    from parley.llm.backends.hf import generate

    loaded, row = llama.loaded, SimpleNamespace(stop=(), ids=[1, 2])
    end = min(loaded.ends)

    def reply(text: str, ended: bool) -> Reply:
        def decode(tokens: object, skip_special_tokens: bool) -> str:
            return text.replace("[THINK]", "").replace("[/THINK]", "") if skip_special_tokens else text

        tokenizer = SimpleNamespace(decode=decode)
        tokens = [5, end] if ended else [5]
        return generate._reply(SimpleNamespace(tokenizer=tokenizer, ends=loaded.ends), row, tokens)

    said = reply("<think>Let me see.</think>\nYes.", True)
    assert (said.text, said.thinking) == ("Yes.", "Let me see.")
    special = reply("[THINK]Let me see.[/THINK]Yes.<|im_end|>", True)
    assert (special.text, special.thinking) == ("Yes.", "Let me see."), "marks that are special tokens"
    cut = reply("<think>Let me", False)
    assert cut.text is None
    assert cut.failure
    assert cut.failure.name == "out_of_tokens"
    assert reply("I think so.", True).text == "I think so."
