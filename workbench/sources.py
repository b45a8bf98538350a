"""What a session at the simulator starts from: an artifact of the miniature, a tree built before, or a recording.

With the first two every turn is simulated, by the miniature or by language models; a recorded conversation is revealed
turn by turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import data_folder, outputs_folder
from discover_lib.core.advance import initial_state
from discover_lib.core.conversation import Artifact, Conversation
from discover_lib.core.intents import IntentTree
from discover_lib.core.rollout import MAX_TURNS
from discover_lib.core.rules import NAMED_RULES
from discover_lib.engines.spec import MINIATURE, EngineSpec
from discover_lib.metrics.replay import replay
from discover_lib.runs.artifact_files import (
    ArtifactFileError,
    Recorded,
    domain_of_type,
    load_recorded,
    load_tree,
    recorded_index,
    tree_files,
)

SourceKind = Literal["miniature", "trees", "recorded", "run"]
AS_WRITTEN = {"svg": "SVG", "dataviz": "data-viz"}  # words of a domain's name
GENERATED_SHOWN = 12  # generated artifacts offered beside the hand-written ones


class SessionError(DiscoverError):
    """Something that cannot be done now; the message is one line that says what to do instead."""


@dataclass(frozen=True)
class Settings:
    """What a session simulates.

    Attributes:
        artifact: id of an artifact of `domain`: a recorded one, one of `data/`, or a generated one; with the source
            "trees", the name of a tree built before, of whatever domain; with "run", `FOLDER:NUMBER`, a conversation
            of a stored run.
        assistant: who answers on *next*: a scripted one, or a LiteLLM model as MODEL or MODEL+STYLE; with a recorded
            source, always those recorded.
        rules: a name in `NAMED_RULES`.
        turns: assistant turns until a conversation is over.
        judge, voice: "miniature", or a LiteLLM model.
        leak_check: a model that checks the messages of a model's voice for paraphrases; "" for nobody.
        api_base, key_variable: of a server of one's own; the key itself stays in the environment.
    """

    source: SourceKind = "miniature"
    domain: str = "svg_drawing"
    artifact: str = ""
    assistant: str = "adaptive"
    rules: str = "paper"
    seed: int = 0
    turns: int = MAX_TURNS
    judge: str = MINIATURE
    voice: str = MINIATURE
    api_base: str = ""
    key_variable: str = ""
    leak_check: str = ""

    def __post_init__(self) -> None:
        if self.source not in get_args(SourceKind):
            raise SessionError(f"unknown source {self.source!r}; choose one of {', '.join(get_args(SourceKind))}")
        if self.rules not in NAMED_RULES:
            raise SessionError(f"unknown rules {self.rules!r}; choose one of {', '.join(NAMED_RULES)}")
        if self.turns < 1:
            raise SessionError(f"a conversation has at least one turn, got {self.turns}")

    @property
    def spec(self) -> EngineSpec:
        return EngineSpec(judge=self.judge, voice=self.voice, leak_check=self.leak_check or None)

    @property
    def recorded(self) -> bool:
        """Whether the conversation was made before: it is shown turn by turn, and nobody answers."""
        return self.source in ("recorded", "run")

    @property
    def models(self) -> list[str]:
        """The language models that take part; none with a recorded source."""
        return [] if self.recorded else self.spec.models((self.assistant,))


def domain_label(domain: str) -> str:
    """A domain in words that people read."""
    label = " ".join(AS_WRITTEN.get(word, word) for word in domain.split("_"))
    return label[:1].upper() + label[1:]


def recorded_choices() -> list[Recorded]:
    """Recorded artifacts that have a conversation."""
    return [entry for entry in recorded_index() if entry.sessions]


def assistant_names() -> list[str]:
    """The scripted assistants of the miniature."""
    from discover_lib.engines.miniature.assistants import SCRIPTED

    return list(SCRIPTED)


def built_trees() -> dict[str, Path]:
    """Trees that were built and kept (`discover build`, the notebook on trees): name → file."""
    return {path.stem: path for path in tree_files(outputs_folder() / "trees")}


def miniature_artifacts(domain: str) -> dict[str, str]:
    """What to offer of a domain: a readable label → artifact id; hand-written ones first, then generated ones.

    No lexicon is read for it: a page lists all domains and may never open most of them.
    """
    from discover_lib.engines.miniature.artifacts import artifact_id

    written = sorted(path.stem for path in (data_folder() / "artifacts" / domain).glob("[!.]*.*"))
    labels = {name.replace("-", " ").replace("_", " "): name for name in written}
    return labels | {f"generated {index + 1}": artifact_id(domain, "eval", index) for index in range(GENERATED_SHOWN)}


def find_artifact(domain: str, artifact_id: str) -> Artifact:
    """An artifact of the miniature by id: one of `data/`, or a generated one (`<domain>-<split>-<number>`).

    Raises:
        SessionError: no such artifact.
    """
    from discover_lib.engines.miniature.artifacts import SPLIT_SIZES, generate_artifact, written_artifacts

    for artifact in written_artifacts(domain, data_folder()):
        if artifact.id == artifact_id:
            return artifact
    parts = re.fullmatch(rf"{re.escape(domain)}-(\w+)-(\d+)(?:-taste(\d+))?", artifact_id)
    for split, size in SPLIT_SIZES.items():
        if parts and parts[1] == split and int(parts[2]) < size:
            return generate_artifact(domain, split, int(parts[2]), int(parts[3] or 0))
    raise SessionError(f"{domain} has no artifact {artifact_id!r}; choose one of the list")


def open_source(settings: Settings) -> Conversation:
    """The conversation that a session starts from: empty, or a whole recorded one."""
    if settings.recorded:
        return _recording(settings)
    check_players(settings)
    tree, domain = _grown(settings) if settings.source == "trees" else (_built(settings), settings.domain)
    setting = {"engine": engine_name(settings), "domain": domain, "artifact": settings.artifact}
    rules = NAMED_RULES[settings.rules]()
    return Conversation(tree, rules, settings.seed, initial_state(tree, rules, settings.seed), setting=setting)


def _built(settings: Settings) -> IntentTree:
    """The miniature's tree of one of its artifacts."""
    from discover_lib.engines.miniature import engine

    return engine(settings.domain).builder.build(find_artifact(settings.domain, settings.artifact)).tree


