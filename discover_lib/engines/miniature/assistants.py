"""The scripted assistants: policies of a few lines over the beliefs that a conversation supports.

They see only the conversation.  The oracle, an upper bound, also sees the user's intents.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from discover_lib.base.seeds import derive_rng
from discover_lib.core.advance import focus
from discover_lib.core.conversation import Message, Reply
from discover_lib.core.intents import IntentTree
from discover_lib.core.rules import Rules
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature.judge import requirement
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.notation import Move
from discover_lib.engines.miniature.phrases import in_drawn_order, phrase_book, spoken
from discover_lib.engines.miniature.reading import Beliefs, believe
from discover_lib.engines.miniature.rendering import make_reply
from discover_lib.metrics.satisfaction import asks_for_final

N_ALTERNATIVES = 3
INCLUDED = 0.45  # how often a draft has something in a dimension that an artifact may do without
ADDED = 0.5  # how often something is added that stands beside what was chosen
OPENING_SLOTS = frozenset(("aspect", "first", "last", "all"))
Policy = Callable[[Beliefs, random.Random], list[Move]]


class ScriptedAssistant:
    """An assistant that plays one of `POLICIES` in one domain."""

    def __init__(self, name: str, domain: str) -> None:
        self.name = name
        self.lexicon = load_lexicon(domain)
        self._policy = POLICIES[name]

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        beliefs, rng = believe(messages, self.lexicon), derive_rng(seed, self.name)
        if beliefs.latest.final and self.name not in DEAF:
            moves = [Move("draft", final_draft(beliefs, rng))]
        else:
            moves = self._policy(beliefs, rng)
        frames = openings(self.name, moves, self.lexicon.domain, messages, seed)
        return make_reply(moves, self.lexicon, self.name, beliefs.sampled_with(), frames, messages[0].content)


class OracleAssistant:
    """Sees all intents, so it discovers as many as possible.

    It builds every intent of the tree in focus and every discovered intent.  The final artifact has all intents.
    """

    name = "oracle"

    def __init__(self, domain: str) -> None:
        self.lexicon = load_lexicon(domain)

    def reply_knowing(self, tree: IntentTree, state: IntentState, messages: Sequence[Message], seed: int) -> Reply:
        final = asks_for_final(messages[-1].content)
        shown = {root.id for root in tree.roots} if final else set(focus(tree, state, Rules.paper())[:1])
        asked = {value for leaf in tree.leaves() for value in requirement(tree.text(leaf), self.lexicon.domain)}
        wanted: list[str] = []
        for intent in tree.intents.values():
            if tree.root_of[intent.id] in shown or state[intent.id] is Discovery.DISCOVERED:
                for value in requirement(intent.text, self.lexicon.domain):
                    below = self.lexicon.below[value]  # any one where the tree stops above the leaves
                    wanted += [leaf for leaf in below if leaf in asked] or below[:1]
        moves = [Move("draft", self.lexicon.that_fit(wanted))]
        frames = openings(self.name, moves, self.lexicon.domain, messages, seed)
        return make_reply(moves, self.lexicon, self.name, frames=frames, request=messages[0].content)


def draft(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Makes a full draft, then revises it.

    It builds values that the user asked for, redraws what the user doubted and keeps the rest.
    """
    return [Move("draft", next_draft(beliefs, rng))]


