"""Reads a body within bounds: raw bytes are counted, and what they unpack to is bounded as well.

A few kilobytes can unpack to gigabytes, so no more is ever unpacked than is still allowed. Only
`gzip` is known: whatever else a server sends in spite of `Accept-Encoding` is refused, and so is
one encoding within another.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from controller.api.errors import ActionError
from controller.sources.web.failures import FetchFailure, fetch_error, named

ACCEPT_ENCODING: Final = "gzip, identity"

_GZIP: Final = 16 + zlib.MAX_WBITS
_PATIENCE_BYTES: Final = 1024 * 1024
"""A small text that repeats itself unpacks to much: up to here the ratio is no sign of malice."""


@dataclass(frozen=True, kw_only=True)
class BodyBounds:
    """How much of a body is read.

    Attributes:
        raw_bytes: as it is sent.
        decoded_bytes: as it is unpacked.
        ratio: decoded bytes for each raw byte, looked at beyond 1 MiB of decoded bytes.
        is_cut: whether a longer body is cut instead of refused.
    """

    raw_bytes: int = 5 * 1024 * 1024
    decoded_bytes: int = 20 * 1024 * 1024
    ratio: int = 100
    is_cut: bool = False

    def cut_at(self, size: int) -> BodyBounds:
        """Return bounds that cut what is longer than `size` bytes, raw or decoded."""
        return BodyBounds(raw_bytes=size, decoded_bytes=size, ratio=self.ratio, is_cut=True)


async def read_body(
    url: str,
    chunks: AsyncIterator[bytes],
    *,
    encodings: Sequence[str],
    announced: str | None,
    bounds: BodyBounds,
) -> bytes:
    """Read and decode a body.

    Args:
        url: whose it is, for messages.
        chunks: the body as it is sent; it is left where a bound is reached.
        encodings: the encodings that the answer names, in their order.
        announced: the answer's `Content-Length`, as it stands there.
        bounds: how much is read.

    Raises:
        PermanentError: `TooLarge`.
        RetryableError: `BadResponse`: another encoding, or what is no gzip.
    """
    body = _Body(url, bounds, is_gzip=_is_gzip(url, encodings))
    if announced is not None and announced.isdecimal():
        body.expect(int(announced[:19]))
    async for chunk in chunks:
        if body.take(chunk):
            return body.decoded()
    body.require_end()
    return body.decoded()


def _is_gzip(url: str, encodings: Sequence[str]) -> bool:
    names = [name for e in encodings if (name := e.strip().lower()) not in {"", "identity"}]
    if not names:
        return False
    if len(names) == 1 and names[0] in {"gzip", "x-gzip"}:
        return True
    raise fetch_error(
        FetchFailure.BAD_RESPONSE,
        f"{named(url)} is encoded in a way that was not asked for; only gzip, once, is decoded",
    )


class _Body:
    """What has come of a body, unpacked as far as it is allowed."""

    def __init__(self, url: str, bounds: BodyBounds, *, is_gzip: bool) -> None:
        self._url = url
        self._bounds = bounds
        self._is_gzip = is_gzip
        self._raw = 0
        self._decoded = bytearray()
        self._member = zlib.decompressobj(_GZIP)

    def expect(self, size: int) -> None:
        """Refuse a body at once that is announced as too large."""
        if size > self._bounds.raw_bytes and not self._bounds.is_cut:
            raise self._too_large(f"{self._bounds.raw_bytes} bytes")

    def take(self, chunk: bytes) -> bool:
        """Take a chunk; return whether the body ends here, because it is cut."""
        allowed = chunk[: self._bounds.raw_bytes - self._raw]
        self._raw += len(chunk)
        if self._is_gzip:
            self._unpack(allowed)
        else:
            self._decoded += allowed
        if self._raw > self._bounds.raw_bytes:
            excess = f"{self._bounds.raw_bytes} bytes"
        elif len(self._decoded) > self._most():
            excess = f"{self._most()} decoded bytes, from {self._raw} that were sent"
        else:
            return False
        if not self._bounds.is_cut:
            raise self._too_large(excess)
        return True

    def require_end(self) -> None:
        """Refuse a gzip that ends before its end; an empty body is empty in any encoding."""
        if self._is_gzip and self._raw and not self._member.eof:
            raise self._broken()

    def decoded(self) -> bytes:
        """Return the body, decoded and within its bounds."""
        return bytes(self._decoded[: self._bounds.decoded_bytes])

    def _most(self) -> int:
        """Return how many decoded bytes what has come may stand for."""
        by_ratio = max(_PATIENCE_BYTES, self._bounds.ratio * self._raw)
        return min(self._bounds.decoded_bytes, by_ratio)

    def _unpack(self, data: bytes) -> None:
        """Unpack member by member, to one byte beyond what is allowed at most."""
        while data and len(self._decoded) <= self._most():
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
            left = self._most() + 1 - len(self._decoded)
            try:
                self._decoded += self._member.decompress(data, left)
            except zlib.error:
                raise self._broken() from None
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail

    def _too_large(self, excess: str) -> ActionError:
        message = f"{named(self._url)} is larger than {excess}; the rest is not read"
        return fetch_error(FetchFailure.TOO_LARGE, message)

    def _broken(self) -> ActionError:
        message = f"{named(self._url)} is no whole gzip, which it says it is"
        return fetch_error(FetchFailure.BAD_RESPONSE, message)
