"""Whether a server of one's own takes JSON schemas, which no table knows: one tiny request that shows it.

The question is one that a model answers in prose unless the schema holds it to the form.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

from discover_lib.engines.llm.calls.records import LLMError, Request

PURPOSE = "schema probe"
KEY = "probe:"  # how the keys of probes begin: what one server answered says nothing about the next
SCHEMA = {
    "type": "object",
    "properties": {
        "greeting": {"type": "string"},
        "language": {"type": "string", "enum": ["English"]},
    },
    "required": ["greeting", "language"],
    "additionalProperties": False,
}
MAX_TOKENS = 256

Verdict = Literal["obeyed", "ignored", "refused", "failed", "undecided"]
LASTING: frozenset[Verdict] = frozenset({"obeyed", "ignored", "refused"})  # of the server, as long as it stands there
IN_WORDS = {
    "obeyed": "takes JSON schemas and keeps to them",
    "ignored": "takes JSON schemas and ignores them: only the prompt asks for the form of answers",
    "refused": "refuses JSON schemas: only the prompt asks for the form of answers",
    "failed": "failed when it was sent a JSON schema: only the prompt asks for the form of answers",
    "undecided": "could not be asked whether it takes JSON schemas",
}


@runtime_checkable
class KeepsVerdicts(Protocol):
    """A cache that keeps what the probe of a model on a server said."""

    def schema_verdict(self, model: str, server: str) -> Verdict | None: ...

    def put_schema_verdict(self, model: str, server: str, verdict: Verdict) -> None: ...


def probe_of(request: Request) -> Request:
    """The probe that goes before a request, to the same model."""
    messages = ({"role": "user", "content": "Greet me in one short sentence."},)
    return replace(
        request, messages=messages, purpose=PURPOSE, schema=SCHEMA, max_tokens=MAX_TOKENS, temperature=None, seed=None
    )


def verdict_on(answer: str | LLMError) -> Verdict:
    """What an answer, or an error instead, says of the server; undecided: of the moment, not of the server."""
    if isinstance(answer, LLMError):
        if answer.kind in ("connection", "rate_limit"):
            return "undecided"
        return "refused" if answer.kind == "bad_request" else "failed"
    try:
        data = json.loads(answer)
    except ValueError:
        return "ignored"
    obeyed = isinstance(data, dict) and data.keys() == {"greeting", "language"} and data["language"] == "English"
    return "obeyed" if obeyed and isinstance(data["greeting"], str) else "ignored"
