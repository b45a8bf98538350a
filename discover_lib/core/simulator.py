"""`UserSimulator`: one simulated user, stepped by an assistant's replies.

Each step judges one or several candidate replies against the same frozen state, selects the best, and has the
user answer it.  Turns are frozen records, so jumping back is a slice and a branch shares its past.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from discover_lib.base.seeds import derive_rng, derive_seed
from discover_lib.base.tokens import COUNTING, count_tokens
from discover_lib.core import authors
from discover_lib.core.advance import advance, finished, focus, initial_state
from discover_lib.core.conversation import Candidate, Conversation, Message, Reply, Stop, Turn
from discover_lib.core.intents import IntentTree
from discover_lib.core.reward import reward
from discover_lib.core.roles import Assistant, Judge, JudgeError, SeesIntents, UserVoice, ask
from discover_lib.core.rules import Rules
from discover_lib.core.state import Evaluation, IntentState, Threshold
from discover_lib.core.view import UserView, leaked_words, user_view

TurnReply = str | Reply
DIGITS = 12  # rewards that agree so far are equal: sums of λ·tokens differ in the last bits


class UserSimulator:
    """A simulated user: an intent tree, a judge that scores replies, and a voice that writes messages.

    `conversation` holds all turns so far; its `stop` says why it is over.  `messages` are its messages.

    Args:
        tree: the user's intents.
        judge, voice: any engines (see `discover_lib.core.roles`).
        rules: the rules of this conversation.
        turns: maximum number of assistant turns.  None means no limit.
        seed: of thresholds, ties and the voice's choice of words.
        thresholds: override single θ.
        setting: plain values to store with the conversation (domain, engine, assistants ...).
    """

    def __init__(
        self,
        tree: IntentTree,
        judge: Judge,
        voice: UserVoice,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        turns: int | None = None,
        thresholds: Mapping[str, Threshold] | None = None,
        setting: Mapping[str, Any] | None = None,
    ) -> None:
        rules = rules or Rules.paper()
        start = initial_state(tree, rules, seed, thresholds)
        self.judge, self.voice, self.turns = judge, voice, turns
        self.conversation = Conversation(tree, rules, seed, start, setting=dict(setting or {}))

    @classmethod
    def resume(
        cls, conversation: Conversation, judge: Judge, voice: UserVoice, turns: int | None = None
    ) -> UserSimulator:
        """A simulator that continues a stored conversation, to `turns` assistant turns in all."""
        simulator = cls.__new__(cls)
        simulator.judge, simulator.voice, simulator.turns = judge, voice, turns
        simulator.conversation = conversation
        return simulator

    @property
    def tree(self) -> IntentTree:
        return self.conversation.tree

    @property
    def rules(self) -> Rules:
        return self.conversation.rules

    @property
    def state(self) -> IntentState:
        return self.conversation.state

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.conversation.messages()

    @property
    def focus(self) -> tuple[str, ...]:
        return focus(self.tree, self.state, self.rules)

    def ask(self, assistant: Assistant | SeesIntents, place: int = 0) -> Reply:
        """An assistant's reply to the conversation so far; candidates of one turn differ by their `place`.

        Raises:
            AssistantError: the assistant gave no reply.
        """
        seed = derive_seed(self.conversation.seed, "turn", len(self.conversation.turns) + 1, "candidate", place)
        return ask(assistant, self.tree, self.state, self.messages, seed)

    def consider(self, reply: TurnReply) -> Candidate:
        """Judge a reply in the current state without taking a turn.

        A judge that fails leaves the candidate unscored, with the error and the reply kept.
        """
        reply = as_reply(reply)
        try:
            evaluation = self.judge.evaluate(self.tree, self.state, self.messages, reply, self.rules)
        except JudgeError as error:
            return Candidate(reply, None, self.state, error=f"judge: {error}")
        return score_candidate(self.tree, self.state, reply, evaluation, self.rules)

    def step(self, reply: TurnReply | Sequence[TurnReply], *, speak: bool = True) -> Turn:
        """Take one turn with a reply, or with the best of several, and return its record.

        Args:
            reply: the reply, or several candidates, of which the one with the highest reward is selected.
            speak: have the user answer; after a conversation's last turn they do not.

        Raises:
            JudgeError: no candidate could be judged; the conversation is unchanged.
            VoiceError: the user could not answer; the conversation is unchanged.
            ValueError: no reply was given, or the conversation is over.
        """
        replies = [reply] if isinstance(reply, str | Reply) else list(reply)
        if not replies:
            raise ValueError("a turn needs at least one reply")
        return self.commit([self.consider(reply) for reply in replies], speak=speak)

    def commit(self, candidates: Sequence[Candidate], *, choose: int | None = None, speak: bool = True) -> Turn:
        """Take one turn with candidates already judged by `consider`; raises as `step` does.

        `choose` is the place of the selected candidate, by default the best."""
        conversation, tree, rules = self.conversation, self.tree, self.rules
        if conversation.stop is not None:
            raise ValueError(f"the conversation is over ({conversation.stop}); branch from an earlier turn")
        index = len(conversation.turns) + 1
        if choose is None:
            several = len(candidates) > 1
            choose = choose_candidate(candidates, rules, derive_seed(conversation.seed, "tie", index)) if several else 0
        chosen = candidates[choose]
        if chosen.evaluation is None:
            raise JudgeError(chosen.error or "the chosen reply was not judged")
        stop: Stop | None = finished(tree, chosen.after, rules)
        if stop is None and self.turns is not None and index >= self.turns:
            stop = "max_turns"
        view = view_after(tree, chosen, rules)
        answer = self._answer(index, chosen, view) if speak and stop is None else {}
        shown = focus(tree, self.state, rules)
        turn = Turn(index, self.state, tuple(candidates), choose, shown, view, **answer)
        self.conversation = Conversation(  # `dataclasses.replace` takes five times as long
            tree, rules, conversation.seed, conversation.start, (*conversation.turns, turn), stop, conversation.setting
        )
        return turn

    def _answer(self, index: int, chosen: Candidate, view: UserView) -> dict[str, Any]:
        """The user's answer to a turn's chosen reply, and its leaks and flaws, as fields of the turn."""
        messages = (*self.messages, chosen.reply.message)
        voice = self.voice.of(self.conversation.seed) if hasattr(self.voice, "of") else self.voice  # of many manners
        message = voice.speak(view, messages, derive_seed(self.conversation.seed, "voice", index))
        leaks = leaked_words(message, self.tree, chosen.after, [before.content for before in messages])
        flaws = voice.flaws(message, view, messages) if hasattr(voice, "flaws") else ()
        return {"user_message": message, "leaks": leaks, "flaws": flaws}

    # -- time travel -----------------------------------------------------------------------------------------------

    def branch(self, turn: int) -> UserSimulator:
        """A new simulator, without a limit of turns, after `turn` turns (0: the start); this one stays as it is.

        Raises:
            ValueError: the conversation has no such turn.
        """
        if not 0 <= turn <= len(self.conversation.turns):
            raise ValueError(f"turn {turn} is not in this conversation of {len(self.conversation.turns)} turns")
        past = self.conversation
        if turn < len(past.turns):
            past = dataclasses.replace(past, turns=past.turns[:turn], stop=None)
        return UserSimulator.resume(past, self.judge, self.voice)._with_answer()

    def _with_answer(self) -> UserSimulator:
        """If the last turn ended a conversation unanswered but is not the end here, have the user answer it."""
        turns = self.conversation.turns
        if turns and turns[-1].user_message is None and self.conversation.stop in (None, "max_turns"):
            before = dataclasses.replace(self.conversation, turns=turns[:-1], stop=None)
            last = turns[-1]
            answer = UserSimulator.resume(before, self.judge, self.voice)._answer(last.index, last.candidate, last.view)
            self.conversation = dataclasses.replace(before, turns=(*turns[:-1], dataclasses.replace(last, **answer)))
        return self


def as_reply(reply: TurnReply) -> Reply:
    """A plain text as a `Reply`, its tokens counted by the documented rule."""
    return reply if isinstance(reply, Reply) else Reply(reply, count_tokens(reply), COUNTING)


def score_candidate(
    tree: IntentTree, state: IntentState, reply: Reply, evaluation: Evaluation, rules: Rules
) -> Candidate:
    """Apply a judgement to a frozen state: transitions and reward.  Pure."""
    after, transitions = advance(tree, state, evaluation, rules)
    return Candidate(reply, evaluation, after, transitions, reward(tree, state, after, reply.n_tokens, rules))


def comparable_rewards(candidates: Sequence[Candidate]) -> dict[int, float]:
    """Index → reward of the candidates that have one, as far as it is compared."""
    return {index: round(each.reward.total, DIGITS) for index, each in enumerate(candidates) if each.reward is not None}


def choose_candidate(candidates: Sequence[Candidate], rules: Rules, seed: int) -> int:
    """Index of the selected candidate: the highest reward; a scored candidate wins over an unscored one.

    Ties, paper: fewer tokens, then a draw by `seed`.  Ties, authors' code: the last if all are equal, else the first.
    Which candidate a pair for training rejects: `discover_lib.dataset.rows.label`.
    """
    totals = comparable_rewards(candidates)
    if not totals:
        return 0
    best = max(totals.values())
    tied = [index for index, total in totals.items() if total == best]
    if rules.ties == "authors":
        return authors.chosen_on_tie(tied, len(candidates))
    fewest = min(candidates[index].reply.n_tokens for index in tied)
    shortest = [index for index in tied if candidates[index].reply.n_tokens == fewest]
    return shortest[0] if len(shortest) == 1 else derive_rng(seed, "tie").choice(shortest)


def view_after(tree: IntentTree, chosen: Candidate, rules: Rules) -> UserView:
    """The user's view after the chosen reply, with the judge's reasons."""
    assert chosen.evaluation is not None
    reasons = {verdict.intent_id: verdict.reason for verdict in chosen.evaluation.verdicts}
    return user_view(tree, chosen.after, rules, reasons, chosen.transitions)
