"""An OpenAI-compatible server for tests: real HTTP on a free loopback port, with faults on demand.

`FakeServer` runs in a thread of the test, `ServerProcess` in another process, apart from the client's interpreter.
A brain, `brain(messages, body) -> (text, completion tokens)`, decides the text.  The server knows only HTTP.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import urlopen

Messages = list[dict[str, Any]]
Brain = Callable[[Messages, dict[str, Any]], tuple[str, int]]

# Faults below the text: the client must try again.
BODY_FAULTS = ("cut_before", "cut_body", "malformed_body", "truncated_body", "empty")
TRANSPORT_FAULTS = ("429", "500", "503", "timeout", *BODY_FAULTS)
# Faults in the text, applied to JSON answers only: the first group can be mended, the second must be asked for again.
MENDABLE_FAULTS = ("fenced", "prose", "trailing_comma", "python_literal", "thinking")
UNMENDABLE_FAULTS = ("truncated_text", "wrong_ids", "refusal")
CONTENT_FAULTS = MENDABLE_FAULTS + UNMENDABLE_FAULTS
ALL_FAULTS = (*TRANSPORT_FAULTS, *CONTENT_FAULTS, "missing_usage")
REFUSALS = {"429": "rate limit reached", "500": "something broke", "503": "something broke"}


@dataclass(frozen=True)
class Faults:
    """Which share of replies is faulty, and how.

    Whether a reply is faulty depends on the request's bytes and on how often they were sent before, not on the order
    in which requests arrive, so a test meets the same faults at any concurrency.
    """

    rate: float = 0.0
    kinds: tuple[str, ...] = ALL_FAULTS
    seed: int = 0
    retry_after_seconds: float = 0.05
    timeout_seconds: float = 30.0  # how long a request that times out is held

    def draw(self, body: bytes, times_sent: int) -> str | None:
        digest = hashlib.sha256(body + f"|{times_sent}|{self.seed}".encode()).digest()
        rng = random.Random(digest)
        return rng.choice(self.kinds) if rng.random() < self.rate else None


def echo(messages: Messages, body: dict[str, Any]) -> tuple[str, int]:
    """The simplest brain: repeats the last message."""
    text = str(messages[-1]["content"])
    return text, len(text.split())


class Cut(str):
    """A brain's text that its limit of tokens cut off: sent with the finish reason "length"."""


class _CutError(Exception):
    """Close the connection here."""


