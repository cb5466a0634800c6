"""Reads the body of an answer, and never more than MOST_BYTES of it, as it was sent or unpacked."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable

import aiohttp

MOST_BYTES = 8_000_000
"""The longest body. 4,000 tokens with their 20 likeliest tokens each, the longest that is ever asked for, are 7 MB."""
PACKING = "gzip"
"""What a server may pack its replies with. Others (brotli, zstd) cannot be unpacked up to a length only."""


class BadBody(Exception):
    """A body that is too long, or that is packed in a way that was not asked for."""


async def read_body(response: aiohttp.ClientResponse, on_chunk: Callable[[bytes], None] | None = None) -> bytes:
    """Return the whole body of a response that its session does not unpack, unpacked. Errors: BadBody.

    `on_chunk` gets each piece as it comes.
    """
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if not on_chunk and (response.content_length or MOST_BYTES) < MOST_BYTES:  # the usual case, in one step
        body = await response.read()
    else:
        body = b"".join([chunk async for chunk in _bounded(response.content, on_chunk)])
    return body if packing in ("", "identity") else _unpack(body, packing)


async def _bounded(stream: aiohttp.StreamReader, on_chunk: Callable[[bytes], None] | None) -> AsyncIterator[bytes]:
    length = 0
    async for chunk in stream.iter_any():
        length += len(chunk)
        if on_chunk:
            on_chunk(chunk)
        if length > MOST_BYTES:
            raise _too_long()
        yield chunk


def _unpack(body: bytes, packing: str) -> bytes:
    if packing != PACKING:
        raise BadBody(f"packed with {packing[:20]!r}, although only {PACKING} was asked for")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)  # 16: with the header of gzip
    try:
        text = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise BadBody(f"no {PACKING}: {error}") from error
    if len(text) > MOST_BYTES:
        raise _too_long()
    if not unpacking.eof:
        raise BadBody(f"no {PACKING}: it breaks off")
    return text


def _too_long() -> BadBody:
    return BadBody(f"too long: more than {MOST_BYTES // 10**6} MB")
