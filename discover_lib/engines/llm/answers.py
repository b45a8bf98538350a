"""What language models answer, as pydantic models: one for each prompt that wants structure.

The models are forgiving in form (spelling of a choice, stray brackets around an id) and strict in content: an id must
be text, since the number 1.10 is 1.1, and what decides anything is never filled in.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field


def _choice(value: Any) -> Any:
    """ "Dialogue Act" → "dialogue_act"."""
    return "_".join(value.lower().replace("-", " ").replace("_", " ").split()) if isinstance(value, str) else value


def _id(value: Any) -> Any:
    """ "[1.2]" → "1.2"."""
    return value.strip().strip("[]()#").rstrip(".:").strip() if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """None → no texts; empty ones left out."""
    if value is None:
        return []
    return [each for each in value if not isinstance(each, str) or each.strip()] if isinstance(value, list) else value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _number(value: Any) -> Any:
    """ "4" → 4."""
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value


# Bounds are checked here and not stated in the schema: the strict modes of some providers refuse them there.
Id = Annotated[str, BeforeValidator(_id), AfterValidator(_not_empty), Field(strict=True)]
Text = Annotated[str, AfterValidator(_not_empty), Field(strict=True)]
Reason = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Texts = Annotated[list[Annotated[str, Field(strict=True)]], BeforeValidator(_texts)]


# -- judge and voice -----------------------------------------------------------------------------------------------


class JudgedIntent(BaseModel):
    id: Id
    reason: Reason
    engaged: bool
    near_misses: Texts = Field(default_factory=list)


class ResponseEvaluation(BaseModel):
    """`response_evaluation`: the kind of a reply and a verdict on each intent that was reached."""

    kind_reason: Reason
    kind: Annotated[Literal["artifact", "dialogue_act"], BeforeValidator(_choice)]
    intents: list[JudgedIntent]


class UserMessage(BaseModel):
    """`user_reply`: what the user types next."""

    thought: Reason
    message: Text


# -- builder -------------------------------------------------------------------------------------------------------


class Requirement(BaseModel):
    text: Text
    aspect: Text
    evidence: Reason


class Synthesis(BaseModel):
    """`requirement_synthesis`: the most specific requirements of an artifact."""

    topic: Text
    description: Text
    items: list[Requirement]


class Level(BaseModel):
    items: list[Text]


class Abstraction(BaseModel):
    """`abstraction`: ever broader versions, level 1 first."""

    levels: list[Level]


class Place(BaseModel):
    id: Id
    parent: Id | None
    same_as: Id | None = None


class Hierarchy(BaseModel):
    """`hierarchy`: where each item stands."""

    items: list[Place]


class ComparedPair(BaseModel):
    number: int
    reason: Reason
    narrow_implies_broad: bool
    broad_implies_narrow: bool
    instead: int | None = None  # number of a pair whose broad requirement the narrow one does imply


class SupersetCheck(BaseModel):
    """`superset_check`: is the parent of each pair strictly broader than its child?"""

    pairs: list[ComparedPair]


class InitialRequest(BaseModel):
    """`initial_request`: the first message and the roots that it names."""

    chosen: list[Id]
    request: Text


# -- evaluation ----------------------------------------------------------------------------------------------------


class LeafScore(BaseModel):
    id: Id
    reason: Reason
    score: Annotated[Literal[1, 2, 3, 4, 5], BeforeValidator(_number)]


class SatisfactionScores(BaseModel):
    """`satisfaction_judge`: 1 to 5 for each of the most specific intents."""

    scores: list[LeafScore]


class Interactivity(BaseModel):
    """`interactivity_judge`: 1 to 3 for a conversation."""

    reason: Reason
    score: Annotated[Literal[1, 2, 3], BeforeValidator(_number)]


class AnnotatedTurn(BaseModel):
    turn: int
    reason: Reason
    behaviour: Annotated[Literal["divergent", "convergent"], BeforeValidator(_choice)]


class BehaviourAnnotation(BaseModel):
    """`behaviour_annotation`: whether each turn opened up or closed in."""

    turns: list[AnnotatedTurn]
