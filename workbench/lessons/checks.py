"""The checks of the exercises: the paper's rules, the users of the miniature, and trust in a simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from discover_lib.base.leak_words import find_leaks, giving_away
from discover_lib.core.advance import advance, initial_state
from discover_lib.core.conversation import Turn
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.reward import Reward, length_penalty
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, Transition, Verdict
from discover_lib.metrics.summary import newly_discovered as found
from discover_lib.train.grpo import group_of
from workbench.lessons.exercise import (
    EVERYBODY,
    Outcome,
    answered,
    judged,
    talk,
    wrong,
)
from workbench.views import conversation_parts as show
from workbench.views.html import Markup, signed, table, tag
from workbench.views.touched import touched

THETA = 0.5  # of the intent in "near misses"
MOST_NEAR = 20  # near misses in one reply
N_TOKENS, N_FOUND = 610, 2  # of the reply in "reward"
TALKER = 17  # the user of "tau"
STEP = 10  # of its slider
GROUP = 4  # replies in "nothing learnt"


def _near_misses_on(theta: float) -> Callable[[int], Transition]:
    """Number of near misses in one reply → their effect on an undiscovered intent of this threshold."""
    intent = Intent("1.1", "a fox")
    tree = IntentTree("SVG drawing", "animal", "an animal", ("1",), (Intent("1", "an animal", (intent,)),))
    start = initial_state(tree, thresholds={intent.id: theta})

    def outcome(count: int) -> Transition:
        near = tuple(f"another animal, {number}" for number in range(count))
        evaluation = Evaluation("artifact", (Verdict(intent.id, False, near),))
        return advance(tree, start, evaluation, Rules.paper())[1][0]

    return outcome


def near_misses(count: float | str) -> Outcome:
    """The fewest near misses in one reply that change the state of an intent of threshold `THETA`."""
    if isinstance(count, str) or not 1 <= count <= MOST_NEAR or count != int(count):
        return wrong(f"A number of near misses is a whole number, at least 1 and at most {MOST_NEAR}.")
    outcome = _near_misses_on(THETA)
    now = outcome(int(count))
    score, left = now.score or 0.0, now.theta_left or 0.0
    hints = {
        f"{score:g} reaches θ = {THETA:g}, but the state changes only above it.": not now.moved and score == THETA,
        f"{int(count)} × {Rules.paper().p:g} = {score:g}, less than θ = {THETA:g}. It stays undiscovered, and θ "
        f"shrinks to {left:g}.": not now.moved,
        f"{score:g} is above θ = {THETA:g}, but fewer are enough, too.": count > 1 and outcome(int(count) - 1).moved,
    }
    return judged(f"{score:g} is above θ = {THETA:g}, so the intent becomes emerging, ○ → ◆.", hints)


# -- the reward --------------------------------------------------------------------------------------------------------


def worth(given: float | str) -> Outcome:
    """The reward of a reply of `N_TOKENS` tokens that makes `N_FOUND` intents discovered."""
    if isinstance(given, str):
        return wrong("A reward is a number, such as 1.5.")
    rules = Rules.paper()
    penalty = length_penalty(N_TOKENS, rules)
    right = N_FOUND + penalty
    if abs(given - right) < 0.005:
        return Outcome(True, f"{N_FOUND} − {rules.lam:g} × ({N_TOKENS} − {rules.tau:g}) = {right:g}")
    hints = {
        N_FOUND: "Length is not free here. Count the tokens beyond τ.",
        N_FOUND + length_penalty(N_TOKENS, rules.replace(tau=0)): (
            f"The first {rules.tau:g} tokens cost nothing. Subtract λ only for the tokens beyond τ."
        ),
        N_FOUND - penalty: "The length penalty is subtracted, so do not add it.",
        penalty: f"This is the penalty alone. {N_FOUND} intents became discovered, each worth 1.",
        N_FOUND - rules.penalty_cap: f"{rules.penalty_cap:g} is the largest length penalty. This reply is shorter.",
    }
    hint = next((hint for value, hint in hints.items() if abs(given - value) < 0.005), None)
    return wrong(hint or "Count the intents that became discovered, and subtract λ for every token beyond τ.")


# -- τ -----------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def earned(assistant: str, tau: float, person: int = TALKER) -> float:
    """The reward of an assistant's five replies to a user if `tau` tokens of each are free."""
    rules, turns = Rules.paper().replace(tau=tau), talk(person, assistant).turns
    rewards = [(turn.candidate.reward, length_penalty(turn.reply.n_tokens, rules)) for turn in turns]
    return sum(reward.discovered + charge for reward, charge in rewards if reward is not None)