def _grown(settings: Settings) -> tuple[IntentTree, str]:
    """A tree that was built before, and the miniature's domain that it belongs to ("" for none)."""
    path = built_trees().get(settings.artifact)
    if path is None:
        raise SessionError(f"no tree {settings.artifact!r} was built here; choose one of the list")
    tree = load_tree(path)
    try:
        return tree, domain_of_type(tree.artifact_type)
    except ArtifactFileError:
        return tree, ""


def engine_name(settings: Settings) -> str:
    """Who judges and speaks, as records name it."""
    judge, voice = settings.judge, settings.voice
    return judge if judge == voice else f"{judge} (judge), {voice} (voice)"


def _recording(settings: Settings) -> Conversation:
    """The recorded conversation; under rules other than its own, what its judgements come to under them."""
    if settings.source == "run":
        conversations = [_of_run(settings.artifact)]
    else:
        conversations = load_recorded(f"{settings.domain}/{settings.artifact}")
    if not conversations:
        raise SessionError(f"{settings.artifact!r} was recorded without a conversation; choose another artifact")
    rules = NAMED_RULES[settings.rules]().replace(token_unit=conversations[0].rules.token_unit)
    return conversations[0] if rules == conversations[0].rules else replay(conversations[0], rules)


def _of_run(name: str) -> Conversation:
    """A conversation of a stored run: the folder, relative to the outputs folder or not, and the number in the run."""
    from discover_lib.runs.store import RunStore

    folder, _, number = name.rpartition(":")
    if not number.isdecimal():
        raise SessionError(f"{name!r} names no conversation; write FOLDER:NUMBER")
    with RunStore.read(outputs_folder() / folder) as store:
        return store.conversation(int(number))


def check_players(settings: Settings) -> None:
    """Whether everybody named can play; asks nobody."""
    from discover_lib.engines.local.dialect import is_local
    from discover_lib.engines.spec import check_assistant, check_engine

    if settings.recorded:
        return
    for role, name in (("judge", settings.judge), ("voice", settings.voice)):
        check_engine(role, name)
    if not is_local(settings.assistant):  # what a folder holds is read when it replies
        check_assistant(settings.assistant)
    if settings.models:
        from discover_lib.engines.llm.calls.client import ClientSettings

        try:
            ClientSettings(api_base=settings.api_base or None)
        except ValueError as error:
            raise SessionError(str(error)) from error
