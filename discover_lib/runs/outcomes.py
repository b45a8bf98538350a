"""The answers of language models over a whole run: outcomes, failures and refused messages.

The store keeps a note on every answer beside the calls (`CallStore.answers`), and every failure with the raw answers.
So an interruption changes no count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from discover_lib.base.leak_words import NOT_CHECKED
from discover_lib.base.records import Record
from discover_lib.base.words import counted, price_line
from discover_lib.core.conversation import Conversation
from discover_lib.engines.llm.calls.exchange import Spent
from discover_lib.runs.database import Call
from discover_lib.runs.store import Failure, RunStore

Structured = Mapping[str, Mapping[str, int]]  # purpose → clean, repaired, reasked or failed → answers
OF_A_KIND = 3  # examples


@dataclass(frozen=True)
class Outcomes(Record, derived=("line",), omit=("leaks", "unread")):
    """What became of the structured answers of a run.  `line` leaves out zero counts.

    The parts of `line` before its semicolon add up to the answers.  The other parts count their contents.

    Attributes:
        answers: purpose → outcome → number of answers; "failed" answers were no better when asked again.
        remarks: remark → number of answers: "cut" by their limit, "unchecked" for paraphrases.
        unscored: candidates whose judgement failed, and missing parts of assessments.
        leaks: messages of users that reveal an undiscovered intent, and were kept.
        unread: artifacts whose intents the word rule for leaks cannot read.
    """

    answers: Structured = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    leaks: int = 0
    unread: int = 0

    @classmethod
    def of_run(cls, store: RunStore) -> Outcomes:
        """Over all sessions of a run."""
        counts, remarks = store.calls.answers()
        answers: dict[str, dict[str, int]] = {}
        for (purpose, outcome), count in counts.items():
            answers.setdefault(purpose, {})[outcome] = count
        unread = len(store.unread_artifacts())
        return cls(answers, remarks, sum(store.unscored().values()), store.leaks(), unread)

    @property
    def line(self) -> str:
        """In words; "" if no model was asked."""
        seen = Counter(self.remarks)
        became = [
            *(self._with_words(outcome, outcome) for outcome in ("clean", "repaired")),
            self._with_words("reasked", "asked again", by_role=True),
            self._with_words("failed", "no better when asked again", by_role=True),
        ]
        found = [
            (seen["cut"], f"{seen['cut']:,} cut"),
            (seen["unchecked"], f"{seen['unchecked']:,} not checked for paraphrases"),
            (self.leaks, f"{counted(self.leaks, 'leak')} kept"),
            (self.unread, f"leaks {NOT_CHECKED} in {counted(self.unread, 'artifact')}"),
            (self.unscored, f"{self.unscored:,} unscored"),
        ]
        parts = ", ".join(filter(None, became)), ", ".join(words for count, words in found if count)
        said = "; ".join(filter(None, parts))
        return f"answers: {said or 'none noted'}" if said or self.answers else ""

    def _with_words(self, outcome: str, words: str, by_role: bool = False) -> str:
        rows = Counter(
            {purpose.removeprefix("builder: "): row.get(outcome, 0) for purpose, row in self.answers.items()}
        )
        if not rows.total():
            return ""
        roles = ", ".join(f"{role} {count}" for role, count in rows.most_common() if count)
        return f"{rows.total():,} {words}" + (f" ({roles})" if by_role else "")


def cost_line(spent: Spent) -> str:
    """The cost of all finished calls, those of the scorers included; calls of unknown price are counted apart."""
    tokens = f"{spent.prompt_tokens:,} tokens in, {spent.completion_tokens:,} out"
    return f"{counted(spent.calls, 'call')}, {tokens}, {price_line(spent.cost, spent.unpriced, spent.calls)}"


def closing_lines(store: RunStore) -> list[str]:
    """The last lines of a command about the calls of the whole run; empty if no model was asked."""
    spent = store.calls.spent()
    lines = [cost_line(spent), Outcomes.of_run(store).line]
    return [line for line in lines if line] if spent.calls else []


# -- failures ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example(Record):
    """One failure: its place, a line, and the raw answers, if any came back."""

    what: str
    where: str
    line: str
    came_back: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFailures(Record, derived=("line",)):
    """The failures of a run.

    Attributes:
        standing: role → turns that failed, stopped their conversation, and were not repeated since.
        mended: turns that failed first and succeeded when the run resumed.
        unscored: "judge" → candidates without a judgement; part of an assessment → conversations that lack it.
        examples: the worst first, a few of each kind.
    """

    standing: Mapping[str, int]
    mended: int
    unscored: Mapping[str, int]
    outcomes: Outcomes
    examples: tuple[Example, ...]

    @property
    def line(self) -> str:
        """All counts in one line."""
        counts = (sum(self.standing.values()), self.mended, sum(self.unscored.values()))
        parts = (
            f"{counted(counts[0], 'turn')} failed ({_listed(self.standing)})",
            f"{counts[1]} failed and came out later",
            f"{counts[2]} unscored ({_listed(self.unscored)})",
        )
        return f"failures: {', '.join(part for part, count in zip(parts, counts, strict=True) if count) or 'none'}"


def failures_of_run(store: RunStore) -> RunFailures:
    """All failures of a run, with examples."""
    now = store.failures()
    ended = Counter(failure.role for _, failure in now if failure.ended)
    ever = sum(failure.ended for _, failure in store.failures(retried=True))
    return RunFailures(
        standing=dict(ended.most_common()),
        mended=ever - ended.total(),
        unscored=store.unscored(),
        outcomes=Outcomes.of_run(store),
        examples=tuple(_examples(store, now)),
    )


def _examples(store: RunStore, failures: list[tuple[int, Failure]]) -> Iterator[Example]:
    for what, stopped in (("failed turn", True), ("unscored reply", False)):
        chosen = [(place, failure) for place, failure in failures if failure.ended is stopped]
        for place, failure in chosen[:OF_A_KIND]:
            where = f"conversation {place}, turn {failure.turn}"
            yield Example(what, where, f"{failure.role}: {failure.message}", failure.came_back)
    for place, lost in store.scoring_failures(OF_A_KIND):
        came_back = tuple(lost["came_back"])
        yield Example("unscored part", f"conversation {place}", f"{lost['part']}: {lost['message']}", came_back)
    for purpose, text in store.calls.answers_with("cut", OF_A_KIND):
        yield Example("cut by its limit", purpose, "the answer as it came", (text,))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


# -- messages that were refused ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refused(Record, derived=("line",)):
    """A user message that a check refused, so that the voice was asked again.

    Attributes:
        turn: the turn whose reply it answers, from 1.
        why: the reason that the voice was given.
        check: "word rule", "model's check", or "form" (its length, markup, or a break of the role).
    """

    turn: int
    message: str
    why: str
    check: str

    @property
    def line(self) -> str:
        return f"turn {self.turn}, refused by the {self.check}: {self.message!r}: {self.why}"


def _around_the_reason() -> tuple[str, str]:
    from discover_lib.engines.llm.asking import REASK

    before, after = REASK.split("{defect}")
    return before, after


def refusals(store: RunStore) -> list[Call]:
    """The calls that asked for a user's message once more."""
    before, _ = _around_the_reason()
    return [each for each in store.calls.finished("voice") if str(each.messages[-1]["content"]).startswith(before)]


