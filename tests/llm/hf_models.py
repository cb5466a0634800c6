"""Tiny random models of several families with a tokenizer of our own, saved to disk: real code, no download."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from parley.agents.topic import topic_names
from parley.llm.backends.oracle.phrases import banks

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 512,
}
FAMILIES = {
    "llama": ("LlamaConfig", {"num_key_value_heads": 2}),
    "mistral": ("MistralConfig", {"num_key_value_heads": 2, "sliding_window": None}),
    "qwen2": ("Qwen2Config", {"num_key_value_heads": 2}),
    "gemma": ("GemmaConfig", {"num_key_value_heads": 2, "head_dim": 8}),
    "phi": ("PhiConfig", {}),
}


def save(folder: Path, family: str, template: str | None = CHAT, context: int = 2048) -> Path:
    """Make a model of a family, always the same one, and save it."""
    name, extra = FAMILIES[family]
    torch.manual_seed(7)
    ends = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
    config = getattr(transformers, name)(**SHAPE, **extra, **ends, max_position_embeddings=context)
    model = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.2)  # else every next token is about as likely as any other
    model.save_pretrained(folder)
    tokenizer(template).save_pretrained(folder)
    return folder


def tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    """A byte-level BPE of 512 tokens, trained on sentences of the oracle."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    lines = [
        form[0]
        for slug, bank in banks().topics.items()
        if slug in topic_names()
        for grade in bank.by_grade.values()
        for form in grade
    ]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=512, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<|pad|>", eos_token="<|end|>")
    fast.chat_template = template
    return fast
