"""Threads of a training step: several only where no bit changes, and only while they are faster."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow  # imports torch


@pytest.fixture
def threads(monkeypatch):
    import torch

    from discover_lib.engines.local import threads

    before = torch.get_num_threads()
    yield threads
    torch.set_num_threads(before)


def steps_of(chooser, threads, monkeypatch, seconds, number):
    """The threads of so many steps, each of which takes `seconds[threads]` by a clock of our own."""
    now = [0.0]
    monkeypatch.setattr(threads.time, "perf_counter", lambda: now[0])
    taken = []
    for _ in range(number):
        with chooser.step() as count:
            now[0] += seconds[count]
        taken.append(count)
    return taken


def test_several_threads_are_kept_while_they_are_faster_and_tried_again(threads, monkeypatch):
    chooser = threads.StepThreads(same=lambda count: True, several=2)
    tried, kept = [1, 2] * threads.TRIED_STEPS, threads.KEPT_STEPS
    quiet = steps_of(chooser, threads, monkeypatch, {1: 3.0, 2: 2.0}, len(tried) + kept)
    assert quiet == tried + [2] * kept
    busy = steps_of(chooser, threads, monkeypatch, {1: 3.0, 2: 9.0}, len(tried) + kept)
    assert busy == tried + [1] * kept


@pytest.mark.parametrize(("several", "same"), [(2, False), (1, True)])
def test_one_thread_where_bits_would_change_or_there_is_one_core(threads, monkeypatch, several, same):
    chooser = threads.StepThreads(same=lambda count: same, several=several)
    assert steps_of(chooser, threads, monkeypatch, {1: 3.0, several: 1.0 if several > 1 else 3.0}, 20) == [1] * 20


def test_torch_has_the_threads_of_the_step_and_one_afterwards_also_when_it_failed(threads):
    import torch

    chooser = threads.StepThreads(same=lambda count: True, several=2)
    seen = []
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"), chooser.step() as count:
            seen.append((count, torch.get_num_threads()))
            raise ValueError("broken")
        assert torch.get_num_threads() == 1
    assert seen == [(1, 1), (2, 2)]
