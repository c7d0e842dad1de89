"""The origin of pages. Requests to other hosts, and forms of other sites, are refused.

PUBLIC_URL says which origin it is. Without it, only a browser on this machine gets pages. If it is
of plain http, as in `make run HOST=...`, such a browser gets them, too: the console needs it.
"""

from urllib.parse import urlsplit

from flask import request

from ticketing.config import is_loopback
from ticketing.errors import CrossOrigin, HttpsNeeded, MisdirectedRequest
from ticketing.web.context import config


def origin() -> str:
    """Return the origin of this service, without a slash at the end. Call `check_host` before."""
    return config().public_url or f"http://{request.host}"


def check_host() -> None:
    """Raise MisdirectedRequest for a request to another host. Protects against rebinding."""
    url = urlsplit(config().public_url or "")
    if url.scheme != "https" and _is_loopback():
        return
    if not url.netloc or _host_of(request.host, url.scheme) != _host_of(url.netloc, url.scheme):
        raise MisdirectedRequest


def check_same_origin() -> None:
    """Raise CrossOrigin unless a page of ours sent the request (Fetch Metadata, else Origin)."""
    site = request.headers.get("Sec-Fetch-Site")
    sent_from = request.headers.get("Origin", "")
    is_ours = sent_from.lower() == origin().lower() if site is None else site == "same-origin"
    if not is_ours:
        raise CrossOrigin


def check_no_other_site() -> None:
    """Raise CrossOrigin if a script of another site sent the request. Programs send no Origin."""
    sent_from = request.headers.get("Origin")
    if sent_from is not None and sent_from.lower() != origin().lower():
        raise CrossOrigin


def is_https() -> bool:
    """Return whether people reach this service over TLS."""
    return origin().startswith("https://")


def check_transport() -> None:
    """Raise HttpsNeeded if a password or a cookie would travel unprotected."""
    if not (is_https() or _is_loopback()):
        raise HttpsNeeded


def is_of_this_machine() -> bool:
    """Return whether links of this request's origin work on this machine only."""
    return is_loopback(urlsplit(origin()).hostname or "")


def _is_loopback() -> bool:
    return is_loopback(urlsplit(f"//{request.host}").hostname or "")


def _host_of(netloc: str, scheme: str) -> str:
    """Return a host with its port. Browsers leave out the default port of a scheme."""
    return netloc.lower().removesuffix(":443" if scheme == "https" else ":80")
