"""The miniature behind the wire: a brain for `llm_server` that reads the prompts it is sent and answers the truth.

It sees what any model would see, the rendered messages and the request's body, and nothing of the process that asks.
The model's name says who is to answer: ``miniature:DOMAIN`` for builder, judge, voice and scorer,
``miniature:DOMAIN:POLICY`` for an assistant.  What it cannot answer it refuses in prose, as a model would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discover_lib.base.tokens import count_tokens
from discover_lib.core.conversation import Artifact, Message, Reply
from discover_lib.core.intents import Intent, IntentTree
from discover_lib.core.roles import BuildError, BuiltTree, JudgeError
from discover_lib.core.view import UserView
from discover_lib.engines.llm.organisation import MOST_TREES
from discover_lib.engines.llm.prompting import PromptSet
from discover_lib.engines.miniature import engine
from discover_lib.engines.miniature.artifacts import generate_artifacts
from discover_lib.engines.miniature.assistants import scripted_assistant
from discover_lib.engines.miniature.judge import MiniatureScorer, behaviour_of, judge_intent, requirement
from discover_lib.engines.miniature.lexicon import load_lexicon
from discover_lib.engines.miniature.reading import read_reply

_QUOTED = re.compile(r"<(user|assistant|reply|artifact)(\d*)>\n(.*?)\n</\1\2>", re.DOTALL)
_INTENT = re.compile(r"^ *- \[([\d.]+)\] \((\w+)\) (.*)$", re.MULTILINE)
_ITEM = re.compile(r"^ *- \[([\d.]+)\] (.*)$", re.MULTILINE)
_BULLET = re.compile(r"^- (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+)\. narrow: (.*)\n +broad: (.*)$", re.MULTILINE)
_NEW = re.compile(r"^ *- \[([\d.]+)\] .*\n  new:", re.MULTILINE)
_CATEGORY = re.compile(r"^- something of the category of \[([\d.]+)\]$", re.MULTILINE)
_WANTING = re.compile(r"^Still wanting \((\w+)\):$", re.MULTILINE)

# The instructions that each prompt opens with are how a prompt is recognised.
TASKS = {template.parts[0][1]: name for name, template in PromptSet().templates.items() if len(template.parts) == 2}


def answer(messages: list[dict[str, Any]], body: Mapping[str, Any]) -> tuple[str, int]:
    """The text that is sent back, and its number of tokens."""
    _, domain, *policy = str(body["model"]).split(":")
    if policy:
        spoken = [Message(each["role"], each["content"]) for each in messages if each["role"] != "system"]
        reply = scripted_assistant(policy[0], domain).reply(spoken, int(body["seed"]))  # type: ignore[union-attr]
        return reply.text, reply.n_tokens
    task = ANSWERS[TASKS[messages[0]["content"]]]
    try:
        text = json.dumps(task(messages[1]["content"], domain, body), ensure_ascii=False)
    except (BuildError, JudgeError) as error:
        text = f"I cannot do this: {error}"
    return text, count_tokens(text)


# -- judge and voice -----------------------------------------------------------------------------------------------


def evaluate(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict on every intent that is asked about, whether the walk reaches it or not."""
    reply = read_reply(_quotations(prompt)[-1][1], domain)
    tree, wishes = _plain(prompt).split("# Intents, from broad to specific")[1].split("# Known wishes outside the tree")
    asked = [(intent_id, text) for intent_id, status, text in _INTENT.findall(tree) if status != "settled"]
    verdicts = [
        judge_intent(Intent(intent_id, text), requirement(text, domain), reply.options, load_lexicon(domain))
        for intent_id, text in asked + _ITEM.findall(wishes)
    ]
    fields = ("reason", "engaged", "near_misses")
    entries = [{"id": each.intent_id, **{name: getattr(each, name) for name in fields}} for each in verdicts]
    return {"kind_reason": reply.kind_reason, "kind": reply.kind, "intents": entries}


