"""The miniature's tree builder: recognize values in an artifact, climb their taxonomies, and join them to a forest.

The four stages are the paper's (appendix A.1).  Synthesis: the most specific values that the artifact shows.
Abstraction: one step up the taxonomy at a time.  Organisation: chains that share a broader value become one tree.
Initial request: one asked-for root, said broadly; nothing below it is given away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from discover_lib.base.seeds import unit_uniform
from discover_lib.base.svg import SvgError
from discover_lib.base.words import STOP_WORDS, content_words, stem, words
from discover_lib.core.conversation import Artifact
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, Recognised
from discover_lib.core.state import Discovery, IntentState
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import Lexicon, Value, load_lexicon
from discover_lib.engines.miniature.reading import SENTENCE, read_artifact
from discover_lib.engines.miniature.rendering import hero_of, is_drawn, line_told, render_artifact

MIN_DIMENSIONS = 3
WITNESSES = 2  # words that bear a value out where a text lacks some of its evidence
MAX_QUOTED = 3  # sentences that told nothing


class MiniatureBuilder:
    """Builds trees from any artifact of one domain, not only from the miniature's own."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.lexicon = load_lexicon(domain)

    def build(self, artifact: Artifact) -> BuiltTree:
        """See the module.

        Raises:
            BuildError: the artifact cannot be read, or shows too little that the lexicon knows.
        """
        found = self._synthesise(artifact)
        chains = [tuple(reversed(self.lexicon.lineages[value])) for value in found]
        tops = self._order_of_roots(artifact, [chain[0] for chain in chains])
        roots = tuple(_organise(top, chains, self.lexicon, str(place)) for place, top in enumerate(tops, start=1))
        first, frames = self.lexicon.values[tops[0]], self.lexicon.requests
        frame = frames[int(unit_uniform(artifact.text, "request") * len(frames))]
        tree = IntentTree(
            artifact_type=self.lexicon.artifact_type,
            topic=artifact.topic or " ".join([word for word in words(first.say) if word not in STOP_WORDS][:3]),
            initial_request=first.opening or frame.replace("{items}", first.say),
            initially_discovered=("1",),
            roots=roots,
        )
        recognised = tuple(
            Recognised(self.lexicon.values[value].text, self.lexicon.values[value].dimension, reason)
            for value, reason in found.items()
        )
        return BuiltTree(tree, recognised, abstraction_levels(chains, self.lexicon), self._notes(artifact, found))

    def _synthesise(self, artifact: Artifact) -> dict[str, str]:
        """The most specific values that the artifact shows, at most as many a dimension as an artifact can hold."""
        if not artifact.text.strip():
            raise BuildError(f"{artifact.id}: the artifact is empty")
        try:
            shown = read_artifact(artifact.text, self.domain, artifact.id)
        except SvgError as error:
            raise BuildError(f"{artifact.id}: {error}") from None
        if not is_drawn(self.domain):
            shown = self._weighed(artifact.text, shown)
        found: dict[str, str] = {}
        for name in self.lexicon.dimensions:
            values = [value for value in shown if self.lexicon.values[value].dimension == name]
            found |= {value: shown[value] for value in self.lexicon.that_fit(values)}
        if (count := len({self.lexicon.values[value].dimension for value in found})) < MIN_DIMENSIONS:
            seen = ", ".join(self.lexicon.values[value].say for value in found) or "nothing"
            raise BuildError(
                f"{artifact.id}: too little to build from: recognised {seen} ({count} of the {MIN_DIMENSIONS} aspects "
                "needed); build it with a language model instead (--engine MODEL)"
            )
        return found

    def _weighed(self, text: str, shown: Mapping[str, str]) -> dict[str, str]:
        """The values that the evidence in a text bears out; a value with too little of it is read more broadly.

        "A letter" alone shows no unopened one.  The text must hold all words of the value's evidence beyond the
        evidence of its broader form, or two words of its evidence, its cues or its line.
        """
        said = {stem(word) for word in words(text)}
        weighed: dict[str, str] = {}
        for value_id, reason in shown.items():
            value = self.lexicon.values[value_id]
            if value.parent and not self._is_borne_out(value, self.lexicon.values[value.parent], said):
                weighed.setdefault(value.parent, reason)
            else:
                weighed[value_id] = reason
        return self.lexicon.most_specific(weighed)

    def _is_borne_out(self, value: Value, broader: Value, said: set[str]) -> bool:
        evidence = value.evidence or value.say
        beyond = content_words(evidence) - content_words(broader.evidence or broader.say)
        own = content_words(f"{evidence} {value.line} {' '.join(value.cues)}")
        return beyond <= said or len(own & said) >= WITNESSES

    def _notes(self, artifact: Artifact, found: Mapping[str, str]) -> tuple[str, ...]:
        """Notes on aspects that the artifact lacks and on sentences without a known value."""
        seen = {self.lexicon.values[value].dimension for value in found}
        missing = [dimension.aspect for name, dimension in self.lexicon.dimensions.items() if name not in seen]
        looked = f"looked for {len(self.lexicon.values)} things about {len(self.lexicon.dimensions)} aspects"
        notes = [f"{looked} and found {len(found)}; nothing known about {', '.join(missing)}" if missing else looked]
        if not is_drawn(self.domain) and self.lexicon.form is None:
            sentences = [each.strip() for each in SENTENCE.findall(artifact.text) if len(words(each)) > 2]
            silent = [each for each in sentences if not self.lexicon.cue_hits(each)]
            told = f"{len(silent)} of {len(sentences)} sentences told it nothing"
            quoted = "".join(f" “{each if len(each) <= 80 else each[:79] + '…'}”" for each in silent[:MAX_QUOTED])
            notes += [f"{told}, such as{quoted}"] if silent else []
        return tuple(notes)

    def _order_of_roots(self, artifact: Artifact, tops: Sequence[str]) -> list[str]:
        """One root that a request can name comes first; the rest as this user cares about them.

        People differ in what they care about first, so the order is drawn, from the artifact's text alone.
        """
        unique = list(dict.fromkeys(tops))
        asked = [top for top in unique if self.lexicon.dimensions[self.lexicon.values[top].dimension].asked]
        first = (asked or unique)[0]
        rest = [top for top in unique if top != first]
        return [first, *sorted(rest, key=lambda top: unit_uniform(artifact.text, "root", top))]


