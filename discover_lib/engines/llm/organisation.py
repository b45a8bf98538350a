"""From items on several levels to trees that a conversation can reach (paper, appendix A.1.3): what code decides.

A model says which item stands below which and is asked apart whether each parent is really the broader one.  What it
gets wrong is named to it once; what is then still wrong is mended here, noted, and the trees are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from discover_lib.base.words import words
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.engines.llm import answers
from discover_lib.metrics.ceiling import ceiling

MOST_TREES = 6  # the judge is shown one tree a turn, and a conversation has five turns
LEAST_CEILING = 0.8  # of a forest: what five perfect turns find
MOST_CUTS = 3  # edges that are cut without a better place for what stood below

Parents = Mapping[str, str | None]  # item → the broader item above it, in the order in which trees and children stand


@dataclass(frozen=True)
class Items:
    """What is to be organised, each text once.

    Attributes:
        texts: id → text; the id "LEVEL.NUMBER" names the most specific level on which the text stands.
        highest: id → the broadest level on which it stands, where that is another.
    """

    texts: Mapping[str, str]
    highest: Mapping[str, int]

    @classmethod
    def of_levels(cls, levels: Sequence[Sequence[str]]) -> Items:
        """Items that stand unchanged on several levels become one."""
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

    def may_stand_below(self, item_id: str, parent: str) -> bool:
        return self.highest.get(parent, level_of(parent)) > level_of(item_id)


def wording(text: str) -> str:
    """What makes two texts one: their words, without case and punctuation."""
    return " ".join(words(text))


def level_of(item_id: str) -> int:
    return int(item_id.partition(".")[0])


# -- what a model answered -----------------------------------------------------------------------------------------


def hierarchy_defect(answer: answers.Hierarchy, items: Items) -> str | None:
    """Every item once, nothing invented, parents known and on a broader level, no cycle."""
    texts, given = items.texts, [place.id for place in answer.items]
    if unknown := [key for key in given if key not in texts]:
        return f"there is no item {unknown[0]!r}; use the ids as given, such as {next(iter(texts))!r}"
    if missing := [key for key in texts if key not in given]:
        return f"these items have no entry: {', '.join(missing)}"
    if len(given) > len(texts):
        return f"item {next(key for key in given if given.count(key) > 1)!r} has more than one entry"
    merged = {place.id for place in answer.items if place.same_as is not None}
    for place in answer.items:
        if place.same_as is not None:
            if place.same_as not in texts or place.same_as in merged or place.parent is not None:
                return f"[{place.id}] is the same as {place.same_as!r}: that must be an item that stays, and no parent"
        elif place.parent is not None:
            if place.parent not in texts or place.parent in merged:
                return f"[{place.id}] stands below {place.parent!r}, which is no item of the forest"
            if not items.may_stand_below(place.id, place.parent):
                return f"[{place.id}] stands below [{place.parent}], which is not on a broader level"
    parents = parents_of(answer)
    if circular := next((key for key in parents if key in _above(key, parents)), None):
        return f"[{circular}] stands below itself"
    return None


def parents_of(answer: answers.Hierarchy) -> Parents:
    """The trees of an answer without defects; what is the same as another item is left to that one."""
    return {place.id: place.parent for place in answer.items if place.same_as is None}


def salvaged_parents(answer: answers.Hierarchy, items: Items) -> Parents:
    """The trees of an answer with defects: what is placed wrongly, or not at all, stands alone."""
    parents: dict[str, str | None] = dict.fromkeys(
        [place.id for place in answer.items if place.id in items.texts] + list(items.texts)
    )
    for place in answer.items:
        above = place.parent
        if above is None or place.id not in parents or above not in parents or above == place.id:
            continue
        if items.may_stand_below(place.id, above) and place.id not in _above(above, parents):
            parents[place.id] = above
    return parents


def _above(item_id: str, parents: Parents) -> list[str]:
    """The items above one, nearest first; ends where it would go round in a circle."""
    path: list[str] = []
    parent = parents.get(item_id)
    while parent is not None and parent not in path:
        path.append(parent)
        parent = parents.get(parent)
    return path


# -- whether each parent is the broader one ------------------------------------------------------------------------


@dataclass(frozen=True)
class Dispute:
    """An edge whose parent is not strictly the broader requirement.

    Attributes:
        same: both ask for the same.
        better: another item that the child does make more precise, as far as the model named one.
    """

    child: str
    parent: str
    reason: str = ""
    same: bool = False
    better: str | None = None

    def line(self, texts: Mapping[str, str]) -> str:
        why = f" ({self.reason})" if self.reason else ""
        return (
            f"[{self.parent}] {texts[self.parent]!r} is not strictly broader than "
            f"[{self.child}] {texts[self.child]!r}{why}; put [{self.child}] below something that it implies, "
            "or at the top"
        )


def edges(parents: Parents) -> list[tuple[str, str]]:
    """(child, parent) of every edge, in order."""
    return [(child, parent) for child, parent in parents.items() if parent is not None]


def disputes(compared: answers.SupersetCheck, asked: Sequence[tuple[str, str]]) -> tuple[Dispute, ...]:
    """The edges that an answer denies; pairs that were not asked about are passed over."""
    denied = []
    for pair in compared.pairs:
        if not 1 <= pair.number <= len(asked) or (pair.narrow_implies_broad and not pair.broad_implies_narrow):
            continue
        child, parent = asked[pair.number - 1]
        better = asked[pair.instead - 1][1] if pair.instead and 1 <= pair.instead <= len(asked) else None
        same = pair.narrow_implies_broad and pair.broad_implies_narrow
        denied.append(Dispute(child, parent, " ".join(pair.reason.split()), same, better))
    return tuple(denied)


# -- mending -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mended:
    """Trees as they are kept.

    Attributes:
        notes: what was done, in words for people.
        cuts: edges cut without a better place for what stood below.
        lost: most specific items that are no longer there.
        doubted: denied edges that stand, since more may not be cut.
    """

    parents: Parents
    notes: tuple[str, ...] = ()
    cuts: int = 0
    lost: tuple[str, ...] = ()
    doubted: int = 0

    @property
    def harm(self) -> tuple[int, int, int]:
        """Fewer is better, the first first."""
        return len(self.lost), self.doubted, self.cuts


def mend(
    parents: Parents, items: Items, denied: Iterable[Dispute] = (), *, most_trees: int | None = MOST_TREES
) -> Mended:
    """Trees without the denied edges, without broad leaves, and few enough to be reached.

    What stands below a parent that it does not imply moves to the better place that was named, else to the top; two
    items that ask for the same become one.  Broad items with nothing more precise below them go: nobody wanted just
    that.  Of too many trees the smallest go; and if five perfect turns would miss much, the smallest comes last.

    Args:
        most_trees: None leaves number and order of the trees, and broad leaves, as they are.
    """
    mended = _without_denied(parents, items, tuple(denied))
    return mended if most_trees is None else _within_reach(_without_broad_leaves(mended, items), items, most_trees)


def too_wide(parents: Parents, items: Items, most_trees: int) -> str | None:
    """What is to be said of a forest with too many trees, broad leaves not counted."""
    number = len(_roots(_without_broad_leaves(Mended(parents), items).parents))
    if number <= most_trees:
        return None
    return (
        f"there are {number} trees; two to five are wanted, {most_trees} at most: "
        "put small trees below a broad item that they imply, or join what asks for the same"
    )


def _without_denied(parents: Parents, items: Items, denied: tuple[Dispute, ...]) -> Mended:
    kept, notes, cuts, doubted = dict(parents), [], 0, 0
    refused = {(each.child, each.parent) for each in denied}
    for each in denied:
        if kept.get(each.child) != each.parent:
            continue  # one of them is gone already
        low, high = items.texts[each.child], items.texts[each.parent]
        if each.same:
            kept = _joined(kept, each)
            notes.append(f"joined, since they ask for the same: {low!r} and {high!r}")
        elif (better := each.better) is not None and _fits(each.child, better, kept, items, refused):
            kept[each.child] = better
            notes.append(f"moved below {items.texts[better]!r}, since it does not imply {high!r}: {low!r}")
        elif cuts < MOST_CUTS:
            cuts += 1
            del kept[each.child]
            kept[each.child] = None  # last: what was placed with care keeps its place
            notes.append(f"made a tree of its own, since it does not imply {high!r}: {low!r}")
        else:
            doubted += 1
    if doubted:
        notes.append(f"{doubted} more edges were denied and stand: the most that are cut is {MOST_CUTS}")
    return Mended(kept, tuple(notes), cuts, doubted=doubted)


def _fits(child: str, parent: str, parents: Parents, items: Items, refused: set[tuple[str, str]]) -> bool:
    free = parent != child and child not in _above(parent, parents)
    return free and parent in parents and items.may_stand_below(child, parent) and (child, parent) not in refused


def _joined(parents: Mapping[str, str | None], same: Dispute) -> dict[str, str | None]:
    """One item of two: the parent, unless the child is all that makes it more precise."""
    only = [child for child, parent in parents.items() if parent == same.parent] == [same.child]
    gone, stays = (same.parent, same.child) if only else (same.child, same.parent)
    joined = {key: stays if parent == gone else parent for key, parent in parents.items() if key != gone}
    if only:
        joined[stays] = parents[same.parent]
    return joined


def _without_broad_leaves(mended: Mended, items: Items) -> Mended:
    parents, gone = dict(mended.parents), []
    while leaves := [key for key in parents if level_of(key) > 0 and key not in parents.values()]:
        gone += [items.texts[key] for key in leaves]
        parents = {key: parent for key, parent in parents.items() if key not in leaves}
    notes = (f"left out, since nothing more precise stands below: {_named(gone)}",) if gone else ()
    return replace(mended, parents=parents, notes=(*mended.notes, *notes))


def _within_reach(mended: Mended, items: Items, most_trees: int) -> Mended:
    parents, notes, lost = dict(mended.parents), list(mended.notes), list(mended.lost)
    while len(roots := _roots(parents)) > most_trees:
        gone = _members(_smallest(roots, parents), parents)
        lost += [items.texts[key] for key in gone if level_of(key) == 0]
        notes.append(f"left out, since more than {most_trees} trees cannot be reached: {items.texts[gone[0]]!r}")
        parents = {key: parent for key, parent in parents.items() if key not in gone}
    trees = forest(parents, items.texts)
    if ceiling(IntentTree("", "", "", (trees[0].id,), trees)) < LEAST_CEILING:
        last = _smallest(roots, parents)
        del parents[last]
        parents[last] = None
        notes.append(f"comes last, so that most is reached: {items.texts[last]!r}")
    return replace(mended, parents=parents, notes=tuple(notes), lost=tuple(lost))


def _roots(parents: Parents) -> list[str]:
    return [key for key, parent in parents.items() if parent is None]


def _smallest(roots: Sequence[str], parents: Parents) -> str:
    """The root with the fewest items below it; of equals the narrowest, then the last."""
    size = {root: len(_members(root, parents)) for root in roots}
    return min(reversed(roots), key=lambda root: (size[root], level_of(root)))


def _members(root: str, parents: Parents) -> list[str]:
    """A root and all below it, the root first."""
    return [root, *(key for key in parents if root in _above(key, parents))]


def _named(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts))


def forest(parents: Parents, texts: Mapping[str, str]) -> tuple[Intent, ...]:
    """The trees with dotted ids, in order."""
    children: dict[str | None, list[str]] = {}
    for item_id, parent in parents.items():
        children.setdefault(parent, []).append(item_id)

    def grow(item_id: str, intent_id: str) -> Intent:
        below = [grow(child, f"{intent_id}.{place}") for place, child in enumerate(children.get(item_id, ()), start=1)]
        return Intent(intent_id, texts[item_id], tuple(below))

    return tuple(grow(item_id, str(place)) for place, item_id in enumerate(children[None], start=1))
