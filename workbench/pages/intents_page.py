"""The page Intents: artifacts, the trees that are read from them, and the visitor's own artifacts in a run."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, outputs_folder, read_json, write_json
from discover_lib.base.leak_words import find_leaks
from discover_lib.base.svg import SvgError
from discover_lib.base.words import counted
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Message
from discover_lib.core.intents import IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, Recognised, RoleError
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import Rules
from discover_lib.core.view import hidden_texts, known_texts, leaked_words
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact, written_artifacts
from discover_lib.engines.miniature.assistants import about
from discover_lib.engines.miniature.builder import MIN_DIMENSIONS
from discover_lib.engines.miniature.judge import known_values
from discover_lib.engines.miniature.lexicon import Lexicon, load_lexicon
from discover_lib.engines.miniature.reading import SENTENCE, read_artifact
from discover_lib.engines.miniature.rendering import is_drawn
from discover_lib.metrics.discovery import ceiling
from discover_lib.metrics.intervals import percent
from discover_lib.metrics.scores import is_leak_checked
from discover_lib.runs.artifact_files import domain_of_type, find_recorded, free_tree_file, recorded_index, tree_by_hand
from discover_lib.runs.evaluation import lay_out_evaluation
from discover_lib.runs.options import RunOptions, execute, write_results
from discover_lib.runs.store import RunStore
from workbench import controls
from workbench.carried import address_of, kept
from workbench.jobs import folder_of
from workbench.live import Calls, Errand
from workbench.map import NEW_TEXT, IntentMap
from workbench.parts import plain_table
from workbench.sources import domain_label
from workbench.views import conversation_parts as show
from workbench.views.html import EMPTY, error_line, notice, quiet, styled, table, tag
from workbench.views.located import marked_spans, numbers_of, read_piece

SOURCES = ("hand-written", "generated", "recorded")
MOST_FILES, MOST_BYTES = 20, 1_000_000
MIN_MARGIN, FEW_ASPECTS = 2, 5  # of a text that is surely of a kind: every hand-written artifact has more
OPEN = 3  # artifacts whose maps are open at first
ASSISTANTS = ("ask", "draft", "adaptive")
TEXT_DOMAINS = ("creative_writing", "technical_writing", "travel_plan", "paper_abstract", "image_prompt")
_COMPARED = re.compile(r"\b(like|as)\b[^.!?,;]{0,60}$", re.IGNORECASE)  # what comes before a comparison's value
_TITLE = re.compile(r"<title>([^<]+)</title>|^#+ +(.+)$", re.MULTILINE)


# -- an artifact of the project ----------------------------------------------------------------------------------------


def kind_menus() -> tuple[Any, Any]:
    """The kind of artifact, and its source."""
    import marimo as mo

    menu, forgets = mo.ui.dropdown, ("piece",)
    kinds = kept(menu, "domain", controls.domain_labels(), value="SVG drawing", label="Kind", forgets=forgets)
    return kinds, kept(menu, "source", SOURCES, value="hand-written", label="Source", forgets=forgets)


def artifact_menu(domain: str, source: str) -> Any:
    """The artifacts of a source, `piece` in the address."""
    import marimo as mo

    if source == "generated":
        return kept(mo.ui.number, "piece", 0, SPLIT_SIZES["eval"] - 1, 1, value=0, label="Number")
    names = {each.id: each.id for each in written_artifacts(domain, data_folder())}
    if source == "recorded":
        names = {each.title: each.name for each in recorded_index() if each.domain == domain}
    return kept(mo.ui.dropdown, "piece", names, value=next(iter(names), None), label="Artifact")


def artifact_of(domain: str, source: str, name: Any) -> Artifact | None:
    """The artifact that was chosen; None where a source has none of this domain."""
    if name is None:
        return None
    if source == "recorded":
        return find_recorded(name).artifact()
    if source == "generated":
        return generate_artifact(domain, "eval", int(name))
    return next((each for each in written_artifacts(domain, data_folder()) if each.id == name), None)


def recorded_stages(name: str) -> BuiltTree:
    """The stages that a language model wrote down for a recorded artifact."""
    entry = find_recorded(name)
    data = json.loads(entry.path.read_text(encoding="utf-8"))
    recognised = tuple(Recognised(text, "", "") for text in data["synthesis"]["checklist"])
    return BuiltTree(entry.tree(), recognised, tuple(tuple(level["checklist"]) for level in data["levels"]))


def beside(artifact: Artifact, built: BuiltTree, map_view: Any) -> Any:
    """An artifact beside its map; a number marks where the artifact shows an intent, and pointing lights up both."""
    import marimo as mo

    ids = {number: key for key, number in numbers_of(built.tree, built.recognised).items()}
    parts = (read_piece(artifact, built.recognised, ids), tag("div", controls.placed(map_view)))
    return mo.Html(styled(tag("div", *parts, class_="in-beside")))


def stages(built: BuiltTree) -> dict[str, Any]:
    """Title → what the builder recognized, the first request, and what perfect replies can discover."""
    import marimo as mo

    tree, start = built.tree, initial_state(built.tree, Rules.paper())
    known = (Message("user", f"{tree.artifact_type} {tree.topic}"),)
    leaks = leaked_words(tree.initial_request, tree, start, [each.content for each in known])
    checked = "no hidden intent" if is_leak_checked(tree.initial_request, tree, start) else "not checked"
    hidden = len(tree) - len(tree.initially_discovered)
    request = (
        f"First request: **“{tree.initial_request}”** It reveals: {', '.join(leaks) or checked}. {hidden} intents are "
        f"hidden; perfect replies discover {percent(ceiling(tree))} of them in {MAX_TURNS} turns."
    )
    rows = [
        {"requirement": each.text, "aspect": each.dimension.replace("_", " "), "evidence": each.reason}
        for each in built.recognised
    ]
    notes = [mo.md("; ".join(built.notes) + ".")] if built.notes else []
    return {
        f"{len(built.recognised)} requirements became {len(tree)} intents": mo.vstack(
            [mo.md(request), plain_table(rows, page_size=8), *notes]
        )
    }


# -- a tree as a file --------------------------------------------------------------------------------------------------


def files_of(drawn: IntentMap, name: str) -> tuple[Callable[[], str], Any]:
    """What happened last, and buttons that save the tree of a map for Conversation or as JSON, and open another."""
    import marimo as mo

    said, tell = mo.state("")

    def keep(_: Any) -> None:
        path = kept_tree(drawn.tree, name)
        tell(f"Saved as {path.name}. On [Conversation](/?file=3_conversation.py), choose *Trees built here*.")

    def opens(files: Sequence[Any]) -> None:
        try:
            drawn.open(tree_by_hand(json.loads(files[0].contents)))
        except (DiscoverError, ValueError, IndexError, RecursionError) as error:
            tell(f"This file holds no tree: {error}")

    def text() -> bytes:
        return json.dumps({"tree": drawn.tree.to_dict()}, ensure_ascii=False, indent=1).encode()

    save = mo.ui.button(label="Save for Conversation", on_click=keep)
    download = mo.download(text, filename=f"{name}.json", label="Download JSON")
    upload = mo.ui.file([".json"], label="Open a JSON tree", on_change=opens)
    return said, mo.hstack([save, download, upload], justify="start", align="center", wrap=True)


def kept_tree(tree: IntentTree, name: str) -> Path:
    """Write a tree among those that the page Conversation offers, under a free name; returns the file."""
    stem = re.sub(r"[^\w-]+", "-", name.strip()).strip("-") or "tree"
    path = free_tree_file(outputs_folder() / "trees", stem, tree)
    write_json(path, {"tree": tree.to_dict()})
    return path


# -- the visitor's own artifacts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What the miniature read of an artifact of the visitor.

    Attributes:
        found: value of the lexicon → evidence.
        aspects: how many aspects were recognized; a tree needs `MIN_DIMENSIONS`.
        margin: how many more values were found than in the next best kind.
        doubtful: values that stand in a comparison ("as … a sleeping dog").
    """

    artifact: Artifact
    found: Mapping[str, str]
    aspects: int
    margin: int
    doubtful: tuple[str, ...]

    @property
    def lexicon(self) -> Lexicon:
        return load_lexicon(self.artifact.domain)

    @cached_property
    def _read(self) -> tuple[int, int, int]:
        """How many marks a text has, how many sentences have one, and how many sentences there are."""
        marks = [start for (start, _), _ in marked_spans(self.artifact.text, self.shown_in(self.tree()))]
        spans = [(each.span(), len(each[0].split()) > 2) for each in SENTENCE.finditer(self.artifact.text)]
        marked = {(start, end) for (start, end), _ in spans if any(start <= mark < end for mark in marks)}
        return len(marks), len(marked), len(marked | {span for span, is_long in spans if is_long})

    @property
    def told(self) -> str:
        """How much of the artifact was read, in words."""
        if self.artifact.domain in TEXT_DOMAINS:
            marks, marked, sentences = self._read
            return f"{counted(marks, 'mark')} in {marked} of {counted(sentences, 'sentence')}"
        names = [each.aspect.removeprefix("the ") for each in self.lexicon.dimensions.values()]
        return f"Intents found for {self.aspects} of {len(names)} aspects ({', '.join(names[:2])} …)"

    @property
    def doubt(self) -> str:
        """Why the reading of a text is weak, or "".

        A reading is weak if another kind fits nearly as well, or if too few sentences are marked. Every hand-written
        artifact of the project passes.
        """
        _, marked, sentences = self._read
        if self.artifact.domain not in TEXT_DOMAINS or (
            self.margin >= MIN_MARGIN and marked * (2 if self.aspects < FEW_ASPECTS else 4) >= sentences
        ):
            return ""
        return f"Read as a {self.artifact.type} from {marked} of {counted(sentences, 'sentence')}: probably wrong."

    def tree(self, added: Sequence[str] = (), left_out: Sequence[str] = ()) -> IntentTree:
        """The tree of what was read, with added values and without others; where no value is left, one empty intent."""
        if self.aspects >= MIN_DIMENSIONS and not added and not left_out:
            try:
                return self._with_request(engine(self.artifact.domain).builder.build(self.artifact).tree)
            except BuildError:
                pass
        values = [each for each in self.found if each not in left_out]
        return self._with_request(joined_tree(self.lexicon, [*values, *added]))

    def shown_in(self, tree: IntentTree) -> tuple[Recognised, ...]:
        """The intents of a tree that the artifact itself shows, with their evidence."""
        texts = {each.text for each in tree.intents.values()}
        found = ((self.lexicon.values[name], why) for name, why in self.found.items())
        return tuple(Recognised(value.text, value.dimension, why) for value, why in found if value.text in texts)

    def _with_request(self, tree: IntentTree) -> IntentTree:
        """The tree with a request for the artifact's title; with its own where the title names a hidden intent."""
        title, start = title_of(self.artifact), initial_state(tree, Rules.paper())
        if not title or find_leaks(title, hidden_texts(tree, start), known_texts(tree, start)):
            return tree
        verb = "draw" if is_drawn(self.artifact.domain) else f"write a {tree.artifact_type.lower()} called"
        return replace(tree, topic=title, initial_request=f"can you {verb} “{title}”?")


