"""Send webhooks: one POST with one deadline, from the look-up of the name to the last byte.

It also gets small files that others name, with the same care.

The connection goes to an address that was judged. TLS and the header Host keep the name. Proxies
are not used, redirects are not followed, and of an answer to a POST at most 1 KiB is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address

import h11

from ticketing import clock
from ticketing.config import Allowed
from ticketing.notification_types import DeliveryError
from ticketing.services.notifications import webhook_urls
from ticketing.services.notifications.deliveries import Outcome
from ticketing.services.notifications.name_lookup import LookUp
from ticketing.services.notifications.webhook_urls import Address, Target
from ticketing.version import VERSION

DEADLINE_SECONDS = 10.0
KEEP_SECONDS = 4.0
"""How long a connection is used. After that the name is resolved and judged again."""

CONNECT_SECONDS = 3.0
"""The time limit to connect to one address while others are left."""

MAX_ADDRESSES = 4
MAX_ANSWER_BYTES = 1024
MAX_HEADER_BYTES = 16 * 1024
MAX_RECEIVED_BYTES = 64 * 1024
SHOWN_CHARACTERS = 200
LONGEST_RETRY_AFTER_SECONDS = 3600

_OK = 200
_READ_BYTES = 4096
_USER_AGENT = f"ticketing-webhooks/{VERSION}"


_Request = tuple[h11.Request, h11.Data, h11.EndOfMessage]


class _Failed(Exception):
    def __init__(self, error: DeliveryError) -> None:
        super().__init__(error)
        self.error = error


class _Unanswered(Exception):
    """The connection ended before the first byte of an answer."""


class Client:
    """Sends POSTs to one URL, one after another, and keeps the connection for KEEP_SECONDS."""

    def __init__(
        self,
        url: str,
        allow: Sequence[Allowed],
        look_up: LookUp,
        tls: ssl.SSLContext,
        deadline_seconds: float | None = None,
    ) -> None:
        """Make a client without a connection. `url` was checked, `allow` is WEBHOOK_ALLOW.

        `deadline_seconds`: for each request. None: DEADLINE_SECONDS.
        """
        self.url = url
        self._deadline_seconds = deadline_seconds or DEADLINE_SECONDS
        self._target: Target = webhook_urls.parse(url)
        self._allow, self._look_up, self._tls = allow, look_up, tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._http = h11.Connection(h11.CLIENT)
        self._opened_at = 0.0
        self._is_shown = False

    @property
    def is_old(self) -> bool:
        """Whether its connection must not be used again. True if it has none."""
        return self._streams is None or time.monotonic() >= self._opened_at + KEEP_SECONDS

    async def post(self, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Send a POST. Return what the receiver answered, or why it did not."""
        start, outcome = time.monotonic(), Outcome()
        try:
            async with asyncio.timeout(self._deadline_seconds):
                size = {"Content-Type": "application/json", "Content-Length": str(len(body))}
                request = self._request("POST", {**size, **headers}, body)
                outcome = (await self._ask(request)).outcome(is_shown=self._is_shown)
        except _Failed as failure:
            outcome = Outcome(error=failure.error)
        except OSError as error:
            outcome = Outcome(error=_error_of(error))
        finally:
            if outcome.status_code is None:
                self.close()
        return outcome.lasted(time.monotonic() - start)

    async def get(self, most: int, *, is_json: bool = False) -> bytes | None:
        """Send a GET, and close. Return the file. None: none of at most `most` bytes came.

        `is_json`: its media type must say so, too.
        """
        try:
            async with asyncio.timeout(self._deadline_seconds):
                answer = await self._ask(self._request("GET", {}, b""), most)
        except (_Failed, OSError):
            return None
        finally:
            self.close()
        return answer.file if answer.is_json or not is_json else None

    def close(self) -> None:
        """Close the connection at once, without waiting for the receiver."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def _ask(self, request: _Request, most: int = MAX_ANSWER_BYTES) -> _Answer:
        if self._streams is not None and (self.is_old or self._streams[0].at_eof()):
            self.close()
        if self._streams is not None:
            try:
                return await self._exchange(self._streams, request, most)
            except _Unanswered:
                # The receiver closed a kept connection, most likely before it saw the request.
                self.close()
        self._streams = await self._connect()
        self._opened_at = time.monotonic()
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADER_BYTES)
        try:
            return await self._exchange(self._streams, request, most)
        except _Unanswered:
            raise _Failed(DeliveryError.CONNECTION_CLOSED) from None

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to one of the name's addresses, if all of them are permitted."""
        target = self._target
        addresses = await self._addresses()
        judged = webhook_urls.judge(addresses, target.port, target.scheme, self._allow)
        if not judged.is_permitted:
            raise _Failed(DeliveryError.ADDRESS_NOT_ALLOWED)
        self._is_shown = judged.is_shown
        *others, last = addresses[:MAX_ADDRESSES]
        for address in others:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await self._open(address)
        return await self._open(last)

    async def _addresses(self) -> list[Address]:
        try:
            return [ip_address(self._target.host)]
        except ValueError:
            pass
        found = await self._look_up(self._target.host, self._target.port)
        if not found:
            raise _Failed(DeliveryError.NAME_NOT_RESOLVED)
        return found

    async def _open(self, address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        is_tls = self._target.scheme == "https"
        return await asyncio.open_connection(
            str(address),
            self._target.port,
            limit=_READ_BYTES,
            ssl=self._tls if is_tls else None,
            server_hostname=self._target.host if is_tls else None,
        )

    async def _exchange(
        self,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        request: _Request,
        most: int,
    ) -> _Answer:
        """Send the request and read its answer. _Unanswered if the connection ends before."""
        reader, writer = streams
        answer = _Answer(self._http, most)
        try:
            writer.write(b"".join(self._http.send(event) or b"" for event in request))
            await writer.drain()
            while not answer.is_complete:
                answer.receive(await reader.read(_READ_BYTES))
        except h11.RemoteProtocolError:
            raise _Failed(DeliveryError.INVALID_RESPONSE) from None
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            if not answer.received:
                raise _Unanswered from None
            raise _Failed(DeliveryError.CONNECTION_CLOSED) from None
        if answer.is_reusable:
            self._http.start_next_cycle()
        else:
            self.close()
        return answer

    def _request(self, method: str, headers: Mapping[str, str], body: bytes) -> _Request:
        request = h11.Request(
            method=method,
            target=self._target.path,
            headers=[
                ("Host", self._target.authority),
                ("User-Agent", _USER_AGENT),
                ("Accept", "*/*"),
                ("Accept-Encoding", "identity"),
                *headers.items(),
            ],
        )
        return (request, h11.Data(data=body), h11.EndOfMessage())


class _Answer:
    """An answer, as far as it is read: its status, its headers, and the start of its body."""

    def __init__(self, http: h11.Connection, most: int) -> None:
        self._http, self._most = http, most
        self._response: h11.Response | None = None
        self._body = bytearray()
        self._is_ended = False
        self.received = 0

    @property
    def is_complete(self) -> bool:
        """Whether nothing more needs to be read."""
        return self._is_ended or len(self._body) > self._most

    @property
    def is_reusable(self) -> bool:
        """Whether another request can follow on the same connection."""
        is_done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        return self._is_ended and is_done and not self._http.trailing_data[0]

    def receive(self, data: bytes) -> None:
        """Take what was read. Empty data means that the connection was closed.

        RemoteProtocolError if it is not HTTP, or too large. _Unanswered if there is no answer.
        """
        if not data and not self.received:
            raise _Unanswered
        self.received += len(data)
        if self.received > MAX_RECEIVED_BYTES:
            raise h11.RemoteProtocolError("too large")
        self._http.receive_data(data)
        while not self.is_complete:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                return
            if isinstance(event, h11.Response):
                self._response = event
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                self._is_ended = True
            elif not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the connection was closed")

    @property
    def file(self) -> bytes | None:
        """The body of an answer with the status 200. None: another status, or it is too long."""
        is_whole = self._is_ended and len(self._body) <= self._most
        is_good = self._response is not None and self._response.status_code == _OK
        return bytes(self._body) if is_whole and is_good else None

    @property
    def is_json(self) -> bool:
        """Whether the answer's one media type is that of JSON (RFC 8259), or ends with `+json`."""
        headers = () if self._response is None else self._response.headers
        types = [value for name, value in headers if name == b"content-type"]
        kind = types[0].partition(b";")[0].strip().lower() if len(types) == 1 else b""
        return kind == b"application/json" or kind.endswith(b"+json")

    def outcome(self, *, is_shown: bool) -> Outcome:
        """Return what the answer says. Without `is_shown`, none of its text."""
        assert self._response is not None
        retry_after = None
        for name, value in self._response.headers:
            if name == b"retry-after" and retry_after is None:
                retry_after = _retry_after(value.decode("latin-1"))
        text = bytes(self._body[:MAX_ANSWER_BYTES]).decode(errors="replace")[:SHOWN_CHARACTERS]
        # Control characters, and those that change the direction of text, are not printable.
        shown = "".join(each if each.isprintable() else " " for each in text)
        return Outcome(
            status_code=self._response.status_code,
            retry_after=retry_after,
            answer=shown if is_shown else None,
        )


def _retry_after(text: str) -> int | None:
    """Return the seconds of a Retry-After header, an hour at most. None if it is not valid."""
    text = text.strip()[:64]
    if text.isascii() and text.isdecimal():
        return min(int(text), LONGEST_RETRY_AFTER_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
        # A date without a zone is UTC (RFC 9110).
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = int((aware - clock.now()).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0), LONGEST_RETRY_AFTER_SECONDS)


def _error_of(error: OSError) -> DeliveryError:
    """Return why a connection could not be made."""
    match error:
        case TimeoutError():
            return DeliveryError.TIMEOUT
        case ssl.SSLCertVerificationError():
            return DeliveryError.CERTIFICATE_INVALID
        case ssl.SSLError():
            return DeliveryError.TLS_FAILED
        case ConnectionRefusedError():
            return DeliveryError.CONNECTION_REFUSED
    return DeliveryError.CONNECTION_FAILED