@dataclass
class FakeServer:
    """The server; a context manager that runs it in a thread.

    `script` holds faults (or None) for the next requests, one each, before `faults` applies.
    `counts` holds: requests, served (complete replies without a fault), one count per fault, peak (most requests
    answered at once).  `received` keeps the last bodies, `headers` the last request's headers.

    JSON schemas are "taken" (the brain sees them), "ignored" (it does not), or "refused", as by servers that know of
    none: with 400, counted as "schema refused" and as nothing else.
    """

    brain: Brain = echo
    latency_seconds: float = 0.0
    faults: Faults = field(default_factory=Faults)
    script: deque[str | None] = field(default_factory=deque)
    counts: Counter[str] = field(default_factory=Counter)
    received: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=1000))
    headers: dict[str, str] = field(default_factory=dict)
    sessions: Counter[str] = field(default_factory=Counter)  # X-Session-ID → requests
    schemas: str = "refused"
    port: int = 0

    def __post_init__(self) -> None:
        self._times_sent: Counter[bytes] = Counter()
        self._busy = 0

    @property
    def api_base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    # -- running -------------------------------------------------------------------------------------------------

    def __enter__(self) -> FakeServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(ready.set)), daemon=True)
        self._thread.start()
        if not ready.wait(60):
            raise RuntimeError("the fake server did not start")
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(60)

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until `__exit__`, or for ever."""
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=2048, limit=2**24)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await self._done.wait()
        server.close()  # and `asyncio.run` cancels the connections that are left

    # -- one connection ------------------------------------------------------------------------------------------

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                method, path, headers, body = await _read_request(reader)
                self.headers = headers
                self.sessions[headers.get("x-session-id", "")] += 1
                if method == "POST" and path.endswith("/chat/completions"):
                    self._busy += 1
                    self.counts["peak"] = max(self.counts["peak"], self._busy)
                    try:
                        await self._completion(writer, body)
                    finally:
                        self._busy -= 1
                elif path == "/counts":
                    await _send(writer, 200, dict(self.counts))
                else:
                    await _send(writer, 404, {"error": {"message": f"no such path: {path}"}})
        except (_CutError, asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return  # cut on purpose, gone, or the server ends: in every case this connection is over
        finally:
            writer.close()

    async def _completion(self, writer: asyncio.StreamWriter, raw: bytes) -> None:
        body = json.loads(raw)
        if "response_format" in body and self.schemas == "refused":
            self.counts["schema refused"] += 1
            await _send(writer, 400, _error("response_format: unknown parameter"))
            return
        if self.schemas == "ignored":
            body.pop("response_format", None)
        self.counts["requests"] += 1
        self.received.append(body)
        # Counted by digest: a long soak must not grow this process.
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        self._times_sent[digest] += 1
        fault = self.script.popleft() if self.script else self.faults.draw(raw, self._times_sent[digest])
        if fault == "timeout":
            self.counts[fault] += 1
            await asyncio.sleep(self.faults.timeout_seconds)
            raise _CutError
        # Thinking is part of the latency, and begins when all that arrived together has been read.
        due = time.monotonic() + self.latency_seconds
        if self.latency_seconds:
            await asyncio.sleep(self.latency_seconds / 4)
        text, tokens = self.brain(body["messages"], body)
        if (left := due - time.monotonic()) > 0:
            await asyncio.sleep(left)
        if fault in MANGLED:
            fault = fault if text.startswith("{") else None  # free text has no form to break
            text = MANGLED[fault](text) if fault else text
        self.counts[fault or "served"] += 1
        if fault and (fault in TRANSPORT_FAULTS or fault.isdigit()) and fault != "empty":
            await self._break(writer, body, text, fault)
            return
        reply = _reply(body, "" if fault == "empty" else text, tokens, with_usage=fault != "missing_usage")
        await _send(writer, 200, reply)

    async def _break(self, writer: asyncio.StreamWriter, body: dict[str, Any], text: str, fault: str) -> None:
        whole = json.dumps(_reply(body, text, 1, with_usage=True)).encode()
        if fault.isdigit():
            after = {"retry-after": f"{self.faults.retry_after_seconds:g}"} if fault == "429" else {}
            await _send(writer, int(fault), _error(REFUSALS.get(fault, "refused")), after)
        elif fault == "malformed_body":
            await _send(writer, 200, b"<html><body>upstream said hello</body></html>")
        elif fault == "truncated_body":  # well-formed HTTP around half of the JSON
            await _send(writer, 200, whole[: len(whole) // 2])
        else:  # cut_before, cut_body
            if fault == "cut_body":
                writer.write(_head(200, len(whole)) + whole[: len(whole) // 2])
                await writer.drain()
            raise _CutError


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


def _head(status: int, length: int, extra: Mapping[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Error'}", "content-type: application/json"]
    lines += [f"content-length: {length}", *(f"{name}: {value}" for name, value in (extra or {}).items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _send(writer: asyncio.StreamWriter, status: int, data: Any, extra: Mapping[str, str] | None = None) -> None:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    writer.write(_head(status, len(body), extra) + body)
    await writer.drain()


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "error", "param": None, "code": None}}


def _reply(body: Mapping[str, Any], text: str, tokens: int, *, with_usage: bool) -> dict[str, Any]:
    prompt = sum(len(str(message["content"]).split()) for message in body["messages"])
    ended = "length" if isinstance(text, Cut) else "stop"
    reply: dict[str, Any] = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": ended}],
    }
    if with_usage:
        reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
    return reply


# Fault → a JSON text as a careless model would send it; only `UNMENDABLE_FAULTS` change the content.
MANGLED: dict[str, Callable[[str], str]] = {
    "fenced": lambda text: f"```json\n{text}\n```",
    "prose": lambda text: f"Sure! Here is what I found:\n\n{text}\n\nLet me know if anything is unclear.",
    "trailing_comma": lambda text: re.sub(r"([\]}])\s*$", r",\1", text),
    "python_literal": lambda text: repr(json.loads(text)),
    "thinking": lambda text: f'<think>Perhaps {{"draft": true}}? No, better look again.</think>\n{text}',
    "truncated_text": lambda text: text[: len(text) * 2 // 3],
    "wrong_ids": lambda text: re.sub(r'("id"\s*:\s*")[^"]*"', r'\g<1>99.99"', text),
    "refusal": lambda text: "I'm sorry, but I can't help with that.",
}


class ServerProcess:
    """The server in another process; `brain` is ``module:function``, the module importable from tests/."""

    def __init__(self, brain: str, latency_seconds: float = 0.0) -> None:
        self._arguments = [brain, str(latency_seconds)]

    def __enter__(self) -> ServerProcess:
        command = [sys.executable, str(Path(__file__).resolve()), *self._arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            self.process.kill()
            raise RuntimeError(f"the fake server did not start: {line!r}")
        self.port = int(line)
        self.api_base = f"http://127.0.0.1:{self.port}/v1"
        return self

    @property
    def counts(self) -> dict[str, int]:
        with urlopen(f"http://127.0.0.1:{self.port}/counts", timeout=60) as reply:
            return dict(json.load(reply))

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.process.terminate()
        self.process.wait(60)


def main() -> None:
    brain, latency = sys.argv[1:]
    module, _, function = brain.partition(":")
    server = FakeServer(getattr(importlib.import_module(module), function), latency_seconds=float(latency))
    asyncio.run(server.serve(lambda: print(server.port, flush=True)))


if __name__ == "__main__":
    main()