def joined_tree(lexicon: Lexicon, values: Iterable[str]) -> IntentTree:
    """The forest of values and the broader ones above them; the first root starts discovered.

    Without a value it holds one intent to fill in.
    """
    import networkx

    graph: networkx.DiGraph[str] = networkx.DiGraph(
        artifact_type=lexicon.artifact_type, topic="", initial_request=f"can you make a {lexicon.artifact_type}?"
    )
    for value in values:
        chain = lexicon.lineages[value][::-1]
        for each in chain:
            if each not in graph:
                graph.add_node(each, text=lexicon.values[each].text, given=not len(graph))
        graph.add_edges_from(pairwise(chain))
    if not len(graph):
        graph.add_node("new", text=NEW_TEXT, given=True)
    return IntentTree.from_graph(graph)


def title_of(artifact: Artifact) -> str:
    """The title in an artifact, else its short first line, else the words of its file's name."""
    if found := _TITLE.search(artifact.text):
        return (found[1] or found[2]).strip()[:80]
    first = artifact.text.strip().splitlines()[0].strip() if artifact.text.strip() else ""
    if first and len(first) <= 60 and not first.startswith("<") and first[-1] not in ".!?,":
        return first
    return "" if artifact.id.startswith("pasted") else re.sub(r"[-_]+", " ", artifact.id)


