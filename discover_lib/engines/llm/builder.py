"""A language model as the tree builder: the paper's four stages, each checked by code (appendix A.1).

Synthesis, abstraction, organisation, initial request.  Items pass between the stages by id, so their texts stay exact.
A defect that a check finds is named to the model once.  If it stays, the error names the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from discover_lib.base.seeds import derive_seed
from discover_lib.base.words import content_words, reads
from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import MAX_TEXT, Intent, IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, Recognised
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import hidden_texts, known_texts, leaked_words
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import Answer, Check, Model, T, again, ask_structured, failing_as
from discover_lib.engines.llm.calls.exchange import Asks, Request
from discover_lib.engines.llm.judge import LeakCheck
from discover_lib.engines.llm.organisation import (
    MOST_TREES,
    Edge,
    Items,
    denials,
    edges,
    forest,
    hierarchy_defect,
    level_of,
    parents_of,
    what_to_change,
    without,
    wording,
)
from discover_lib.engines.llm.prompting import PromptSet, listed, one_line, quoted

TEMPERATURE = 0.3
MAX_TOKENS = 8192
MIN_ITEMS = 3
MAX_TOPIC_WORDS = 3
MAX_REQUEST_WORDS = 40
PROMPT_OF = {  # stage, as its calls are named → prompt; a tree file contains a hash of these prompts
    "synthesis": "requirement_synthesis",
    "abstraction": "abstraction",
    "organisation": "hierarchy",
    "direction": "superset_check",
    "initial request": "initial_request",
}

UNREAD = (
    "no model was asked: requirements are compared and checked for leaks by words in the letters a to z, and this text "
    "is in other letters; give a translation"
)


@dataclass(frozen=True)
class Synthesised:
    """After stage 1: the requirements of the artifact."""

    artifact: Artifact
    topic: str
    items: tuple[Recognised, ...]


@dataclass(frozen=True)
class Abstracted:
    """After stage 2: the texts of every level, the most specific first."""

    synthesised: Synthesised
    levels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Organised:
    """After stage 3: the forest; `notes` name its defects."""

    abstracted: Abstracted
    roots: tuple[Intent, ...]
    notes: tuple[str, ...] = ()


Stage = Synthesised | Abstracted | Organised | BuiltTree


class LLMBuilder:
    """Builds trees from any artifact.

    Args:
        on_ask: called with the stage before each of its questions.
    """

    def __init__(
        self,
        client: Asks,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        prompts: PromptSet | None = None,
        on_ask: Callable[[str], object] = lambda stage: None,
        **effort: Any,
    ) -> None:
        self.model = Model(client, model, temperature, max_tokens, prompts, **effort)
        self._on_ask = on_ask
        self.leak_check = LeakCheck(client, model, prompts=prompts, purpose="builder: leak check")

    def build(self, artifact: Artifact) -> BuiltTree:
        """See the module.

        Raises:
            BuildError: names the artifact, the stage, and the defect that the re-ask did not remove.
        """
        synthesised = self.synthesise(artifact)
        abstracted = self.abstract(synthesised)
        organised = self.organise(abstracted)
        return self.open(organised)

    # -- the stages, one by one ------------------------------------------------------------------------------------

    def synthesise(self, artifact: Artifact) -> Synthesised:
        """Stage 1: the most specific requirements that the artifact meets."""
        if not artifact.text.strip():
            raise BuildError(f"{artifact.id}: the artifact is empty")
        if not reads(artifact.text):
            raise BuildError(f"{artifact.id}: {UNREAD}")
        request = self._request(
            artifact,
            "synthesis",
            topic=artifact.topic or "(not known)",
            file_name=one_line(artifact.id),
            artifact=quoted("artifact", artifact.text),
        )
        given = self._ask(artifact, "synthesis", request, answers.Synthesis, synthesis_defect).value
        items = tuple(
            Recognised(one_line(each.text), one_line(each.aspect), one_line(each.evidence)) for each in given.items
        )
        return Synthesised(artifact, artifact.topic or one_line(given.topic), items)

    def abstract(self, synthesised: Synthesised) -> Abstracted:
        """Stage 2: ever broader versions of the whole list."""
        artifact, topic = synthesised.artifact, synthesised.topic
        specific = tuple(item.text for item in synthesised.items)
        known = content_words(f"{artifact.type} {topic}")

        def check(answer: answers.Abstraction) -> str | None:
            return abstraction_defect([specific, *_texts(answer)], known)

        items = by_aspect(synthesised.items, {text: text for text in specific})
        request = self._request(artifact, "abstraction", topic=topic, items=items)
        given = self._ask(artifact, "abstraction", request, answers.Abstraction, check).value
        return Abstracted(synthesised, (specific, *_texts(given)))

    def organise(self, abstracted: Abstracted) -> Organised:
        """Stage 3: all items of all levels in one forest, each once, with its exact text.

        One call asks about every edge.  The defects are named to the model once.  A second call asks about the new
        edges, and every denied edge is cut.
        """
        synthesised = abstracted.synthesised
        artifact, items = synthesised.artifact, Items.of_levels(abstracted.levels)

        def check(answer: answers.Hierarchy) -> str | None:
            return hierarchy_defect(answer, items)

        levels = shown_levels(items, synthesised.items)
        request = self._request(artifact, "organisation", topic=synthesised.topic, levels=levels)
        given = self._ask(artifact, "organisation", request, answers.Hierarchy, check)
        parents = parents_of(given.value)
        said = self._denials(artifact, edges(parents), items)
        if change := what_to_change(parents, said):
            request = again(request, given.raw[-1], change)
            parents = parents_of(self._ask(artifact, "organisation", request, answers.Hierarchy, check).value)
            said |= self._denials(artifact, [edge for edge in edges(parents) if edge not in said], items)
        aspects = {item.text: item.dimension for item in synthesised.items}
        roots = forest(without(parents, said), items.texts, aspects)
        notes = [f"organisation, cut: {said[edge]}" for edge in edges(parents) if said.get(edge)]
        if len(roots) > MOST_TREES:
            notes.append(f"organisation: {len(roots)} trees, where {MOST_TREES} are the limit")
        return Organised(abstracted, roots, tuple(notes))

    def open(self, organised: Organised) -> BuiltTree:
        """Stage 4: the first message, and the roots that it makes known."""
        abstracted, roots = organised.abstracted, organised.roots
        synthesised = abstracted.synthesised
        artifact, topic = synthesised.artifact, synthesised.topic
        bare = IntentTree(artifact.type, topic, "", (), roots)

        def check(answer: answers.InitialRequest) -> str | None:
            opened = _opened(bare, answer.chosen, answer.request)
            return request_defect(answer, roots) or leak_defect(opened) or self._paraphrase_defect(opened)

        below = [intent for root in roots for intent in root.walk() if intent is not root]
        request = self._request(
            artifact,
            "initial request",
            topic=topic,
            roots=listed(f"[{root.id}] {root.text}" for root in roots),
            latent=listed(intent.text for intent in below),
        )
        given = self._ask(artifact, "initial request", request, answers.InitialRequest, check).value
        tree = _opened(bare, given.chosen, given.request)
        return BuiltTree(tree, synthesised.items, abstracted.levels, organised.notes)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _request(self, artifact: Artifact, stage: str, /, **values: str) -> Request:
        # A provider that accepts the seed gives the same tree for the same artifact.
        messages = self.model.prompts.render(PROMPT_OF[stage], artifact_type=artifact.type, **values)
        return self.model.request(messages, f"builder: {stage}", seed=derive_seed(artifact.text, stage))

    def _ask(self, artifact: Artifact, stage: str, request: Request, form: type[T], check: Check[T]) -> Answer[T]:
        self._on_ask(stage)
        with failing_as(BuildError, f"{artifact.id}, stage {stage}"):
            return ask_structured(self.model.client, request, form, check)

    def _paraphrase_defect(self, tree: IntentTree) -> str | None:
        """Latent intents that the request reveals in other words, by the leak check; None if it found none."""
        state = IntentState(dict.fromkeys(tree.initially_discovered, Discovery.DISCOVERED))
        hidden, known = hidden_texts(tree, state), [f"{tree.artifact_type}: {tree.topic}", *known_texts(tree, state)]
        ids = self.leak_check.given_away(tree.initial_request, hidden, known) if hidden else ()
        told = ", ".join(repr(hidden[key]) for key in ids or ())
        return f"the request gives away in other words what is latent: {told}" if told else None

    def _denials(self, artifact: Artifact, asked: Sequence[Edge], items: Items) -> dict[Edge, str]:
        """A model's objection to each of these edges, in one call."""
        if not asked:
            return {}
        pairs = [
            f"{number}. narrow: {items.texts[low]}\n   broad: {items.texts[high]}"
            for number, (low, high) in enumerate(asked, start=1)
        ]

        def check(compared: answers.SupersetCheck) -> str | None:
            numbers = sorted(pair.number for pair in compared.pairs)
            return None if numbers == [*range(1, len(asked) + 1)] else f"give the pairs 1 to {len(asked)} once each"

        request = self._request(artifact, "direction", pairs="\n".join(pairs))
        given = self._ask(artifact, "direction", request, answers.SupersetCheck, check)
        return denials(given.value, asked, items.texts)


