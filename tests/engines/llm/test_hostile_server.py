"""A server that means harm, or is broken: one line for what it says, bounded memory for what it sends, and no key."""

import gzip
import json
import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from discover_lib.engines.llm.calls import wires
from discover_lib.engines.llm.calls.client import ClientSettings, LLMClient, LLMError, Price, Request

Answer = Callable[[str], Iterator[bytes]]  # the head of a request → the bytes of an answer


class Server(socketserver.ThreadingTCPServer):
    """Answers every request with these bytes, as long as the client reads them; its context is its URL."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Reader)
        self.answer = answer
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> str:  # type: ignore[override]
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Reader(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        head = b"".join(iter(self.rfile.readline, b"\r\n")).decode()
        self.rfile.read(int(re.findall(r"(?i)content-length: (\d+)", head)[0]))
        with suppress(OSError):  # the client left
            for part in self.server.answer(head):
                self.wfile.write(part)


def said(body: bytes, status: str = "200 OK", *headers: str) -> Answer:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""))
    return lambda _: iter((head.encode(), body))


def completion(**usage: object) -> bytes:
    reply = {"choices": [{"message": {"content": "a boat"}, "finish_reason": "stop"}], "usage": usage}
    return json.dumps(reply).encode()


def client_of(address: str, **options: object) -> LLMClient:
    return LLMClient(ClientSettings(address, max_attempts=1, env_file=None, **options))  # type: ignore[arg-type]


ASKED = Request("openai/m", ({"role": "user", "content": "draw"},), "assistant")


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}"])
def test_json_that_is_nested_without_end_is_no_completion(body: bytes) -> None:
    with Server(said(body)) as address, client_of(address) as client:
        with pytest.raises(LLMError, match="the reply is no chat completion") as caught:
            client.complete(ASKED)
        assert caught.value.kind == "server"
    refused = pytest.raises(LLMError, match="HTTP 400")
    with Server(said(body, "400 Bad Request")) as address, client_of(address) as client, refused:
        client.complete(ASKED)


@pytest.mark.parametrize("count", ["9", [9], {}, True, -9, 1e300, 10**30, float("nan"), float("inf")])
def test_what_is_no_count_of_tokens_is_unknown_and_costs_no_budget(count: object) -> None:
    prices = {"openai/m": Price(1.0, 1.0)}
    usage = completion(prompt_tokens=count, completion_tokens=count)
    with Server(said(usage)) as address, client_of(address, prices=prices) as client:
        got = client.complete(ASKED)
        assert (got.text, got.prompt_tokens, got.completion_tokens, got.cost) == ("a boat", None, None, None)
        assert client.spent.cost == 0.0 and client.spent.unpriced == 1


def endless(part: bytes) -> Answer:
    def answer(_: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        for _ in range(40 * 2**20 // len(part)):
            yield part

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [endless(b" " * 2**16), said(gzip.compress(b" " * 4 * 2**20), "200 OK", "Content-Encoding: gzip")],
    ids=["body", "packed"],
)
def test_a_reply_that_does_not_end_is_given_up(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "BIGGEST_REPLY", 2**20)  # 16 MiB take sixteen times as long
    with Server(answer) as address, client_of(address) as client:
        with pytest.raises(LLMError, match="the reply is longer than 1 MiB") as caught:
            client.complete(ASKED)
        assert caught.value.kind == "server"


@pytest.mark.parametrize("key", ["correct horse", "abc123", "correct-horse\n"])
def test_a_key_of_whatever_name_is_in_no_message(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_SERVER", key)

    def echo(head: str) -> Iterator[bytes]:
        sent = re.search(r"Authorization: Bearer (.*)\r\n", head)
        assert sent is not None and sent[1] == key
        return said(json.dumps({"error": {"message": f"no user {sent[1]!r}"}}).encode(), "401 No")(head)

    refused = pytest.raises(LLMError)
    with Server(echo) as address, client_of(address, key_variable="MY_OWN_SERVER") as client, refused as caught:
        client.complete(ASKED)
    assert key.strip() not in str(caught.value)
    assert "no user '[key]'" in str(caught.value) or "\n" in key  # a line's end is never sent
