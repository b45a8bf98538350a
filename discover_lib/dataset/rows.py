"""From conversations to training rows: SFT, preference pairs, prompts with the user's state for GRPO (paper, 4.1).

A label says which of a turn's candidates is better and which is worse.  It is read from stored judgements alone, so it
can be taken again under other rules.  Under the run's own rules it is the label that the run went by.

Every row names its origin and the making of its label.  Making rows keeps every example: an `Example` carries measured
values, and `discover_lib.dataset.export` keeps or drops it for a reason that is counted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from discover_lib.base.errors import DiscoverError
from discover_lib.base.json_text import to_json
from discover_lib.base.records import RecordError
from discover_lib.base.seeds import derive_seed
from discover_lib.base.tokens import COUNTING, WireMessage, count_tokens
from discover_lib.base.words import words
from discover_lib.core.conversation import Candidate, Conversation, Message, Text, Turn
from discover_lib.core.roles import AssistantError, Judge, UserVoice
from discover_lib.core.rules import Rules
from discover_lib.core.simulator import UserSimulator, choose_candidate, comparable_rewards
from discover_lib.metrics.replay import replay
from discover_lib.metrics.scores import leaked

Kind = Literal["sft", "preference", "prompt"]
Unlabelled = Literal["one_candidate", "failed_assistant", "failed_judgement", "tie"]

STATE_FORMAT = "discover-state/1"
GRPO_TAU = float(Rules.paper_grpo().tau)
SHINGLE = 3  # words that are compared at a time
SIMILARITY = f"Jaccard of {SHINGLE}-word shingles"


# -- labels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """The reading of one turn.

    Attributes:
        best, worst: places among the candidates; None where `problem` says why there is no label.
        leaders: all places that share the highest reward.
        problem: None if the turn makes a pair.
    """

    best: int | None = None
    worst: int | None = None
    leaders: tuple[int, ...] = ()
    problem: Unlabelled | None = None


@dataclass(frozen=True)
class LabelledTurn:
    """A turn under the rules in force, with its label, and whether the judge saw the tree that it would see now."""

    turn: Turn
    label: Label
    focus_kept: bool

    @property
    def best(self) -> Candidate:
        assert self.label.best is not None
        return self.turn.candidates[self.label.best]

    @property
    def worst(self) -> Candidate:
        assert self.label.worst is not None
        return self.turn.candidates[self.label.worst]


def total_of(candidate: Candidate) -> float:
    """The reward of a candidate that has one, as every labelled candidate does."""
    assert candidate.reward is not None
    return candidate.reward.total


def label(turn: Turn, rules: Rules, conversation_seed: int) -> Label:
    """The best and the worst candidate of a turn by reward.

    Ties at the top go as the rules say; at the bottom the longer reply is the worse, then the later one.  If all
    scored candidates are equal there is no label, though `best` and `worst` are still set.
    """
    totals = comparable_rewards(turn.candidates)
    if len(turn.candidates) < 2:
        return Label(problem="one_candidate")
    if len(totals) < 2:
        without_reply = any((each.error or "").startswith(f"{AssistantError.role}: ") for each in turn.candidates)
        return Label(problem="failed_assistant" if without_reply else "failed_judgement")
    highest, lowest = max(totals.values()), min(totals.values())
    leaders = tuple(place for place, total in totals.items() if total == highest)
    best = choose_candidate(turn.candidates, rules, derive_seed(conversation_seed, "tie", turn.index))
    bottom = [place for place, total in totals.items() if total == lowest and place != best]
    worst = max(bottom, key=lambda place: (turn.candidates[place].reply.n_tokens, place))
    return Label(best, worst, leaders, "tie" if highest == lowest else None)


def under(conversation: Conversation, rules: Rules | None) -> Conversation:
    """The conversation scored under `rules` from its stored judgements; as it is for None or its own rules.

    Raises:
        DiscoverError: its judgements were not kept, as in runs that were imported.
    """
    if rules is None or rules == conversation.rules:
        return conversation
    if any(turn.candidate.evaluation is None for turn in conversation.turns):
        raise DiscoverError(
            "this run keeps rewards without the judgements behind them, so it cannot be scored under other rules; "
            f"use its own (for prompt rows: its own τ, too: --tau {conversation.rules.tau:g})"
        )
    return replay(conversation, rules)


def labelled_turns(conversation: Conversation, rules: Rules | None = None) -> Iterator[LabelledTurn]:
    """Every turn with its label, under `rules` or as it was run.

    Under other rules the state may move differently, and the judge would then have been shown another tree than it
    was: such a turn is labeled by the stored judgement, and `focus_kept` is False.
    """
    scored = under(conversation, rules)
    for was, turn in zip(conversation.turns, scored.turns, strict=True):
        yield LabelledTurn(turn, label(turn, scored.rules, scored.seed), was.focus == turn.focus)


# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """The run that conversations come from, as every row names it.

    Attributes:
        run: its name, e.g. the folder's.
        prompts: prompt name → SHA-256; empty if no language model took part.
    """

    run: str
    judge: str = ""
    voice: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)
    code_version: str = ""

    @classmethod
    def of_run(cls, name: str, configuration: Mapping[str, Any]) -> Origin:
        """From a run's configuration, as its store keeps it; an imported run has only its name."""
        who, known = configuration.get("engine", {}), configuration.get
        judge, voice = who.get("judge", ""), who.get("voice", "")
        return cls(name, judge, voice, known("prompts", {}), known("code_version", ""))