# -- checks by code -----------------------------------------------------------------------------------------------


def synthesis_defect(answer: answers.Synthesis) -> str | None:
    """Enough items, each different; a short topic."""
    defects = []
    if not 1 <= len(answer.topic.split()) <= MAX_TOPIC_WORDS:
        defects.append(f"the topic {answer.topic!r} must have one to {MAX_TOPIC_WORDS} words")
    if len(answer.items) < MIN_ITEMS:
        defects.append(f"{len(answer.items)} items are too few; find at least {MIN_ITEMS}")
    texts = [item.text for item in answer.items]
    return "; ".join(dict.fromkeys([*defects, *_text_defects(texts)])) or None


def abstraction_defect(levels: Sequence[Sequence[str]], known: frozenset[str]) -> str | None:
    """At least one broader level, never with more items than the level below.

    Each level adds a broader item, repeats no text, and has no item that type and topic imply.

    Args:
        levels: texts of every level, level 0 first.
        known: content words of the artifact's type and topic.
    """
    if len(levels) < 2:
        return "there is no broader level; give at least level 1"
    defects = []
    for number, (below, level) in enumerate(pairwise(levels), start=1):
        if not level:
            defects.append(f"level {number} is empty; leave it out")
        elif set(map(wording, level)) <= set(map(wording, below)):
            defects.append(f"level {number} has nothing broader than level {number - 1}; leave it out")
        if len(level) > len(below):
            line = f"level {number} has {len(level)} items, more than the {len(below)} below it: it cannot be broader"
            defects.append(line)
        for text in level:
            if content_words(text) <= known:
                defects.append(f"the item {text!r} on level {number} says nothing beyond type and topic; drop it")
        defects += _text_defects(level)
    return "; ".join(dict.fromkeys(defects)) or None


