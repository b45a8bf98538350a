"""Does this simulated user leak hidden intents?  The report also lists failures of the run.

A leak is a user turn in which the simulated user said words that only a hidden intent holds.

The rule is `base.leak_words.find_leaks`.  Where a conversation belongs to a domain with a lexicon, the audit adds
the lexicon's knowledge: other names of a hidden value, values that a drawing showed without words, and the everyday
names of categories, which a user may always use.  A finding is graded: an *alarm* says enough of one intent to give it
away, a *slight* finding is one word among many and is for a person to read.  The desk keeps no files; raising means
failed, returning finished.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.leak_words import ENOUGH_WORDS, Leak, find_leaks, giving_away, roots
from discover_lib.base.words import counted
from discover_lib.core.conversation import Conversation, Message
from discover_lib.core.intents import IntentTree
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import hidden_texts, known_texts
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS, Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import read_reply
from discover_lib.metrics.intervals import Share, share_of
from discover_lib.metrics.near_misses import near_misses_of
from discover_lib.metrics.scores import leaked, unchecked_messages
from discover_lib.runs.outcomes import RunFailures, failures_of_run
from discover_lib.runs.store import RunStore
from discover_lib.runs.units import stored_scores
from discover_lib.tasks.told import near_miss_table
from discover_lib.tasks.waist import Asked, How, Lines, Mark, Quote, Report, RunFolder, Table, Tell, Tone, task

ALARM = 5  # the exit code
UNFINISHED = 1
SHOWN = 10  # findings told at first
RARE = 0.1  # where leaks in a larger share of user turns cannot be excluded, no leak is no verdict
EXCERPT = 200  # characters of an answer
FORMS = {"verbatim": "word for word", "inflected": "a form of “{}”", "synonym": "another name for “{}”"}
UNREAD = "{} not checked: the rule about words reads the letters a to z alone"

Severity = Literal["alarm", "slight"]
NAMES: dict[Severity, str] = {"alarm": "leak", "slight": "possible leak"}
ALARMING_SHARE = 1 / 3  # of an intent's content words: one of three gives it away, one of five hardly


# -- the desk ---------------------------------------------------------------------------------------------------------


class Leaks(Asked, frozen=True):
    run: RunFolder


@task("leaks", "Does this simulated user say what they cannot know yet?", keeps=False)
def leaks(asked: Leaks, how: How, folder: Path, tell: Tell) -> Report:
    with RunStore.read(asked.run) as store:
        talks, failed = finished_conversations(store), failures_of_run(store)
        if not talks and not store.failures(retried=True):
            raise DiscoverError(f"{asked.run}: no finished conversation to audit; resume the run first")
        if not talks:
            unfinished = Lines(("no conversation is finished, so only failures are reported",))
            return Report((unfinished, *told_failures(failed)), {"failures": failed.to_dict()}, exit_code=UNFINISHED)
        checker, scores = store.configuration.get("leak_check"), list(stored_scores(store))
    found, shares = audit(talks), near_misses_of(scores)
    read_by = f"{checker} read each message for paraphrases, too" if checker else "no model read for paraphrases"
    parts = (
        *told_leaks(found, talks),
        Lines((f"  these are leaks by the rule about words; {read_by}",)),
        *told_failures(failed),
        near_miss_table(shares),
    )
    plain = {
        "leaks": found.to_dict(),
        "failures": failed.to_dict(),
        "near misses": {"assistants": [each.to_dict() for each in shares]},
    }
    return Report(parts, plain, exit_code=ALARM if found.alarms else 0)


def told_leaks(audited: Audit, talks: Mapping[str, Conversation]) -> tuple[Lines | Table, ...]:
    """How many user turns reveal an undiscovered intent, and every finding, leaks first."""
    lines, slight, rate = [], len(audited.findings) - len(audited.alarms), audited.alarm_rate
    most = 1.0 if rate.high is None else rate.high
    if audited.turns or not audited.unchecked:
        lines.append(
            f"{rate.hits} of {counted(rate.n, 'user turn')} reveal an undiscovered intent (95% Wilson interval of the "
            f"share: {rate.low or 0:.3f} to {most:.3f})."
            + (" Too few user turns to tell." if not rate.hits and most > RARE else "")
            + (f" {counted(slight, 'possible leak')} to read yourself." if slight else "")
        )
    if audited.unchecked:
        lines.append(f"leaks: {UNREAD.format(counted(audited.unchecked, 'user turn'))}")
    beyond = [
        f"{name} turn {turn.index}"
        for name, talk in talks.items()
        for turn in talk.turns
        if leaked(turn) and not turn.leaks
    ]
    if beyond:
        what = f"{counted(len(beyond), 'more message')} that the voice’s own check calls a leak, beyond words"
        lines.append(f"  {what}: {', '.join(beyond[:SHOWN])}")
    ordered = sorted(audited.findings, key=lambda one: one.severity != "alarm")
    columns = ("", "where", "message", "revealing words", "hidden intent")
    tone: Tone = "bad" if audited.alarms else "open" if most > RARE else "plain"
    table = Table(columns, tuple(map(_row, ordered)), "leaks, then possible leaks", shown=SHOWN)
    return (Lines(tuple(lines), tone), *([table] if ordered else []))


def _row(finding: Finding) -> tuple[str | Mark | Quote, ...]:
    state = "emerging" if finding.emerging else "undiscovered"
    return (
        Mark(NAMES[finding.severity], "bad" if finding.severity == "alarm" else "open"),
        f"{finding.name}, turn {finding.turn}",
        finding.quote,
        ", ".join(f"“{each.word}” {FORMS[each.how].format(each.meant)}" for each in finding.leaks),
        f"{state} [{finding.intent_id}] {finding.intent_text}",
    )


def told_failures(failed: RunFailures) -> tuple[Lines, ...]:
    """All counts in one line, and examples."""
    lines = [line for line in (failed.line, failed.outcomes.line) if line]
    for each in failed.examples:
        lines.append(f"  {each.what}, {each.where}: {' '.join(each.line.split())}")
        lines += [f"    came back: {' '.join(text.split())[:EXCERPT]}" for text in each.came_back[-1:]]
    return (Lines(tuple(lines)),)


# -- the rule ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """A user message with words that only hidden intents hold.

    Attributes:
        name: of the conversation, and `turn` (from 1) in it.
        leaks: the words, in order of appearance.
        intent_id, intent_text: the hidden intent of which most was said; `emerging` if it is half known.
        share: of the content words of this intent, how many were said.
        severity: see the module.
    """

    name: str
    turn: int
    message: str
    leaks: tuple[Leak, ...]
    intent_id: str
    intent_text: str
    emerging: bool
    share: float
    severity: Severity

    @property
    def quote(self) -> Quote:
        """The message with these words marked."""
        return Quote(self.message, tuple((each.start, each.end) for each in self.leaks))


def _plain(finding: Finding) -> dict[str, Any]:
    data = dataclasses.asdict(finding)
    data["leaks"] = [{name: each[name] for name in each if name != "other_ids" or each[name]} for each in data["leaks"]]
    return data


@dataclass(frozen=True)
class Audit:
    """The findings in a set of conversations."""

    turns: int  # user turns read, without the opening request and without those that could not be checked
    findings: tuple[Finding, ...]
    conversations: int
    unchecked: int = 0  # user turns in letters that the rule about words does not know

    @cached_property
    def alarms(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.severity == "alarm")

    @property
    def alarm_rate(self) -> Share:
        """Share of user turns with an alarm, with its 95% Wilson interval (turns taken as independent)."""
        return share_of(len(self.alarms), self.turns)

    def to_dict(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "conversations": self.conversations,
            "alarm_rate": dataclasses.asdict(self.alarm_rate),
            "findings": [_plain(each) for each in self.findings],
        } | ({"unchecked": self.unchecked} if self.unchecked else {})


def finished_conversations(store: RunStore, limit: int | None = None) -> dict[str, Conversation]:
    """The first finished conversations of a run, named by their place in it ("no. 0")."""
    places = [row.place for row in store.listing() if row.stop not in (None, "error")]
    return {f"no. {place}": store.conversation(place) for place in places[:limit]}


def audit(conversations: Mapping[str, Conversation]) -> Audit:
    """Read every user turn of the conversations (name → conversation)."""
    turns = unchecked = 0
    findings: list[Finding] = []
    for name, conversation in conversations.items():
        unread = unchecked_messages(conversation)
        turns += sum(turn.user_message is not None for turn in conversation.turns) - unread
        unchecked += unread
        findings += audit_conversation(conversation, _with_setting(name, conversation))
    return Audit(turns, tuple(findings), len(conversations), unchecked)


def _with_setting(name: str, conversation: Conversation) -> str:
    """The name with the artifact and the assistants, where these are not in it."""
    setting = conversation.setting
    who = " + ".join(dict.fromkeys(setting.get("assistants", ())))
    return ", ".join(dict.fromkeys(filter(None, (name, setting.get("artifact", ""), who))))


def lexicon_domain(conversation: Conversation) -> str:
    """The domain whose lexicon knows the conversation's words, or ""."""
    domain = conversation.setting.get("domain") or ""
    return domain if domain in ALL_DOMAINS else ""