def ask(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Asks one open question per turn."""
    return [Move("ask", dimension=_next_dimension(beliefs, rng, done=beliefs.asked))]


def options(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Lists options in words."""
    return [alternatives("maybe", beliefs, rng)]


def show(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Shows samples of one dimension, never a draft."""
    return [alternatives("show", beliefs, rng)]


def adaptive(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Shows samples while the user is vague, then builds.

    It builds if the user names a leaf value.  It shows samples if the user names a broader value or a dimension.  If
    the user names neither ("something is missing"), it makes a fresh draft.
    """
    wishes = beliefs.latest.wanted
    if wishes and all(beliefs.lexicon.values[wish].is_leaf for wish in wishes):
        return draft(beliefs, rng)
    if wishes or beliefs.doubted():
        return [alternatives("show", beliefs, rng)]
    # A complete draft that keeps agreed leaves only and draws everything else again, untried values first.
    return [Move("draft", _complete(beliefs, rng, (), redrawn=None))]


def mixed(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Makes a draft and samples every turn."""
    return [*draft(beliefs, rng), alternatives("show", beliefs, rng)]


def verbose(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Like draft, but explains it twice."""
    values = next_draft(beliefs, rng)
    return [Move("draft", values), Move("recap", values), Move("recap", values)]


def silent(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Never shows or asks anything."""
    return [Move("pass")]


def random_moves(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Picks a random reply and ignores the user."""
    deaf = Beliefs(beliefs.lexicon)
    return rng.choice([draft, ask, options, show])(deaf, rng)


def catalogue(beliefs: Beliefs, rng: random.Random) -> list[Move]:
    """Lists every possible choice in every turn and ignores the user.

    It measures how much the reward pays for a list.  A list earns more than listening if naming an intent counts and
    the length penalty is capped.
    """
    dimensions = beliefs.lexicon.dimensions.items()
    return [Move("maybe", tuple(dimension.leaves), name) for name, dimension in dimensions if len(dimension.leaves) > 1]


POLICIES: dict[str, Policy] = {
    "draft": draft,
    "ask": ask,
    "options": options,
    "adaptive": adaptive,
    "mixed": mixed,
    "random": random_moves,
    "silent": silent,
    "verbose": verbose,
    "catalogue": catalogue,
}
SCRIPTED = (*POLICIES, OracleAssistant.name)
USER_BLIND = "catalogue"  # reported beside the assistants, in no pool of theirs: see its policy
POOL = tuple(name for name in SCRIPTED if name != USER_BLIND)
DEAF = ("random", "silent", USER_BLIND)  # the others build what they believe as soon as the final artifact is asked for


def openings(
    name: str, moves: Sequence[Move], domain: str, messages: Sequence[Message], seed: int
) -> Mapping[str, str]:
    """What an assistant says around its moves in this reply, by verb; nothing twice while there is something else."""
    rng, own = derive_rng(seed, name, "openings"), [each.content for each in messages if each.role == "assistant"]
    said = [part for text in own for part in _talk(text)]
    frames: dict[str, str] = {}
    for verb in dict.fromkeys(move.verb for move in moves):
        every = phrase_book(domain).openings[verb]
        drawn = in_drawn_order(every, OPENING_SLOTS, said, rng, name)
        frames[verb] = next(frame.text for frame in drawn if frame.when != ("first" if own else "later"))
    return frames


@lru_cache(maxsize=1024)
def _talk(text: str) -> tuple[str, ...]:
    """What a reply says around what was made, as `spoken`."""
    return tuple(spoken(part) for part in text.split("\n\n") if part[:1] not in "`>")


def scripted_assistant(name: str, domain: str) -> ScriptedAssistant | OracleAssistant:
    """The scripted assistant of that name.

    Raises:
        ValueError: no such assistant.
    """
    if name == OracleAssistant.name:
        return OracleAssistant(domain)
    if name not in POLICIES:
        raise ValueError(f"unknown assistant {name!r}; the scripted ones are {', '.join(SCRIPTED)}")
    return ScriptedAssistant(name, domain)


def about(name: str) -> str:
    """What a scripted assistant does, in a line: the first of its policy's docstring."""
    policy = OracleAssistant if name == OracleAssistant.name else POLICIES[name]
    return (policy.__doc__ or "").partition("\n")[0]


# -- parts of policies -------------------------------------------------------------------------------------------


def next_draft(beliefs: Beliefs, rng: random.Random) -> tuple[str, ...]:
    """A complete draft: agreed leaves, then the last draft's values, redrawn where asked, doubted or not yet tried."""
    redrawn = beliefs.doubted()
    if not redrawn and beliefs.draft and not beliefs.latest.wanted:  # the user only says that something is missing
        unsettled = [name for name in beliefs.lexicon.dimensions if not beliefs.settled(name)]
        redrawn = rng.choice(unsettled) if unsettled else None
    return _complete(beliefs, rng, beliefs.draft, redrawn)


def final_draft(beliefs: Beliefs, rng: random.Random) -> tuple[str, ...]:
    """The finished artifact: agreed leaves and the last draft's values, anything else only where there is neither."""
    return _complete(beliefs, rng, beliefs.draft, redrawn=None)


def _complete(beliefs: Beliefs, rng: random.Random, draft: Sequence[str], redrawn: str | None) -> tuple[str, ...]:
    """Values for every dimension: agreed ones, then `draft`'s except in `redrawn`, then others, untried ones first."""
    drafted: dict[str, list[str]] = {}
    for value in draft:
        drafted.setdefault(beliefs.lexicon.values[value].dimension, []).append(value)
    if beliefs.lexicon.is_composed:
        return _composed(beliefs, rng, drafted, redrawn)
    agreed, narrowed, below = beliefs.agreed, beliefs.narrowed, beliefs.lexicon.below
    values: list[str] = []
    for name, dimension in beliefs.lexicon.dimensions.items():
        kept, holds = agreed.get(name, []), dimension.holds
        pool = below[narrowed[name]] if name in narrowed else dimension.leaves
        if name in drafted and name != redrawn:
            kept = [*kept, *[value for value in drafted[name] if value in pool and value not in kept]]
        values += kept[:holds]
        missing = min(2, holds) - len(kept)
        if missing > 0:
            fresh = _untried([value for value in pool if value not in kept] if kept else pool, beliefs)
            # `choice` draws what a `sample` of one does, in half the time.
            values += [rng.choice(fresh)] if missing == 1 and fresh else rng.sample(fresh, min(missing, len(fresh)))
    return tuple(values)


def _composed(
    beliefs: Beliefs, rng: random.Random, drafted: Mapping[str, Sequence[str]], redrawn: str | None
) -> tuple[str, ...]:
    """Values that go together: one of each dimension, now and then another beside it, not all that is optional."""
    lexicon, agreed, narrowed, clashes = beliefs.lexicon, beliefs.agreed, beliefs.narrowed, beliefs.lexicon.clashes
    values: list[str] = []
    clashing = set[str]().union(*[clashes[leaf] for leaf in beliefs.known_leaves()])
    for name, dimension in lexicon.dimensions.items():
        kept, anew = list(agreed.get(name, ())), name not in drafted or name == redrawn
        pool = lexicon.below[narrowed[name]] if name in narrowed else dimension.leaves
        if not anew:
            kept += [leaf for leaf in drafted[name] if leaf in pool and leaf not in clashing and leaf not in kept]
        kept = kept[: dimension.holds]
        clashing.update(*[clashes[leaf] for leaf in kept])
        skipped = dimension.optional and not kept and not beliefs.is_touched(name) and name != redrawn
        if len(kept) < dimension.holds and not (skipped and ((beliefs.draft and not anew) or rng.random() >= INCLUDED)):
            kept += _chosen(beliefs, rng, name, pool, kept, clashing, anew=anew)
        values += kept
    return lexicon.that_fit(values)  # a user of a practice run may ask for what cannot be had together


def _chosen(
    beliefs: Beliefs,
    rng: random.Random,
    name: str,
    pool: Sequence[str],
    kept: Sequence[str],
    clashing: set[str],
    *,
    anew: bool,
) -> list[str]:
    """What to put into a dimension beside `kept`, none of it `clashing`; that grows by what the choice rules out."""
    lexicon, additions = beliefs.lexicon, beliefs.lexicon.additions
    holds, every = lexicon.dimensions[name].holds, lexicon.dimensions[name].leaves
    chosen: list[str] = []
    if all(leaf in additions for leaf in kept):  # there is nothing yet that they would be added to
        free = [leaf for leaf in pool if leaf not in clashing and leaf not in kept]
        main = [leaf for leaf in free if leaf not in additions]
        main = main or [leaf for leaf in every if leaf not in clashing and leaf not in additions]
        if leaves := main or ([] if kept else free):
            chosen.append(rng.choice(_untried(leaves, beliefs)))
            clashing |= lexicon.clashes[chosen[0]]
    if anew and len(kept) + len(chosen) < holds and rng.random() < ADDED:
        taken = [*kept, *chosen]
        if added := [leaf for leaf in lexicon.additions_of[name] if leaf not in clashing and leaf not in taken]:
            chosen.append(rng.choice(_untried(added, beliefs)))
            clashing |= lexicon.clashes[chosen[-1]]
    return chosen


def _untried(leaves: Sequence[str], beliefs: Beliefs) -> Sequence[str]:
    """Those not tried yet, or all where there are none."""
    tried = beliefs.tried_before
    return [leaf for leaf in leaves if leaf not in tried] or leaves


def _next_dimension(beliefs: Beliefs, rng: random.Random, done: Sequence[str]) -> str:
    """The dimension that the user doubts or asks for, else the open one that was dealt with least."""
    if doubted := beliefs.doubted():
        return doubted
    wished = [beliefs.lexicon.values[wish].dimension for wish in beliefs.latest.wanted]
    unsettled = [name for name in beliefs.lexicon.dimensions if not beliefs.settled(name)]
    again = () if beliefs.lexicon.is_composed else done[-1:]
    if wished := [name for name in wished if name in unsettled and name not in again]:
        return wished[0]
    pool = unsettled or list(beliefs.lexicon.dimensions)
    fewest = min(done.count(name) for name in pool)
    return rng.choice([name for name in pool if done.count(name) == fewest])


def alternatives(verb: str, beliefs: Beliefs, rng: random.Random) -> Move:
    """Alternatives of one dimension, spread over what is still open below what is known."""
    dimension = _next_dimension(beliefs, rng, done=beliefs.explored)
    below = beliefs.narrowed.get(dimension)
    values = spread(beliefs.lexicon, dimension, below, beliefs.tried, rng, beliefs.known_leaves())
    return Move("show" if verb == "show" else "maybe", tuple(values), dimension)


def spread(
    lexicon: Lexicon,
    dimension: str,
    below: str | None,
    tried: Sequence[str],
    rng: random.Random,
    agreed: Sequence[str] = (),
) -> list[str]:
    """Up to three untried leaves, taken in turn from the branches below `below` (or below the whole dimension).

    They go with what is agreed, as far as there are such.
    """
    branches = list(lexicon.values[below].children if below else lexicon.dimensions[dimension].tops)
    if below and not branches:  # a leaf: go back to its own row
        branches = [below, *lexicon.siblings[below]]
    passed = set(tried)
    if lexicon.is_composed:
        passed.update(agreed, *(lexicon.clashes[leaf] for leaf in agreed))
        leaves = {leaf for branch in branches for leaf in lexicon.below[branch]}
        if leaves - passed - lexicon.additions:
            passed |= lexicon.additions  # first what they would be added to
        elif not leaves - passed:
            branches = list(lexicon.dimensions[dimension].tops)
    rng.shuffle(branches)
    rows = [[leaf for leaf in lexicon.below[branch] if leaf not in passed] for branch in branches]
    for row in rows:
        rng.shuffle(row)
    chosen: list[str] = []
    while len(chosen) < N_ALTERNATIVES and any(rows):
        for row in rows:
            if row and len(chosen) < N_ALTERNATIVES:
                chosen.append(row.pop())
    everything = [leaf for branch in branches for leaf in lexicon.below[branch]]
    if len(everything) < 2:
        everything = list(lexicon.dimensions[dimension].leaves)
    while len(chosen) < 2:  # all tried: offer again
        chosen.append(rng.choice([leaf for leaf in everything if leaf not in chosen]))
    return chosen
