"""A language model as the tree builder: the paper's four stages, each checked by code (appendix A.1).

Synthesis, abstraction, organisation, initial request.  Items travel by id between the stages, so that their texts are
kept exactly.  What a check finds wrong is named to the model once; what is wrong again is mended by code and noted, so
that no artifact is lost over it.  Only where nothing usable comes back does an error name the stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, Unpack

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.base.words import STOP_WORDS, content_words, reads
from discover_lib.core.conversation import Artifact, Message
from discover_lib.core.intents import MAX_TEXT, Intent, IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, Recognised
from discover_lib.core.state import Discovery, IntentState
from discover_lib.core.view import hidden_texts, known_texts, leaked_words
from discover_lib.engines.llm import answers
from discover_lib.engines.llm.asking import Check, Effort, T, failing_as
from discover_lib.engines.llm.calls.reading import UnusableError, read_answer
from discover_lib.engines.llm.calls.records import Request
from discover_lib.engines.llm.calls.structured import Remarks, StructuredError, again, ask_structured
from discover_lib.engines.llm.leak_check import LeakCheck
from discover_lib.engines.llm.organisation import (
    MOST_TREES,
    Dispute,
    Edge,
    Items,
    Mended,
    Parents,
    disputes,
    dropped,
    edges,
    forest,
    hierarchy_defect,
    level_of,
    mend,
    parents_of,
    salvaged_parents,
    what_to_change,
    wording,
)
from discover_lib.engines.llm.prompting import PromptSet, default_prompts, listed, one_line, quoted

TEMPERATURE = 0.3
MAX_TOKENS = 8192
MIN_ITEMS = 3
MAX_TOPIC_WORDS = 3
MAX_REQUEST_WORDS = 40
# Of these a tree file keeps a hash; not of `leak_check`, so that trees built before there was one are built no more.
PROMPTS = ("requirement_synthesis", "abstraction", "hierarchy", "superset_check", "initial_request")
STAGES = ("synthesis", "abstraction", "organisation", "direction", "initial request")  # as their calls are named

_CLAUSE = re.compile(  # what begins a clause of its own: "a server that has not recovered" is there
    r"\b(?:that|which|who|whom|whose|why|how|what|where|when|while|because|since|if|whether|though|although)\b", re.I
)
_NEGATION = re.compile(r"\b(?:not|never|avoids?|avoiding|lacks?|lacking)\b|n['’]t\b", re.IGNORECASE)
UNREAD = (
    "nothing was asked for: requirements are told apart and checked for leaks by words in the letters a to z, and this "
    "text is in others; give a translation"
)


@dataclass(frozen=True)
class Synthesised:
    """After stage 1: what the artifact's maker must have asked for.  `notes` say what code mended, here and below."""

    artifact: Artifact
    topic: str
    description: str
    items: tuple[Recognised, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Abstracted:
    """After stage 2: the texts of every level, the most specific first."""

    synthesised: Synthesised
    levels: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Organised:
    """After stage 3: the forest."""

    abstracted: Abstracted
    roots: tuple[Intent, ...]
    notes: tuple[str, ...] = ()


Verdicts = dict[Edge, Dispute | None]  # what was said of an edge: denied, or that it holds
Stage = Synthesised | Abstracted | Organised | BuiltTree


@dataclass(frozen=True)
class Given(Generic[T]):
    """An answer that can be used, word for word as well, and what is wrong with it nevertheless."""

    value: T
    raw: str
    defect: str = ""

    def notes(self, stage: str) -> tuple[str, ...]:
        return (f"{stage}, no better when asked again: {self.defect}",) if self.defect else ()


class LLMBuilder:
    """Builds trees from any artifact.

    Args:
        client, model: who answers.
        check_direction: ask of every edge of a forest whether the parent is really the broader one.
        check_paraphrases: ask of a first message whether it gives away in other words what is latent.
        most_trees: a forest of more is asked for again, then cut down; None keeps whatever the model draws.
    """

    def __init__(
        self,
        client: Remarks,
        model: str,
        *,
        temperature: float | None = TEMPERATURE,
        max_tokens: int | None = MAX_TOKENS,
        check_direction: bool = True,
        check_paraphrases: bool = True,
        most_trees: int | None = MOST_TREES,
        prompts: PromptSet | None = None,
        **effort: Unpack[Effort],
    ) -> None:
        self.client = client
        self.name, self.temperature, self.max_tokens, self.effort = model, temperature, max_tokens, effort
        self.prompts = prompts or default_prompts()
        self.check_direction = check_direction
        purpose = "builder: leak check"
        self.leak_check = LeakCheck(client, model, prompts=self.prompts, purpose=purpose) if check_paraphrases else None
        self.most_trees = most_trees

    def build(self, artifact: Artifact) -> BuiltTree:
        """See the module.

        Raises:
            BuildError: naming the artifact, the stage, and what came back twice that cannot be used.
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
        if not reads(artifact.text):
            raise BuildError(f"{artifact.id}: {UNREAD}")
        values = {
            "artifact_type": artifact.type,
            "topic": artifact.topic or "(not known)",
            "file_name": one_line(artifact.id),
            "artifact": quoted("artifact", artifact.text),
        }

        def usable(answer: answers.Synthesis) -> bool:
            return len(_distinct(item.text for item in answer.items)) >= MIN_ITEMS

        request = self._request(artifact, "synthesis", "requirement_synthesis", values)
        given = self._ask(artifact, "synthesis", request, answers.Synthesis, synthesis_defect, usable)
        kept = _distinct(item.text for item in given.value.items)
        items = tuple(
            Recognised(one_line(each.text), one_line(each.aspect), one_line(each.evidence))
            for each in given.value.items
            if kept.pop(wording(each.text), None) is not None
        )
        topic = artifact.topic or short_topic(given.value.topic)
        return Synthesised(artifact, topic, one_line(given.value.description), items, given.notes("synthesis"))

    def abstract(self, synthesised: Synthesised) -> Abstracted:
        """Stage 2: ever broader versions of the whole list."""
        artifact = synthesised.artifact
        specific = tuple(item.text for item in synthesised.items)
        known = content_words(f"{artifact.type} {synthesised.topic}")

        def check(answer: answers.Abstraction) -> str | None:
            return abstraction_defect([specific, *_texts(answer)], known)

        def usable(answer: answers.Abstraction) -> bool:
            return bool(broader_levels(specific, _texts(answer), known))

        values = {
            "artifact_type": artifact.type,
            "topic": synthesised.topic,
            "items": by_aspect(synthesised.items, {text: text for text in specific}),
        }
        request = self._request(artifact, "abstraction", "abstraction", values)
        given = self._ask(artifact, "abstraction", request, answers.Abstraction, check, usable)
        levels = broader_levels(specific, _texts(given.value), known)
        return Abstracted(synthesised, (specific, *levels), given.notes("abstraction"))

    def organise(self, abstracted: Abstracted) -> Organised:
        """Stage 3: all items of all levels in one forest, each once, with its exact text.

        Every edge is asked about in one call.  What code can mend without losing a requirement it mends at once; for
        the rest all that is wrong is named to the model once, edges that are new are asked about, and the forest that
        loses less is mended and kept, the second one if both lose the same.
        """
        synthesised = abstracted.synthesised
        artifact, items = synthesised.artifact, Items.of_levels(abstracted.levels)

        def check(answer: answers.Hierarchy) -> str | None:
            return hierarchy_defect(answer, items)

        def check_again(answer: answers.Hierarchy) -> str | None:
            return hierarchy_defect(answer, items, may_lose=True)

        values = {
            "artifact_type": artifact.type,
            "topic": synthesised.topic,
            "levels": shown_levels(items, synthesised.items),
        }
        request = self._request(artifact, "organisation", "hierarchy", values)
        form = answers.Hierarchy
        first = self._ask(artifact, "organisation", request, form, check, _anything)
        verdicts: Verdicts = {}
        mended, change = self._mended(artifact, first, items, verdicts)
        if mended.lost:
            request = again(request, first.raw, change)
            second = self._ask(artifact, "organisation", request, form, check_again, _anything, otherwise=first)
            mended = _the_better(mended, self._mended(artifact, second, items, verdicts)[0])
        aspects = {item.text: item.dimension for item in synthesised.items}
        return Organised(abstracted, forest(mended.parents, items.texts, aspects), mended.notes)

    def open(self, organised: Organised) -> BuiltTree:
        """Stage 4: the first message, and the roots that are known with it."""
        abstracted, roots = organised.abstracted, organised.roots
        synthesised = abstracted.synthesised
        artifact, topic = synthesised.artifact, synthesised.topic
        bare = IntentTree(artifact.type, topic, "", (), roots)

        def check(answer: answers.InitialRequest) -> str | None:
            return request_defect(answer, roots) or leak_defect(_opened(bare, answer.chosen, answer.request))

        below = [intent for root in roots for intent in root.walk() if intent is not root]
        values = {
            "artifact_type": artifact.type,
            "topic": topic,
            "roots": listed(f"[{root.id}] {root.text}" for root in roots),
            "latent": listed(intent.text for intent in below),
        }
        request = self._request(artifact, "initial request", "initial_request", values)
        how = answers.InitialRequest, check, _anything
        nothing = Given(answers.InitialRequest(chosen=[], request=bare.topic), "", "no usable answer")
        given = self._ask(artifact, "initial request", request, *how, otherwise=nothing)
        if not given.defect and (defect := self._paraphrase_defect(bare, given.value)):
            request = again(request, given.raw, defect)
            given = self._ask(artifact, "initial request", request, *how, otherwise=replace(given, defect=defect))
            if not given.defect:
                given = replace(given, defect=self._paraphrase_defect(bare, given.value))
        notes: tuple[str, ...] = ()
        if given.defect:
            tree = written_request(bare, given.value.chosen, seed=derive_seed(artifact.text, "request"))
            notes = (f"initial request, written by code: {given.defect}",)
        else:
            tree = _opened(bare, given.value.chosen, given.value.request)
        notes = (*synthesised.notes, *abstracted.notes, *organised.notes, *notes)
        return BuiltTree(tree, synthesised.items, abstracted.levels, notes)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _request(self, artifact: Artifact, stage: str, prompt: str, values: dict[str, str]) -> Request:
        # The seed lets a provider that takes one repeat itself: the same artifact, the same tree.
        return Request(
            model=self.name,
            messages=self.prompts.render(prompt, **values),
            purpose=f"builder: {stage}",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=derive_seed(artifact.text, stage),
            **self.effort,
        )

    def _ask(
        self,
        artifact: Artifact,
        stage: str,
        request: Request,
        form: type[T],
        check: Check[T],
        usable: Callable[[T], bool],
        otherwise: Given[T] | None = None,
    ) -> Given[T]:
        """The answer; of two with a defect the last that is usable nevertheless, else `otherwise`.

        Raises:
            BuildError: no answer can be used, and there is nothing otherwise.
        """
        with failing_as(BuildError, f"{artifact.id}, stage {stage}"):
            try:
                answer = ask_structured(self.client, request, form, check)
            except StructuredError as error:
                return _best(error, form, usable) or _or_raise(otherwise, error)
        return Given(answer.value, answer.raw[-1])

    def _paraphrase_defect(self, bare: IntentTree, answer: answers.InitialRequest) -> str:
        """What a model says that the request gives away in other words; "" if nothing, or if it was not to be told."""
        tree = _opened(bare, answer.chosen, answer.request)
        state = IntentState(dict.fromkeys(tree.initially_discovered, Discovery.DISCOVERED))
        hidden, known = hidden_texts(tree, state), [f"{tree.artifact_type}: {tree.topic}", *known_texts(tree, state)]
        ids = self.leak_check.given_away(tree.initial_request, hidden, known) if self.leak_check and hidden else ()
        told = ", ".join(repr(hidden[key]) for key in ids or ())
        return f"the request gives away in other words what is latent: {told}" if told else ""

    def _mended(
        self, artifact: Artifact, given: Given[answers.Hierarchy], items: Items, verdicts: Verdicts
    ) -> tuple[Mended, str]:
        """The forest of an answer, mended, and what is to be changed in it if it lost something."""
        parents = salvaged_parents(given.value, items) if given.defect else parents_of(given.value)
        denied, notes = self._denied(artifact, parents, items, verdicts)
        mended = mend(parents, items, denied, most_trees=self.most_trees)
        by_choice = () if given.defect else dropped(given.value, items)
        if by_choice:
            notes = (*notes, f"organisation: left out by the model: {', '.join(map(repr, by_choice))}")
        told = (*given.notes("organisation"), *notes, *(f"organisation: {note}" for note in mended.notes))
        change = what_to_change(parents, items, denied, self.most_trees) if self.most_trees is not None else ""
        return replace(mended, notes=told, lost=(*by_choice, *mended.lost)), change

    def _denied(
        self, artifact: Artifact, parents: Parents, items: Items, verdicts: Verdicts
    ) -> tuple[tuple[Dispute, ...], tuple[str, ...]]:
        """The edges whose parent is not strictly broader, earlier forests' included, and what could not be told.

        Those without a verdict yet are asked about in one call, and `verdicts` keeps what is said.
        """
        asked = [edge for edge in edges(parents) if edge not in verdicts]
        notes: tuple[str, ...] = ()
        if self.check_direction and asked:
            given = self._compared(artifact, asked, items)
            notes = (f"direction, not checked in full: {given.defect}",) if given.defect else ()
            verdicts |= {asked[pair.number - 1]: None for pair in given.value.pairs if 1 <= pair.number <= len(asked)}
            verdicts |= {(each.child, each.parent): each for each in disputes(given.value, asked)}
        return tuple(dispute for dispute in verdicts.values() if dispute is not None), notes

    def _compared(self, artifact: Artifact, asked: Sequence[Edge], items: Items) -> Given[answers.SupersetCheck]:
        pairs = [
            f"{number}. narrow: {items.texts[low]}\n   broad: {items.texts[high]}"
            for number, (low, high) in enumerate(asked, start=1)
        ]

        def check(compared: answers.SupersetCheck) -> str | None:
            numbers = [pair.number for pair in compared.pairs]
            complete = all(numbers.count(number) == 1 for number in range(1, len(asked) + 1))
            return None if complete else f"give the pairs 1 to {len(asked)} once each"

        values = {"artifact_type": artifact.type, "pairs": "\n".join(pairs)}
        request = self._request(artifact, "direction", "superset_check", values)
        nothing = Given(answers.SupersetCheck(pairs=[]), "", "no usable answer")
        given = self._ask(artifact, "direction", request, answers.SupersetCheck, check, _anything, otherwise=nothing)
        strays = sum(not 1 <= pair.number <= len(asked) for pair in given.value.pairs)
        self.client.remark(request.purpose, "stray ids", strays)
        return given


def _the_better(first: Mended, second: Mended) -> Mended:
    """The forest that loses less, the second if both lose the same; its notes say which one and why."""
    taken, which = (second, "second") if second.harm <= first.harm else (first, "first")
    losses = f"it leaves out {len(taken.lost)} of the most specific items"
    if taken is first:
        losses += f", the second one {len(second.lost)} and {len(second.cut)} of its edges were denied"
    return replace(taken, notes=(f"organisation, asked again: the {which} forest was taken, {losses}", *taken.notes))


def _anything(answer: object) -> bool:
    return True


def _best(error: StructuredError, form: type[T], usable: Callable[[T], bool]) -> Given[T] | None:
    """The last of the answers with a defect that can be read and used nevertheless."""
    for raw in reversed(error.raw):
        try:
            value = read_answer(raw, form, lambda _: None).value
        except UnusableError:
            continue
        if usable(value):
            return Given(value, raw, error.defect)
    return None


def _or_raise(otherwise: Given[T] | None, error: StructuredError) -> Given[T]:
    if otherwise is None:
        raise error
    return otherwise


# -- what code can check -------------------------------------------------------------------------------------------


def synthesis_defect(answer: answers.Synthesis) -> str | None:
    """Enough items, each different, positively phrased; a short topic."""
    defects = []
    if not 1 <= len(answer.topic.split()) <= MAX_TOPIC_WORDS:
        defects.append(f"the topic {answer.topic!r} must have one to {MAX_TOPIC_WORDS} words")
    if len(answer.items) < MIN_ITEMS:
        defects.append(f"{len(answer.items)} items are too few; find at least {MIN_ITEMS}")
    texts = [item.text for item in answer.items]
    for text in texts:
        if negation := _NEGATION.search(_CLAUSE.split(text, maxsplit=1)[0]):
            defects.append(f"the item {text!r} says what is absent ({negation.group()!r}); say what is there instead")
    return _in_one_line([*defects, *_text_defects(texts)])


def abstraction_defect(levels: Sequence[Sequence[str]], known: frozenset[str]) -> str | None:
    """At least one broader level; never more items than below; on no level a text twice, or nothing new, or an item
    that type and topic imply.

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
    return _in_one_line(defects)


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


def _in_one_line(defects: Sequence[str]) -> str | None:
    return "; ".join(dict.fromkeys(defects)) or None


# -- what code mends -----------------------------------------------------------------------------------------------


def _distinct(texts: Iterable[str]) -> dict[str, str]:
    """Wording → text of those that can be a requirement, each once."""
    kept: dict[str, str] = {}
    for text in map(one_line, texts):
        if (key := wording(text)) and len(text) <= MAX_TEXT:
            kept.setdefault(key, text)
    return kept


def short_topic(topic: str) -> str:
    """The topic, or the first words that matter of one that is too long."""
    told = one_line(topic).split()
    if len(told) > MAX_TOPIC_WORDS:
        told = [word for word in told if word.lower().strip(".,;:") not in STOP_WORDS] or told
    return " ".join(told[:MAX_TOPIC_WORDS])


def broader_levels(
    specific: Sequence[str], levels: Sequence[Sequence[str]], known: frozenset[str]
) -> tuple[tuple[str, ...], ...]:
    """The levels above level 0 without doublets, trivial items, and levels that add nothing."""
    kept: list[tuple[str, ...]] = []
    below = set(map(wording, specific))
    for level in levels:
        texts = {key: text for key, text in _distinct(level).items() if not content_words(text) <= known}
        if not texts.keys() <= below:
            kept.append(tuple(texts.values()))
            below = set(texts)
    return tuple(kept)


REQUESTS = (
    "could you make me {thing} about {topic}?",
    "hi, i need {thing} about {topic}",
    "can you help me with {thing}? it's about {topic}",
    "i'd like {thing} about {topic}, please",
)
KNOWN_SO_FAR = " what i know so far: {roots}"
BARE = "{kind}: {topic}"  # nothing but what both sides know


def written_request(bare: IntentTree, chosen: Iterable[str], *, seed: int) -> IntentTree:
    """The tree with a first message by code: type and topic, and the chosen roots where they fit and nothing leaks."""
    roots = [root for root in bare.roots if root.id in set(chosen)]
    if len(roots) == len(bare.roots):
        roots = roots[:1] if len(roots) > 1 else []
    kind = one_line(bare.artifact_type)
    values = {"thing": f"{_article(kind)} {kind}", "kind": kind, "topic": bare.topic}
    shuffled = derive_rng(seed, "wording").sample(REQUESTS, len(REQUESTS))
    told = "; ".join(root.text[:1].lower() + root.text[1:].rstrip(".") for root in roots)
    named = [form + KNOWN_SO_FAR for form in shuffled] if roots else []
    for form in (*named, *shuffled, BARE):
        ids = [root.id for root in roots] if form in named else []
        tree = _opened(bare, ids, form.format(roots=told, **values))
        if len(tree.initial_request.split()) <= MAX_REQUEST_WORDS and leak_defect(tree) is None:
            return tree
    return tree


def _article(noun: str) -> str:
    """ "an" before a vowel, and before capitals that are spelt out from one ("an SVG drawing")."""
    spelt = noun.split()[0].upper() == noun.split()[0] or noun.lower().startswith(("svg", "html"))
    return "an" if noun[0].lower() in ("aefhilmnorsx" if spelt else "aeiou") else "a"


def _opened(bare: IntentTree, chosen: Iterable[str], request: str) -> IntentTree:
    """The tree with its first message and the roots that are known from the start."""
    ids = set(chosen)
    discovered = tuple(root.id for root in bare.roots if root.id in ids)
    return replace(bare, initial_request=one_line(request), initially_discovered=discovered)


# -- what a model is shown -----------------------------------------------------------------------------------------


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