def audit_conversation(conversation: Conversation, name: str = "") -> Iterator[Finding]:
    """The findings of one conversation, turn by turn."""
    domain = lexicon_domain(conversation)
    for turn in conversation.turns:
        if turn.user_message is not None:
            before = conversation.messages(turn.index)[:-1]
            after = turn.view.items
            finding = audit_message(turn.user_message, conversation.tree, turn.after, before, domain, after)
            if finding is not None:
                yield dataclasses.replace(finding, name=name, turn=turn.index)


def audit_message(
    message: str,
    tree: IntentTree,
    state: IntentState,
    messages: Sequence[Message],
    domain: str = "",
    after: Collection[str] | None = None,
) -> Finding | None:
    """The intent that one message gives away, or None.

    Args:
        state: the user's, when they speak: after the reply that the message answers.
        messages: the conversation before it, that reply included.
        domain: of the lexicon that knows the tree's words, or "".
        after: ids of the intents that the user pursued (`UserView.items`): a single word from another tree is slight;
            None: anything.

    Raises:
        LexiconError: no such domain.
    """
    hidden, known = hidden_texts(tree, state), known_texts(tree, state)
    lexicon = load_lexicon(domain) if domain else None
    texts = [each.content for each in messages]
    sayable = known + texts
    if lexicon is not None:
        wordings = [_wording(value, domain) for value in sorted(_shown(messages, domain))]
        sayable = [
            *known,
            *(each.aspect for each in lexicon.dimensions.values()),
            *wordings,
            *texts,
        ]
    leaks = list(find_leaks(message, hidden, sayable))
    if lexicon is not None:
        leaks += _by_another_name(message, hidden, _nameable(known, messages, lexicon), lexicon, leaks)
    if not leaks:
        return None
    leaks.sort(key=lambda leak: leak.start)
    trees = None if after is None else {tree.root_of[key] for key in after}
    given = giving_away(leaks, None if trees is None else [key for key in hidden if tree.root_of[key] in trees])
    counted = {key: _said_of(key, text, leaks, lexicon, key in given) for key, text in hidden.items()}
    intent_id = max(counted, key=lambda key: (counted[key][0] == "alarm", *counted[key][1:]))
    severity, _, share = counted[intent_id]
    emerging = state[intent_id] is Discovery.EMERGING
    return Finding("", 0, message, tuple(leaks), intent_id, tree.text(intent_id), emerging, share, severity)


