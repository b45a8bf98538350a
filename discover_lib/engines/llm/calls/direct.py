"""Straight to an OpenAI-compatible server (vLLM, llama.cpp, LM Studio ...): one HTTP request, nothing around it.

LiteLLM takes three to ten milliseconds of processor time for a call, which is too much for the hundreds in flight
that a local server is asked to answer; this takes a tenth of that.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discover_lib.base.json_text import paired_halves, whole_characters
from discover_lib.engines.llm.calls.exchange import LLMError, Request
from discover_lib.engines.llm.calls.wire import (
    BIGGEST_REPLY,
    OnText,
    WireReply,
    count_of,
    failure,
    keep_out,
    kind_of_status,
    response_format,
    seconds_of,
    sent_messages,
    sent_parameters,
    session_header,
    too_long,
)

if TYPE_CHECKING:
    import aiohttp

PREFIX = "openai/"
# Providers of LiteLLM that are a server of one's own and speak this wire: provider → the address if none is set.
OWN_SERVERS = {"hosted_vllm": None, "lm_studio": None, "llamafile": "http://127.0.0.1:8080/v1"}
BIGGEST_LINE = 2**22  # bytes of one event of a stream
CONNECT_SECONDS = 20.0


@dataclass(frozen=True)
class OwnServer:
    """Where a server of one's own is; its variables are those that LiteLLM reads."""

    address: str
    key_variable: str  # need not be set

    @classmethod
    def of(cls, model: str) -> OwnServer | None:
        """The server of a model such as "hosted_vllm/NAME"; None for any other, or where no address is known."""
        provider, _, name = model.partition("/")
        if not name or provider not in OWN_SERVERS:
            return None
        address = os.environ.get(f"{provider.upper()}_API_BASE") or OWN_SERVERS[provider]
        return cls(address, f"{provider.upper()}_API_KEY") if address else None


class DirectWire:
    """Sends requests to `api_base`, for the model that follows the provider in their names.

    Args:
        api_base: such as "http://localhost:8000/v1".
        key_variable: environment variable that holds this server's key, if it wants one.
        key_needed: whether a `key_variable` that is not set is an error.
    """

    def __init__(self, api_base: str, key_variable: str | None = None, *, key_needed: bool = True) -> None:
        self._key_needed = key_needed
        self._url = api_base.rstrip("/") + "/chat/completions"
        self._key_variable = key_variable
        self._session: aiohttp.ClientSession | None = None
        keep_out(key_variable)

    def prepare(self, model: str) -> None:
        if self._key_needed and self._key_variable and not os.environ.get(self._key_variable):
            raise LLMError(f"{model}: {self._key_variable} is not set; set it in the environment or in .env", "auth")
        importlib.import_module("aiohttp")  # here and not in the loop, where it would hold up every call

    async def send(self, request: Request, on_text: OnText | None) -> WireReply:
        import aiohttp

        body = self._body(request, streamed=on_text is not None)
        try:
            async with self._open().post(self._url, json=body, headers=self._headers(request)) as response:
                if response.status != 200:
                    said = (await _bytes_of(response)).decode("utf-8", "replace")
                    raise _refusal(request, response.status, said, response.headers.get("retry-after"))
                if on_text:
                    return await _read_stream(request, _events(request, response), on_text)
                raw = await _bytes_of(response)
                if len(raw) > BIGGEST_REPLY:
                    raise too_long(request)
                return _read_whole(request, raw)
        except LLMError:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:  # a ValueError is an endless line of a stream
            said = str(error) or type(error).__name__
            raise failure(request, "connection", f"no answer from {self._url}", said) from None

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            # Only the client's own limits hold: how many at once, and how long a reply may take.
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=BIGGEST_LINE)
        return self._session

    def _headers(self, request: Request) -> dict[str, str]:
        key = os.environ.get(self._key_variable) if self._key_variable else None
        return session_header(request) | ({"Authorization": f"Bearer {key}"} if key else {})

    def _body(self, request: Request, streamed: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": request.model.partition("/")[2], "messages": sent_messages(request)}
        body |= sent_parameters(request)
        if request.schema is not None:
            body["response_format"] = response_format(request.schema)
        if streamed:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body


def _refusal(request: Request, status: int, text: str, retry_after: str | None) -> LLMError:
    try:
        data = json.loads(text)
        error = data["error"] if "error" in data else data["detail"]  # the latter where FastAPI answers
        message = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError, RecursionError):
        message = text
    kind = kind_of_status(status, text)
    return failure(request, kind, f"HTTP {status}", str(message), seconds_of(retry_after))


def _read_whole(request: Request, raw: bytes) -> WireReply:
    try:
        data = json.loads(raw)
        if data.get("error"):
            raise failure(request, "server", "an error instead of a reply", str(data["error"]))
        choice = data["choices"][0]
        text = _text(choice["message"].get("content"))
        usage = data.get("usage")
        return WireReply(text, *_tokens(usage, text), _reason(choice), _reasoning_tokens(usage))
    except LLMError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        start = raw[:80].decode("utf-8", "replace")
        raise failure(request, "server", "the reply is no chat completion", start) from None


async def _read_stream(request: Request, events: AsyncIterator[bytes], on_text: OnText) -> WireReply:
    pieces: list[str] = []
    finish: str | None = None
    usage: Any = None
    ended = False
    async for event in events:
        if event == b"[DONE]":
            ended = True
            break
        try:
            data = json.loads(event)
            if data.get("error"):
                raise failure(request, "server", "an error within the stream", str(data["error"]))
            usage = data.get("usage") or usage
            choices = data.get("choices") or [{}]
            piece = _text((choices[0].get("delta") or {}).get("content"))
            finish = _reason(choices[0]) or finish
        except LLMError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise failure(request, "server", "the stream holds no chat completion") from None
        if piece:
            pieces.append(piece)
            on_text(whole_characters("".join(pieces)))
    if not ended and finish is None:
        raise failure(request, "connection", "the stream was cut before its end")
    text = paired_halves("".join(pieces))
    return WireReply(text, *_tokens(usage, text), finish, _reasoning_tokens(usage))


async def _bytes_of(response: aiohttp.ClientResponse) -> bytes:
    """The body, unpacked, as far as it is no longer than a reply can be and a byte more."""
    parts: list[bytes] = []
    length = 0
    async for part in response.content.iter_any():
        parts.append(part)
        length += len(part)
        if length > BIGGEST_REPLY:
            break
    return b"".join(parts)[: BIGGEST_REPLY + 1]


async def _events(request: Request, response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    length = 0
    async for line in response.content:
        length += len(line)
        if length > BIGGEST_REPLY:
            raise too_long(request)
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:").strip()


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise TypeError("a content is text")
    return content or ""


def _tokens(usage: Any, text: str) -> tuple[int | None, int | None]:
    counts = usage if isinstance(usage, dict) else {}
    prompt, completion = count_of(counts.get("prompt_tokens")), count_of(counts.get("completion_tokens"))
    # No prompt is empty, and no text costs nothing: such zeros are a count that was not made.
    return (prompt or None), (completion if completion or (completion == 0 and not text) else None)


def _reasoning_tokens(usage: Any) -> int | None:
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    return count_of(details.get("reasoning_tokens")) if isinstance(details, dict) else None


def _reason(choice: Any) -> str | None:
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else None
