"""The pages of the workbench in their order, and the line at the foot of each that leads to its neighbours."""

from __future__ import annotations

from discover_lib.views.html import EMPTY, Markup, tag

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
}


def footer(page: str) -> Markup:
    """Links to the pages before and after one, as "← 15 Runs · 30 What is a reply worth? →".

    Args:
        page: its file, as in `PAGES`.

    Raises:
        ValueError: there is no such page.
    """
    files = list(PAGES)
    place = files.index(page)
    before, after = files[place - 1 : place], files[place + 1 : place + 2]
    links = [_link(file, "← {}") for file in before] + [_link(file, "{} →") for file in after]
    middle = tag("span", " · ", aria_hidden="true") if len(links) == 2 else EMPTY
    return tag("nav", middle.join(links), class_="dl-footer", aria_label="Pages before and after this one")


def _link(file: str, shown: str) -> Markup:
    return tag("a", shown.format(f"{file[:2]} {PAGES[file]}"), href=f"/?file={file}")