def move_tau(tau: float | str) -> Outcome:
    """The least τ, in steps of `STEP`, at which verbose earns more than draft."""
    if isinstance(tau, str) or tau < 0:
        return wrong("Write a number of tokens, 0 or more.")
    verbose, draft, paper = earned("verbose", tau), earned("draft", tau), Rules.paper().tau
    said = f"At τ = {tau:g} verbose earns {verbose:.2f} and draft {draft:.2f}"
    also = f", the paper's {paper:g} included" if tau == paper else ""
    hints = {
        f"{said}. Fewer free tokens hurt the longer replies more. Go the other way.": verbose <= draft and tau < paper,
        f"{said}. That is not enough{also}. The replies of verbose have about 1,200 tokens.": verbose <= draft,
        f"{said}. Verbose wins, but it also wins with fewer free tokens.": (
            earned("verbose", max(0, tau - STEP)) > earned("draft", max(0, tau - STEP))
        ),
    }
    wins = sum(found(talk(person, "verbose")) > found(talk(person, "draft")) for person in EVERYBODY)
    right = (
        f"{said}. Saying everything twice pays when length is free. But one user is an anecdote. Without a penalty, "
        f"verbose beats draft with {wins} of {len(EVERYBODY)} other users."
    )
    return judged(right, hints)


# -- GRPO --------------------------------------------------------------------------------------------------------------


def nothing_learnt(rewards: Sequence[float]) -> Outcome:
    """Four rewards of good replies from which GRPO learns nothing."""
    group = group_of(rewards)
    advantages = {f"reply {place}": value or 0.0 for place, value in enumerate(group.advantages, 1)}
    largest = max(advantages, key=lambda name: abs(advantages[name]))
    gets = f"{largest.capitalize()} gets the advantage {signed(round(advantages[largest], 2))}."
    spread, mean = group.std or 0.0, group.mean or 0.0
    hints = {
        f"They differ only a little, but GRPO divides by their spread, {spread:.2g}. So the update is full. {gets}": (
            group.signal and spread < 0.01
        ),
        f"Rewards that sum to 0 do not make the advantages 0. {gets}": group.signal and abs(mean) < 1e-9,
        f"What counts is the distance of a reward from the mean, {mean:g}. {gets}": group.signal,
        f"GRPO learns nothing, but good replies earn more than {rewards[0]:g}. Give all of them a reward above 0.": (
            rewards[0] <= 0
        ),
    }
    return judged(
        f"Every reply earned {rewards[0]:g}, so no reply is better than its group. All advantages are 0, even for good "
        "replies.",
        hints,
    )


# -- with the miniature's users: who discovers most, trees one at a time, a reply that fools the judge -----------------


RANKED = ("adaptive", "ask", "draft", "options")
STEPPED = 22  # the user of "two replies"


def rank(order: Sequence[str | None]) -> Outcome:
    """The assistants, best first, by the intents that they make discovered on average."""
    if sorted(map(str, order)) != sorted(RANKED):
        return wrong("Name each of the four assistants exactly once, best first.")
    talks = {name: [talk(person, name) for person in EVERYBODY] for name in RANKED}
    means = {name: sum(map(found, theirs)) / len(theirs) for name, theirs in talks.items()}
    right = sorted(RANKED, key=lambda name: -means[name])
    differ = [(one, str(other)) for one, other in zip(right, order, strict=True) if one != other]
    better, worse = differ[0] if differ else ("", "")
    why = {
        "adaptive": "It shows options until an intent is clear, and only then drafts.",
        "draft": "A draft shows one value of every kind, so it can have a near miss for any tree.",
    }.get(better, "")
    more = f"{better} discovers {means.get(better, 0):.1f}, more than {worse} ({means.get(worse, 0):.1f})"
    hints = {
        "This is worst first. Reverse it.": order == right[::-1],
        f"Asking discovers {means['ask']:g}. Users cannot answer a question about an intent that they cannot name yet. "
        "Look at its row of dots.": order[-1] != "ask",
        f"Over {len(EVERYBODY)} users {more}. {why}".strip(): order != right,
    }
    told = ", ".join(f"{name} {means[name]:.1f}" for name in right)
    return judged(f"This is the order over {len(EVERYBODY)} users, in intents discovered in five turns: {told}.", hints)


