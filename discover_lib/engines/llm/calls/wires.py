"""The two wires to a model: direct to an OpenAI-compatible server (vLLM, llama.cpp, LM Studio ...) or through LiteLLM.

The direct wire takes a tenth of LiteLLM's processor time (3 to 10 ms a call), for servers with hundreds of calls in
flight.  LiteLLM reaches every other provider.  This is the only module that imports it.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import os
import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discover_lib.base.json_text import whole_characters
from discover_lib.engines.llm.calls.exchange import Completion, Kind, LLMError, Request

if TYPE_CHECKING:
    import aiohttp

PREFIX = "openai/"  # of the name of a model on an OpenAI-compatible server
LINE_LENGTH = 300  # characters of a provider's message in an error
BIGGEST_REPLY = 2**24  # bytes
CONNECT_SECONDS = 20.0
LARGEST_SEED = 2**31 - 1  # some providers refuse larger numbers

KEY_VARIABLES: set[str] = set()  # environment variables with the keys of servers, under any name
SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
SECRET_FORM = re.compile(
    r"(?i)\b(?:sk|pk|gsk|hf|xai|key)[-_][\w-]{6,}[\w*-]*|\bAIza[\w-]{20,}|\bbearer\s+[\w.~+/*-]{6,}=*"
)
SECRET_LENGTH = 8  # characters; a shorter value is a setting
SERVER_KEY_LENGTH = 4  # characters, in a variable of `KEY_VARIABLES`; a shorter value is a word

_KINDS: Mapping[int, Kind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "timeout",
    425: "rate_limit",
    429: "rate_limit",
    504: "timeout",
}  # of HTTP statuses
_MOST_TOKENS = 2**31 - 1  # of one call
# LiteLLM puts the names of its own exceptions before a provider's message.
_WRAPPING = re.compile(r"^(?:litellm\.)?(?:\w+Error: |(?:litellm\.)?\w+Error: |\w+Exception - )+")


class DirectWire:
    """Sends requests to `api_base`, for the model that follows the provider in their names.

    Args:
        api_base: such as "http://localhost:8000/v1".
        key_variable: environment variable with this server's key, if it needs one.
    """

    def __init__(self, api_base: str, key_variable: str | None = None) -> None:
        self._url = api_base.rstrip("/") + "/chat/completions"
        self._key_variable = key_variable
        self._session: aiohttp.ClientSession | None = None

    def prepare(self, model: str) -> None:
        """Import the HTTP library, which would block the event loop, and check the key.

        Raises:
            LLMError: kind "auth": the key's variable is not set.
        """
        _check_keys(model, [] if self._key_variable is None or self._key() else [self._key_variable])
        importlib.import_module("aiohttp")

    async def send(self, request: Request) -> Completion:
        """Make one attempt.

        Raises:
            LLMError: with its kind.
        """
        import aiohttp

        body = {"model": request.model.partition("/")[2], **_body(request)}
        try:
            async with self._open().post(self._url, json=body, headers=self._headers(request)) as response:
                if response.status != 200:
                    said = _json_of(await _bytes_of(response))
                    raise _refusal(request, response.status, said, response.headers.get("retry-after"))
                raw = await _bytes_of(response)
                if len(raw) > BIGGEST_REPLY:
                    raise _failure(request, "server", f"the reply is longer than {BIGGEST_REPLY / 2**20:.0f} MiB")
                return _read_whole(request, _json_of(raw))
        except LLMError:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: a key with a line end
            said = str(error) or type(error).__name__
            raise _failure(request, "connection", f"no answer from {self._url}", said) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            # The client limits concurrency and the time of a reply.
            timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self._session

    def _headers(self, request: Request) -> dict[str, str]:
        key = self._key()
        return _session_header(request) | ({"Authorization": f"Bearer {key}"} if key else {})

    def _key(self) -> str | None:
        return os.environ.get(self._key_variable) if self._key_variable else None


class LiteLLMWire:
    """Sends requests to their providers through LiteLLM, one attempt each."""

    def prepare(self, model: str) -> None:
        """Import LiteLLM, which takes seconds the first time, and check the provider and its key.

        Raises:
            LLMError: kind "auth" (a key's variable is not set) or "bad_request" (unknown provider).
        """
        litellm = load_litellm()
        try:
            litellm.get_llm_provider(model)
        except Exception:  # of many classes: LiteLLM's own and those of the providers' libraries
            raise LLMError(
                f"{model}: no provider of this name; write provider/model, e.g. anthropic/claude-sonnet-4-5",
                "bad_request",
            ) from None
        needed = litellm.validate_environment(model)
        missing = [] if needed["keys_in_environment"] else needed["missing_keys"]
        _check_keys(model, [name for name in missing if name.endswith(("KEY", "TOKEN"))])

    async def send(self, request: Request) -> Completion:
        """As `DirectWire.send`."""
        litellm = load_litellm()
        try:
            answer = await litellm.acompletion(**self._arguments(litellm, request))
            return _read_whole(request, answer.model_dump(warnings=False))
        except LLMError:
            raise
        except Exception as error:  # of many classes, as above
            raise _error(litellm, request, error) from None

    def _arguments(self, litellm: ModuleType, request: Request) -> dict[str, Any]:
        _warn_of_dropped(litellm, request.model, tuple(_parameters(request)))
        arguments = _body(request)
        if not litellm.supports_response_schema(request.model):
            arguments.pop("response_format", None)
        return arguments | {
            "model": request.model,
            "num_retries": 0,  # the client retries
            "timeout": request.timeout_seconds,
            "extra_headers": _session_header(request),
        }


Wire = DirectWire | LiteLLMWire


@lru_cache(maxsize=1)
def load_litellm() -> ModuleType:
    """LiteLLM, silent and offline.  Takes seconds the first time."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise its import downloads a price list
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise its import reads some .env file
    import litellm

    # pydantic's remark about the types of a provider's library
    warnings.filterwarnings("ignore", message=".*`ReadOnly` qualifier")
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = True  # see `_warn_of_dropped`
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


# -- keys ----------------------------------------------------------------------------------------------------------


def _check_keys(model: str, missing: list[str]) -> None:
    if missing:
        names = " or ".join(missing)
        raise LLMError(f"{model}: {names} is not set; set it in the environment or in .env", "auth")


def redact(text: str) -> str:
    """`text` without values of secret environment variables and without texts that look like keys."""
    for name, held in os.environ.items():
        value, of_server = held.strip(), name in KEY_VARIABLES  # headers and their quotations drop line ends
        secret = of_server or SECRET_NAME.search(name.upper())
        if secret and len(value) >= (SERVER_KEY_LENGTH if of_server else SECRET_LENGTH) and value in text:
            text = text.replace(value, "[key]")
    return SECRET_FORM.sub("[key]", text)


# -- what is sent --------------------------------------------------------------------------------------------------


def _body(request: Request) -> dict[str, Any]:
    """The messages and parameters under OpenAI's names.  Half a surrogate pair cannot be sent and becomes a sign."""
    messages = [{**each, "content": whole_characters(each["content"])} for each in request.messages]
    body = {"messages": messages, **_parameters(request)}
    if request.schema is not None:
        form = {"name": "answer", "schema": dict(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _parameters(request: Request) -> dict[str, Any]:
    values = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": None if request.seed is None else request.seed & LARGEST_SEED,
        "reasoning_effort": request.reasoning_effort,
    }
    return {name: value for name, value in values.items() if value is not None}


def _session_header(request: Request) -> dict[str, str]:
    """The conversation of a call; a router before several servers can send its calls to one server."""
    return {"X-Session-ID": request.session} if request.session else {}


@lru_cache(maxsize=256)
def _warn_of_dropped(litellm: ModuleType, model: str, names: tuple[str, ...]) -> None:
    """Warn once about the parameters that the provider does not accept."""
    accepted = litellm.get_supported_openai_params(model) or names
    if dropped := [name for name in names if name not in accepted]:
        logging.getLogger(__name__).warning("%s does not take %s", model, ", ".join(dropped))


# -- replies -------------------------------------------------------------------------------------------------------


def _read_whole(request: Request, data: Any) -> Completion:
    try:
        if data.get("error"):
            raise _failure(request, "server", "an error instead of a reply", str(data["error"]))
        choice = data["choices"][0]
        text, finish = _text(choice["message"].get("content")), _reason(choice)
    except (KeyError, IndexError, TypeError, AttributeError):
        raise _failure(request, "server", "the reply is no chat completion", str(data)[:80]) from None
    return _completion(text, finish, data.get("usage"))


async def _bytes_of(response: aiohttp.ClientResponse) -> bytes:
    """The unpacked body, at most one byte more than `BIGGEST_REPLY`."""
    try:
        return await response.content.readexactly(BIGGEST_REPLY + 1)
    except asyncio.IncompleteReadError as ended:
        return ended.partial


def _json_of(raw: bytes) -> Any:
    """The value of a JSON text, or the text itself if it is not JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace")


def _text(content: Any) -> str:
    if content is not None and not isinstance(content, str):
        raise TypeError("content must be text")
    return content or ""


def _reason(choice: Any) -> str | None:
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else None


def _completion(text: str, finish: str | None, usage: Any) -> Completion:
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("completion_tokens_details")
    prompt, completion = _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))
    reasoning = _count(details.get("reasoning_tokens")) if isinstance(details, dict) else None
    if text and not completion:  # a text has tokens and so has every prompt: such zeros were not counted
        completion = None
    return Completion(text, prompt or None, completion, None, finish, reasoning_tokens=reasoning)


def _count(value: Any) -> int | None:
    """A number of tokens as a server gives it; None for a text, a negative number, infinity and the like."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


# -- errors --------------------------------------------------------------------------------------------------------


def _failure(request: Request, kind: Kind, what: str, message: str = "", retry_after: str | None = None) -> LLMError:
    """The error of one attempt: one line with the provider's message, shortened and without keys."""
    said = " ".join(redact(message).split())
    said = said if len(said) <= LINE_LENGTH else f"{said[:LINE_LENGTH]} ..."
    line = f"{request.model}: {what}" + (f": {said}" if said else "")
    return LLMError(line, kind, attempts=1, retry_after_seconds=_seconds_of(retry_after))


def _refusal(request: Request, status: int, data: Any, retry_after: str | None) -> LLMError:
    error = data.get("error", data.get("detail")) if isinstance(data, dict) else None  # FastAPI answers with "detail"
    message = error.get("message") if isinstance(error, dict) else error
    kind = _kind_of_status(status, str(data))
    return _failure(request, kind, f"HTTP {status}", str(message or data), retry_after)


def _error(litellm: ModuleType, request: Request, error: Exception) -> LLMError:
    status = getattr(error, "status_code", None)
    message = str(error)
    if isinstance(error, litellm.ContentPolicyViolationError):
        return _failure(request, "content", "refused by the provider's content filter", message)
    timed_out = isinstance(error, litellm.Timeout | TimeoutError)
    kind = _kind_of_status(408 if timed_out else status if isinstance(status, int) else 500, message)
    what = f"HTTP {status}" if isinstance(status, int) else type(error).__name__
    message = _WRAPPING.sub("", message)
    if kind == "server" and isinstance(status, int) and "onnection" in message:  # LiteLLM calls it HTTP 500
        kind, what = "connection", "no answer from the provider"
        message = f"{message.rstrip('.')}; a server of your own is named with --api-base"
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    return _failure(request, kind, what, message, headers.get("retry-after"))


def _kind_of_status(status: int, message: str = "") -> Kind:
    """The kind of error of an HTTP status."""
    if status == 429 and "insufficient_quota" in message:
        return "auth"  # an account without money, and waiting does not fill it
    return _KINDS.get(status, "server" if status >= 500 else "bad_request")


def _seconds_of(retry_after: str | None) -> float | None:
    """Seconds of a retry-after header; None if it is absent or a date."""
    try:
        seconds = float(retry_after or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
