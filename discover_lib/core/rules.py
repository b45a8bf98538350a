"""`Rules`: every number and choice of the method in one frozen record, stored with every run.

`Rules.paper()` follows the paper (arXiv 2602.03429).  `Rules.authors()` reproduces the authors' released code where
it differs.  Any single point can be changed with `rules.replace(p=0.5)`; the record then says it is a variant.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from discover_lib.base.records import Record


@dataclass(frozen=True)
class Rules(Record, omit=("near_miss_cap",)):
    """The rules of one run.  Defaults are the paper's, but for two choices of ours: `satisfaction_scope` and `ties`."""

    name: str = "paper"

    # -- judging and transition (paper section 3.2, appendix A.2) --
    p: float = 0.25  # weight of one near miss
    thresholds: Literal[1, 2] = 1  # θ per intent: one that resets after use, or two used once each
    crossing: Literal[">", ">="] = ">"  # how the score must compare to θ
    focus: Literal["undiscovered", "unsatisfied_leaf"] = "undiscovered"  # which roots are judged
    gate: Literal["parent_discovered", "parent_passed"] = "parent_discovered"  # which intents a reply can move
    near_misses: Literal["per_reply", "per_conversation"] = "per_reply"  # a repeated near miss counts again, or once
    near_miss_cap: int | None = None  # how many near misses of one intent count in one reply; None: all
    satisfaction_scope: Literal["discovered", "focus"] = "discovered"  # where the discovered is satisfied; paper: focus

    # -- the user's view --
    achieved: Literal["lowest", "open_parents"] = "lowest"  # named as got right: the lowest, or open parents, too

    # -- reward (paper section 3.3) --
    discovery_reward: Literal["newly_discovered", "level_change"] = "newly_discovered"
    lam: float = 1e-3  # λ, intents charged for each token above τ
    tau: float = 250  # τ, free tokens
    penalty_cap: float = 1.0  # the most that length costs, in intents
    ties: Literal["fewer_tokens", "authors"] = "fewer_tokens"  # which of equal rewards is selected; the paper is silent
    token_unit: str = "tokens"  # a label: the unit of `Reply.n_tokens`, λ and τ

    def __post_init__(self) -> None:
        for name in ("p", "lam", "tau", "penalty_cap"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise ValueError(f"rules: {name} must be a number of at least 0, got {value!r}")
        if self.near_miss_cap is not None and not (type(self.near_miss_cap) is int and self.near_miss_cap >= 1):
            raise ValueError(f"rules: near_miss_cap must be a whole number of at least 1, got {self.near_miss_cap!r}")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"rules: {name} must be one of {choices}, got {getattr(self, name)!r}")

    @classmethod
    def paper(cls) -> Rules:
        """The paper's rules, τ = 250 (synthesis, SFT, DPO)."""
        return cls()

    @classmethod
    def paper_grpo(cls) -> Rules:
        """The paper's rules with the τ = 500 of its GRPO runs."""
        return cls(name="paper, GRPO", tau=500)

    @classmethod
    def authors(cls) -> Rules:
        """The authors' released code, where it differs from the paper."""
        return cls(
            name="authors",
            thresholds=2,
            crossing=">=",
            focus="unsatisfied_leaf",
            gate="parent_passed",
            satisfaction_scope="focus",
            achieved="open_parents",
            discovery_reward="level_change",
            ties="authors",
        )

    @classmethod
    def named(cls, name: str) -> Rules:
        """One of `NAMED_RULES`; raises ValueError for any other name."""
        if name not in NAMED_RULES:
            raise ValueError(f"unknown rules {name!r}; choose one of {'; '.join(NAMED_RULES)}")
        return NAMED_RULES[name]()

    def replace(self, **changes: Any) -> Rules:
        """These rules with some points changed; the name lists every change made so, unless a new one is given."""
        label = ", ".join(f"{key}={value}" for key, value in changes.items() if key != "token_unit")
        joint = ", " if " with " in self.name else " with "
        return dataclasses.replace(self, **{"name": f"{self.name}{joint}{label}" if label else self.name} | changes)


NAMED_RULES = {"paper": Rules.paper, "paper, GRPO": Rules.paper_grpo, "authors": Rules.authors}
# The switches and their settings.
CHOICES = {name: get_args(hint) for name, hint in get_type_hints(Rules).items() if get_origin(hint) is Literal}
