"""The roles of a run by name, checked here: the miniature or any LiteLLM model plays each of them."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from discover_lib.base.errors import DiscoverError
from discover_lib.core.roles import Assistant, Judge, SeesIntents, UserVoice
from discover_lib.engines.llm.prompting import STYLES, PromptSet, model_and_style
from discover_lib.engines.local.dialect import is_local
from discover_lib.engines.role_options import NO_OPTIONS, RoleOptions
from discover_lib.metrics.scorer import Scorer

if TYPE_CHECKING:
    from pathlib import Path

    from discover_lib.engines.llm.calls.client import LLMClient
    from discover_lib.engines.manner import Manner
    from discover_lib.engines.miniature import Engine

MINIATURE = "miniature"
EDITION = 4  # phrasing version of the miniature, stored with runs and sessions; other editions are not read


class RunOptionsError(DiscoverError):
    """The options cannot be run.  The message is one line with the remedy."""


@dataclass(frozen=True, kw_only=True)
class EngineSpec:
    """The engine of each role: "miniature", or a LiteLLM model name.

    Attributes:
        prompts: a folder whose files replace the prompts of the same name.
        leak_check: a model that checks the voice's messages for paraphrases of unknown intents, if any.
        role_options: options of the models that differ from the roles' defaults.
        manner: typing style of the user; None for the paper's.
    """

    judge: str = MINIATURE
    voice: str = MINIATURE
    prompts: Path | None = None
    leak_check: str | None = None
    role_options: RoleOptions = NO_OPTIONS
    manner: Manner | None = None

    def models(self, assistants: Sequence[str] = ()) -> list[str]:
        """The language models behind an API, each once."""
        asked = [model_of(name) for name in asked_assistants(assistants)]
        roles = (self.judge, self.voice, self.leak_check or MINIATURE)
        return list(dict.fromkeys(each for each in (*roles, *asked) if each != MINIATURE))

    def check_players(self, assistants: Sequence[str], domains: Collection[str]) -> None:
        """Check the names of all players before any work starts.  Makes no calls.

        Args:
            domains: of the trees; "" for another than the miniature's.

        Raises:
            RunOptionsError, DiscoverError: with the name and the remedy.
        """
        for role, name in (("judge", self.judge), ("voice", self.voice)):
            check_engine("engine" if self.judge == self.voice else role, name)
        if self.leak_check and (self.voice == MINIATURE or not is_model(self.leak_check)):
            raise RunOptionsError("a leak check is a language model's, of messages that a language model speaks")
        self.role_options.check_names(asked_assistants(assistants))
        for name in assistants:
            check_assistant(name, domains)

    def to_store(self, assistants: Sequence[str]) -> dict[str, Any]:
        """All that decides the replies of these players, as a store compares it."""
        judges = {"judge": self.judge, "voice": self.voice}
        roles = {role: role for role, name in (judges | {"scorer": self.judge}).items() if name != MINIATURE}
        players = roles | dict.fromkeys(asked_assistants(assistants), "assistant")
        where_not_the_default = {
            "local": fingerprints(assistants),
            "leak_check": self.leak_check,
            "manner": self.manner.to_dict() if self.manner else None,
            "options": self.role_options.to_store(players),
        }
        chosen = {STYLES[style] for name in assistants if (style := model_and_style(name)[1])}
        chosen |= {"leak_check"} if self.leak_check else set()
        chosen |= {"user_manner"} if self.manner else set()
        stored = {name: value for name, value in where_not_the_default.items() if value}
        return stored | {
            "engine": judges,
            "prompts": PromptSet(self.prompts).hashes(chosen) if self.models(assistants) else {},
        }


class RoleEngines:
    """The roles of a run by the domain of the tree ("" for a tree of no miniature domain).  Thread-safe.

    Args:
        client: calls the models; needed only if the specification or an assistant names one.
    """

    def __init__(self, spec: EngineSpec, client: LLMClient | None = None) -> None:
        self.spec = spec
        self._client = client
        self._session = ""

    def for_conversation(self, setting: Mapping[str, Any], seed: int) -> Self:
        """The same roles, whose calls carry the name of one conversation, the same when it is resumed."""
        parts = [seed, *(setting.get(name) for name in ("domain", "artifact", "assistants", "trial"))]
        roles = copy.copy(self)
        roles._session = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).hexdigest()
        return roles

    def judge(self, domain: str) -> Judge:
        """Judges turns."""
        if self.spec.judge == MINIATURE:
            return _miniature(domain).judge
        from discover_lib.engines.llm.judge import LLMJudge

        return LLMJudge(model=self.spec.judge, **self._how("judge"))

    def voice(self, domain: str) -> UserVoice:
        """Speaks for the user."""
        if self.spec.voice == MINIATURE:
            return _miniature(domain, self.spec.manner).voice
        from discover_lib.engines.llm.judge import LeakCheck
        from discover_lib.engines.llm.voice import LLMVoice

        how, checker = self._how("voice"), self.spec.leak_check
        check = LeakCheck(how["client"], checker, prompts=how["prompts"]) if checker else None
        return LLMVoice(model=self.spec.voice, leak_check=check, manner=self.spec.manner, **how)

    def scorer(self, domain: str) -> Scorer:
        """Scores whole conversations; the judge's model does it."""
        if self.spec.judge == MINIATURE:
            from discover_lib.engines.miniature.judge import MiniatureScorer

            return MiniatureScorer(domain)
        from discover_lib.engines.llm.scoring import LLMScorer

        return LLMScorer(model=self.spec.judge, **self._how("scorer"))

    def assistant(self, name: str, domain: str) -> Assistant | SeesIntents:
        """The assistant of that name.

        Raises:
            ValueError: no such assistant.
        """
        from discover_lib.engines.miniature.assistants import SCRIPTED, scripted_assistant

        if is_local(name):
            from discover_lib.engines.local.names import local_assistant

            return local_assistant(name, domain)
        if name in SCRIPTED or self._client is None:
            return scripted_assistant(name, domain)
        from discover_lib.engines.llm.assistants import LLMAssistant

        return LLMAssistant(name=name, **self._how("assistant", name))

    @cached_property
    def _prompts(self) -> PromptSet:
        return PromptSet(self.spec.prompts)

    def _how(self, role: str, assistant: str = "") -> dict[str, Any]:
        """Arguments of a role that a language model plays."""
        if self._client is None:
            raise ValueError(f"the {role} is a language model, and this run was given no client to call it")
        options = self.spec.role_options.of(role, assistant)
        return {"client": self._client, "prompts": self._prompts, "session": self._session, **options}


