"""Ending long work: the first signal asks, whatever the parent process has done with signals; YAML of people."""

import signal

import pytest

from discover_lib.base import files
from discover_lib.base.files import graceful_stop, yaml_of_people


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


def test_of_an_installed_package_nothing_is_written_among_the_packages(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCOVER_OUTPUTS", raising=False)
    assert files.outputs_folder() == files.REPOSITORY / "outputs"
    monkeypatch.setattr(files, "REPOSITORY", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    assert files.outputs_folder() == tmp_path / "outputs"


# -- YAML that somebody brings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 200_000, "it nests too deep"),
        ("x" * 1_000_001, "more than 1,000,000 characters"),
        ("a: &a\n  b: {c: *a}", r"\*a is not read: write the value \(line 2\)"),
    ],
)
def test_yaml_that_would_fill_the_memory_or_the_stack_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        yaml_of_people(text)
    assert "\n" not in str(caught.value)


def test_yaml_is_read_as_ever() -> None:
    assert yaml_of_people("") is None and yaml_of_people("a: [1, two]") == {"a": [1, "two"]}