def read(name: str, text: str, domain: str = "") -> Reading:
    """Read a visitor's artifact in a domain; without one, in the domain that recognizes most of it."""
    found_in = {each: _found(each, text, name) for each in (*_domains_for(name, text), *([domain] if domain else []))}
    domain = domain or max(found_in, key=lambda each: len(found_in[each]))
    found, lexicon = found_in.pop(domain), load_lexicon(domain)
    aspects = len({lexicon.values[value].dimension for value in found})
    margin = len(found) - max(map(len, found_in.values()), default=0)
    doubtful = tuple(value for value, why in found.items() if _is_compared(why, text))
    return Reading(Artifact(name, lexicon.artifact_type, text, domain=domain), found, aspects, margin, doubtful)


def _domains_for(name: str, text: str) -> tuple[str, ...]:
    if "<svg" in text:
        return ("svg_drawing",)
    if name.endswith((".html", ".jsx", ".vue")) or "<div" in text:
        return ("web_component",)
    return ("dataviz_code",) if name.endswith((".py", ".json")) else TEXT_DOMAINS


def _found(domain: str, text: str, name: str) -> dict[str, str]:
    """The values that an artifact shows; a broken drawing shows none."""
    lexicon = load_lexicon(domain)
    try:
        shown = read_artifact(text, domain, name)
    except SvgError:
        return {}
    return {value: shown[value] for value in lexicon.that_fit(lexicon.most_specific(shown))}


