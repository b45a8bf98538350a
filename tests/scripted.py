"""Scripted roles and small forests for tests, and hypothesis strategies over them."""

from collections.abc import Mapping, Sequence

from hypothesis import settings
from hypothesis import strategies as st

from discover_lib import Discovery, Evaluation, IntentState, IntentTree, Message, Reply, Rules, UserView, Verdict
from discover_lib.core.roles import JudgeError

LEVELS = {"undiscovered": Discovery.UNDISCOVERED, "emerging": Discovery.EMERGING, "discovered": Discovery.DISCOVERED}


def forest(ids: str, discovered: str = "") -> IntentTree:
    """The tree whose intents are `ids` (blank-separated, parents first), of which `discovered` start discovered."""
    return told_tree({key: f"text of {key}" for key in ids.split()}, discovered)


def told_tree(
    texts: Mapping[str, str], discovered: str = "", kind: str = "short story", request: str = "a story please"
) -> IntentTree:
    """The tree whose intents have these texts, by id, parents first."""
    nodes: dict[str, dict] = {key: {"id": key, "text": text, "children": []} for key, text in texts.items()}
    for key, node in nodes.items():
        if "." in key:
            nodes[key.rpartition(".")[0]]["children"].append(node)
    roots = [node for key, node in nodes.items() if "." not in key]
    told = {"artifact_type": kind, "topic": "test", "initial_request": request}
    return IntentTree.from_dict(told | {"initially_discovered": discovered.split(), "roots": roots})


def state_of(tree: IntentTree, discovered: str = "", emerging: str = "", satisfied: str = "", theta=0.9) -> IntentState:
    """A state by lists of ids; θ is `theta` for every intent (a pair under the authors' rules), or a table."""
    discovery = dict.fromkeys(tree.intents, Discovery.UNDISCOVERED)
    discovery |= dict.fromkeys(discovered.split(), Discovery.DISCOVERED)
    discovery |= dict.fromkeys(emerging.split(), Discovery.EMERGING)
    thresholds = theta if isinstance(theta, dict) else dict.fromkeys(tree.intents, theta)
    return IntentState(discovery, frozenset(satisfied.split()), thresholds)


def artifact(*engaged: str, **near: int) -> Evaluation:
    """An artifact that meets `engaged`; ``artifact(n1_2=3)`` has three near misses of ``1.2``."""
    return Evaluation("artifact", _verdicts(engaged, near))


def question(*engaged: str, **near: int) -> Evaluation:
    """A dialogue act that probes `engaged`; near misses as in `artifact`."""
    return Evaluation("dialogue_act", _verdicts(engaged, near))


def _verdicts(engaged: tuple[str, ...], near: Mapping[str, int]) -> list[Verdict]:
    misses = {key[1:].replace("_", "."): count for key, count in near.items()}
    return [Verdict(key, True, reason=f"{key} is there") for key in engaged] + [
        Verdict(key, False, tuple(f"other {n}" for n in range(count))) for key, count in misses.items()
    ]


class ScriptedJudge:
    """Judges a reply by a table of its text; a text that stands for None, or is not in the table, fails."""

    def __init__(self, readings: Mapping[str, Evaluation | None]) -> None:
        self.readings = readings
        self.seen: list[tuple[str, IntentState, tuple[Message, ...]]] = []  # what it was asked, in order

    def evaluate(
        self, tree: IntentTree, state: IntentState, messages: Sequence[Message], reply: Reply, rules: Rules
    ) -> Evaluation:
        self.seen.append((reply.text, state, tuple(messages)))
        reading = self.readings.get(reply.text)
        if reading is None:
            raise JudgeError(f"cannot read {reply.text!r}")
        return reading


class EchoVoice:
    """Says what it was shown, in ids, and the seed it was given."""

    def speak(self, view: UserView, messages: Sequence[Message], seed: int) -> str:
        return f"[{view.pursuing}] {' '.join(view.items)} seed={seed}"


class ScriptedAssistant:
    """Says its replies one after the other, the last again and again."""

    def __init__(self, name: str, *replies: str) -> None:
        self.name, self.replies = name, replies

    def reply(self, messages: Sequence[Message], seed: int) -> Reply:
        said = sum(message.role == "assistant" for message in messages)
        return Reply(self.replies[min(said, len(self.replies) - 1)], 10, "scripted", self.name)


# The same examples on every run, so that the gate does not depend on luck.
modest = settings(max_examples=40, deadline=None, derandomize=True)

RULES = st.sampled_from(
    [
        Rules.paper(), Rules.authors(), Rules.paper().replace(near_misses="per_conversation"),
        Rules.paper().replace(near_miss_cap=1),
    ]
)  # fmt: skip


@st.composite
def trees(draw: st.DrawFn) -> IntentTree:
    ids: list[str] = []
    below: dict[str, int] = {}
    for _ in range(draw(st.integers(1, 9))):
        parent = draw(st.sampled_from(["", *ids])) if ids else ""
        below[parent] = below.get(parent, 0) + 1
        ids.append(f"{parent}.{below[parent]}".lstrip("."))
    roots = [key for key in ids if "." not in key]
    return forest(" ".join(ids), " ".join(draw(st.sets(st.sampled_from(roots)))))


def evaluations(tree: IntentTree) -> st.SearchStrategy[Evaluation]:
    """Any judgement of intents of `tree`, whether the judge was shown them or not."""
    verdicts = st.builds(
        Verdict, st.sampled_from(list(tree.intents)), st.booleans(),
        st.lists(st.sampled_from(["red", "green", "blue", "Red "]), max_size=4), st.sampled_from(["", "because"]),
    )  # fmt: skip
    some = st.lists(verdicts, max_size=len(tree), unique_by=lambda verdict: verdict.intent_id)
    return st.builds(Evaluation, st.sampled_from(["artifact", "dialogue_act"]), some)


def sevenfold(number: int) -> int:
    """Work for an executor; here, because a new process imports it by name."""
    if number == 13:
        raise KeyError(number)
    return 7 * number
