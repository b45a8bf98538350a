"""Structured answers: every role asks its model here, by a rendered prompt and a form.

An answer is the outermost JSON object of a text.  Thinking, prose and code fences around it are ignored.  JSON with
slips (trailing commas, single quotes) is read as json_repair repairs it, if every letter, digit and bracket is still
there and brackets are in pairs.  Any other answer is asked for again, once: that costs a call, and a misreading
would cost the result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from discover_lib.base.errors import DiscoverError
from discover_lib.core.roles import RoleError
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Answered, Asks, Completion, LLMError, Request
from discover_lib.engines.llm.prompting import PromptSet, WireMessages, one_line

T = TypeVar("T", bound=BaseModel)
Check = Callable[[T], str | None]  # one line that names a defect of an answer's content, or None

LONGEST_TEXT = 400_000  # characters; repairing is not linear for hostile texts
LONGER = 2  # times the limit that cut an answer off, and at least …
LEAST = 8192  # tokens, since thinking uses up short limits
EXCERPT = 200  # characters of an unusable answer in an error; the whole text is in its cause
REASK = (
    "Your answer cannot be used: {defect}.\n"
    "Give the whole answer again as one JSON object of the form that was asked for, and nothing else."
)

_TAGS = r"(?:think|thinking|thought|reasoning)"
# Some servers cut off the opening tag.  A closing tag in quotes is part of the text.
_THINKING = re.compile(rf"\s*(?:<({_TAGS})>.*?</\1>|(?:(?!<{_TAGS}\b).)*?(?<![`\"'])</{_TAGS}>)", re.DOTALL | re.I)
_UNENDED = re.compile(rf"\s*<{_TAGS}>", re.IGNORECASE)


class UnusableError(DiscoverError):
    """A text that is no usable answer; the message tells its writer why."""


@dataclass(frozen=True)
class Read(Generic[T]):
    """An answer; `clean` if the text was exactly the requested JSON."""

    value: T
    clean: bool


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A structured answer and the raw texts (two after a re-ask)."""

    value: T
    raw: tuple[str, ...]


# -- reading -------------------------------------------------------------------------------------------------------


def read_answer(text: str, answer: type[T], check: Check[T], finish_reason: str | None = None) -> Read[T]:
    """The answer in `text`, if it passes `check`.

    Raises:
        UnusableError: there is no answer, it is cut off, or its form or content is wrong.
    """
    if finish_reason == "length":
        raise UnusableError("the answer breaks off, since the limit of tokens was reached")
    if len(text) > LONGEST_TEXT:
        raise UnusableError(f"the answer is {len(text)} characters long")
    told = without_thinking(text)
    part = told[told.find("{") : told.rfind("}") + 1]
    if not part:
        raise UnusableError("there is no JSON object")
    try:
        data, whole = _json_of(part)
        value = answer.model_validate(data)
    except RecursionError:
        raise UnusableError("the answer is nested too deep") from None
    except ValidationError as error:
        first = error.errors()[0]
        place, why = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        raise UnusableError(f"{place or 'the answer'}: {why}") from None
    if defect := check(value):
        raise UnusableError(defect)
    return Read(value, whole and part == text.strip())


def without_thinking(text: str) -> str:
    """`text` after its opening thinking, which servers without a parser for it leave there.

    Raises:
        UnusableError: the thinking never ends.
    """
    while closed := _THINKING.match(text):
        text = text[closed.end() :]
    if _UNENDED.match(text):
        raise UnusableError("the thinking does not end")
    return text


def _json_of(part: str) -> tuple[Any, bool]:
    """The object in a text from its first brace to its last, and whether it was valid JSON."""
    from json_repair import repair_json

    try:
        return json.loads(part, object_pairs_hook=_no_contradiction), True
    except ValueError:
        data = repair_json(part, return_objects=True)
    if not isinstance(data, dict) or not _says_the_same(part, data):
        raise UnusableError("what stands between the braces is not one whole JSON object")
    return data, False


def _no_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if any(data[name] != value for name, value in pairs):
        raise ValueError("a field is given twice")
    return data


def _says_the_same(part: str, data: Any) -> bool:
    """Whether repaired data has all letters, digits and brackets in their order, and all brackets in pairs."""
    if re.search(r'\\[^"n]', part) or any(part.count(left) != part.count(right) for left, right in ("[]", "{}")):
        return False  # a repair could change this escape, or end a text at the single bracket in it
    return _signs(part) == _signs(json.dumps(data, ensure_ascii=False))


def _signs(text: str) -> str:
    return "".join(sign for sign in text.casefold().replace("none", "null") if sign.isalnum() or sign in "{}[]")


