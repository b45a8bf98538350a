"""A model's yes or no: does what a user wrote give a hidden intent away in other words?

The rule about words (`base.leaks`) cannot see a paraphrase.  The check is asked after the rule, and only of texts; one
that fails leaves the text *unchecked*, which is counted, and never costs the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from discover_lib.core.conversation import Message
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Answered, LLMError, Request
from discover_lib.engines.llm.calls.structured import Asks, ask_structured
from discover_lib.engines.llm.prompting import PromptSet, default_prompts, listed, one_line, quoted, transcript

TEMPERATURE = 0.0
MAX_TOKENS = 2048
PURPOSE = "leak check"


class LeakCheck:
    """Asks a model, of each text once; `purpose` is what its calls are metered under."""

    def __init__(self, client: Asks, model: str, *, prompts: PromptSet | None = None, purpose: str = PURPOSE) -> None:
        self.client = client
        self.purpose = purpose
        self.model = model
        self.prompts = prompts or default_prompts()
        self._asked: dict[str, tuple[str, ...] | None] = {}  # key of the call → ids

    def given_away(
        self, message: str, hidden: Mapping[str, str], known: Iterable[str], messages: Sequence[Message] = ()
    ) -> tuple[str, ...] | None:
        """Ids of the hidden intents that a message gives away; None if no usable answer came.

        Args:
            hidden: intent id → text of what the user does not know.
            known: texts of what they do know.
            messages: the conversation before the message.

        Raises:
            LLMError: the run is over (stopped, no budget, no key).
        """
        rendered = self.prompts.render(
            "leak_check",
            known=listed(map(one_line, known)),
            conversation=transcript(messages) or "(none)",
            hidden="\n".join(f"- [{key}] {one_line(text)}" for key, text in hidden.items()),
            message=quoted("message", message),
        )
        request = Request(self.model, rendered, self.purpose, temperature=TEMPERATURE, max_tokens=MAX_TOKENS)
        if request.key not in self._asked:
            self._asked[request.key] = self._ask(request, hidden)
        return self._asked[request.key]

    def _ask(self, request: Request, hidden: Mapping[str, str]) -> tuple[str, ...] | None:
        def check(answer: answers.LeakCheck) -> str | None:
            named = [key for key in answer.ids if key in hidden]
            if answer.leaks and not named:
                return f"it leaks, but no hidden id is named; the ids are {', '.join(hidden)}"
            return "it leaks nothing, and yet ids are named" if named and not answer.leaks else None

        def seen(answer: answers.LeakCheck) -> Mapping[str, int]:
            return {"stray ids": sum(key not in hidden for key in answer.ids)}

        try:
            answer = ask_structured(self.client, request, answers.LeakCheck, check, seen).value
        except LLMError as error:
            if error.kind in ENDS_THE_RUN:
                raise
            self.client.note(Answered(request.key, self.purpose, remarks={"unchecked": 1}))
            return None
        return tuple(dict.fromkeys(key for key in answer.ids if key in hidden))