_count_cached = lru_cache(maxsize=65536)(count_tokens)  # every prompt repeats the one before it


def count_texts(messages: Sequence[WireMessage]) -> int:
    """Tokens of the messages' texts by the documented rule, without the tokens of a chat template."""
    return sum(_count_cached(message["content"]) for message in messages)


@dataclass(frozen=True)
class TokenCount:
    """A way of counting the tokens of a whole conversation, with the name that the data give it."""

    name: str = f"{COUNTING}, texts only"
    count: Callable[[Sequence[WireMessage]], int] = count_texts


def token_count(base: str | None = None) -> TokenCount:
    """Counting by the tokenizer and chat template of a base model, a folder or one that was downloaded before.

    Where it is not present, or no base is named, the documented rule counts, and its name says so.
    """
    if base is None:
        return TokenCount()
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    except (ImportError, OSError, ValueError):
        return TokenCount(f"{TokenCount.name} (no tokenizer of {base} on this machine)")
    if tokenizer.chat_template is None:
        return TokenCount(
            f"tokenizer of {base}, texts only",
            lambda messages: sum(len(tokenizer(message["content"]).input_ids) for message in messages),
        )
    return TokenCount(
        f"tokenizer and chat template of {base}",
        lambda messages: len(tokenizer.apply_chat_template(list(messages), return_dict=True)["input_ids"]),
    )


@dataclass(frozen=True)
class RowOptions:
    """How conversations become rows.

    Attributes:
        rules: labels under these, from the stored judgements; None for the run's own.
        system: "none", "collaborative" (our prompt, in the spirit of the release's; not the paper's E.10), or the text
            of a system message.
        text: the form of the assistant's turns: for people, or the miniature's notation for a tiny model.
        grpo_tau: τ of prompt rows, in the run's unit of tokens; None keeps that of the rules.
        tokens: how lengths are counted.
    """

    rules: Rules | None = None
    system: str = "none"
    text: Text = "content"
    grpo_tau: float | None = GRPO_TAU
    tokens: TokenCount = field(default_factory=TokenCount)

    @cached_property
    def system_text(self) -> str:
        return system_text(self.system)


@dataclass(frozen=True)
class Example:
    """A possible row.

    Attributes:
        train: exactly what a trainer is given; empty if there is no label.
        provenance: where it comes from and how its label came about: plain values, one column each.
        problem: why it cannot be a row under any filters, or None.
        n_tokens: of the longest sequence that a trainer would see; 0 without a label.
        margin, similarity: of a preference pair.
        leaks: leaking user messages in it.
        identity: equal for rows that teach the same.
    """

    kind: Kind
    artifact: str
    train: Mapping[str, Any]
    provenance: Mapping[str, Any]
    problem: str | None = None
    n_tokens: int = 0
    margin: float | None = None
    similarity: float | None = None
    empty: bool = False
    identical: bool = False
    leaks: int = 0
    invalid: bool = False
    identity: str = ""

    @property
    def row(self) -> dict[str, Any]:
        """All columns: training columns, then the provenance."""
        return {**self.train, **self.provenance}


