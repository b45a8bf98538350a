"""A language model as the tree builder: the paper's four stages, each checked by code (appendix A.1).

Synthesis, abstraction, organisation, initial request.  Items travel by id between the stages, so that their texts are
kept exactly.  What a check finds wrong is named to the model once; if it is wrong again, the error names the stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.base.words import content_words, words
from discover_lib.core.conversation import Artifact, Message
from discover_lib.core.intents import MAX_TEXT, Intent, IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, Recognised
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import leaked_words
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import Check, Model, T, failing_as
from discover_lib.engines.llm.calls.client import LLMClient
from discover_lib.engines.llm.prompting import PromptSet, default_prompts, listed, one_line, quoted

TEMPERATURE = 0.3
MAX_TOKENS = 8192
MIN_ITEMS = 3
MAX_TOPIC_WORDS = 3
MAX_REQUEST_WORDS = 40
SAMPLED_EDGES = 8  # parent and child pairs of a forest whose direction is asked about

_NEGATION = re.compile(r"\b(?:not|never|avoids?|avoiding|lacks?|lacking)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Synthesised:
    """After stage 1: what the artifact's maker must have asked for."""

    artifact: Artifact
    topic: str
    description: str
    items: tuple[Recognised, ...]


@dataclass(frozen=True)
class Abstracted:
    """After stage 2: the texts of every level, the most specific first."""

    synthesised: Synthesised
    levels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Organised:
    """After stage 3: the forest."""

    abstracted: Abstracted
    roots: tuple[Intent, ...]


Stage = Synthesised | Abstracted | Organised | BuiltTree