def _is_compared(why: str, text: str) -> bool:
    phrase = why[why.find("“") + 1 : why.rfind("”")] if "“" in why else ""
    place = text.lower().find(phrase.lower()) if phrase else -1
    return place > 0 and _COMPARED.search(text[:place]) is not None


def uploaded(files: Sequence[Any], pasted: str, address: MutableMapping[str, Any]) -> list[Reading]:
    """Readings of dropped files and of a pasted text, at most `MOST_FILES`; without any, of the last ones.

    Args:
        address: of the page. It names the last ones, so that the page shows them when the visitor comes back.
    """
    folder, last = outputs_folder() / "own-artifacts", str(address.get("own", ""))
    texts = {file.name: file.contents.decode("utf-8", "replace") for file in files if not refusal(file)}
    texts |= {"pasted": pasted} if pasted.strip() else {}
    if texts:
        address["own"] = name = _hash_of(texts)
        write_json(folder / f"{name}.json", texts)
    elif last.isalnum() and (folder / f"{last}.json").is_file():
        texts = read_json(folder / f"{last}.json")
    named = [(Path(name).stem, text) for name, text in sorted(texts.items())[:MOST_FILES]]
    return [read(*each, read_json(kind) if (kind := _kind_file(*each)).is_file() else "") for each in named]


def _kind_file(name: str, text: str) -> Path:
    """Where the kind is kept that the visitor reads an artifact as."""
    return outputs_folder() / "own-artifacts" / f"kind-{_hash_of((name, text))}.json"


def refusal(file: Any) -> str:
    """Why a dropped file cannot be read, or ""."""
    size, text = len(file.contents), file.contents.strip()
    if size > MOST_BYTES:
        return f"{file.name} has {size / 1e6:.1f} MB. The maximum is {MOST_BYTES / 1e6:g} MB."
    return f"{file.name} is {'neither a text nor an SVG' if text else 'empty'}." if not text or b"\0" in text else ""