# -- two replies -------------------------------------------------------------------------------------------------------


def two_replies(replies: Sequence[str]) -> Outcome:
    """Everything of the first two trees in two replies."""
    if len(replies) != 2:
        return wrong(f"Write exactly two replies, one per line. You wrote {len(replies)}.")
    conversation = answered(STEPPED, replies)
    tree = conversation.tree
    first, second = list(tree.ids_of)[:2]
    wanted = [key for root in (first, second) for key in tree.ids_of[root] if key not in tree.initially_discovered]
    missing = [key for key in wanted if key not in conversation.state.discovered]
    if not missing:
        return Outcome(True, "One tree per reply, with its broad and narrow intents together. Two replies are enough.")
    idle = next((turn for turn in conversation.turns if not turn.candidate.transitions), None)
    whys = {touch.why for touch in touched(conversation, idle).touches if touch.met} if idle else set()
    reply, root = idle.index if idle else 0, tree.root_of[missing[0]]
    hints = {
        f"Reply {reply} matches intents of a tree that is not in focus, so they do not count. First finish the first "
        "tree.": "elsewhere" in whys,
        f"Reply {reply} names only intents that are discovered. Name undiscovered ones.": bool(whys),
        f"Reply {reply} matches no intent. {_asks_or_means_nothing(idle)}": idle is not None,
        f"Tree {second} has not changed, because the second reply still has to finish tree {root}.": (
            set(missing) >= set(tree.ids_of[second])
        ),
        f"Tree {root} is not finished. {len(missing)} narrow intents are left. A broad word such as “animal” does not "
        "match the narrow intent “a rabbit”. Name the narrow value, too.": True,
    }
    return judged("", hints)


def _asks_or_means_nothing(turn: Turn | None) -> str:
    if turn and "?" in turn.reply.text:
        return "An open question shows no value to recognize. Put values into it to choose from."
    return "The judge of drawings knows no word of it."


# -- break the simulator -----------------------------------------------------------------------------------------------


def break_it(reply: str) -> Outcome:
    """One reply for unknown users that earns more on average than adaptive's first reply."""
    if not reply:
        return wrong("Write one reply.")
    turns = [answered(person, [reply]).turns[0] for person in EVERYBODY]
    scored = [turn.candidate.reward for turn in turns if turn.candidate.reward is not None]
    mean = sum(reward.total for reward in scored) / len(turns)
    adaptive = [talk(person, "adaptive").turns[0].candidate.reward for person in EVERYBODY]
    bar = sum(reward.total for reward in adaptive if reward is not None) / len(adaptive)
    hits = sum(reward.discovered > 0 for reward in scored)
    n_tokens, charged = turns[0].reply.n_tokens, any(reward.penalty for reward in scored)
    right = (
        f"Broken. It earns {mean:.2f} from users it knows nothing about, and adaptive's first reply earns {bar:.2f}. "
        "The judge rewards a reply that names everything, and "
        f"{n_tokens} tokens cost {'little' if charged else 'nothing'}. What would "
        "you change: the judge, τ, or a cap on the values that one reply may name?"
    )
    hints = {
        f"It matches no intent of any user. {_asks_or_means_nothing(turns[0])}": not hits and not any(map(_met, turns)),
        "It names only values that users have asked for already. Go narrower.": not hits,
        f"It fits {hits} of {len(turns)} users. You do not know the user, so which reply fits all of them?": (
            hits <= len(turns) // 4
        ),
        f"It fits {hits} of {len(turns)} users and earns {mean:.2f}. Adaptive's first reply earns {bar:.2f}. May you "
        "name more values?": True,
    }
    return judged(right, {} if mean > bar else hints)


def _met(turn: Turn) -> bool:
    evaluation = turn.candidate.evaluation
    return evaluation is not None and any(verdict.engaged for verdict in evaluation.verdicts)


# -- on trust: a user who says too much, pairs that length decides -----------------------------------------------------


