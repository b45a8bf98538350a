"""Who plays the roles in a run: the miniature, or any LiteLLM model, role by role, behind one seam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discover_lib.core.roles import Assistant, Judge, SeesIntents, TreeBuilder, UserVoice
from discover_lib.engines.miniature.edition import EDITION, Edition
from discover_lib.metrics.scorer import Scorer

if TYPE_CHECKING:
    from discover_lib.engines.llm.calls.client import LLMClient
    from discover_lib.engines.llm.prompting import PromptSet
    from discover_lib.engines.miniature import Engine

MINIATURE = "miniature"


@dataclass(frozen=True)
class EngineSpec:
    """Who plays what: "miniature", or a LiteLLM model name.

    Attributes:
        prompts: a folder whose files replace the prompts of the same name.
        edition: of what the miniature's user and assistants say.
    """

    builder: str = MINIATURE
    judge: str = MINIATURE
    voice: str = MINIATURE
    prompts: str | None = None
    edition: Edition = EDITION

    def models(self, assistants: Sequence[str] = ()) -> list[str]:
        """The language models that take part and are reached through an API, each once."""
        from discover_lib.engines.miniature.assistants import SCRIPTED

        ours = {*SCRIPTED, *local_models(assistants)}
        asked = [model_of(name) for name in assistants if name not in ours]
        return list(dict.fromkeys(each for each in (self.builder, self.judge, self.voice, *asked) if each != MINIATURE))


class Engines(Protocol):
    """The roles of a run by the domain of the tree ("" for a tree of no miniature domain).  Thread-safe."""

    def builder(self, domain: str) -> TreeBuilder: ...

    def judge(self, domain: str) -> Judge: ...

    def voice(self, domain: str) -> UserVoice: ...

    def scorer(self, domain: str) -> Scorer: ...

    def assistant(self, name: str, domain: str) -> Assistant | SeesIntents:
        """The assistant of that name.

        Raises:
            ValueError: no such assistant.
        """
        ...


class RoleEngines:
    """`Engines` by a specification.

    Args:
        client: what calls the models; needed only if the specification or an assistant names one.
    """

    def __init__(self, spec: EngineSpec, client: LLMClient | None = None) -> None:
        self.spec = spec
        self._client = client

    def builder(self, domain: str) -> TreeBuilder:
        if self.spec.builder == MINIATURE:
            return _miniature(domain).builder
        from discover_lib.engines.llm.builder import LLMBuilder

        return LLMBuilder(self._needed(self.spec.builder), self.spec.builder, prompts=self._prompts)

    def judge(self, domain: str) -> Judge:
        if self.spec.judge == MINIATURE:
            return _miniature(domain).judge
        from discover_lib.engines.llm.judge import LLMJudge

        return LLMJudge(self._needed(self.spec.judge), self.spec.judge, prompts=self._prompts)

    def voice(self, domain: str) -> UserVoice:
        if self.spec.voice == MINIATURE:
            return _miniature(domain, self.spec.edition).voice
        from discover_lib.engines.llm.voice import LLMVoice

        return LLMVoice(self._needed(self.spec.voice), self.spec.voice, prompts=self._prompts)

    def scorer(self, domain: str) -> Scorer:
        """Who judges the turns scores the whole, too."""
        if self.spec.judge == MINIATURE:
            from discover_lib.engines.miniature.scoring import MiniatureScorer

            return MiniatureScorer(domain)
        from discover_lib.engines.llm.scoring import LLMScorer

        return LLMScorer(self._needed(self.spec.judge), self.spec.judge, prompts=self._prompts)

    def assistant(self, name: str, domain: str) -> Assistant | SeesIntents:
        from discover_lib.engines.local.names import is_local, local_assistant
        from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant

        if is_local(name):
            return local_assistant(name, domain)
        if name in SCRIPTED or self._client is None:
            return scripted_assistant(name, domain, self.spec.edition)
        from discover_lib.engines.llm.assistants import llm_assistant

        return llm_assistant(self._client, name, prompts=self._prompts)

    @cached_property
    def _prompts(self) -> PromptSet:
        from discover_lib.engines.llm.prompting import PromptSet, default_prompts

        return PromptSet(Path(self.spec.prompts)) if self.spec.prompts else default_prompts()

    def _needed(self, model: str) -> LLMClient:
        if self._client is None:
            raise ValueError(f"{model!r} is a language model, and this run was given no client to call it")
        return self._client


def local_models(assistants: Sequence[str]) -> list[str]:
    """Those assistants that are models on this machine."""
    from discover_lib.engines.miniature.assistants import SCRIPTED

    unscripted = [name for name in assistants if name not in SCRIPTED]
    if not unscripted:  # importing what knows local models takes as long as thirty turns
        return []
    from discover_lib.engines.local.names import is_local

    return [name for name in unscripted if is_local(name)]


def model_of(assistant: str) -> str:
    """The model of an assistant named `MODEL` or `MODEL+STYLE`; a "+" may belong to the model's own name."""
    from discover_lib.engines.llm.assistants import model_and_style

    return model_and_style(assistant)[0]


def _miniature(domain: str, edition: Edition = EDITION) -> Engine:
    from discover_lib.engines.miniature import engine

    return engine(domain, edition)
