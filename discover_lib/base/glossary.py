"""The words of intent discovery, each stated once.

Legends, chips, tooltips, receipts, help texts and `docs/glossary.md` take their words from here, so that a page, a
command and the paper mean the same thing by the same name.  `TERMS["near miss"].meaning` is one plain sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One word of the method.

    Attributes:
        name: the word as pages and commands write it.
        meaning: one sentence that a newcomer understands.
        source: where the paper states it; empty for words of this workbench.
        symbol: its letter in the paper's formulas, if it has one.
    """

    name: str
    meaning: str
    source: str = ""
    symbol: str = ""

    @property
    def title(self) -> str:
        """The word, its symbol and its meaning, as a tooltip shows them."""
        return f"{self.name}{f' ({self.symbol})' if self.symbol else ''}: {self.meaning}"


def _by_name(*terms: Term) -> Mapping[str, Term]:
    return {term.name: term for term in terms}


TERMS = _by_name(
    # -- what a user wants --
    Term("artifact", "What is being made: a drawing, a story, an article.", "section 3.1"),
    Term("intent", "One thing that the user wants of the artifact, known to them or not yet.", "section 3.1"),
    Term(
        "intent tree",
        "Intents from broad to specific; each is a more specific form of the one above it.",
        "section 3.1",
    ),
    # -- how far an intent has formed --
    Term("undiscovered", "The user does not know yet that they want this.", "section 3.2"),
    Term("emerging", "The user half knows that they want this: they can hint at it, not say it.", "section 3.2"),
    Term("discovered", "The user knows that they want this and can say so plainly.", "section 3.2"),
    Term("satisfied", "A piece that the assistant made meets this intent; once satisfied, always satisfied.", "A.2"),
    Term("moved this turn", "The last reply changed the state of this intent, or satisfied it."),
    Term("hidden intent", "An intent that the request does not name: undiscovered at the start.", "section 3.1"),
    # -- one turn --
    Term("turn", "One reply of the assistant and the user's answer to it.", "section 3.2"),
    Term("focus", "The one tree that the user is thinking about: only its intents are on the frontier.", "A.2.1"),
    Term("frontier", "Intents that come next: in focus, not discovered, at a root or right below a discovered one."),
    Term("engaged", "The reply meets this intent: it builds it, or asks about exactly this.", "section 3.2"),
    Term("near miss", "The reply shows another value of the same kind: a dog, where a cat is wanted.", "section 3.2"),
    Term("near-miss cap", "How many near misses of one intent count in one reply; the paper counts all."),
    Term("share by near misses", "Of the steps that intents were moved up by replies, those that near misses made."),
    Term("near-miss weight", "What one near miss counts against the threshold.", "section 3.2", "p"),
    Term(
        "threshold",
        "What near misses must add up to for an intent to move; drawn once for every intent, whole after a move.",
        "section 3.2",
        "θ",
    ),
    Term("thresholds", "How many thresholds are drawn for each intent: one that is used again, or two used once each."),
    Term("satisfaction scope", "Where a reply can satisfy what is already discovered: everywhere, or in focus only."),
    # -- what it is worth --
    Term("reward", "What a reply is worth: intents discovered, less a charge for its length.", "section 3.3", "R"),
    Term("discovery reward", "How many intents the reply made the user discover.", "section 3.3", "R_d"),
    Term("length penalty", "The charge for tokens beyond the free ones, 1 at most.", "section 3.3", "R_e"),
    Term("token", "A piece of text as language models count it, often a short word or a part of a long one."),
    Term("free tokens", "How many tokens of a reply cost nothing.", "section 3.3", "τ"),
    Term("price of a token", "What each token beyond the free ones costs, in intents.", "section 3.3", "λ"),
    Term("candidate", "One of several replies to the same turn; all are judged, one goes on.", "section 4.1"),
    Term("chosen", "The candidate with the highest reward; the conversation goes on with it.", "section 4.1"),
    Term(
        "rejected",
        "The candidate with the lowest reward, if it is below the chosen one's; the pair trains DPO.",
        "section 4.1",
    ),
    Term(
        "GRPO",
        "Training that samples a group of replies to one prompt and makes the better ones likelier.",
        "section 4.1",
    ),
    Term("advantage", "In GRPO, how far a reply's reward lies from its group's mean, in units of the group's spread."),
    Term("look-ahead", "Rewarding a reply for what the next turns discover, too."),
    Term("unscored", "The judge failed: no reward or score, which is not one of 0; means leave it out."),
    # -- how assistants compare --
    Term(
        "discovery score",
        "Of the intents that at least one assistant found and not all did, the share that this one found.",
        "section 5, eq. 4",
        "eq. 4",
    ),
    Term(
        "ceiling",
        "Share of hidden intents that perfect replies find; a reply moves only the tree in focus, and turns end.",
    ),
    Term("found", "Share of the hidden intents that the user discovered; one still emerging counts half.", "section 5"),
    Term("satisfaction", "Share of the most specific intents that the final piece satisfies.", "section 5"),
    Term(
        "interactivity",
        "How well the assistant works with the user, whatever is found: rated 1 to 3, shown as 0 to 1.",
        "section 5",
    ),
    Term("kTok", "Thousand tokens of the assistant's replies in a conversation; the final piece is not counted."),
    Term("mean reward", "The reward of a reply, on average over the turns of a conversation."),
    Term("divergent", "A turn that offers several options or asks: it opens possibilities.", "section 5, Fig 3"),
    Term("convergent", "A turn that mostly builds one piece: it settles what is clear.", "section 5, Fig 3"),
    Term("CCC", "Three turns in a row, all convergent; DDD: all divergent.", "section 5, Fig 3"),
    Term("two in a row", "Of three turns in a row, two neighbours alike and one not: CCD, CDD, DCC or DDC."),
    Term("alternating", "Of three turns in a row, the middle one unlike the others: CDC or DCD."),
    Term("certificate", "With this simulated user, scripted assistants come out in the order argued for beforehand."),
    Term("leak", "The simulated user says something that only a hidden intent holds."),
    Term("95 % interval", "Made this way, it holds the true mean in 95 of 100 experiments; bootstrap over artifacts."),
    Term("p-value", "How often chance alone would make two assistants differ as much as they do, 0 to 1."),
    Term("Holm", "A correction that keeps false alarms rare when many pairs are compared at once."),
    Term("agreement", "How much more two judges agree than chance would make them: 1 always, 0 by chance.", "", "κ"),
)


def meaning(name: str) -> str:
    """The sentence of one term.

    Raises:
        KeyError: the glossary has no such word.
    """
    return TERMS[name].meaning


def meanings(*names: str) -> str:
    """Words with their symbols and sentences, as one tooltip shows them, a line each.

    Raises:
        KeyError: the glossary has no such word.
    """
    return "\n".join(TERMS[name].title for name in names)


def as_markdown() -> str:
    """The whole glossary as a table, the text of `docs/glossary.md`."""
    rows = [f"| **{term.name}** | {term.symbol} | {term.meaning} | {term.source} |" for term in TERMS.values()]
    head = "# The words\n\nMade from `discover_lib/base/glossary.py`; sections are the paper's (arXiv 2602.03429).\n\n"
    return head + "| word | symbol | what it means | paper |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
