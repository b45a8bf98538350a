"""The miniature's judge: programmatic truth about what a reply shows or names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from discover_lib.core.advance import walk
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import JudgeError
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Verdict
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import read_reply


class MiniatureJudge:
    """Judges replies of one domain by parsing what they show (paper, appendix A.2.1).

    An intent is met by an option that shows all its values or more specific ones.  A near miss shows a sibling in
    place of one value and everything else that the intent asks for; part of an intent alone is nothing.
    """

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.lexicon = load_lexicon(domain)

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        reading = read_reply(reply.text, self.domain)

        def decide(intent: Intent) -> Verdict:
            return judge_intent(intent, requirement(intent.text, self.domain), reading.options, self.lexicon)

        return Evaluation(reading.kind, walk(tree, state, rules, decide), reading.kind_reason)


@lru_cache(maxsize=16384)
def requirement(text: str, domain: str) -> tuple[str, ...]:
    """The values that a requirement text asks for: one of the lexicon's own texts, or the cues in a text of yours.

    Raises:
        JudgeError: nothing in the text that the lexicon knows.
    """
    lexicon = load_lexicon(domain)
    own = lexicon.value_of_text(text)
    asked = (own,) if own else tuple(lexicon.find_cues(text, talk=True))
    if not asked:
        raise JudgeError(
            f"the miniature cannot decide {text!r}: it names nothing that the {domain} lexicon knows; "
            "reword it with words of the lexicon, or let a language model judge"
        )
    return asked


def known_values(text: str, domain: str) -> tuple[str, ...]:
    """`requirement`, or nothing of one that was written by hand in words of its own."""
    try:
        return requirement(text, domain)
    except JudgeError:
        return ()


def judge_intent(
    intent: Intent, needed: tuple[str, ...], options: Sequence[Mapping[str, str]], lexicon: Lexicon
) -> Verdict:
    """The verdict on one intent.  Any one option is enough."""
    near: dict[str, str] = {}
    for option in options:
        met = {need: shown for need in needed if (shown := _shown_for(need, option, lexicon)) is not None}
        if len(met) == len(needed):
            return Verdict(intent.id, True, (), "; ".join(option[shown] for shown in met.values()))
        for miss, why in _near_misses(needed, met, option, lexicon):
            near.setdefault(miss, why)
    if near:
        return Verdict(intent.id, False, tuple(near), "not this, but close: " + "; ".join(near.values()))
    return Verdict(intent.id, False, (), "nothing of this in the reply")


def _shown_for(need: str, option: Mapping[str, str], lexicon: Lexicon) -> str | None:
    return next((shown for shown in option if need in lexicon.lineages[shown]), None)


def _near_misses(
    needed: tuple[str, ...], met: Mapping[str, str], option: Mapping[str, str], lexicon: Lexicon
) -> list[tuple[str, str]]:
    """Alternatives to the one missing value, as specific as it, with the evidence."""
    missing = [need for need in needed if need not in met]
    if len(missing) != 1:
        return []
    siblings = {sibling: _shown_for(sibling, option, lexicon) for sibling in lexicon.siblings(missing[0])}
    return [(lexicon.values[sibling].text, option[shown]) for sibling, shown in siblings.items() if shown is not None]
