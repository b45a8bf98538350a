"""A language model as the leak check: does a user's message reveal a hidden intent in other words?

The rule about words (`base.leaks`) cannot see a paraphrase, so this check follows it.  If the check fails, the message
is kept and counted as *unchecked*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from discover_lib.core.conversation import Message
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import Model, ask_structured
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Answered, Asks, LLMError, Request
from discover_lib.engines.llm.prompting import PromptSet, default_prompts, listed, one_line, quoted, transcript

TEMPERATURE = 0.0
MAX_TOKENS = 2048
PURPOSE = "leak check"


class LeakCheck:
    """Asks a model about each text once; `purpose` names its calls in records."""

    def __init__(self, client: Asks, model: str, *, prompts: PromptSet | None = None, purpose: str = PURPOSE) -> None:
        self.model = Model(client, model, TEMPERATURE, MAX_TOKENS, prompts or default_prompts())
        self.purpose = purpose
        self._asked: dict[str, tuple[str, ...] | None] = {}  # key of the call → ids

    def given_away(
        self, message: str, hidden: Mapping[str, str], known: Iterable[str], messages: Sequence[Message] = ()
    ) -> tuple[str, ...] | None:
        """Ids of the hidden intents that a message reveals; None without a usable answer.

        Args:
            hidden: intent id → text of an intent that the user does not know.
            known: texts of the intents that the user knows.
            messages: the conversation before the message.

        Raises:
            LLMError: the run is over (stopped, no budget, no key).
        """
        rendered = self.model.prompts.render(
            "leak_check",
            known=listed(map(one_line, known)),
            conversation=transcript(messages) or "(none)",
            hidden="\n".join(f"- [{key}] {one_line(text)}" for key, text in hidden.items()),
            message=quoted("message", message),
        )
        request = self.model.request(rendered, self.purpose)
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
            answer = ask_structured(self.model.client, request, answers.LeakCheck, check, seen).value
        except LLMError as error:
            if error.kind in ENDS_THE_RUN:
                raise
            self.model.client.note(Answered(request.key, self.purpose, remarks={"unchecked": 1}))
            return None
        return tuple(dict.fromkeys(key for key in answer.ids if key in hidden))