def _hash_of(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=IntentTree.to_dict)
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


class OwnArtifacts:
    """The visitor's artifacts: each beside an editable map of its intents, with a menu that reads it as another kind.

    Args:
        changed: called after each change of a tree.
    """

    def __init__(self, readings: Sequence[Reading], changed: Callable[[], Any]) -> None:
        self._changed = changed
        self.trees: dict[str, IntentTree] = {}
        self._maps: dict[str, IntentMap] = {}
        self._cards = {each.artifact.id: self._card(each) for each in readings}
        # Made once: a menu that is made again for a changed card shows the value of another card.
        self._kinds = {each.artifact.id: self._kind(each) for each in readings}

    def _kind(self, reading: Reading) -> Any:
        """The menu of an artifact's kind, which reads it anew."""
        import marimo as mo

        name, now = reading.artifact.id, domain_label(reading.artifact.domain)

        def read_as(domain: str) -> None:
            write_json(_kind_file(name, reading.artifact.text), domain)
            self._cards[name] = self._card(read(name, reading.artifact.text, domain))
            self._changed()

        return mo.ui.dropdown(controls.domain_labels(), value=now, label="Read as", on_change=read_as)

    def _card(self, reading: Reading) -> tuple[Reading, list[Any]]:
        """The reading of one artifact, and the controls that correct it."""
        import marimo as mo

        name, lexicon = reading.artifact.id, reading.lexicon
        kept_values = {
            f"“{lexicon.values[each].text}” is an intent, not only a comparison": each for each in reading.doubtful
        }

        def rebuild(_: Any) -> None:
            left_out = [each for each in reading.doubtful if each not in doubts.value]
            self._take(reading, reading.tree(adds.value, left_out))
            self._changed()

        def ask(text: str) -> None:
            if text.strip():
                self.trees[name] = replace(self.trees[name], initial_request=text.strip())

        doubts = mo.ui.multiselect(kept_values, list(kept_values), label="Keep", full_width=True, on_change=rebuild)
        known = {value.text: value.id for value in lexicon.values.values() if value.id not in reading.found}
        adds = mo.ui.multiselect(known, label="Add intents", full_width=True, on_change=rebuild)
        request = mo.ui.text(reading.tree().initial_request, label="First request", full_width=True, on_change=ask)
        self._take(reading, reading.tree())
        return reading, [*([doubts] if kept_values else []), adds, request]

    def _take(self, reading: Reading, tree: IntentTree) -> None:
        name = reading.artifact.id
        self.trees[name] = tree
        self._maps[name] = drawn = IntentMap(tree, edit=True, numbers=numbers_of(tree, reading.shown_in(tree)))
        drawn.on_edit = lambda edited: self.trees.update({name: edited})
        drawn.doubt = doubt_about(tree.artifact_type)

    @property
    def doubts(self) -> dict[str, str]:
        """Artifact → why its reading is weak, or ""."""
        return {name: reading.doubt for name, (reading, _) in self._cards.items()}

    def view(self) -> Any:
        """Every artifact beside its map; all but the first ones are folded."""
        import marimo as mo

        rows = {name: self._row(name) for name in self._cards}
        folded = {name: rows.pop(name) for name in list(rows)[OPEN:]}
        return mo.vstack([*rows.values(), *([mo.accordion(folded)] if folded else [])], gap=1.5)

    def _row(self, name: str) -> Any:
        """One artifact: how much of it was read, the artifact beside its map, and what corrects the tree."""
        import marimo as mo

        (reading, corrections), tree = self._cards[name], self.trees[name]
        wrong = too_little(tree) or (reading.doubt and f"{reading.doubt} Correct it, or choose another kind.")
        told = tag("p", tag("b", name), f" · {reading.told}") + (notice(wrong, tone="open") if wrong else EMPTY)
        head = mo.hstack([controls.displayed(told), self._kinds[name]], align="center", wrap=True)
        built, drawn = BuiltTree(tree, reading.shown_in(tree), ()), mo.ui.anywidget(self._maps[name].widget)
        corrected = mo.vstack(corrections)
        return mo.vstack(
            [
                head,
                beside(reading.artifact, built, drawn),
                mo.accordion({"Correct this tree": corrected}) if len(tree) > 1 else corrected,
            ]
        )