# -- making examples --------------------------------------------------------------------------------------------------


def examples(
    kind: Kind, conversations: Iterable[Conversation], origin: Origin, options: RowOptions | None = None
) -> Iterator[Example]:
    """Every example that the conversations hold, fit for training or not.

    SFT: one per conversation, as it went, with the final artifact if the run was assessed.  Preference: one per turn,
    the best against the worst candidate.  Prompt: one per turn, the conversation before it and the user's state as JSON
    (see `restore`).

    Raises:
        DiscoverError: an assistant wrote no notation, or other rules need judgements that were not kept.
    """
    options = options or RowOptions()
    make = {"sft": _sft, "preference": _preferences, "prompt": _prompts}[kind]
    for conversation in conversations:
        yield from make(conversation, origin, options)


def _sft(conversation: Conversation, origin: Origin, options: RowOptions) -> Iterator[Example]:
    labelled = list(labelled_turns(conversation, options.rules))
    messages = _wire(conversation.messages(), options)
    while messages and messages[-1]["role"] == "user":  # an unanswered message teaches nothing
        messages.pop()
    if (final := conversation.final) is not None:  # a small model forgets to build what it never practices
        asked = [Message("user", final.request), Message("assistant", final.reply.text, final.reply.notation)]
        messages += [{"role": each.role, "content": _text(each, options.text)} for each in asked]
    unfinished = conversation.stop in (None, "error") or not labelled
    rewards = [each.turn.candidate.reward for each in labelled]
    rules = options.rules or conversation.rules
    yield Example(
        "sft",
        _artifact(conversation),
        {} if unfinished else {"messages": messages},
        {
            **_provenance(conversation, origin, options, rules),
            "turns": len(labelled),
            "with_final": final is not None,
            "stop": conversation.stop,
            "reward": sum((each.total for each in rewards if each), 0.0),
            "rewards": to_json([each and each.to_dict() for each in rewards]),
            "chosen_assistants": to_json([each.turn.reply.assistant for each in labelled]),
            "n_candidates": max((len(each.turn.candidates) for each in labelled), default=0),
            # Under other rules than the run's, another candidate than the one that went on may have been the best.
            "turns_not_best": sum(each.label.best not in (None, each.turn.chosen) for each in labelled),
            "counting": _countings([each.turn.candidate for each in labelled]),
            **_length(messages, options),
        },
        problem="unfinished" if unfinished else None,
        n_tokens=options.tokens.count(messages),
        empty=any(not each["content"].strip() for each in messages if each["role"] == "assistant"),
        leaks=_leaks(conversation.turns[:-1]),
        invalid=not readable(messages),
        identity=digest(messages),
    )


def _preferences(conversation: Conversation, origin: Origin, options: RowOptions) -> Iterator[Example]:
    for labelled in labelled_turns(conversation, options.rules):
        yield _preference(conversation, labelled, origin, options)