class LLMBuilder:
    """Builds trees from any artifact.

    Args:
        client, model: who answers.
        check_direction: ask, for a sample of a forest's edges, whether the parent is really the broader one.
    """

    def __init__(
        self,
        client: LLMClient,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        check_direction: bool = True,
        prompts: PromptSet | None = None,
    ) -> None:
        self.model = Model(client, model, temperature, max_tokens, prompts or default_prompts())
        self.check_direction = check_direction

    def build(self, artifact: Artifact) -> BuiltTree:
        """See the module.

        Raises:
            BuildError: naming the artifact, the stage, and what was wrong twice.
        """
        *_, built = self.stages(artifact)
        assert isinstance(built, BuiltTree)
        return built

    def stages(self, artifact: Artifact) -> Iterator[Stage]:
        """The result of each stage as it comes, the built tree last.

        Raises:
            BuildError: as `build`.
        """
        yield (synthesised := self.synthesise(artifact))
        yield (abstracted := self.abstract(synthesised))
        yield (organised := self.organise(abstracted))
        yield self.open(organised)

    # -- the stages, one by one ------------------------------------------------------------------------------------

    def synthesise(self, artifact: Artifact) -> Synthesised:
        """Stage 1: the most specific requirements that the artifact meets."""
        if not artifact.text.strip():
            raise BuildError(f"{artifact.id}: the artifact is empty")
        values = {
            "artifact_type": artifact.type,
            "topic": artifact.topic or "(not known)",
            "file_name": one_line(artifact.id),
            "artifact": quoted("artifact", artifact.text),
        }
        answer = self._ask(artifact, "synthesis", "requirement_synthesis", values, answers.Synthesis, synthesis_defect)
        items = tuple(
            Recognised(one_line(each.text), one_line(each.aspect), one_line(each.evidence)) for each in answer.items
        )
        return Synthesised(artifact, artifact.topic or one_line(answer.topic), one_line(answer.description), items)

    def abstract(self, synthesised: Synthesised) -> Abstracted:
        """Stage 2: ever broader versions of the whole list."""
        artifact = synthesised.artifact
        specific = tuple(item.text for item in synthesised.items)
        known = content_words(f"{artifact.type} {synthesised.topic}")

        def check(answer: answers.Abstraction) -> str | None:
            return abstraction_defect([specific, *_texts(answer)], known)

        values = {"artifact_type": artifact.type, "topic": synthesised.topic, "items": listed(specific)}
        answer = self._ask(artifact, "abstraction", "abstraction", values, answers.Abstraction, check)
        return Abstracted(synthesised, (specific, *_texts(answer)))

    def organise(self, abstracted: Abstracted) -> Organised:
        """Stage 3: all items of all levels in one forest, each once, with its exact text."""
        artifact = abstracted.synthesised.artifact
        texts = _numbered(abstracted.levels)

        def check(answer: answers.Hierarchy) -> str | None:
            return hierarchy_defect(answer, texts) or self._direction_defect(artifact, answer, texts)

        shown = [
            f"Level {number}:\n" + listed(f"[{key}] {texts[key]}" for key in texts if _level(key) == number)
            for number in range(len(abstracted.levels))
        ]
        values = {
            "artifact_type": artifact.type,
            "topic": abstracted.synthesised.topic,
            "levels": "\n\n".join(shown),
        }
        answer = self._ask(artifact, "organisation", "hierarchy", values, answers.Hierarchy, check)
        return Organised(abstracted, forest(answer, texts))

    def open(self, organised: Organised) -> BuiltTree:
        """Stage 4: the first message, and the roots that are known with it."""
        synthesised = organised.abstracted.synthesised
        artifact, topic, roots = synthesised.artifact, synthesised.topic, organised.roots

        def tree_of(answer: answers.InitialRequest) -> IntentTree:
            chosen = tuple(root.id for root in roots if root.id in answer.chosen)
            return IntentTree(artifact.type, topic, one_line(answer.request), chosen, roots)

        def check(answer: answers.InitialRequest) -> str | None:
            return request_defect(answer, roots) or leak_defect(tree_of(answer))

        below = [intent for root in roots for intent in root.walk() if intent is not root]
        values = {
            "artifact_type": artifact.type,
            "topic": topic,
            "roots": listed(f"[{root.id}] {root.text}" for root in roots),
            "latent": listed(intent.text for intent in below),
        }
        answer = self._ask(artifact, "initial request", "initial_request", values, answers.InitialRequest, check)
        return BuiltTree(tree_of(answer), synthesised.items, organised.abstracted.levels)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _ask(
        self,
        artifact: Artifact,
        stage: str,
        prompt: str,
        values: dict[str, str],
        answer: type[T],
        check: Check[T],
    ) -> T:
        # The seed lets a provider that takes one repeat itself: the same artifact, the same tree.
        seed = derive_seed(artifact.text, stage)
        with failing_as(BuildError, f"{artifact.id}, stage {stage}"):
            return self.model.answer(prompt, values, answer, check, purpose=f"builder: {stage}", seed=seed)

    def _direction_defect(self, artifact: Artifact, answer: answers.Hierarchy, texts: Mapping[str, str]) -> str | None:
        """Ask about a sample of edges whether the parent is strictly broader; the first that is not, in words."""
        edges = [(place.id, place.parent) for place in answer.items if place.parent is not None]
        if not self.check_direction or not edges:
            return None
        rng = derive_rng(artifact.text, "direction")
        sample = rng.sample(edges, min(SAMPLED_EDGES, len(edges)))
        pairs = [f"{n}. narrow: {texts[low]}\n   broad: {texts[high]}" for n, (low, high) in enumerate(sample, start=1)]

        def check(compared: answers.SupersetCheck) -> str | None:
            complete = sorted(pair.number for pair in compared.pairs) == list(range(1, len(sample) + 1))
            return None if complete else f"give the pairs 1 to {len(sample)} once each"

        values = {"artifact_type": artifact.type, "pairs": "\n".join(pairs)}
        compared = self._ask(artifact, "direction", "superset_check", values, answers.SupersetCheck, check)
        for pair in compared.pairs:
            if not pair.narrow_implies_broad or pair.broad_implies_narrow:
                low, high = sample[pair.number - 1]
                return (
                    f"[{high}] {texts[high]!r} is not strictly broader than [{low}] {texts[low]!r} "
                    f"({one_line(pair.reason)}); put [{low}] below something that it implies, or at the top"
                )
        return None


