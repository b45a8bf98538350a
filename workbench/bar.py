"""The table of the pages, and the bar above each of them.

The table feeds the bar, the first page, the README and the head of every notebook (`tests/shown/test_bar.py`).
Entries without a file are left out of the bar and of the first page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from discover_lib.base.files import REPOSITORY
from workbench.views.html import EMPTY, Markup, joined, static_text, tag


class Page(NamedTuple):
    """A page: its file in `notebooks/`, its word in the bar, its title, and the question that it answers."""

    file: str
    word: str
    title: str
    question: str

    @property
    def exists(self) -> bool:
        return (REPOSITORY / "notebooks" / self.file).is_file()


PAGES = (
    Page(
        "1_start.py",
        "Start",
        "Start",
        "One simulated user, three assistants: guess who discovers most, watch, then be the user.",
    ),
    Page(
        "2_intents.py",
        "Intents",
        "Intents",
        "From a finished artifact to its tree of intents. Use our artifacts or 1 to 20 files of your own.",
    ),
    Page(
        "3_conversation.py",
        "Conversation",
        "Conversation",
        "Step a simulated user turn by turn, and see which intents each reply discovers.",
    ),
    Page(
        "4_data.py",
        "Data",
        "Data",
        "Which reply is better, and what becomes training data? Make conversations, check pairs, export rows.",
    ),
    Page(
        "5_train.py",
        "Train",
        "Train",
        "What does an assistant learn from conversations? Train one here, and watch what it answers.",
    ),
    Page("6_compare.py", "Compare", "Compare", "Which assistant discovers more, and is the difference real?"),
    Page("7_trust.py", "Trust", "Trust", "Is the simulated user honest, similar to people, and harmless?"),
)
CLASS = (
    Page(
        "class/1_asking.py", "1 Asking", "Ask, draft or adaptive: who discovers more?", "How much does asking discover?"
    ),
    Page("class/2_one_tree_at_a_time.py", "2 One tree", "One tree at a time", "Can two replies discover two trees?"),
    Page("class/3_length.py", "3 Length", "What does length cost?", "When does a longer reply earn less?"),
    Page("class/4_trust.py", "4 Trust", "Can we trust it?", "Where is the leak, and does length decide the pairs?"),
    Page("class/5_learning.py", "5 Learning", "What is learned?", "Which rewards teach an assistant?"),
)
CODE = (
    Page("code/1_tree.py", "1 Tree", "A tree by hand", "How is a tree of intents made and checked?"),
    Page("code/2_user.py", "2 User", "A user by hand", "How does a user answer a reply?"),
    Page("code/3_reward.py", "3 Reward", "A reward by hand", "How do states and length make a reward?"),
    Page("code/4_grpo.py", "4 GRPO", "GRPO by hand", "What does one GRPO update change?"),
    Page("code/5_paper.py", "5 Paper", "The paper, step by step", "What is the whole method, from top to bottom?"),
)
GROUPS = {
    "class": Page(
        CLASS[0].file, "Class", "Class", "Five lessons: predict, look, explain. Exercises are checked automatically."
    ),
    "code": Page(CODE[0].file, "Read the code", "Read the code", "The method in five short notebooks."),
}
BAR = (*PAGES, *GROUPS.values())
# Addresses of pages that other pages contain now; an argument after & opens the right part.
MOVED = {
    "00_start_here.py": "1_start.py",
    "10_intent_trees.py": "2_intents.py",
    "15_runs.py": "6_compare.py",
    "20_simulator.py": "3_conversation.py",
    "30_reward.py": "3_conversation.py",
    "40_synthesis.py": "4_data.py",
    "41_rows.py": "4_data.py&tab=rows",
    "50_train.py": "5_train.py",
    "51_grpo_by_hand.py": "code/4_grpo.py",
    "52_before_after.py": "5_train.py",
    "60_evaluate.py": "6_compare.py",
    "61_behind_a_number.py": "6_compare.py",
    "65_audit.py": "7_trust.py",
    "66_reality.py": "7_trust.py&tab=human",
    "70_be_the_user.py": "1_start.py",
    "75_safety.py": "7_trust.py&tab=harmless",
}


def page_of(file: str) -> Page | None:
    """The entry of a file, None for a notebook that the table does not name."""
    return next((page for page in (*PAGES, *CLASS, *CODE) if page.file == file), None)


def moved(query: str) -> str | None:
    """The new query of an old address, its other arguments kept; None where the page has not moved.

    Args:
        query: of an address, as "file=20_simulator.py&turn=2".
    """
    arguments = dict(parse_qsl(query, keep_blank_values=True))
    file = arguments.get("file", "")
    new = MOVED.get(file, file.replace("lessons/", "class/", 1))
    name = new.partition("&")[0]
    page = page_of(name)
    if name == file or page is None or not page.exists:
        return None
    added = dict(parse_qsl(f"file={new}"))
    return urlencode(added | {key: value for key, value in arguments.items() if key != "file"}, safe="/")


def bar(
    current: str = "",
    *,
    only: frozenset[str] | None = None,
    home: str = "",
    theme: str | None = None,
    copy: Markup = EMPTY,
    end: Markup = EMPTY,
) -> Markup:
    """The bar above a page, with its style sheet: the words of the pages, and a menu of everything else.

    The script `bar.js` makes it one stop of the keyboard; a page adds the script.

    Args:
        current: file of the page.
        only: files that may be opened, where others may not.
        home: address of the workbench, for a page of another server.
        theme: light or dark; None follows the system.
        copy: the last entry of the menu.
        end: what follows the words.
    """
    folder = current.partition("/")[0]
    here = GROUPS.get(folder) if "/" in current else page_of(current)
    group = {"class": CLASS, "code": CODE}.get(folder, ()) if "/" in current else ()

    def links(pages: Iterable[Page], marked: Page | None) -> Markup:
        shown = [page for page in pages if page.exists and (only is None or page.file in only)]
        return joined(
            tag(
                "a",
                page.word,
                href=f"{home}/?file={quote(page.file)}",
                title=page.question,
                aria_current="page" if page == marked else None,
            )
            for page in shown
        )

    first_page = tag("a", "All pages", href=f"{home}/", class_="home")
    menu = tag("div", first_page, links(GROUPS.values(), here), copy, id="page-menu", popover="auto")
    opener = tag("button", here.word if here and group else "More", type="button", popovertarget="page-menu")
    words = tag("div", links(PAGES, here), opener, class_="words")
    within = tag("div", links(group, page_of(current)), class_="words within") if group else EMPTY
    style = tag("style", Markup(static_text("bar.css")))
    return style + tag("nav", words, end, menu, within, id="page-bar", aria_label="Pages", data_theme=theme)