def doubt_about(artifact_type: str) -> Callable[[str], str]:
    """Tells of the text of an intent why the miniature cannot judge it, with words that it can; "" where it can."""
    lexicon = load_lexicon(domain_of_type(artifact_type))

    def doubt(text: str) -> str:
        if known_values(text, lexicon.domain):
            return ""
        says = [value.say for value in lexicon.values.values()]
        near = ", ".join(f"“{each}”" for each in get_close_matches(text, says, 3, 0.0))
        return f"The miniature cannot read “{text}”. Did you mean {near}? A language model can judge any text."

    return doubt


def too_little(tree: IntentTree) -> str:
    """Why a tree is too small for a run, or ""."""
    lexicon = load_lexicon(domain_of_type(tree.artifact_type))
    known = [known_values(each.text, lexicon.domain) for each in tree.intents.values()]
    aspects = {lexicon.values[value].dimension for values in known for value in values}
    return "" if len(aspects) >= MIN_DIMENSIONS else "Too little for a tree: choose another kind or add intents."


def playable(trees: Mapping[str, IntentTree]) -> tuple[dict[str, IntentTree], list[str]]:
    """The trees that the miniature can judge, and why it cannot judge the others."""
    fit, refused = {}, []
    for name, tree in trees.items():
        doubts = filter(None, map(doubt_about(tree.artifact_type), (each.text for each in tree.intents.values())))
        if line := next(doubts, too_little(tree)):
            refused.append(f"{name} is not run. {line}")
        else:
            fit[name] = tree
    return fit, refused


def told_of(assistants: Sequence[str]) -> Any:
    """A line about each assistant."""
    return controls.displayed(*(tag("p", tag("b", f"{name}: "), about(name), class_="dl-small") for name in assistants))


def earlier_run(trees: Mapping[str, IntentTree]) -> Path | None:
    """The last finished run of exactly these trees, without those that cannot be run."""
    runs = (outputs_folder() / "evaluations").glob(f"{_hash_of(playable(trees)[0])}-*/summary.json")
    newest = max(runs, key=lambda each: each.stat().st_mtime, default=None)
    return newest and newest.parent


def run_own(trees: Mapping[str, IntentTree], assistants: Sequence[str]) -> Path:
    """Let assistants talk with the users of some trees, as an evaluation; returns the folder of the run.

    Raises:
        DiscoverError: the run cannot be laid out or written.
    """
    folder = outputs_folder() / "own-trees" / _hash_of(trees)
    for name, tree in trees.items():
        write_json(folder / f"{name}.json", {"tree": tree.to_dict()})
    options = RunOptions(tuple(assistants), trees=folder, artifacts=len(trees))
    target = folder_of(options, outputs_folder() / "evaluations")  # where Compare goes on with it
    target.mkdir(parents=True, exist_ok=True)
    execute(lay_out_evaluation(options), target)
    write_results(target)
    return target


