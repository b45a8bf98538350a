"""A language model as the judge: one structured call per reply (paper, appendix A.2.1).

The model sees only the intents that `walk` may ask about.  Its verdicts go through the same `walk` as the miniature's,
so equal verdicts give an equal `Evaluation`.  Verdicts that the walk does not reach are dropped.

`LeakCheck` asks whether a user's message reveals a hidden intent in other words, which the rule about words
(`base.leak_words`) cannot see.  If the check fails, the message is kept and counted as *unchecked*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discover_lib.core.advance import focus, walk
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import JudgeError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.answers import ResponseEvaluation
from discover_lib.engines.llm.asking import Model, ask_structured, each_once, failing_as
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, Answered, Asks, LLMError, Request
from discover_lib.engines.llm.prompting import PromptSet, listed, one_line, quoted, transcript

TEMPERATURE = 0.0  # the same reply should get the same verdict
MAX_TOKENS = 8192
LEAK_TOKENS = 2048
LEAK_PURPOSE = "leak check"


class LLMJudge:
    """Judges replies by a language model."""

    def __init__(
        self,
        client: Asks,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        prompts: PromptSet | None = None,
        **effort: Any,
    ) -> None:
        self.model = Model(client, model, temperature, max_tokens, prompts, **effort)

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        shown = askable(tree, state, rules)

        def check(answer: ResponseEvaluation) -> str | None:
            return defect(answer, shown, tree, state, rules)

        values = {
            "artifact_type": tree.artifact_type,
            "conversation": transcript(messages),
            "reply": quoted("reply", reply.text),
            "intents": describe_focus(tree, state, rules, shown),
            "wishes": describe_wishes(tree, state, rules, shown),
        }

        with failing_as(JudgeError, "the reply could not be judged"):
            answer = self.model.answer("response_evaluation", values, ResponseEvaluation, check, purpose="judge")
        verdicts = close_upwards(read_verdicts(answer, shown), shown)
        reached = walk(tree, state, rules, lambda intent: verdicts[intent.id])
        return Evaluation(answer.kind, reached, one_line(answer.kind_reason))


def askable(tree: IntentTree, state: IntentState, rules: Rules) -> frozenset[str]:
    """Ids of all intents that a walk over this state can ask about, under any verdicts."""
    return frozenset(verdict.intent_id for verdict in walk(tree, state, rules, lambda each: Verdict(each.id, True)))


def describe_focus(tree: IntentTree, state: IntentState, rules: Rules, shown: frozenset[str]) -> str:
    """The trees in focus as an outline; an intent that is not asked about is "settled"."""

    def line(intent: Intent) -> str:
        status = state[intent.id].name.lower() if intent.id in shown else "settled"
        return f"{'  ' * (tree.depth(intent.id) - 1)}- [{intent.id}] ({status}) {one_line(intent.text)}"

    lines = [line(intent) for root in focus(tree, state, rules) for intent in tree[root].walk()]
    return "\n".join(lines) or "(none)"


def describe_wishes(tree: IntentTree, state: IntentState, rules: Rules, shown: frozenset[str]) -> str:
    """The intents outside the focus that are discovered and not yet satisfied."""
    inside = focus(tree, state, rules)
    outside = [each for each in tree.intents.values() if each.id in shown and tree.root_of[each.id] not in inside]
    return listed(f"[{intent.id}] {one_line(intent.text)}" for intent in outside)


def read_verdicts(answer: ResponseEvaluation, shown: frozenset[str]) -> dict[str, Verdict]:
    """Id → verdict on each intent in `shown`.  Only a missed intent has near misses, each once."""
    return {
        each.id: Verdict(
            each.id,
            each.engaged,
            () if each.engaged else tuple(dict.fromkeys(map(one_line, each.near_misses))),
            one_line(each.reason),
        )
        for each in answer.intents
        if each.id in shown
    }


def close_upwards(verdicts: Mapping[str, Verdict], shown: frozenset[str]) -> dict[str, Verdict]:
    """`verdicts` with all intents above an engaged one engaged, too: the specific intent implies them.

    This holds also where the answer calls them missed.
    """
    closed = dict(verdicts)
    for intent_id, verdict in verdicts.items():
        for above in shown if verdict.engaged else ():
            if intent_id.startswith(f"{above}.") and not (above in closed and closed[above].engaged):
                # The reason has no id, since the voice reads it.
                closed[above] = Verdict(above, True, (), f"met with something more specific: {verdict.reason}")
    return closed


def defect(
    answer: ResponseEvaluation, shown: frozenset[str], tree: IntentTree, state: IntentState, rules: Rules
) -> str | None:
    """The defect in the ids of an answer, in words for its writer, or None.

    An extra entry is left out, and is a defect only beside a missing one.
    """
    verdicts = close_upwards(read_verdicts(answer, shown), shown)
    reached: list[str] = []

    def decide(intent: Intent) -> Verdict:
        reached.append(intent.id)
        return verdicts.get(intent.id, Verdict(intent.id, False))

    walk(tree, state, rules, decide)
    given = [each.id for each in answer.intents]
    wanted = [key for key in sorted(shown) if key in given or (key in reached and key not in verdicts)]
    return each_once(given, wanted, "intent")


# -- does a message reveal a hidden intent? ----------------------------------------------------------------------------


class LeakCheck:
    """A language model as the leak check.  It is asked about each text once; `purpose` names its calls in records."""

    def __init__(
        self, client: Asks, model: str, *, prompts: PromptSet | None = None, purpose: str = LEAK_PURPOSE
    ) -> None:
        self.model = Model(client, model, TEMPERATURE, LEAK_TOKENS, prompts)
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

        try:
            answer = ask_structured(self.model.client, request, answers.LeakCheck, check).value
        except LLMError as error:
            if error.kind in ENDS_THE_RUN:
                raise
            self.model.client.note(Answered(request.key, self.purpose, remarks={"unchecked": 1}))
            return None
        return tuple(dict.fromkeys(key for key in answer.ids if key in hidden))
