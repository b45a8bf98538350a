"""The lessons, and the line at the foot of each that leads to its neighbors. Other pages are in `workbench.bar`."""

from __future__ import annotations

from workbench.bar import CLASS
from workbench.views.html import EMPTY, Markup, tag

LESSONS = {page.file: page.title for page in CLASS}


def footer(page: str) -> Markup:
    """Links to the pages before and after one, as "← 15 Runs · 30 What is a reply worth? →".

    Args:
        page: its file, as in `LESSONS`.

    Raises:
        ValueError: there is no such page.
    """
    pages = LESSONS
    files = list(pages)
    place = files.index(page)
    before, after = files[place - 1 : place], files[place + 1 : place + 2]
    links = [_link(file, pages[file], "← {}") for file in before] + [_link(file, pages[file], "{} →") for file in after]
    middle = tag("span", " · ", aria_hidden="true") if len(links) == 2 else EMPTY
    return tag("nav", middle.join(links), class_="dl-footer", aria_label="Pages before and after this one")


def _link(file: str, title: str, shown: str) -> Markup:
    number = file.rpartition("/")[2].partition("_")[0]
    return tag("a", shown.format(f"{number} {title}"), href=f"/?file={file}")
