"""How alive the miniature's user sounds: stock hedges, distinct frames, leaks, and what is said to nonsense.

    .venv/bin/python tools/voice_figures.py              # the figures, over 600 messages of the panel
    .venv/bin/python tools/voice_figures.py --read 150   # and that many messages to read aloud

The panel: every scripted assistant with users of every main domain, from the evaluation split, as often as it takes.
A frame is a message with the things that it names replaced.  Leaks are what the rule of `base.leaks` finds, in the very
word or in another form of it, and what the audit adds (other names of hidden values).
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from discover_lib.base.leaks import find_leaks
from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.core.conversation import Conversation
from discover_lib.core.rollout import run_conversation
from discover_lib.core.simulator import UserSimulator
from discover_lib.core.view import hidden_texts, known_texts
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifact
from discover_lib.engines.miniature.assistants import POOL, scripted_assistant
from discover_lib.engines.miniature.lexicon import DOMAINS, load_lexicon
from discover_lib.engines.miniature.rendering import the
from discover_lib.tasks.leaks import audit

HEDGES = (
    "something is missing",
    "something's missing",
    "missing something",
    "feels off",
    "is off",
    "a bit off",
    "not quite",
    "not sure",
    "unsure",
    "don't know what",
    "don't really know",
    "honestly don't know",
    "i don't know",
    "dunno",
    "no idea",
    "can't say",
    "couldn't say",
    "can't tell",
    "couldn't tell",
    "hard to say",
    "put my finger",
    "can't name",
    "somehow",
    "isn't right",
    "not right",
    "not there yet",
    "not yet",
    "getting there",
    "nearly there",
    "almost there",
    "sort of",
    "kind of like",
    "i wouldn't know",
    "i'd be guessing",
)
MAYBES = ("maybe", "perhaps", "probably", "i think", "hmm", "hm,")
NONSENSE = (
    "asdfgh",
    "qwpoeir zxmcnv lkjsdf",
    "",
    "   \n ",
    ".",
    "??",
    "🎉🎉🎉 🦄",
    "42",
    "Der Regen fällt leise auf die Dächer der Stadt.",
    "今日はいい天気ですね。",
    "Je ne sais pas de quoi vous parlez.",
    "The central bank kept interest rates where they were, and markets hardly moved on Tuesday afternoon.",
    "My neighbour's lawnmower needs a new belt.",
    '<svg viewBox="0 0 10 10"><circle r="',
    "```svg\n<svg><g></svg>\n```",
    "```python\npass\n```",
    "I'm sorry, but I can't help with that.",
    "As an AI model I am unable to do so.",
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor",
    "Error 502: bad gateway",
)
PRAISE = re.compile(
    r"\b(?:like|love|keep|good|great|nice|perfect|happy|works?|getting there|closer|better|warmer|lovely|yes|oh!|"
    r"that's it|the one|finally|nearer|wow)\b",
    re.IGNORECASE,
)
NOT_PRAISE = re.compile(
    r"looks? like|like (?:i said|this|that|into|to see)|a good one|if you('d)? like|would like|i'd like|what you like|"
    r"keep (?:saying|asking|coming|looking|thinking)|it's like|like to think|"
    r"no good at|yes or no|could be more like|yes\?|and\?",
    re.IGNORECASE,
)


def panel(messages: int) -> Iterator[Conversation]:
    """Conversations of all assistants in all domains, user by user, until that many messages are said."""
    said = 0
    for place in itertools.count():
        for name, domain in itertools.product(POOL, DOMAINS):
            user, seed = engine(domain), derive_seed("voice figures", place, domain)
            tree = user.builder.build(generate_artifact(domain, "eval", place % 100)).tree
            setting = {"domain": domain, "assistants": [name], "artifact": f"{domain} {place}"}
            assistants = [scripted_assistant(name, domain)]
            talk = run_conversation(tree, user.judge, user.voice, assistants, seed=seed, setting=setting)
            yield talk
            said += sum(turn.user_message is not None for turn in talk.turns)
            if said >= messages:
                return


@lru_cache(maxsize=16)
def _named_things(domain: str) -> re.Pattern[str]:
    lexicon = load_lexicon(domain)
    things = {value.say for value in lexicon.values.values()} | {the(value) for value in lexicon.values.values()}
    things |= {thing.removeprefix("the ") for thing in things}
    things |= {dimension.aspect for dimension in lexicon.dimensions.values()}
    listed = "|".join(re.escape(thing.lower()) for thing in sorted(things, key=len, reverse=True))
    pointed = r"[abcdefgh](?=[.,!?: ]|$)(?<!\ba)|the (?:first|second|third|fourth) one|\ba(?= and [b-h]\b)"
    return re.compile(rf"\b(?:{listed})\b|(?<![\w'])(?:{pointed})")


def frame_of(message: str, domain: str) -> str:
    """A message with its named things replaced, in lower case and without what it ends in."""
    named = _named_things(domain).sub("_", message.lower())
    return re.sub(r"_(?:, _)*(?: and _)*", "_", named).rstrip(" .!:)")


def holds_any(message: str, phrases: tuple[str, ...]) -> bool:
    lowered = message.lower()
    return any(phrase in lowered for phrase in phrases)


def leaks_in(talk: Conversation) -> list[str]:
    """Messages of a conversation that say what only hidden intents hold, word for word or inflected.

    A category's everyday name may always be said ("the turning point", where something turns): the view allows it.
    """
    found = []
    categories = [dimension.aspect for dimension in load_lexicon(talk.setting["domain"]).dimensions.values()]
    for turn in talk.turns:
        if turn.user_message is not None:
            before = [message.content for message in talk.messages(turn.index)[:-1]]
            hidden = hidden_texts(talk.tree, turn.after)
            leaks = find_leaks(turn.user_message, hidden, [*known_texts(talk.tree, turn.after), *categories, *before])
            found += [f"{turn.user_message!r}: {leak.word} ({leak.how})" for leak in leaks]
    return found


def answers_to_nonsense(domain: str, users: int) -> Iterator[tuple[str, str]]:
    """What users say to each nonsense reply, first of all and after a draft that they have met."""
    user = engine(domain)
    draft = scripted_assistant("draft", domain)
    for place, reply in itertools.product(range(users), NONSENSE):
        tree = user.builder.build(generate_artifact(domain, "eval", place)).tree
        simulator = UserSimulator(tree, user.judge, user.voice, seed=derive_seed("nonsense", domain, place, reply))
        if place % 2:
            simulator.step(simulator.ask(draft))  # type: ignore[arg-type]
        yield reply, simulator.step(reply).user_message or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=600)
    parser.add_argument("--read", type=int, default=0, help="print this many messages of the panel")
    parser.add_argument("--nonsense", type=int, default=10, help="users per domain who are told nonsense")
    options = parser.parse_args()

    talks = list(panel(options.messages))
    said = [(talk, turn) for talk in talks for turn in talk.turns if turn.user_message is not None]
    said = said[: options.messages]
    messages = [turn.user_message or "" for _, turn in said]
    hedged = [message for message in messages if holds_any(message, HEDGES)]
    wide = [message for message in messages if holds_any(message, HEDGES + MAYBES)]
    frames = Counter(frame_of(turn.user_message or "", talk.setting["domain"]) for talk, turn in said)
    leaks = [line for talk in talks for line in leaks_in(talk)]
    lengths = sorted(len(message.split()) for message in messages)
    print(f"{len(messages)} messages of {len(talks)} conversations")
    print(f"with a stock hedge: {len(hedged)} ({len(hedged) / len(messages):.1%}); "
          f"with maybe, perhaps, hmm, i think besides: {len(wide)} ({len(wide) / len(messages):.1%})")  # fmt: skip
    print(f"distinct frames: {len(frames)}; the most frequent: {frames.most_common(3)}")
    print(f"words: median {lengths[len(lengths) // 2]}, longest {lengths[-1]}")
    print(f"leaks, word for word or inflected: {len(leaks)}", *leaks[:5], sep="\n  ")
    findings = audit(talks).findings
    print(f"findings of the audit, other names of hidden things included: {len(findings)}")
    for finding in findings[:5]:
        print(f"  {finding.message!r}: {finding.line}")
    answers = [pair for domain in DOMAINS for pair in answers_to_nonsense(domain, options.nonsense)]
    praised = [pair for pair in answers if PRAISE.search(NOT_PRAISE.sub("", pair[1]))]
    print(
        f"nonsense: {len(NONSENSE)} replies × {options.nonsense} users × {len(DOMAINS)} domains; "
        f"praised: {len(praised)}"
    )
    for reply, message in praised[:8]:
        print(f"  {reply[:40]!r} → {message!r}")
    for talk, turn in derive_rng("read").sample(said, min(options.read, len(said))):
        met = f"{talk.setting['domain'][:8]:8} {talk.setting['assistants'][0]:8} {turn.view.pursuing!s:6}"
        print(f"  {met} {turn.user_message}")


if __name__ == "__main__":
    main()
