"""Ending long work: the first signal asks, whatever the parent process has done with signals."""

import signal

import pytest

from discover_lib.base.files import graceful_stop


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL, signal.default_int_handler])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_the_second_interrupts_and_what_was_there_is_put_back(number, before) -> None:
    requests: list[int] = []
    found = signal.signal(number, before)
    try:
        with pytest.raises(KeyboardInterrupt), graceful_stop(lambda: requests.append(number)):
            signal.raise_signal(number)
            assert requests == [number]
            signal.raise_signal(number)
        assert requests == [number]
        assert signal.getsignal(number) == before
    finally:
        signal.signal(number, found)