def asked_assistants(assistants: Sequence[str]) -> list[str]:
    """The assistants that are language models behind an API."""
    from discover_lib.engines.miniature.assistants import SCRIPTED

    return [name for name in assistants if name not in SCRIPTED and not is_local(name)]


def model_of(assistant: str) -> str:
    """The model of an assistant named `MODEL` or `MODEL+STYLE`; a "+" may belong to the model's own name."""
    return model_and_style(assistant)[0]


def is_model(name: str) -> bool:
    """Whether a name can be a LiteLLM model's: it names a provider, or LiteLLM's table knows it."""
    from discover_lib.engines.llm.calls.exchange import known_models

    model = model_of(name)
    return "/" in model or model in known_models()


def check_engine(role: str, name: str) -> None:
    """Check the name of a judge or a voice.

    Raises:
        RunOptionsError: there is no such engine.
    """
    if name != MINIATURE and not is_model(name):
        raise RunOptionsError(f"unknown {role} {name!r}; give 'miniature' or a LiteLLM model name such as openai/NAME")


def check_assistant(name: str, domains: Collection[str] = ()) -> None:
    """Check the name of an assistant, and that it speaks these domains.

    Raises:
        RunOptionsError: there is no such assistant; the message lists the assistants.
        LocalModelError: a model on this machine that cannot be used.
    """
    from discover_lib.engines.miniature.assistants import SCRIPTED

    if is_local(name):
        from discover_lib.engines.local.names import parse_name

        parse_name(name).check_speaks(domains)
    elif name in SCRIPTED and "" in domains:
        raise RunOptionsError(f"assistant {name!r} is scripted and knows the miniature's domains only")
    elif name not in SCRIPTED and not is_model(name):
        raise RunOptionsError(
            f"unknown assistant {name!r}; the scripted ones are {', '.join(SCRIPTED)}; "
            "a model on this machine is 'tiny' or hf:DIR; "
            "anything else is a LiteLLM model name such as openai/NAME"
        )


def fingerprints(assistants: Sequence[str]) -> dict[str, str]:
    """The weights of the assistants that are models on this machine."""
    if not (local := list(filter(is_local, assistants))):
        return {}
    from discover_lib.engines.local.names import parse_name

    return {name: parse_name(name).fingerprint() for name in local}


@lru_cache(maxsize=32)  # its roles keep nothing of a conversation, and every conversation asks for them twice
def _miniature(domain: str, manner: Manner | None = None) -> Engine:
    from discover_lib.engines.miniature import engine

    return engine(domain, manner)
