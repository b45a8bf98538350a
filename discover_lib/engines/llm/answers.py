"""The forms of language models' answers as pydantic models, one for each prompt with a structured answer.

A form accepts only the fields and types of its prompt.  There are three exceptions: an id in brackets, as prompts show
it, a choice with a capital, and a word such as "none" in a list of texts, which is dropped.  The schema that is sent
requires every field, also optional ones, as the strict modes of providers demand.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

_NOTHING = frozenset({"", "none", "null", "n/a", "nothing"})


def _id(value: Any) -> Any:
    """ "[1.2]" → "1.2"."""
    return value.strip().removeprefix("[").removesuffix("]") if isinstance(value, str) else value


def _choice(value: Any) -> Any:
    """ "Artifact" → "artifact"."""
    return value.lower() if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """The list without words for "none"."""
    return [each for each in value if not _says_none(each)] if isinstance(value, list) else value


def _says_none(value: Any) -> bool:
    """Whether this is "none", "(none)", "N/A.", "-", "" and the like, but not "..."."""
    return isinstance(value, str) and value.strip(" ()[]-–").removesuffix(".").lower() in _NOTHING


def _written_out(value: str) -> str:
    if not value.strip(" \t\n.…"):
        raise ValueError("must be written out")
    return value


# The code checks the bounds, because the strict modes of some providers refuse them in a schema.
Text = Annotated[str, AfterValidator(_written_out)]
Id = Annotated[Text, BeforeValidator(_id)]
Texts = Annotated[list[Text], BeforeValidator(_texts)]
# A scale with whole steps.  A score between two steps is kept: 4.5 stays 4.5 (satisfied, unlike 3.5).
Satisfaction = Annotated[int | float, Field(ge=1, le=5), WithJsonSchema({"enum": [1, 2, 3, 4, 5], "type": "integer"})]


def _all_required(schema: dict[str, Any]) -> None:
    schema["required"] = list(schema["properties"])
    for field in schema["properties"].values():
        field.pop("default", None)


class Form(BaseModel):
    """The form of an answer, or of a part of one."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_all_required)


# -- judge and voice -----------------------------------------------------------------------------------------------


class JudgedIntent(Form):
    id: Id
    reason: str
    engaged: bool
    near_misses: Texts = Field(default_factory=list)


class ResponseEvaluation(Form):
    """`response_evaluation`: the kind of a reply and a verdict on each intent."""

    kind_reason: str
    kind: Annotated[Literal["artifact", "dialogue_act"], BeforeValidator(_choice)]
    intents: list[JudgedIntent]


class UserMessage(Form):
    """`user_reply`: the user's next message."""

    thought: str
    message: Text


class LeakCheck(Form):
    """`leak_check`: the hidden intents that a message reveals."""

    reason: str
    leaks: bool
    ids: list[Id]


class Refusal(Form):
    """`refusal`: whether a reply refuses the request."""

    reason: str
    refuses: bool


# -- builder -------------------------------------------------------------------------------------------------------


class Requirement(Form):
    text: Text
    aspect: Text
    evidence: str


class Synthesis(Form):
    """`requirement_synthesis`: the most specific requirements of an artifact."""

    topic: Text
    description: Text
    items: list[Requirement]


class Level(Form):
    items: list[Text]


class Abstraction(Form):
    """`abstraction`: ever broader versions, level 1 first."""

    levels: list[Level]


class Place(Form):
    id: Id
    parent: Id | None
    same_as: Id | None = None


class Hierarchy(Form):
    """`hierarchy`: the place of each item in the forest."""

    items: list[Place]


class ComparedPair(Form):
    number: int
    reason: str
    narrow_implies_broad: bool
    broad_implies_narrow: bool
    instead: int | None = None  # number of a pair whose broad requirement the narrow one does imply


class SupersetCheck(Form):
    """`superset_check`: is the parent of each pair strictly broader than its child?"""

    pairs: list[ComparedPair]


class InitialRequest(Form):
    """`initial_request`: the first message and the roots that it names."""

    chosen: list[Id]
    request: Text


# -- evaluation ----------------------------------------------------------------------------------------------------


class LeafScore(Form):
    id: Id
    reason: str
    score: Satisfaction


class SatisfactionScores(Form):
    """`satisfaction_judge`: 1 to 5 for each of the most specific intents."""

    scores: list[LeafScore]


class Interactivity(Form):
    """`interactivity_judge`: any number from 1 to 3 for a conversation."""

    reason: str
    score: Annotated[float, Field(ge=1, le=3), WithJsonSchema({"type": "number"})]


class AnnotatedTurn(Form):
    turn: int
    reason: str
    behaviour: Annotated[Literal["divergent", "convergent"], BeforeValidator(_choice)]


class BehaviourAnnotation(Form):
    """`behaviour_annotation`: whether each turn was divergent or convergent."""

    turns: list[AnnotatedTurn]
