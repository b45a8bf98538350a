"""The workbench's own first page: what each page shows, a promise and the minutes it takes, in groups.

The pictures are drawn by `tools/thumbnails.py` from what the library computes, and read here as they were written, so
that the page needs neither a kernel nor a script.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from discover_lib.views.html import EMPTY, Markup, joined, static_text, tag
from discover_lib.views.navigation import LESSONS, PAGES
from discover_lib.views.pages import page


@dataclass(frozen=True)
class Card:
    """A page's card: its file, what it promises, and how many minutes a first visit takes."""

    file: str
    promise: str
    minutes: int


GROUPS: dict[str, tuple[str, tuple[Card, ...]]] = {
    "See": (
        "how intents form while somebody is shown things",
        (
            Card("00_start_here.py", "One person, three assistants: watch who helps them discover what they want.", 3),
            Card("10_intent_trees.py", "A finished piece becomes a tree of intents. Paste your own.", 8),
            Card("15_runs.py", "The conversations that you made, run by run: who found how much, and any turn.", 5),
            Card("20_simulator.py", "Step a user turn by turn, reply yourself, branch, and see why.", 10),
            Card("30_reward.py", "What one reply is worth, and what if the rules were others.", 6),
            Card("70_be_the_user.py", "A target for six seconds, two hidden assistants: find your own words.", 6),
        ),
    ),
    "Make": (
        "conversations to learn from",
        (
            Card("40_synthesis.py", "Several replies a turn, judged in the same state: the best goes on.", 8),
            Card("41_rows.py", "Exactly what a trainer gets, pair by pair, and what is left out.", 6),
        ),
    ),
    "Train": (
        "an assistant on them",
        (
            Card("50_train.py", "Launch, watch, stop, go on; a finished run lies ready.", 10),
            Card("51_grpo_by_hand.py", "One update of GRPO in open cells, down to the token.", 10),
            Card("52_before_after.py", "The same user before and after training, side by side.", 4),
        ),
    ),
    "Judge": (
        "what came of it, and whom to believe",
        (
            Card("60_evaluate.py", "Which assistant finds more, and can we tell?", 8),
            Card("61_behind_a_number.py", "From any number down to the sentence it comes from.", 5),
            Card("65_audit.py", "Can this simulated user be trusted? Leaks and a certificate.", 8),
            Card("66_reality.py", "Do simulated users talk like people? Lengths, features, a fitted voice.", 5),
            Card("75_safety.py", "One intent of each user is off-limits: who offers it all the same, and when?", 5),
        ),
    ),
    "Lessons": (
        "predict, do, explain: five cards, twelve exercises that check themselves",
        (
            Card("lessons/1_asking.py", "Guess what asking finds; then look.", 8),
            Card("lessons/2_one_tree_at_a_time.py", "Two trees in two replies. Then break the simulator.", 8),
            Card("lessons/3_length.py", "A reward by hand; move τ until verbose wins.", 8),
            Card("lessons/4_trust.py", "Find the leak, and what length decides.", 8),
            Card("lessons/5_learning.py", "Rewards that teach nothing. Then beat adaptive.", 8),
        ),
    ),
}


@cache
def _pictures() -> dict[str, str]:
    return json.loads(static_text("thumbnails.json"))


def gallery_page(*, only: frozenset[str] | None = None, note: Markup = EMPTY) -> str:
    """The page as one HTML file that needs no script.

    Args:
        only: the files to show, where not all may be opened.
        note: a line below the title, such as who is signed in.
    """
    shown = {
        name: (about, [card for card in cards if only is None or card.file in only])
        for name, (about, cards) in GROUPS.items()
    }
    groups = joined(_group(name, about, cards) for name, (about, cards) in shown.items() if cards)
    return page(
        "gallery_page.html", "DiscoverLLM workbench", ("workbench.css", "gallery.css"), groups=groups, note=note
    )


def _group(name: str, about: str, cards: list[Card]) -> Markup:
    heading = tag("h2", name, tag("span", f" {about}"))
    return tag("section", heading, tag("ul", *map(_card, cards)), class_="ga-group")


def _card(card: Card) -> Markup:
    title = {**PAGES, **LESSONS}[card.file]
    number = card.file.rpartition("/")[2].partition("_")[0]
    return tag(
        "li",
        tag("div", Markup(_pictures()[card.file]), class_="ga-picture"),
        tag("h3", tag("a", f"{number} {title}", href=f"/?file={card.file}")),
        tag("p", card.promise, " ", tag("span", f"{card.minutes} min", class_="ga-minutes")),
    )
