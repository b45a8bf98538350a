"""Trees from items on several levels (paper, appendix A.1.3): the decisions of code.

A model gives each item a parent.  A second question asks whether each parent is really broader.  The defects are named
to the model once, and an edge that it still denies is cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from discover_lib.base.words import words
from discover_lib.core.intents import Intent
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import each_once

MOST_TREES = 6  # one more than a conversation has turns, since the judge sees one tree a turn
DROP = "drop"  # the parent of a discarded item

Parents = Mapping[str, str | None]  # item → its broader parent, in the order of trees and children
Edge = tuple[str, str]  # child, parent


@dataclass(frozen=True)
class Items:
    """The items of all levels, each text once.

    Attributes:
        texts: id → text; the id "LEVEL.NUMBER" names the text's most specific level.
        highest: id → the text's broadest level, if it is another.
    """

    texts: Mapping[str, str]
    highest: Mapping[str, int]

    @classmethod
    def of_levels(cls, levels: Sequence[Sequence[str]]) -> Items:
        """Equal texts on several levels become one item."""
        texts: dict[str, str] = {}
        highest: dict[str, int] = {}
        ids: dict[str, str] = {}
        for level, on_level in enumerate(levels):
            for number, text in enumerate(on_level, start=1):
                item_id = ids.setdefault(wording(text), f"{level}.{number}")
                texts.setdefault(item_id, text)
                if level_of(item_id) < level:
                    highest[item_id] = level
        return cls(texts, highest)


def wording(text: str) -> str:
    """The words of a text, without case and punctuation; texts with equal words are one item."""
    return " ".join(words(text))


def level_of(item_id: str) -> int:
    return int(item_id.partition(".")[0])


# -- a model's answers ---------------------------------------------------------------------------------------------


def hierarchy_defect(answer: answers.Hierarchy, items: Items) -> str | None:
    """Every given item exactly once, all of level 0 kept, parents known and on a broader level."""
    texts, given = items.texts, [place.id for place in answer.items]
    if unknown := [key for key in given if key not in texts]:
        return f"there is no item {unknown[0]!r}; use the ids as given, such as {next(iter(texts))!r}"
    if defect := each_once(given, texts, "item"):
        return defect
    merged = {place.id for place in answer.items if place.same_as is not None or place.parent == DROP}
    for place in answer.items:
        if place.parent == DROP:
            if level_of(place.id) == 0:
                return f"[{place.id}] is of level 0 and stays: put it below an item that it implies, or at the top"
        elif place.same_as is not None:
            if place.same_as not in texts or place.same_as in merged or place.parent is not None:
                return f"[{place.id}] is the same as {place.same_as!r}: that must be an item that stays, and no parent"
        elif place.parent is not None:
            if place.parent not in texts or place.parent in merged:
                return f"[{place.id}] stands below {place.parent!r}, which is no item of the forest"
            if items.highest.get(place.parent, level_of(place.parent)) <= level_of(place.id):
                return f"[{place.id}] stands below [{place.parent}], which is not on a broader level"
    try:
        TopologicalSorter({child: (parent,) for child, parent in edges(parents_of(answer))}).prepare()
    except CycleError as error:
        return f"[{error.args[1][0]}] stands below itself"
    return None


def parents_of(answer: answers.Hierarchy) -> Parents:
    """The trees of an answer without defects; duplicates and discarded items are left out."""
    return {place.id: place.parent for place in answer.items if place.same_as is None and place.parent != DROP}


def edges(parents: Parents) -> list[Edge]:
    """Every edge, in order."""
    return [(child, parent) for child, parent in parents.items() if parent is not None]


def denials(compared: answers.SupersetCheck, asked: Sequence[Edge], texts: Mapping[str, str]) -> dict[Edge, str]:
    """The objection to each edge of a comparison, in words; "" for an edge that holds."""
    said = {}
    for pair in compared.pairs:
        child, parent = asked[pair.number - 1]
        low, high = (f"[{key}] {texts[key]!r}" for key in (child, parent))
        line = f"{low} does not imply {high} ({pair.reason})"
        if pair.instead and 1 <= pair.instead <= len(asked):
            better = asked[pair.instead - 1][1]
            line += f"; it does imply [{better}] {texts[better]!r}"
        said[child, parent] = "" if pair.narrow_implies_broad else line
    return said


def what_to_change(parents: Parents, denied: Mapping[Edge, str]) -> str:
    """The complaint about denied edges or too many trees of a forest; "" for a forest without defects."""
    lines = [denied[edge] for edge in edges(parents) if denied.get(edge)]
    roots = [key for key, parent in without(parents, denied).items() if parent is None]
    if not lines and len(roots) <= MOST_TREES:
        return ""
    lines.append(
        f"{'so ' if lines else ''}there are {len(roots)} trees, {', '.join(f'[{root}]' for root in roots)}: two to "
        f"five are wanted, {MOST_TREES} at most. Put what does not imply its parent below an item that it does imply, "
        "or at the top, and join what asks for the same"
    )
    return "; ".join(lines)


def without(parents: Parents, denied: Mapping[Edge, str]) -> dict[str, str | None]:
    """Trees without the denied edges, and without broad items that then have no children."""
    kept = {child: None if parent and denied.get((child, parent)) else parent for child, parent in parents.items()}
    while leaves := [key for key in kept if level_of(key) > 0 and key not in kept.values()]:
        kept = {key: parent for key, parent in kept.items() if key not in leaves}
    return kept


def forest(parents: Parents, texts: Mapping[str, str], aspects: Mapping[str, str] | None = None) -> tuple[Intent, ...]:
    """The trees with dotted ids, in order; `aspects` maps text → aspect."""
    children: dict[str | None, list[str]] = {}
    for item_id, parent in parents.items():
        children.setdefault(parent, []).append(item_id)

    def grow(item_id: str, intent_id: str) -> Intent:
        below = [grow(child, f"{intent_id}.{place}") for place, child in enumerate(children.get(item_id, ()), start=1)]
        return Intent(intent_id, texts[item_id], tuple(below), (aspects or {}).get(texts[item_id], ""))

    return tuple(grow(item_id, str(place)) for place, item_id in enumerate(children[None], start=1))
