"""What language models answer, as pydantic models: one for each prompt that wants structure.

The models are forgiving in form (spelling of a choice, stray brackets around an id, some other names for a field) and
strict in content: an id must be text, since the number 1.10 is 1.1, and what decides anything is never filled in.

The answers of the paper's own prompts are not read: their fields (`node_id`, `is_satisfied_or_probed`,
`classification_label`) are refused.

`other_names` of an answer maps how else its fields are called to their names; it is no part of the schema that is sent,
and neither is what a scale takes between its steps: a stored call is known by its schema, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from discover_lib.engines.llm.calls.reading import left_out, says_nothing

_OTHER_CHOICES = {"dialog_act": "dialogue_act"}  # the paper's spelling
_LINE = re.compile(r"\[(\d+(?:\.\d+)*)\]\s+\S.*", re.DOTALL)  # as prompts list what has an id
_REASONS = dict.fromkeys(("reasoning", "rationale", "explanation"), "reason")


def _choice(value: Any) -> Any:
    """ "Dialogue Act" → "dialogue_act"."""
    if not isinstance(value, str):
        return value
    choice = "_".join(value.lower().replace("-", " ").replace("_", " ").split())
    return _OTHER_CHOICES.get(choice, choice)


def _id(value: Any) -> Any:
    """ "[1.2]", or the whole line "[1.2] A cat", → "1.2"."""
    if not isinstance(value, str):
        return value
    line = _LINE.fullmatch(value.strip())
    return line.group(1) if line else value.strip().strip('[]()#"').rstrip(".:").strip()


def _ids(value: Any) -> Any:
    """ "1.2" → ["1.2"]."""
    return [value] if isinstance(value, str) and re.fullmatch(r"[\d.]+", value.strip("[]() ")) else value


def _texts(value: Any) -> Any:
    """None → no texts; "none", "n/a", "-" and the like are no text either."""
    if value is None:
        return []
    return [each for each in value if each is not None and not says_nothing(each)] if isinstance(value, list) else value


def _not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _in_words(value: str) -> str:
    if left_out(value):
        raise ValueError("must be written out")
    return value


_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:\s*/\s*(\d+))?")


def _within(lowest: int, highest: int) -> Callable[[Any], float]:
    """Reads a number of a scale: "4" → 4, "4.5" → 4.5, "4/5" → 4 where 5 is the highest."""

    def read(value: Any) -> float:
        found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
        if found and found[2] in (None, str(highest)):
            value = float(found[1]) if "." in found[1] else int(found[1])
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not lowest <= value <= highest:
            raise ValueError(f"must be a number from {lowest} to {highest}")
        return value

    return read


def _steps(lowest: int, highest: int) -> dict[str, Any]:
    return {"enum": list(range(lowest, highest + 1)), "type": "integer"}


# Bounds are checked here and not stated in the schema: the strict modes of some providers refuse them there.
Id = Annotated[str, BeforeValidator(_id), AfterValidator(_not_empty), Field(strict=True)]
Text = Annotated[str, AfterValidator(_not_empty), Field(strict=True)]
Reason = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
Ids = Annotated[list[Id], BeforeValidator(_ids)]
MaybeId = Annotated[Id | None, BeforeValidator(lambda value: None if says_nothing(value) else value)]
Written = Annotated[Text, AfterValidator(_in_words)]
Texts = Annotated[list[Written], BeforeValidator(_texts)]
# Scales whose steps are whole numbers.  A judge who answers between two steps has answered: 4.5 is kept as 4.5 (and
# satisfied, 3.5 is not), 2.5 of 3 likewise, as the paper's interactivity is a float.
Satisfaction = Annotated[int | float, BeforeValidator(_within(1, 5)), WithJsonSchema(_steps(1, 5))]
Rating = Annotated[int | float, BeforeValidator(_within(1, 3)), WithJsonSchema(_steps(1, 3))]


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
    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("near_miss", "tangential", "tangential_alternatives", "tangential_alternative", "alternatives"),
            "near_misses",
        ),
        **dict.fromkeys(("evaluations", "intent_evaluations"), "intents"),
        **dict.fromkeys(("classification", "response_type"), "kind"),
        **dict.fromkeys(("classification_reason", "classification_reasoning", "kind_reasoning"), "kind_reason"),
        **_REASONS,
        "is_engaged": "engaged",
        "intent_id": "id",
    }


class UserMessage(BaseModel):
    """`user_reply`: what the user types next."""

    thought: Reason
    message: Written
    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("thoughts", *_REASONS), "thought"),
        "user_message": "message",
    }


class LeakCheck(BaseModel):
    """`leak_check`: which hidden intents a message gives away."""

    reason: Reason
    leaks: bool
    ids: Ids
    other_names: ClassVar[Mapping[str, str]] = {**_REASONS, "leak": "leaks", "gives_away": "leaks"}


class Refusal(BaseModel):
    """`refusal`: whether a reply refuses what was asked."""

    reason: Reason
    refuses: bool
    other_names: ClassVar[Mapping[str, str]] = {**_REASONS, "refusal": "refuses", "refused": "refuses"}


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
    parent: MaybeId
    same_as: MaybeId = None


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
    other_names: ClassVar[Mapping[str, str]] = _REASONS


class InitialRequest(BaseModel):
    """`initial_request`: the first message and the roots that it names."""

    chosen: Ids
    request: Written


# -- evaluation ----------------------------------------------------------------------------------------------------


class LeafScore(BaseModel):
    id: Id
    reason: Reason
    score: Satisfaction


class SatisfactionScores(BaseModel):
    """`satisfaction_judge`: 1 to 5 for each of the most specific intents."""

    scores: list[LeafScore]
    other_names: ClassVar[Mapping[str, str]] = {**_REASONS, "rating": "score"}


class Interactivity(BaseModel):
    """`interactivity_judge`: 1 to 3 for a conversation."""

    reason: Reason
    score: Rating
    other_names: ClassVar[Mapping[str, str]] = {**_REASONS, "rating": "score", "interactivity": "score"}


class PaperInteractivity(Interactivity):
    """`interactivity_paper`: any number from 1 to 3."""

    score: Annotated[float, BeforeValidator(_within(1, 3))]


class AnnotatedTurn(BaseModel):
    turn: int
    reason: Reason
    behaviour: Annotated[Literal["divergent", "convergent"], BeforeValidator(_choice)]


class BehaviourAnnotation(BaseModel):
    """`behaviour_annotation`: whether each turn opened up or closed in."""

    turns: list[AnnotatedTurn]
    other_names: ClassVar[Mapping[str, str]] = {**_REASONS, "behavior": "behaviour"}