def each_once(given: Sequence[str], wanted: Collection[str], what: str) -> str | None:
    """The defect of a `given` list that lacks or repeats a `wanted` item, in words for its writer, or None.

    An extra item is left out.
    """
    twice = [each for each in given if each in wanted and given.count(each) > 1]
    if twice:
        return f"{what} {twice[0]!r} has more than one entry"
    missing = [each for each in wanted if each not in given]
    if not missing:
        return None
    unknown = [f"{what} {each!r} is not asked about; give {', '.join(wanted)}" for each in given if each not in wanted]
    return "; ".join([*unknown[:1], f"there is no entry for {what} {', '.join(missing)}"])


# -- asking --------------------------------------------------------------------------------------------------------


def ask_structured(client: Asks, request: Request, answer: type[T], check: Check[T] = lambda _: None) -> Answer[T]:
    """Ask for an answer of the given form.

    The prompt itself must show the form; the JSON schema is sent along for providers that accept one.  `check` names
    a defect of a well-formed answer's content (an unknown id ...), or returns None.

    Raises:
        LLMError: no completion; or, with the answers in `raw`, none that is usable after one re-ask that named the
            defect, or an answer that was cut off twice.
    """
    first = asked = replace(request, schema=_schema_of(answer))
    raw: tuple[str, ...] = ()
    while True:
        asked, completion = ask_whole(client, asked)
        raw = (*raw, completion.text)
        try:
            read = read_answer(completion.text, answer, check, completion.finish_reason)
        except UnusableError as unusable:
            cut = completion.finish_reason == "length"
            if cut or len(raw) == 2:
                client.note(Answered(asked.key, request.purpose, "failed", {"cut": 1} if cut else {}))
                line = f"{request.model}: no usable answer, also when asked again: {unusable}"
                raise LLMError(line, "content", attempts=len(raw), raw=raw) from None
            asked = again(asked, completion.text, str(unusable))
        else:
            outcome = "reasked" if asked != first else "clean" if read.clean else "repaired"
            client.note(Answered(asked.key, request.purpose, outcome))
            return Answer(read.value, raw)


@lru_cache(maxsize=64)
def _schema_of(answer: type[BaseModel]) -> dict[str, Any]:
    return answer.model_json_schema()


def again(request: Request, answer: str, defect: str) -> Request:
    """The request that names the defect of an answer to `request`."""
    more: list[Mapping[str, Any]] = [{"role": "user", "content": REASK.format(defect=defect.rstrip("."))}]
    if answer.strip():  # some providers refuse an empty message
        more.insert(0, {"role": "assistant", "content": answer})
    return replace(request, messages=(*request.messages, *more))


def ask_whole(client: Asks, request: Request) -> tuple[Request, Completion]:
    """The completion, and its request.

    A completion that its token limit cut off is noted and asked for once more with a longer limit.
    """
    completion = client.complete(request)
    if completion.finish_reason == "length":
        client.note(Answered(request.key, request.purpose, remarks={"cut": 1}))
        request = replace(request, max_tokens=request.max_tokens and max(LONGER * request.max_tokens, LEAST))
        completion = client.complete(request)
    return request, completion


# -- roles ---------------------------------------------------------------------------------------------------------


class Model:
    """One model as a role uses it.

    Args:
        name: a LiteLLM model name.
        temperature: None means the provider's default.
        max_tokens: limit of one answer; an answer that is cut off is never read.
        prompts: by default the built-in ones.
        effort: further options, by their names in `Request`.
    """

    def __init__(
        self,
        client: Asks,
        name: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        prompts: PromptSet | None = None,
        **effort: Any,
    ) -> None:
        self.client = client
        self.prompts = prompts or PromptSet()
        self._blank = Request(name, (), "", temperature, max_tokens, **effort)

    def request(self, messages: WireMessages, purpose: str, *, seed: int | None = None) -> Request:
        return replace(self._blank, messages=messages, purpose=purpose, seed=seed)

    def answer(
        self,
        prompt: str,
        values: dict[str, str],
        answer: type[T],
        check: Check[T] = lambda _: None,
        *,
        purpose: str,
    ) -> T:
        """The checked answer to a prompt; arguments and errors as of `ask_structured`."""
        request = self.request(self.prompts.render(prompt, **values), purpose)
        return ask_structured(self.client, request, answer, check).value


@contextmanager
def failing_as(error_type: type[RoleError], what: str) -> Iterator[None]:
    """Turn a failed call into the role's own error, which begins with `what`.

    A call that was stopped, or refused for its budget or key, is no failure of the reply or the artifact.  Such an
    `LLMError` passes and ends the run, where a role's error marks one turn as failed.
    """
    try:
        yield
    except LLMError as error:
        if error.kind in ENDS_THE_RUN:
            raise
        came_back = f"; it said: {one_line(error.raw[-1])[:EXCERPT]}" if error.raw else ""
        raise error_type(f"{what}: {error}{came_back}") from error