def _organise(value: str, chains: Sequence[tuple[str, ...]], lexicon: Lexicon, intent_id: str) -> Intent:
    """The tree of all chains that pass through `value`."""
    below = list(dict.fromkeys(chain[chain.index(value) + 1] for chain in chains if value in chain[:-1]))
    children = tuple(
        _organise(child, chains, lexicon, f"{intent_id}.{place}") for place, child in enumerate(below, start=1)
    )
    return Intent(intent_id, lexicon.values[value].text, children)


def abstraction_levels(chains: Sequence[tuple[str, ...]], lexicon: Lexicon) -> tuple[tuple[str, ...], ...]:
    """Level 0 holds the most specific requirements; each level above holds what one step up the taxonomy leaves."""
    levels = []
    for step in range(max(map(len, chains))):
        values = dict.fromkeys(chain[-1 - step] for chain in chains if step < len(chain))
        levels.append(tuple(lexicon.values[value].text for value in values))
    return tuple(levels)


# -- back from a tree to the artifact ----------------------------------------------------------------------------------


class Imagined(NamedTuple):
    """What can be shown of an artifact that is half known.

    Attributes:
        drawing: an SVG with what is known, the rest left neutral; "" in a domain of texts.
        lines: the lines of a text in their order, None for one that has yet to form; empty in a domain of drawings.
        known: how many of the most specific intents have formed, of `of`.
    """

    drawing: str
    lines: tuple[str | None, ...]
    known: int
    of: int


def imagined(tree: IntentTree, state: IntentState, lexicon: Lexicon) -> Imagined:
    """The artifact as its user pictures it.

    Only the most specific intents show, and only once they are discovered: of "an animal" no picture can be drawn.
    """
    lines: list[str | None] = []
    hero = hero_of(tree.initial_request, lexicon)
    shown: list[str] = []
    leaves = tree.leaves()
    for leaf in leaves:
        known = state[leaf] is Discovery.DISCOVERED
        for value in known_values(tree.text(leaf), lexicon.domain):
            entry = lexicon.values[value]
            shown += [value] if known and entry.is_leaf else []
            lines += [line_told(entry, hero) if known else None] if entry.line else []
    drawing = render_artifact(shown, lexicon) if is_drawn(lexicon.domain) else ""
    discovered = sum(state[leaf] is Discovery.DISCOVERED for leaf in leaves)
    return Imagined(drawing, () if drawing else tuple(lines), discovered, len(leaves))