def results(folder: Path, doubts: Mapping[str, str] | None = None) -> Any:
    """A run as rows of dots, an intent each: a press opens the conversation, or the run on Compare.

    Args:
        doubts: artifact → why its reading is weak, or "".
    """
    run = str(folder.relative_to(outputs_folder()))
    with RunStore.read(folder) as store:
        listed, trees = store.listing(), store.trees()
        states = {row.place: store.conversation(row.place).state for row in listed}
    names, rows = list(dict.fromkeys(" + ".join(row.assistants) for row in listed)), []
    for artifact, tree in trees.items():
        hidden = [key for key in tree.intents if key not in tree.initially_discovered]
        cells = []
        for name in names:
            row = next(each for each in listed if (each.artifact, " + ".join(each.assistants)) == (artifact, name))
            dots = "".join("○◆●"[int(states[row.place][key])] for key in hidden)
            href = address_of("3_conversation.py", run, conversation=row.place)
            cells.append(tag("a", f"{dots} {row.discovered}\u00a0of\u00a0{len(hidden)}", href=href))
        doubt = (doubts or {}).get(artifact)
        rows.append((f"{artifact}. {doubt}" if doubt else artifact, *cells, percent(ceiling(tree))))
    head = ("Artifact", *names, f"Highest possible in {MAX_TURNS} turns")
    caption = "Hidden intents: ● discovered, ◆ emerging, ○ undiscovered. Select dots to read the conversation."
    compare = tag("p", tag("a", "Open in Compare, with intervals", href=address_of("6_compare.py", run)))
    return controls.brought_into_view(controls.displayed(quiet(caption), table(head, rows), compare))


# -- a language model that builds --------------------------------------------------------------------------------------


class ModelBuild:
    """A tree that a language model builds of an artifact, from an accordion.

    Args:
        moved: called when the work begins and ends.
    """

    def __init__(self, artifact: Artifact, form: Any, moved: Callable[[], Any]) -> None:
        self.artifact, self.note, self.calls = artifact, "", Calls()
        self._form, self._moved, self._stop = form, moved, threading.Event()
        self.built: BuiltTree | None = None
        self._errand = Errand(moved, self._ended)

    def _ended(self, trouble: str) -> None:
        self.note = trouble
        self._moved()

    def _press(self) -> None:
        if self._errand.running:
            return
        try:
            choice = controls.read_choice(self._form.value)
        except controls.ChoiceError as error:
            self._ended(str(error))
            return
        self.note, self.built, self._stop = "", None, threading.Event()
        self._errand.start(self._build, choice)

    def _build(self, choice: controls.Choice) -> None:
        """Ask for all stages; a stage that was done before costs nothing again."""
        from discover_lib.engines.llm.builder import LLMBuilder
        from discover_lib.engines.llm.calls.client import LLMClient
        from discover_lib.engines.llm.calls.exchange import LLMError

        with LLMClient(choice.client_settings, cache=self.calls, stop=self._stop) as client:
            builder = LLMBuilder(client, choice.builder)
            try:
                self.built = builder.build(self.artifact)
            except (RoleError, LLMError) as error:
                raise DiscoverError(" ".join(str(error).split())) from error

    def view(self) -> dict[str, Any]:
        """Title → the form, the price before any cost, and the requirements and the map of the built tree."""
        import marimo as mo

        from discover_lib.runs.plan import building_stages

        choice, trouble = controls.Choice(), EMPTY
        try:
            choice = controls.read_choice(self._form.value)
        except controls.ChoiceError as error:
            trouble = error_line(str(error))
        parts: list[Any] = [self._form, mo.Html(styled(trouble))]
        if choice.builder != controls.MINIATURE:
            caption = "Estimate for one tree of an artifact of about 800 tokens: expected (low to high)"
            asked = list(building_stages(choice.builder, choice.client_settings))
            parts.append(mo.Html(styled(controls.plan_table(asked, caption))))
            build = mo.ui.button(label="Build the tree", on_click=lambda _: self._press())
            stop = mo.ui.button(label="Stop", on_click=lambda _: self._stop.set())
            line = "Building the tree …" if self._errand.running else self.calls.line
            told = quiet(line) + (error_line(self.note) if self.note else EMPTY)
            parts += [mo.hstack([build, stop], justify="start"), mo.Html(styled(told))]
            if self.built:
                parts.append(mo.Html(styled(show.recognised(self.built.recognised))))
                parts.append(mo.ui.anywidget(IntentMap(self.built.tree).widget))
        return {f"Builder: {choice.builder}": mo.vstack(parts)}
