"""The pages of the workbench in their order, and the line at the foot of each that leads to its neighbours."""

from __future__ import annotations

from workbench.views.html import EMPTY, Markup, tag

PAGES = {
    "00_start_here.py": "Start here",
    "10_intent_trees.py": "Intent trees",
    "15_runs.py": "Runs",
    "20_simulator.py": "Step a simulated user",
    "30_reward.py": "What is a reply worth?",
    "40_synthesis.py": "Make conversations",
    "41_rows.py": "Pairs and rows",
    "50_train.py": "Train",
    "51_grpo_by_hand.py": "GRPO by hand",
    "52_before_after.py": "Before and after",
    "60_evaluate.py": "Evaluate",
    "61_behind_a_number.py": "Behind a number",
    "65_audit.py": "Audit",
    "66_reality.py": "Reality",
    "70_be_the_user.py": "Be the user",
    "75_safety.py": "Safety",
}
LESSONS = {
    "class/1_asking.py": "Ask, draft or explore: who discovers more?",
    "class/2_one_tree_at_a_time.py": "One tree at a time",
    "class/3_length.py": "What does length cost?",
    "class/4_trust.py": "Can we trust it?",
    "class/5_learning.py": "What is learned?",
}


def footer(page: str) -> Markup:
    """Links to the pages before and after one, as "← 15 Runs · 30 What is a reply worth? →".

    Args:
        page: its file, as in `PAGES` or `LESSONS`.

    Raises:
        ValueError: there is no such page.
    """
    pages = LESSONS if page in LESSONS else PAGES
    files = list(pages)
    place = files.index(page)
    before, after = files[place - 1 : place], files[place + 1 : place + 2]
    links = [_link(file, pages[file], "← {}") for file in before] + [_link(file, pages[file], "{} →") for file in after]
    middle = tag("span", " · ", aria_hidden="true") if len(links) == 2 else EMPTY
    return tag("nav", middle.join(links), class_="dl-footer", aria_label="Pages before and after this one")


def _link(file: str, title: str, shown: str) -> Markup:
    number = file.rpartition("/")[2].partition("_")[0]
    return tag("a", shown.format(f"{number} {title}"), href=f"/?file={file}")