def speak(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    messages = [Message(role, text) for role, text in _quotations(prompt)]  # type: ignore[arg-type]
    mind = _plain(prompt).split("# In your mind")[1]
    achieved, kind, wanting = _WANTING.split(mind)
    # Of what is latent the category alone is shown.
    items = _CATEGORY.findall(wanting) or ["0"] if kind == "latent" else [key for key, _ in _ITEM.findall(wanting)]
    texts = dict(_ITEM.findall(mind))
    known = tuple(dict(_ITEM.findall(achieved)))
    pursuing = None if kind == "nothing" else kind
    view = UserView(known, pursuing, tuple(items), texts, changed=tuple(_NEW.findall(mind)))  # type: ignore[arg-type]
    return {"thought": f"of what is {kind}", "message": engine(domain).voice.speak(view, messages, body["seed"])}


def check_leak(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The miniature speaks no paraphrases."""
    return {"reason": "its words are its own", "leaks": False, "ids": []}


# -- scorer --------------------------------------------------------------------------------------------------------


def grade(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    (piece,) = [text for tag, text in _quotations(prompt) if tag == "artifact"]
    wanted = _ITEM.findall(_plain(prompt).split("# Requirements")[1])
    roots = tuple(Intent(str(n), text) for n, (_, text) in enumerate(wanted, 1))
    tree = IntentTree(_line(prompt, "Type of artifact"), "test", "something", (), roots)
    scores = MiniatureScorer(domain).satisfaction(tree, Reply(piece, 1, "test"))
    pairs = zip(wanted, scores, strict=True)
    return {"scores": [{"id": leaf, "reason": each.reason, "score": each.score} for (leaf, _), each in pairs]}


def rate(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Always the same: the miniature's rating is a mean over turns, a language model's a whole number."""
    return {"reason": "it asks all the time", "score": 2}


def annotate(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    replies = [text for tag, text in _quotations(prompt) if tag == "assistant"]
    lexicon = load_lexicon(domain)
    found = [behaviour_of(n, read_reply(text, domain), lexicon) for n, text in enumerate(replies, 1)]
    return {"turns": [{"turn": each.turn, "reason": each.reason, "behaviour": each.behaviour} for each in found]}


# -- builder -------------------------------------------------------------------------------------------------------

_built: dict[frozenset[str], BuiltTree] = {}  # texts of a stage → the tree they belong to


def synthesise(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    (artifact,) = [text for tag, text in _quotations(prompt) if tag == "artifact"]
    named = Artifact(_line(prompt, "Filed under the name"), _line(prompt, "Type of artifact"), artifact)
    built = engine(domain).builder.build(named)
    for texts in ([each.text for each in built.recognised], [each.text for each in built.tree.intents.values()]):
        _built[frozenset(texts)] = built
    items = [{"text": each.text, "aspect": each.dimension, "evidence": each.reason} for each in built.recognised]
    return {"topic": built.tree.topic, "description": "; ".join(item["text"] for item in items), "items": items}


def abstract(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    specific = set(_BULLET.findall(prompt))
    tree = _tree_of(specific)
    heights: dict[str, int] = {}  # of what is broader than one of these
    for intent in reversed(tree.intents.values()):  # children before their parents
        below = [heights[child.id] for child in intent.children if child.id in heights]
        if below or intent.text in specific:
            heights[intent.id] = 1 + max(below, default=-1)
    levels: list[list[str]] = [[] for _ in range(max(heights.values()))]
    for intent_id, text in ((each.id, each.text) for each in tree.intents.values()):
        if heights.get(intent_id):
            levels[heights[intent_id] - 1].append(text)
    return {"levels": [{"items": texts} for texts in levels]}


def _tree_of(texts: Iterable[str]) -> IntentTree:
    """The tree that these texts are of; some of it may have been left out."""
    wanted = frozenset(texts)
    return _built[min((known for known in _built if known >= wanted), key=len)].tree


def organise(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    ids = {text: item_id for item_id, text in _ITEM.findall(prompt)}
    tree = _tree_of(ids)
    items = []
    for intent in tree.intents.values():
        parent = tree.parents[intent.id]
        while parent is not None and tree.text(parent) not in ids:
            parent = tree.parents[parent]
        if intent.text in ids:
            items.append({"id": ids[intent.text], "parent": ids[tree.text(parent)] if parent else None})
    return {"items": items}


def within_reach(domain: str) -> Artifact:
    """A generated artifact of the miniature whose trees a builder keeps as they are."""
    for artifact in generate_artifacts(domain, "eval", 60):
        tree = engine(domain).builder.build(artifact).tree
        if len(tree.roots) <= MOST_TREES:
            return artifact
    raise AssertionError(f"no such artifact of {domain}")


def compare(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    lexicon = load_lexicon(domain)
    pairs = []
    for number, *texts in _PAIR.findall(prompt):
        narrow, broad = (lexicon.value_of_text(text) for text in texts)
        implied = {"narrow_implies_broad": lexicon.covers(broad, narrow)}
        implied["broad_implies_narrow"] = lexicon.covers(narrow, broad)
        pairs.append({"number": int(number), "reason": f"{narrow} lies under {broad}", **implied})
    return {"pairs": pairs}


def request(prompt: str, domain: str, body: Mapping[str, Any]) -> dict[str, Any]:
    roots = {text: root_id for root_id, text in _ITEM.findall(prompt)}
    latent = [text for text in _BULLET.findall(prompt) if not text.startswith("[")]
    tree = _tree_of({*roots, *latent})
    known = map(tree.text, tree.initially_discovered)
    return {"chosen": [roots[text] for text in known if text in roots], "request": tree.initial_request}


ANSWERS: dict[str, Callable[[str, str, Mapping[str, Any]], dict[str, Any]]] = {
    "response_evaluation": evaluate,
    "user_reply": speak,
    "satisfaction_judge": grade,
    "interactivity_judge": rate,
    "leak_check": check_leak,
    "behaviour_annotation": annotate,
    "requirement_synthesis": synthesise,
    "abstraction": abstract,
    "hierarchy": organise,
    "superset_check": compare,
    "initial_request": request,
}


# -- reading prompts -----------------------------------------------------------------------------------------------


def _quotations(prompt: str) -> list[tuple[str, str]]:
    """(tag, text) of everything quoted, in order.  A quotation never holds its own closing tag."""
    return [(tag, text) for tag, _, text in _QUOTED.findall(prompt)]


def _plain(prompt: str) -> str:
    """The prompt without its quotations."""
    return _QUOTED.sub("", prompt)


def _line(prompt: str, label: str) -> str:
    found = re.search(rf"^{label}: (.*)$", prompt, re.MULTILINE)
    assert found, f"the prompt has no line {label!r}"
    return found.group(1)
