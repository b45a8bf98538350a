"""Through LiteLLM: every provider it knows, by its names for models.  The only module that touches LiteLLM."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import threading
import warnings
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

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

# Modules that LiteLLM's first call would import, half a second in which no other call goes on.
LATE_IMPORTS = ("openai.resources", "fastapi")
# Some client libraries insist on a key, also for servers that want none.
NO_KEY = "none"
# LiteLLM wraps what the provider said in the names of its own exceptions.
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+Error: |(?:litellm\.)?\w+Error: |\w+Exception - )+")

_import_lock = threading.Lock()


@lru_cache(maxsize=1)
def _import_litellm() -> ModuleType:
    """LiteLLM, told to be quiet and to stay offline.  Takes seconds the first time."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it downloads a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else importing it reads a .env of its own choice
    import litellm

    # A remark of pydantic about the types of a provider's library, of no use to anybody here.
    warnings.filterwarnings("ignore", message=".*`ReadOnly` qualifier")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True  # what is dropped is said: see _say_dropped
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def load() -> ModuleType:
    """LiteLLM, imported once; safe to call from several threads."""
    with _import_lock:
        return _import_litellm()


class LiteLLMWire:
    """Sends requests through LiteLLM, one attempt each.

    Args:
        api_base: address of one's own, handed to the provider's client.
        key_variable: environment variable that holds the key for `api_base`.
        timeout_seconds: of one attempt.
    """

    def __init__(
        self,
        api_base: str | None = None,
        key_variable: str | None = None,
        timeout_seconds: float = 120.0,
    ) -> None:
        self._api_base = api_base
        self._key_variable = key_variable
        self._timeout_seconds = timeout_seconds
        keep_out(key_variable)

    def prepare(self, model: str) -> None:
        litellm = load()
        for name in LATE_IMPORTS:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        try:
            litellm.get_llm_provider(model)
        except Exception:  # of many classes: LiteLLM's own and those of the providers' libraries
            raise LLMError(
                f"{model}: no provider of this name; write provider/model, e.g. anthropic/claude-sonnet-4-5",
                "bad_request",
            ) from None
        self._check_key(litellm, model)

    def _check_key(self, litellm: ModuleType, model: str) -> None:
        if self._api_base:
            missing = [self._key_variable] if self._key_variable and not os.environ.get(self._key_variable) else []
        else:
            needed = litellm.validate_environment(model)
            wanting = [] if needed["keys_in_environment"] else needed["missing_keys"]
            missing = [name for name in wanting if name.endswith(("KEY", "TOKEN"))]
        if missing:
            names = " or ".join(missing)
            raise LLMError(f"{model}: {names} is not set; set it in the environment or in .env", "auth")

    async def send(self, request: Request, on_text: OnText | None) -> WireReply:
        litellm = load()
        try:
            answer = await litellm.acompletion(**self._arguments(litellm, request, streamed=on_text is not None))
            return await _read_stream(request, answer, on_text) if on_text else _read_whole(request, answer)
        except LLMError:
            raise
        except Exception as error:  # of many classes: LiteLLM's own and those of the providers' libraries
            raise _error(request, error, self._api_base) from None

    async def close(self) -> None:
        """Nothing: LiteLLM's connections serve all clients of the process, and it closes them when that ends."""

    def _arguments(self, litellm: ModuleType, request: Request, streamed: bool) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": sent_messages(request),
            "num_retries": 0,  # retries have one owner, and it is the client
            "timeout": request.timeout_seconds or self._timeout_seconds,
        }
        parameters = sent_parameters(request)
        arguments |= parameters
        if self._api_base is None:
            taken = litellm.get_supported_openai_params(request.model) or parameters
            _say_dropped(request.model, tuple(name for name in parameters if name not in taken))
        elif request.reasoning_effort is not None:  # a server's model may take it, although LiteLLM does not know
            arguments["allowed_openai_params"] = ["reasoning_effort"]
        if self._api_base:
            # Never the provider's own key: it is not this server's business.
            key = os.environ.get(self._key_variable) if self._key_variable else None
            arguments |= {"api_base": self._api_base, "api_key": key or NO_KEY}
        if request.schema is not None and (self._api_base or litellm.supports_response_schema(request.model)):
            arguments["response_format"] = response_format(request.schema)
        if header := session_header(request):
            arguments["extra_headers"] = header
        if streamed:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        return arguments


@lru_cache(maxsize=256)
def _say_dropped(model: str, names: tuple[str, ...]) -> None:
    """Warn, once, that the provider is not sent these parameters."""
    if names:
        logging.getLogger(__name__).warning("%s does not take %s", model, ", ".join(names))


def _read_whole(request: Request, answer: Any) -> WireReply:
    if not answer.choices:
        raise failure(request, "server", "the reply is no chat completion")
    choice = answer.choices[0]
    usage = getattr(answer, "usage", None)
    text = choice.message.content or ""
    return WireReply(text, *_tokens(usage), choice.finish_reason, _reasoning_tokens(usage))


async def _read_stream(request: Request, stream: Any, on_text: OnText) -> WireReply:
    pieces: list[str] = []
    length = 0
    async for chunk in stream:
        piece = chunk.choices[0].delta.content if chunk.choices else None
        if piece:
            pieces.append(piece)
            length += len(piece)
            if length > BIGGEST_REPLY:
                raise too_long(request)
            on_text(whole_characters("".join(pieces)))
    # LiteLLM ends every stream with a "stop" and a count of its own, so look at what was really received.
    finish = getattr(stream, "received_finish_reason", None)
    if finish is None:
        raise failure(request, "connection", "the stream was cut before its end")
    counted = [usage for chunk in stream.chunks if (usage := getattr(chunk, "usage", None))]
    usage = counted[-1] if counted else None
    return WireReply(paired_halves("".join(pieces)), *_tokens(usage), finish, _reasoning_tokens(usage))


def _tokens(usage: Any) -> tuple[int | None, int | None]:
    """Prompt and completion tokens; LiteLLM writes 0 where the provider did not count."""
    prompt = count_of(getattr(usage, "prompt_tokens", None)) or None
    return prompt, (count_of(getattr(usage, "completion_tokens", None)) if prompt else None)


def _reasoning_tokens(usage: Any) -> int | None:
    return count_of(getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None))


def _error(request: Request, error: Exception, api_base: str | None) -> LLMError:
    litellm = load()
    status = getattr(error, "status_code", None)
    message = str(error)
    if isinstance(error, litellm.Timeout | TimeoutError):
        kind = kind_of_status(408)
    elif isinstance(error, litellm.ContentPolicyViolationError):
        return failure(request, "content", "refused by the provider's content filter", message)
    elif isinstance(status, int):
        kind = kind_of_status(status, message)
        if kind == "server" and "onnection" in message:
            kind = "connection"
    else:
        kind = "server"
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    what = f"HTTP {status}" if isinstance(status, int) else type(error).__name__
    message = _WRAPPING.sub("", message)
    if kind == "connection":  # which LiteLLM calls an HTTP 500, although nobody answered
        what = f"no answer from {urlsplit(api_base or '').hostname or 'the provider'}"
        message = message if api_base else f"{message.rstrip('.')}; a server of your own is named with --api-base"
    return failure(
        request,
        kind,
        what,
        message,
        seconds_of(headers.get("retry-after")),
    )