def _preference(conversation: Conversation, labelled: LabelledTurn, origin: Origin, options: RowOptions) -> Example:
    turn, label = labelled.turn, labelled.label
    rules = options.rules or conversation.rules
    known = {
        **_provenance(conversation, origin, options, rules),
        "turn": turn.index,
        "n_candidates": len(turn.candidates),
        "went_on": turn.chosen,
        "focus": to_json(turn.focus),
        "focus_kept": labelled.focus_kept,
        "look_ahead": max(len(each.ahead) for each in turn.candidates),
    }
    artifact, leaks = _artifact(conversation), _leaks(conversation.turns[: turn.index - 1])
    if label.best is None or label.worst is None:
        return Example("preference", artifact, {}, known, problem=label.problem, leaks=leaks)
    prompt = _wire(conversation.messages(turn.index - 1), options)
    replies = (each.reply for each in (labelled.best, labelled.worst))
    chosen, rejected = (_wire([Message("assistant", each.text, each.notation)], options) for each in replies)
    longest = max((chosen, rejected), key=lambda reply: options.tokens.count(prompt + reply))
    known |= _side("chosen", label.best, labelled.best) | _side("rejected", label.worst, labelled.worst)
    known |= {
        "margin": total_of(labelled.best) - total_of(labelled.worst),
        "similarity": similarity_of(chosen[0]["content"], rejected[0]["content"]),
        "similarity_measure": SIMILARITY,
        "counting": _countings([labelled.best, labelled.worst]),
        **_length(prompt + longest, options),
    }
    texts = [reply[0]["content"] for reply in (chosen, rejected)]
    return Example(
        "preference",
        artifact,
        {} if label.problem else {"prompt": prompt, "chosen": chosen, "rejected": rejected},
        known,
        problem=label.problem,
        n_tokens=known["n_tokens"],
        margin=known["margin"],
        similarity=known["similarity"],
        empty=not all(text.strip() for text in texts),
        identical=plain(texts[0]) == plain(texts[1]),
        leaks=leaks,
        invalid=not readable([*prompt, *chosen, *rejected]),
        identity=digest([prompt, chosen, rejected]),
    )


def _prompts(conversation: Conversation, origin: Origin, options: RowOptions) -> Iterator[Example]:
    rules = options.rules or conversation.rules
    rules = rules if options.grpo_tau is None else grpo_rules(rules, options.grpo_tau)
    scored = under(conversation, rules)
    user = digest([scored.tree.to_dict(), rules.to_dict(), scored.seed])
    for turn in scored.turns:
        past = scored.turns[: turn.index - 1]
        prompt = _wire(scored.messages(turn.index - 1), options)
        length = _length(prompt, options)
        yield Example(
            "prompt",
            _artifact(conversation),
            {"prompt": prompt, "state": state_json(scored, turn.index - 1)},
            {**_provenance(conversation, origin, options, rules), "turn": turn.index, **length},
            n_tokens=length["n_tokens"],
            leaks=_leaks(past),
            invalid=not readable(prompt),
            identity=digest([user, prompt, turn.before.to_dict()]),
        )


def system_text(policy: str) -> str:
    """The system message of a policy; "" for none."""
    if policy == "none":
        return ""
    if policy == "collaborative":
        from discover_lib.engines.llm.prompting import PromptSet

        return PromptSet().render("collaborative")[0]["content"]
    return policy


def grpo_rules(rules: Rules, tau: float = GRPO_TAU) -> Rules:
    """The GRPO variant of rules: another τ.  Of the paper's rules it is `Rules.paper_grpo()`."""
    return rules if rules.tau == tau else rules.replace(name=f"{rules.name}, GRPO", tau=tau)


def _wire(messages: Iterable[Message], options: RowOptions) -> list[WireMessage]:
    """Messages as a trainer takes them.  A conversation is opened by the system message; a reply alone is not."""
    wire = [{"role": each.role, "content": _text(each, options.text)} for each in messages]
    if options.system_text and wire and wire[0]["role"] == "user":
        return [{"role": "system", "content": options.system_text}, *wire]
    return wire


def _text(message: Message, form: Text) -> str:
    if form == "content" or message.role == "user":
        return message.content
    if message.notation is None:
        raise DiscoverError("an assistant of this run wrote no notation; make the rows with text='content'")
    return message.notation


def _artifact(conversation: Conversation) -> str:
    return str(conversation.setting.get("artifact", ""))


def readable(messages: Iterable[WireMessage]) -> bool:
    """Whether all texts are valid Unicode: a model can cut a character in half."""
    return not any("\ud800" <= letter <= "\udfff" for each in messages for letter in each["content"])


def _leaks(turns: Iterable[Turn]) -> int:
    return sum(map(leaked, turns))


def _countings(candidates: Iterable[Candidate]) -> str:
    """How the replies' tokens were counted; rewards of several ways are hardly comparable, so all are named."""
    return " / ".join(sorted({each.reply.counting for each in candidates}))


