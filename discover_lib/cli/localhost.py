"""Servers on this machine: which port they take, and whose pages may talk to them (their own).

A browser lets every page that is open in it speak to localhost.  Web sockets know no border between sites at all, and a
stranger's name may be made to point here (DNS rebinding); through either, a page of anybody's would read runs, play
sessions and spend money on models.  Browsers name the asking page in `Origin`, which no page can change, so requests
with another site's name are refused.  Programs send no `Origin`, and their requests are allowed.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from discover_lib.base.errors import DiscoverError

HOST = "127.0.0.1"
DEFAULT_PORT = 2718
HOSTS_VARIABLE = "DISCOVER_HOSTS"  # names, with commas between them, under which a proxy shows a server to its user
READS = frozenset(("GET", "HEAD", "OPTIONS"))  # whose answers browsers keep from pages of others
REFUSED = (
    "Refused: this came from a page of another site, or under another name than localhost. Open the address that was "
    f"printed; behind a proxy of your own, start the server with {HOSTS_VARIABLE}=NAME."
)


def choose_port(wanted: int | None) -> int:
    """The wanted port, or the first free one from the default on.

    Raises:
        DiscoverError: the wanted port is in use.
    """
    ports = range(DEFAULT_PORT, DEFAULT_PORT + 100) if wanted is None else [wanted]
    for port in ports:
        with suppress(OSError, OverflowError):
            socket.create_server((HOST, port)).close()
            return port
    if wanted is None:
        raise DiscoverError(f"no free port between {DEFAULT_PORT} and {DEFAULT_PORT + 99}; choose one with --port")
    raise DiscoverError(f"port {wanted} is in use; choose another with --port, or leave --port out")


class OwnPages:
    """Middleware that refuses web sockets and changes that another site's page asks for.

    `local`: the server is for this machine alone, so its own pages have one of this machine's names.
    """

    def __init__(self, app: ASGIApp, local: bool = True) -> None:
        self.app, self.local = app, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asks = scope["type"] == "websocket" or (scope["type"] == "http" and scope["method"] not in READS)
        if not asks or self.is_own(Headers(scope=scope)):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(4403, "another site's page")(scope, receive, send)
        else:
            await PlainTextResponse(REFUSED, 403)(scope, receive, send)

    def is_own(self, headers: Headers) -> bool:
        """Whether a page of this server asks, or no page at all."""
        origin, host = headers.get("origin"), headers.get("host", "").lower()
        if origin is None:
            return True
        shown = origin.lower().partition("://")[2]  # "null", of a page without a site, is not ours
        known = {each.strip().lower() for each in os.environ.get(HOSTS_VARIABLE, "").split(",")}
        if _name(shown) in known - {""}:
            return True
        # A proxy that gives the server its own name says beside it which one the browser knows.
        names = {host, *(each.strip().lower() for each in headers.get("x-forwarded-host", "").split(","))}
        return bool(shown) and shown in names and (not self.local or is_this_machine(_name(host)))


def is_this_machine(name: str) -> bool:
    """Whether a host's name is one that no server of names can point elsewhere."""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """A host without its port: "[::1]:80" → "::1"."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