# -- what code can check -------------------------------------------------------------------------------------------


def synthesis_defect(answer: answers.Synthesis) -> str | None:
    """Enough items, each different, positively phrased; a short topic."""
    if not 1 <= len(answer.topic.split()) <= MAX_TOPIC_WORDS:
        return f"the topic {answer.topic!r} must have one to {MAX_TOPIC_WORDS} words"
    if len(answer.items) < MIN_ITEMS:
        return f"{len(answer.items)} items are too few; find at least {MIN_ITEMS}"
    texts = [item.text for item in answer.items]
    for text in texts:
        if negation := _NEGATION.search(text):
            return f"the item {text!r} says what is absent ({negation.group()!r}); say what is there instead"
    return _text_defect(texts)


def abstraction_defect(levels: Sequence[Sequence[str]], known: frozenset[str]) -> str | None:
    """At least one broader level; never more items than below; every text new; none that type and topic imply.

    Args:
        levels: texts of every level, level 0 first.
        known: content words of the artifact's type and topic.
    """
    if len(levels) < 2:
        return "there is no broader level; give at least level 1"
    for number, (below, level) in enumerate(pairwise(levels), start=1):
        if not level:
            return f"level {number} is empty; leave it out"
        if len(level) > len(below):
            return f"level {number} has {len(level)} items, more than the {len(below)} below it: it cannot be broader"
        for text in level:
            if content_words(text) <= known:
                return f"the item {text!r} on level {number} says nothing beyond type and topic; drop it"
    return _text_defect([text for level in levels for text in level])


def hierarchy_defect(answer: answers.Hierarchy, texts: Mapping[str, str]) -> str | None:
    """Every item once, nothing invented, parents known and on a broader level (so there is no cycle)."""
    given = [place.id for place in answer.items]
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
            if _level(place.parent) <= _level(place.id):
                return f"[{place.id}] stands below [{place.parent}], which is not on a broader level"
    return None


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
    """Words of the request that only latent intents hold."""
    state = IntentState(dict.fromkeys(tree.initially_discovered, Discovery.DISCOVERED))
    given = Message("user", f"{tree.artifact_type} {tree.topic}")  # what both sides know before anybody speaks
    leaked = leaked_words(tree.initial_request, tree, state, [given.content])
    return f"the request gives away what is latent: leave out {', '.join(map(repr, leaked))}" if leaked else None


def _text_defect(texts: Sequence[str]) -> str | None:
    seen: dict[str, str] = {}
    for text in texts:
        key = " ".join(words(text))
        if not key:
            return f"the item {text!r} has no words"
        if len(text) > MAX_TEXT:
            return f"an item has {len(text)} characters; at most {MAX_TEXT}"
        if key in seen:
            return f"the item {text!r} stands twice; every text is used once"
        seen[key] = text
    return None


# -- from answers to a forest --------------------------------------------------------------------------------------


def _texts(answer: answers.Abstraction) -> list[tuple[str, ...]]:
    return [tuple(map(one_line, level.items)) for level in answer.levels]


def _numbered(levels: Sequence[Sequence[str]]) -> dict[str, str]:
    """ "LEVEL.NUMBER" → text, as the organisation prompt shows them."""
    return {
        f"{level}.{number}": text for level, texts in enumerate(levels) for number, text in enumerate(texts, start=1)
    }


def _level(item_id: str) -> int:
    return int(item_id.partition(".")[0])


def forest(answer: answers.Hierarchy, texts: Mapping[str, str]) -> tuple[Intent, ...]:
    """The trees of a checked answer, in its order, with dotted ids."""
    children: dict[str | None, list[str]] = {}
    for place in answer.items:
        if place.same_as is None:
            children.setdefault(place.parent, []).append(place.id)

    def grow(item_id: str, intent_id: str) -> Intent:
        below = [grow(child, f"{intent_id}.{place}") for place, child in enumerate(children.get(item_id, ()), start=1)]
        return Intent(intent_id, texts[item_id], tuple(below))

    return tuple(grow(item_id, str(place)) for place, item_id in enumerate(children[None], start=1))
