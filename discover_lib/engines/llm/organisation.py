"""From items on several levels to trees that a conversation can reach (paper, appendix A.1.3): what code decides.

A model says which item stands below which and is asked apart whether each parent is really the broader one.  What it
gets wrong is named to it once; what is then still wrong is mended here, noted, and the trees are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from discover_lib.base.words import words
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.engines.llm import answers
from discover_lib.metrics.ceiling import ceiling

MOST_TREES = 6  # the limit, one more than a conversation has turns: the judge is shown one tree a turn
LEAST_CEILING = 0.8  # of a forest: what five perfect turns find
DROP = "drop"  # the parent of an item that is left out

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


def hierarchy_defect(answer: answers.Hierarchy, items: Items, *, may_lose: bool = False) -> str | None:
    """Every item once, nothing invented, parents known and on a broader level, no cycle.

    Args:
        may_lose: whether a most specific item, too, may be left out.
    """
    texts, given = items.texts, [place.id for place in answer.items]
    if unknown := [key for key in given if key not in texts]:
        return f"there is no item {unknown[0]!r}; use the ids as given, such as {next(iter(texts))!r}"
    if missing := [key for key in texts if key not in given]:
        return f"these items have no entry: {', '.join(missing)}"
    if len(given) > len(texts):
        return f"item {next(key for key in given if given.count(key) > 1)!r} has more than one entry"
    if not may_lose and (lost := dropped(answer, items)):
        return f"{lost[0]!r} is of level 0 and stays: put it below an item that it implies, or at the top"
    merged = {place.id for place in answer.items if place.same_as is not None or place.parent == DROP}
    for place in answer.items:
        if place.parent == DROP:
            continue
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
    return {place.id: place.parent for place in answer.items if place.same_as is None and place.parent != DROP}


def dropped(answer: answers.Hierarchy, items: Items) -> tuple[str, ...]:
    """The most specific items that an answer leaves out."""
    gone = [place.id for place in answer.items if place.parent == DROP and level_of(place.id) == 0]
    return tuple(items.texts[key] for key in gone)


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
        low, high = (f"[{key}] {texts[key]!r}" for key in (self.child, self.parent))
        if self.same:
            return f"{low} and {high} ask for the same{why}"
        place = f"; it does imply [{self.better}] {texts[self.better]!r}" if self.better else ""
        return f"{low} does not imply {high}{why}{place}"


Edge = tuple[str, str]  # child, parent


def edges(parents: Parents) -> list[Edge]:
    """Every edge, in order."""
    return [(child, parent) for child, parent in parents.items() if parent is not None]


def disputes(compared: answers.SupersetCheck, asked: Sequence[Edge]) -> tuple[Dispute, ...]:
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
        cut: items that stand at the top because the edge above them was denied.
        lost: most specific items that are no longer there.
    """

    parents: Parents
    notes: tuple[str, ...] = ()
    cut: frozenset[str] = frozenset()
    lost: tuple[str, ...] = ()

    @property
    def harm(self) -> tuple[int, int]:
        """Fewer is better, the first first."""
        return len(self.lost), len(self.cut)


def mend(
    parents: Parents, items: Items, denied: Iterable[Dispute] = (), *, most_trees: int | None = MOST_TREES
) -> Mended:
    """Trees without the denied edges, without broad leaves, and few enough to be reached.

    No denied edge stands: what does not imply its parent moves to the better place that was named, else to the top, and
    keeps its place in the order; two items that ask for the same become one.  Broad items with nothing more precise
    below them go: nobody wanted just that.  Of too many trees those of least worth go (`_of_least_worth`); and if five
    perfect turns would miss much, the one of least worth comes last.

    Args:
        most_trees: None leaves number and order of the trees, and broad leaves, as they are.
    """
    mended = _without_denied(parents, items, tuple(denied))
    return mended if most_trees is None else _within_reach(_without_broad_leaves(mended, items), items, most_trees)


