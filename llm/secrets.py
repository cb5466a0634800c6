"""Hides keys in texts that come from a server: some repeat a key in a reply, an error or a header.

`hide` knows the keys that this process has read. It finds them as they are, in the escapes of JSON, of addresses and of HTML,
in hexadecimal, and in Base64 behind whatever words (`Bearer KEY`, `user:KEY`).
"""

from __future__ import annotations

import base64
import re
import string
from dataclasses import replace
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from parley.llm.request import Reply

SHORTEST = 8
"""Letters of the shortest key that is hidden. Servers without keys take any word, and a word may be part of a sentence."""
HIDDEN = "(secret)"
_IN_BASE64 = string.ascii_letters + string.digits + "+/-_="
_ESCAPED = re.compile(r"\\+(?:u00|x)([\da-f]{2})|%([\da-f]{2})|&#(?:x0*([\da-f]{2})|0*(\d{2,3}));|\\+(/)", re.I)
_keys: set[str] = set()


def note_secret(key: str) -> None:
    """Hide this key from now on."""
    if len(key) >= SHORTEST and key not in _keys:
        _keys.add(key)
        _forms.cache_clear()


def note_address(url: str) -> None:
    """Hide the values in the query of an address from now on, such as that of `?api-key=`."""
    for _, value in parse_qsl(urlsplit(url).query):
        note_secret(value)


def hide(text: str) -> str:
    """Return a text without the keys of this process. Where a key was, the escapes in the rest of the text are resolved.

    >>> note_secret("sk-CANARY-1")
    >>> hide("your key is sk-CANARY-1"), hide("sk-CAN%41RY-1 is no key"), hide("QmVhcmVyIHNrLUNBTkFSWS0x is its Base64")
    ('your key is (secret)', '(secret) is no key', '(secret) is its Base64')
    """
    if not _keys:
        return text
    plain = _unescaped(text)
    lower, shown = plain.lower(), plain
    for form, in_base64 in _forms():
        if form in lower:
            pieces = re.split(re.escape(form), shown, flags=re.I)
            if in_base64:  # what surrounds it in the same word is the rest of the same text
                inner = [piece.lstrip(_IN_BASE64) for piece in pieces[1:]]
                pieces = [piece.rstrip(_IN_BASE64) for piece in [pieces[0], *inner][:-1]] + inner[-1:]
            shown = HIDDEN.join(pieces)
    return text if shown is plain else shown


def hide_in(reply: Reply) -> Reply:
    """Return a reply with no key of this process in its text, its thoughts, its failure and its notes."""
    if not _keys:
        return reply
    failure = reply.failure and reply.failure._replace(detail=hide(reply.failure.detail))
    notes = {hide(name): count for name, count in reply.notes.items()}
    text = None if reply.text is None else hide(reply.text)
    return replace(reply, text=text, failure=failure, thinking=hide(reply.thinking), notes=notes)


def _unescaped(text: str) -> str:
    """Return a text without escapes of visible ASCII signs, up to three deep."""
    for _ in range(3):
        if not any(sign in text for sign in "\\%&"):
            break
        text = _ESCAPED.sub(_sign, text)
    return text


def _sign(escape: re.Match[str]) -> str:
    in_json, in_address, in_html, number, _slash = escape.groups()
    code = int(number) if number else int(in_json or in_address or in_html or "2f", 16)
    return chr(code) if 32 < code < 127 else escape[0]


@cache
def _forms() -> list[tuple[str, bool]]:
    """Return every form of every key in small letters, the longest first, and whether it is Base64."""
    forms = {form.lower(): False for key in _keys for form in (key, key.encode().hex())}
    forms |= {core.lower(): True for key in _keys for offset in range(3) for core in _cores(key.encode(), offset)}
    return sorted(forms.items(), key=lambda form: -len(form[0]))


def _cores(key: bytes, offset: int) -> list[str]:
    """Return what the Base64 of a text has in common, whatever its other bytes are, if the key begins at this offset of three."""
    whole = (offset + len(key)) // 3 * 3 - offset  # bytes of the key up to the end of a group of three
    core = base64.b64encode(b"\0" * offset + key[:whole])[4 * (offset > 0) :].decode()
    return [core, core.replace("+", "-").replace("/", "_")] if len(core) >= SHORTEST else []