def refused_in(conversation: Conversation, asked_again: Sequence[Call]) -> list[Refused]:
    """The refused messages of a conversation; `asked_again` is of `refusals`."""
    if not asked_again:
        return []
    from discover_lib.engines.llm.prompting import transcript

    before, after = _around_the_reason()
    heard_in = {
        turn.index: transcript((*conversation.messages(turn.index - 1), turn.reply.message))
        for turn in conversation.turns
    }
    refused = []
    for call in asked_again:
        prompt = "\n".join(str(each["content"]) for each in call.messages[:-2])
        for turn, heard in heard_in.items():
            if heard in prompt and f"{heard}\n<user>" not in prompt:
                why = str(call.messages[-1]["content"]).removeprefix(before).removesuffix(after)
                message = _message(str(call.messages[-2]["content"]))
                if message is not None:
                    refused.append(Refused(turn, message, why, _check(why)))
    return refused


def _message(answer: str) -> str | None:
    """The message of an answer; None if it could not be read at all."""
    from discover_lib.engines.llm.answers import UserMessage
    from discover_lib.engines.llm.asking import UnusableError, read_answer
    from discover_lib.engines.llm.voice import plain

    try:
        return plain(read_answer(answer, UserMessage, lambda _: None).value.message)
    except UnusableError:
        return None


def _check(why: str) -> str:
    from discover_lib.engines.llm.voice import LEAKED, PARAPHRASED

    return "model's check" if why == PARAPHRASED else "word rule" if LEAKED in why else "form"