def request_defect(answer: answers.InitialRequest, roots: Sequence[Intent]) -> str | None:
    """Roots only, a minimal share of them, a short plain message."""
    ids = [root.id for root in roots]
    if unknown := [key for key in answer.chosen if key not in ids]:
        return f"{unknown[0]!r} cannot be chosen; choose among {', '.join(ids)}"
    if not answer.chosen:
        return "choose at least one requirement that the message names"
    if len(set(answer.chosen)) == len(ids) > 1:
        return "every requirement was chosen; choose the smallest set without which no conversation starts"
    if len(answer.request.split()) > MAX_REQUEST_WORDS:
        return f"the request has {len(answer.request.split())} words; at most {MAX_REQUEST_WORDS}"
    if "\n" in answer.request.strip() or "```" in answer.request:
        return "the request must be plain text on one line"
    return None


def leak_defect(tree: IntentTree) -> str | None:
    """Words of the request that only latent intents contain."""
    state = IntentState(dict.fromkeys(tree.initially_discovered, Discovery.DISCOVERED))
    known = f"{tree.artifact_type} {tree.topic}"  # to both sides before the first message
    leaked = leaked_words(tree.initial_request, tree, state, [known])
    return f"the request gives away what is latent: leave out {', '.join(map(repr, leaked))}" if leaked else None


def _text_defects(texts: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for text in texts:
        if not (key := wording(text)):
            yield f"the item {text!r} has no words"
        elif len(text) > MAX_TEXT:
            yield f"an item has {len(text)} characters; at most {MAX_TEXT}"
        elif key in seen:
            yield f"the item {text!r} stands twice; every text is used once"
        seen.add(key)


def _opened(bare: IntentTree, chosen: Iterable[str], request: str) -> IntentTree:
    """The tree with its first message and the roots that it makes known."""
    ids = set(chosen)
    discovered = tuple(root.id for root in bare.roots if root.id in ids)
    return replace(bare, initial_request=one_line(request), initially_discovered=discovered)


# -- values of prompts -------------------------------------------------------------------------------------------


def by_aspect(items: Sequence[Recognised], shown: Mapping[str, str]) -> str:
    """The most specific items under their aspects; `shown` maps text → line."""
    aspects: dict[str, list[str]] = {}
    for item in items:
        if item.text in shown:
            aspects.setdefault(item.dimension, []).append(shown[item.text])
    return "\n".join(f"{aspect}\n{listed(lines)}" for aspect, lines in aspects.items())


def shown_levels(items: Items, specific: Sequence[Recognised]) -> str:
    """All items with their ids, level by level."""
    levels: dict[int, dict[str, str]] = {}
    for key, text in items.texts.items():
        levels.setdefault(level_of(key), {})[text] = f"[{key}] {text}"
    return "\n\n".join(
        f"Level {level}:\n" + (by_aspect(specific, shown) if level == 0 else listed(shown.values()))
        for level, shown in levels.items()
    )


def _texts(answer: answers.Abstraction) -> list[tuple[str, ...]]:
    return [tuple(map(one_line, level.items)) for level in answer.levels]