def what_to_change(parents: Parents, items: Items, denied: Sequence[Dispute], most_trees: int) -> str:
    """What is said of a forest that cannot be kept whole: all that is wrong with it, and what may be done about it."""
    denied = [each for each in denied if parents.get(each.child) == each.parent]
    left = _without_broad_leaves(_without_denied(parents, items, tuple(denied)), items)
    roots = _roots(left.parents)
    lines = [each.line(items.texts) for each in denied]
    lines.append(
        f"{'so ' if denied else ''}there are {len(roots)} trees, {', '.join(f'[{root}]' for root in roots)}: two to "
        f"five are wanted, {most_trees} at most. Put what does not imply its parent below an item that it does imply, "
        "or at the top; join what asks for the same; and of what is still too much, and of items above level 0 with "
        f'nothing below, leave out what matters least, with "{DROP}" as its parent'
    )
    return "; ".join(lines)


def _without_denied(parents: Parents, items: Items, denied: tuple[Dispute, ...]) -> Mended:
    kept, notes, cut = dict(parents), [], []
    refused = {(each.child, each.parent) for each in denied}

    def move(child: str, better: str | None) -> None:
        low, high = items.texts[child], items.texts[kept[child] or child]
        if better is not None and _fits(child, better, kept, items, refused):
            kept[child] = better
            notes.append(f"moved below {items.texts[better]!r}, since it does not imply {high!r}: {low!r}")
        else:
            kept[child] = None
            cut.append(child)
            notes.append(f"made a tree of its own, since it does not imply {high!r}: {low!r}")

    for each in sorted(denied, key=lambda each: each.same):  # what is joined has lost its wrong children by then
        if kept.get(each.child) != each.parent:
            continue  # one of them is gone already
        if each.same:
            kept = _joined(kept, each)
            notes.append(
                f"joined, since they ask for the same: {items.texts[each.child]!r} and {items.texts[each.parent]!r}"
            )
        else:
            move(each.child, each.better)
    for child, parent in edges(kept):
        if (child, parent) in refused:  # only joined together did they come to this
            move(child, None)
    return Mended(kept, tuple(notes), frozenset(cut))


def _fits(child: str, parent: str, parents: Parents, items: Items, refused: set[Edge]) -> bool:
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
        gone = _members(_of_least_worth(roots, parents, mended.cut), parents)
        wishes = [items.texts[key] for key in gone if level_of(key) == 0]
        lost += wishes
        notes.append(f"left out, since more than {most_trees} trees cannot be reached: {_named(wishes)}")
        parents = {key: parent for key, parent in parents.items() if key not in gone}
    trees = forest(parents, items.texts)
    if ceiling(IntentTree("", "", "", (trees[0].id,), trees)) < LEAST_CEILING:
        last = _of_least_worth(roots, parents, mended.cut)
        del parents[last]
        parents[last] = None
        notes.append(f"comes last, so that most is reached: {items.texts[last]!r}")
    return replace(mended, parents=parents, notes=tuple(notes), lost=tuple(lost))


def _roots(parents: Parents) -> list[str]:
    return [key for key, parent in parents.items() if parent is None]


def _of_least_worth(roots: Sequence[str], parents: Parents, cut: Collection[str]) -> str:
    """The root with the fewest wishes below it; of equals one that was cut off, then the smallest, then the last."""

    def worth(root: str) -> tuple[int, bool, int, int]:
        members = _members(root, parents)
        return sum(level_of(key) == 0 for key in members), root not in cut, len(members), level_of(root)

    return min(reversed(roots), key=worth)


def _members(root: str, parents: Parents) -> list[str]:
    """A root and all below it, the root first."""
    return [root, *(key for key in parents if root in _above(key, parents))]


def _named(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts))


def forest(parents: Parents, texts: Mapping[str, str], aspects: Mapping[str, str] | None = None) -> tuple[Intent, ...]:
    """The trees with dotted ids, in order; `aspects` maps text → what it is about."""
    children: dict[str | None, list[str]] = {}
    for item_id, parent in parents.items():
        children.setdefault(parent, []).append(item_id)

    def grow(item_id: str, intent_id: str) -> Intent:
        below = [grow(child, f"{intent_id}.{place}") for place, child in enumerate(children.get(item_id, ()), start=1)]
        return Intent(intent_id, texts[item_id], tuple(below), (aspects or {}).get(texts[item_id], ""))

    return tuple(grow(item_id, str(place)) for place, item_id in enumerate(children[None], start=1))