# A user who knows two intents, an animal and a fox. Below are messages of this user, one of each kind.
USER = IntentTree.from_dict(
    {
        "artifact_type": "drawing",
        "topic": "fox",
        "initial_request": "draw me an animal",
        "initially_discovered": ["1", "1.1"],
        "roots": [
            {
                "id": "1",
                "text": "Shows an animal",
                "children": [
                    {
                        "id": "1.1",
                        "text": "Shows a fox",
                        "children": [{"id": "1.1.1", "text": "Shows a fox asleep in the snow"}],
                    }
                ],
            },
            {"id": "2", "text": "Keeps to warm tones", "children": [{"id": "2.1", "text": "Keeps to tones of rust"}]},
        ],
    }
)
ASSISTANT_SAID = "Would you like an owl with glasses, or a fox?"
MESSAGES = (
    "the fox, please. the rest i can't put into words",
    "a fox, but this one is too lively, i'd rather see it sleeping somewhere snowy",
    "an owl with glasses made me smile, but no",
    "something is missing and i don't know what",
    "closer! could it have more rust in it?",
    "is it me, or is the drawing somehow crowded?",
)
# Pairs of replies by draft and adaptive: (user, turn).
PAIRS = ((0, 2), (5, 1), (2, 5), (1, 4), (2, 2), (0, 3))


def find_the_leak(answer: Sequence[int]) -> Outcome:
    """The messages that name an undiscovered intent, by their places from 1."""
    picked = set(answer)
    known_ids = USER.initially_discovered
    hidden = {key: USER.text(key) for key in USER.intents if key not in known_ids}
    known = [*(USER.text(key) for key in known_ids), USER.initial_request, ASSISTANT_SAID]
    leaks = {place: find_leaks(message, hidden, known) for place, message in enumerate(MESSAGES, 1)}
    leaking = {place for place, found in leaks.items() if giving_away(found)}
    words = ", ".join(f"“{leak.word}” ({leak.meant})" for place in sorted(leaking) for leak in leaks[place])
    false = min(picked - leaking, default=1)
    hints = {
        "There is a leak. Look for words of intents that are still ○.": not picked,
        f"Message {false} is honest. It names no word of an undiscovered intent.": bool(picked - leaking),
        "A message is missing. It can name an intent by another form of a word, such as “sleeping” for “asleep”.": bool(
            leaking - picked
        ),
    }
    return judged(f"The messages name undiscovered intents: {words}.", hints)


def rewards_of(pair: tuple[int, int]) -> tuple[Reward, Reward]:
    """The rewards of the two replies of a pair, draft's and adaptive's."""
    person, turn = pair
    candidates = talk(person, "draft", "adaptive").turns[turn - 1].candidates
    first, second = (candidate.reward for candidate in candidates)
    assert first is not None and second is not None  # scripted replies are always scored
    return first, second


def told_so_far() -> Markup:
    """The message that the user answers in "find the leak"."""
    return show.panel("The assistant wrote", show.bubble("assistant", tag("p", ASSISTANT_SAID)))


def pairs_table() -> Markup:
    """Discovered intents, length and reward of both replies of each pair."""
    rows = []
    for place, pair in enumerate(PAIRS, 1):
        both = rewards_of(pair)
        told = (f"{each.discovered:g} discovered, {each.n_tokens:g} tokens: {signed(each.total)}" for each in both)
        rows.append((f"pair {place}", *told))
    return table(("", "draft", "adaptive"), rows)


def by_length() -> set[int]:
    """The pairs, from 1, whose better reply is better by its length alone, because both discover the same number."""
    rewards = {place: rewards_of(pair) for place, pair in enumerate(PAIRS, 1)}
    return {place for place, (one, other) in rewards.items() if one.discovered == other.discovered}


def decided_by_length(answer: Sequence[int]) -> Outcome:
    """The pairs whose better reply is better by its length alone, by their places from 1."""
    picked = set(answer)
    right = by_length()
    false = min(picked - right, default=1)
    discovered = " and ".join(f"{each.discovered:g}" for each in rewards_of(PAIRS[false - 1]))
    hints = {
        "Look for pairs in which both replies discovered the same number of intents.": not picked,
        f"In pair {false} the replies discovered {discovered}, so length alone does not decide.": bool(picked - right),
        "A pair is missing in which both replies discovered the same number.": bool(right - picked),
    }
    return judged(
        f"In {len(right)} of {len(PAIRS)} pairs the chosen reply is only shorter. An assistant that is trained on many "
        "such pairs learns to be brief.",
        hints,
    )