def _said_of(
    intent_id: str, text: str, leaks: Iterable[Leak], lexicon: Lexicon | None, given: bool
) -> tuple[Severity, int, float]:
    """How much of one intent was said: the grade, the number of its words, and their share of all its words.

    A text of the lexicon's own holds no everyday word, so that any word of it counts as an alarm.
    """
    number = len({word for leak in leaks if intent_id in leak.intent_ids for word in roots(leak.word)})
    share = min(1.0, number / max(1, len(roots(text))))
    terse = lexicon is not None and lexicon.value_of_text(text) is not None
    enough = number >= ENOUGH_WORDS or (number and (terse or (given and share >= ALARMING_SHARE)))
    return "alarm" if enough else "slight", number, share


# -- with a lexicon ---------------------------------------------------------------------------------------------------


def _by_another_name(
    message: str, hidden: Mapping[str, str], known: frozenset[str], lexicon: Lexicon, leaks: Iterable[Leak]
) -> Iterator[Leak]:
    """Phrases of the message that name a hidden value, or a more specific one, in other words than the intent's."""
    taken = {place for leak in leaks for place in range(leak.start, leak.end)}
    holders: dict[str, list[str]] = {}
    for intent_id, text in hidden.items():
        for value in known_values(text, lexicon.domain):
            holders.setdefault(value, []).append(intent_id)
    for value, phrase in lexicon.cue_hits(message, talk=True).items():
        meant = next((each for each in lexicon.lineages[value] if each in holders and each not in known), None)
        start = message.lower().replace("’", "'").find(phrase.split()[0])
        end = min(len(message), start + len(phrase))
        if meant is not None and start >= 0 and taken.isdisjoint(range(start, end)):
            yield Leak(phrase, start, end, lexicon.values[meant].say, tuple(holders[meant]), "synonym")


def _nameable(known: Iterable[str], messages: Sequence[Message], lexicon: Lexicon) -> frozenset[str]:
    """Values that may be named: of discovered intents, said by anybody or shown, and all that is broader."""
    domain = lexicon.domain
    named = {value for text in known for value in known_values(text, domain)}
    for message in messages:
        named.update(_named_in(message.content, domain))
    named |= _shown(messages, domain)
    return frozenset(broader for value in named for broader in lexicon.lineages[value])


@lru_cache(maxsize=4096)
def _named_in(text: str, domain: str) -> frozenset[str]:
    """Values whose cues a message holds, denied ones included, because they have been said."""
    lexicon = load_lexicon(domain)
    return frozenset(lexicon.find_cues(text)) | frozenset(lexicon.find_cues(text, talk=True))


def _shown(messages: Sequence[Message], domain: str) -> set[str]:
    """Values that the assistant's replies show, read off drawings where there are some."""
    replies = [each.content for each in messages if each.role == "assistant"]
    return {value for reply in replies for option in read_reply(reply, domain).options for value in option}


@lru_cache(maxsize=4096)
def _wording(value_id: str, domain: str) -> str:
    """All wordings of a value, and the names of broader ones."""
    lexicon = load_lexicon(domain)
    value = lexicon.values[value_id]
    broader = [lexicon.values[each] for each in lexicon.lineages[value_id][1:]]
    return ". ".join(
        (value.text, value.say, *value.cues, *value.talk, *(f"{each.text}. {each.say}" for each in broader))
    )
