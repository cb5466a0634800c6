"""A key that a server repeats, in whatever form, is in no reply and on no terminal (llm/secrets.py)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from parley.llm import secrets
from parley.llm.backends.openai.payload import sanitise
from parley.llm.secrets import hide, note_address, note_secret

from .loopback import Act, Loopback, problem, said
from .test_openai import after_the_probe, backend, question

KEY = "sk-CANARY/a+1c2d3e4f"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS = {
    "plain": KEY,
    "capitals": KEY.upper(),
    "json": "".join(f"\\u{ord(sign):04X}" for sign in KEY),
    "php": KEY.replace("/", "\\/"),
    "twice": json.dumps(json.dumps({"Authorization": f"Bearer {KEY}"})),
    "address": quote(KEY, safe=""),
    "html": "".join(f"&#{ord(sign)};" for sign in KEY),
    "hexadecimal": KEY.encode().hex(),
    "base64": _base64(KEY),
    "bearer": _base64(f"Bearer {KEY}"),
    "user": _base64(f"user:{KEY}"),
    "basic": _base64(f"ab:{KEY}").replace("+", "-").replace("/", "_"),
    "base64 in an address": quote(_base64(f"Bearer {KEY}"), safe=""),
}
"""What servers are known to send back, and a few forms more."""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(secrets, "_keys", set())
    secrets._forms.cache_clear()
    yield
    secrets._forms.cache_clear()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_key_is_hidden(form: str):
    note_secret(KEY)
    assert hide(f"got {FORMS[form]} today").startswith("got ")
    assert "(secret)" in hide(f"got {FORMS[form]} today")
    left = hide(FORMS[form])
    assert not {FORMS[form], KEY} & {left, hide(left)}
    assert not any(part.lower() in left.lower() for part in ("CANARY", _base64(KEY)[4:-6], "43414e415259"))


def test_a_text_without_a_key_stays_as_it_is():
    """Escapes are resolved only where a key was; a short key, as servers without keys take, is a word like any other."""
    note_secret(KEY)
    note_secret("none")
    text = "100% of \\u0041 &amp; none \\/ other"
    assert hide(text) == text


def test_the_query_of_an_address_is_a_key():
    note_address("https://lab.example/v1?api-key=QUERY-CANARY&v=1")
    assert hide("wrong QUERY-CANARY here") == "wrong (secret) here"


@pytest.mark.parametrize("letters", ["a", "QmVhcmVy", "\\u0041", "%41", "sk-CANARY"])
def test_long_texts_are_read_in_linear_time(letters: str):
    note_secret(KEY)
    began = time.process_time()
    hide(letters * (100_000 // len(letters)) + KEY)
    assert time.process_time() - began < 0.2


def test_a_reply_never_repeats_a_key_whatever_the_server_sends():
    """The body is decoded JSON, so escapes of the body itself, text, thoughts, errors and names of models are covered."""
    plans = [
        Act(body=said("X").body.replace(b'"X"', f'"your key: {FORMS["json"]}"'.encode())),
        Act(body=said("X").body.replace(b'"X"', f'"your key: {FORMS["php"]}"'.encode())),
        said("fine", message={"reasoning_content": FORMS["bearer"]}),
        said("fine", message={"refusal": FORMS["twice"]}),
        problem(400, FORMS["user"]),
        Act(status=400, body=json.dumps({"headers": {"Authorization": FORMS["bearer"]}}).encode()),
        said("X", message={"content": [{"text": KEY[:9]}, {"text": KEY[9:]}]}),
    ]
    plan = after_the_probe(lambda body, _: plans[int(body["messages"][-1]["content"])])
    with Loopback(plan) as server:
        replies = backend(server, key=KEY, attempts=1).complete([question(str(place)) for place in range(len(plans))])
    for reply in replies:
        assert "(secret)" in reply.to_json()
        assert "CANARY" not in reply.to_json()
        assert _base64(f"Bearer {KEY}")[12:] not in reply.to_json()
    assert "CANARY" not in sanitise(FORMS["json"])
