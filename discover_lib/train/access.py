"""Access to GRPO's judge and voice: their endpoints, their cost limits and their calls.

Access does not change results, so it is not part of a run's settings.  A run can resume with another address or a
larger budget.  Finished calls are saved in the run's folder and are paid only once.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import read_json, write_json
from discover_lib.dataset.formats import parse
from discover_lib.engines.llm.calls.client import Budget, ClientSettings, LLMClient
from discover_lib.engines.llm.calls.exchange import ENDS_THE_RUN, RETRIED, Completion, LLMError, Request
from discover_lib.runs.options import RunOptionsError, check_models, check_prices
from discover_lib.runs.store import RunStore
from discover_lib.train import Progress
from discover_lib.train.training_job import ACCESS, STOP

CALLS = ".calls"
CONFIGURATION = {"format": "discover-training-calls/1", "kind": "training calls"}
OWN_FAILURES = 2  # failures of one call while other calls succeed, before its reply is left unscored


class HeldUpError(DiscoverError):
    """Replies cannot be judged at present.  The run ends with a checkpoint and can resume.

    Attributes:
        kind: "budget", "auth", "stopped", or "connection" for silent models.
    """

    def __init__(self, line: str, kind: str) -> None:
        super().__init__(line)
        self.kind = kind


@dataclass(frozen=True)
class Access:
    """Endpoints and limits of the models.

    Attributes:
        budget_dollars: limit for the whole run, earlier costs included; None for no limit.
        report_to: further logs of the metrics: "trackio", "tensorboard", "wandb".
        patience_minutes: how long silent models are retried before the run ends with a checkpoint.
    """

    client: ClientSettings = field(default_factory=ClientSettings)
    budget_dollars: float | None = None
    patience_minutes: float = 30.0
    report_to: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Save it in a run's folder for the training process, without keys."""
        write_json(folder / ACCESS, msgspec.to_builtins(self, enc_hook=str))

    @classmethod
    def read(cls, folder: Path) -> Access:
        """From a run's folder; the defaults if it has no such file.

        Raises:
            DiscoverError: the file is damaged.
        """
        path = folder / ACCESS
        return parse(cls, read_json(path) if path.exists() else {}, f"{path}: damaged")

    def check(self, models: list[str]) -> None:
        """Check keys, prices and packages without calling these models.

        Raises:
            RunOptionsError: a key, a price or a package is missing.
        """
        if lost := [name for name in self.report_to if importlib.util.find_spec(name) is None]:
            raise RunOptionsError(f"--report-to: {' and '.join(lost)} is not installed: pip install {' '.join(lost)}")
        check_prices(models, self.client, self.budget_dollars)
        check_models(models, self.client)


@contextmanager
def patient_client(access: Access, folder: Path, on_progress: Progress) -> Iterator[PatientClient]:
    """A client that saves its calls in a run's folder, within the run's budget."""
    calls = folder / CALLS
    calls.mkdir(parents=True, exist_ok=True)
    with RunStore.write(calls, CONFIGURATION) as store:
        spent = store.calls.spent().cost
        budget = None if access.budget_dollars is None else Budget(access.budget_dollars, spent=spent)
        patience, stop = access.patience_minutes * 60, (folder / STOP).exists
        kept: dict[str, Any] = {"spent": spent, "cache": store.calls, "budget": budget}
        client = PatientClient(access.client, patience, asked_to_stop=stop, on_progress=on_progress, **kept)
        with client:
            yield client


class PatientClient(LLMClient):
    """Retries silent models.  A call that fails while other calls succeed is not retried.

    Args:
        patience_seconds: longest time without any answer.
        asked_to_stop: checked while it waits.
        spent: earlier costs of the run in dollars.
    """

    def __init__(
        self,
        settings: ClientSettings,
        patience_seconds: float,
        *,
        asked_to_stop: Callable[[], bool],
        on_progress: Progress,
        spent: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        self._patience_seconds, self._asked_to_stop, self._on_progress = patience_seconds, asked_to_stop, on_progress
        self._before = spent
        self._telling = threading.Lock()
        self._answered = self._told = 0.0  # times of the last answer to any thread, and of the last line about silence

    def complete(self, request: Request) -> Completion:
        """Make a call, and retry within the patience.

        Raises:
            LLMError: an error of this call alone.
            HeldUpError: no call can be made at present.
        """
        failures, first = 0, time.monotonic()
        while True:
            asked = time.monotonic()
            try:
                completion = super().complete(request)
            except LLMError as error:
                if error.kind in ENDS_THE_RUN:
                    raise HeldUpError(str(error), error.kind) from error
                failures += self._answered > asked
                if error.kind not in RETRIED or failures >= OWN_FAILURES:
                    raise
                if self._answered <= asked:
                    self._wait(error, max(first, self._answered))
                continue
            if not completion.cached:
                self._answered = time.monotonic()
            return completion

    def _wait(self, error: LLMError, since: float) -> None:
        """Pause before a model that is silent since a moment is retried."""
        patience = f"{self._patience_seconds / 60:g} min"
        with self._telling:  # once for all threads
            if self._told <= self._answered:
                self._told = time.monotonic()
                self._on_progress(f"no answer ({error}); retrying for up to {patience}")
        until = time.monotonic() + self.settings.longest_wait_seconds
        while time.monotonic() < until:
            if self._asked_to_stop():
                raise HeldUpError("stopped while the models did not answer", "stopped")
            if time.monotonic() - since > self._patience_seconds:
                raise HeldUpError(f"no answer for {patience} ({error})", "connection")
            time.sleep(min(0.2, self.settings.longest_wait_seconds))

    def spending(self) -> dict[str, float]:
        """Calls of this attempt, and dollars of the whole run unless a price is unknown, for the log."""
        now = self.spent
        return {"spent/calls": float(now.calls)} | ({} if now.unpriced else {"spent/total": self._before + now.cost})