def _length(messages: Sequence[WireMessage], options: RowOptions) -> dict[str, Any]:
    return {"n_tokens": options.tokens.count(messages), "length_counting": options.tokens.name}


def _provenance(conversation: Conversation, origin: Origin, options: RowOptions, rules: Rules) -> dict[str, Any]:
    """The columns that all kinds share.

    Names that trainers give a meaning to (text, prompts, completion ...) are not used here or below.
    """
    setting = conversation.setting
    return {
        "run": origin.run,
        "artifact": _artifact(conversation),
        "domain": str(setting.get("domain", "")),
        "trial": setting.get("trial", 0),
        "seed": conversation.seed,
        "assistants": to_json(setting.get("assistants", [])),
        "judge": origin.judge,
        "voice": origin.voice,
        "prompts_hash": digest(origin.prompts) if origin.prompts else "",
        "code_version": origin.code_version,
        "rules": rules.name,
        "rules_hash": digest(rules.to_dict()),
        "relabelled": options.rules not in (None, conversation.rules),
        "system_policy": options.system if options.system in ("none", "collaborative") else "own text",
        "text_form": options.text,
    }


def _side(name: str, place: int, candidate: Candidate) -> dict[str, Any]:
    """The columns of one half of a pair."""
    assert candidate.reward is not None
    return {
        f"{name}_index": place,
        f"{name}_assistant": candidate.reply.assistant,
        f"{name}_kind": candidate.evaluation.kind if candidate.evaluation else "",
        f"{name}_reward": candidate.reward.total,
        f"{name}_discovered": candidate.reward.discovered,
        f"{name}_penalty": candidate.reward.penalty,
        f"{name}_shares": to_json(candidate.reward.shares),
        f"{name}_tokens": candidate.reply.n_tokens,
    }


# -- the state of a prompt row ----------------------------------------------------------------------------------------


def state_json(conversation: Conversation, turns: int) -> str:
    """The user after `turns` turns as JSON, without the replies that were not chosen."""
    past = tuple(
        dataclasses.replace(turn, candidates=(turn.candidate,), chosen=0) for turn in conversation.turns[:turns]
    )
    kept = dataclasses.replace(conversation, turns=past, stop=None).to_dict()
    return to_json({**kept, "format": STATE_FORMAT, "conversation_format": kept["format"]})


def restore(row: Mapping[str, Any] | str, judge: Judge, voice: UserVoice) -> UserSimulator:
    """The simulated user of a prompt row, exactly as it was: `consider(reply)` gives the reply's reward.

    Args:
        row: a prompt row, or its state alone.

    Raises:
        DiscoverError: it holds no state of this version.
    """
    return UserSimulator.resume(stored_conversation(row), judge, voice)


def stored_conversation(row: Mapping[str, Any] | str) -> Conversation:
    """The conversation in the state of a prompt row; arguments and errors as of `restore`."""
    text = row if isinstance(row, str) else row.get("state")
    try:
        data = json.loads(text or "")
        if data["format"] != STATE_FORMAT:
            raise DiscoverError(f"a state of format {data['format']!r}; this version reads {STATE_FORMAT!r}")
        data["format"] = data.pop("conversation_format")
        return Conversation.from_dict(data)
    except (json.JSONDecodeError, TypeError, KeyError, RecordError) as error:
        raise DiscoverError(f"not the state of a prompt row ({type(error).__name__}: {error})") from None


# -- small measures ---------------------------------------------------------------------------------------------------


def plain(text: str) -> tuple[str, ...]:
    """The words of a text, without case, punctuation and spaces; of a text without words its characters."""
    return tuple(words(text)) or tuple("".join(text.split()))


def similarity_of(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1: the share of `SHINGLE`-word runs that both hold."""
    ours, theirs = _shingles(one), _shingles(other)
    return len(ours & theirs) / len(ours | theirs) if ours or theirs else 1.0


def _shingles(text: str) -> set[tuple[str, ...]]:
    flat = plain(text)
    return {flat[place : place + SHINGLE] for place in range(max(1, len(flat) - SHINGLE + 1))} if flat else set()


def digest(value: Any) -> str:
    """A short hash of plain JSON values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
