"""Ending long work: the first signal asks, whatever the parent process has done with signals; YAML that is kept."""

import os
import signal
import sys

import pytest

from discover_lib.base import files
from discover_lib.base.files import graceful_stop, read_yaml, read_yaml_once, repeated_key, yaml_of_people


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


@pytest.fixture
def library_file(tmp_path, monkeypatch):
    """A YAML file in a library that may be written to."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "words.yaml"
    path.write_text("a: [1, two]\nb: {c: 0.5}\n", encoding="utf-8")
    return path


def kept_of(path):
    return sorted(path.parent.glob("__pycache__/*"))


def test_a_file_of_the_library_is_parsed_once(library_file, monkeypatch):
    assert read_yaml_once(library_file) == {"a": [1, "two"], "b": {"c": 0.5}}
    assert len(kept_of(library_file)) == 1
    monkeypatch.setattr("discover_lib.base.files._parsed_yaml", None)  # not called
    assert read_yaml_once(library_file) == {"a": [1, "two"], "b": {"c": 0.5}}


def test_of_a_changed_file_nothing_old_is_served_whatever_its_time_says(library_file):
    read_yaml_once(library_file)
    before = library_file.stat()
    library_file.write_text("a: [2, two]\nb: {c: 0.5}\n", encoding="utf-8")
    os.utime(library_file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_yaml_once(library_file)["a"] == [2, "two"]
    assert read_yaml_once(library_file)["a"] == [2, "two"]
    assert len(kept_of(library_file)) == 1


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"{}", b"no digest\n{}"])
def test_what_was_kept_and_is_damaged_is_made_anew(library_file, damage):
    read_yaml_once(library_file)
    (kept,) = kept_of(library_file)
    whole = kept.read_bytes()
    kept.write_bytes(damage or whole[:-5])
    assert read_yaml_once(library_file)["b"] == {"c": 0.5}
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("text", ["1: a number as a key\n", "day: 2024-01-01\n", "far: .nan\n"])
def test_what_json_cannot_hold_is_not_kept(library_file, text):
    library_file.write_text(text, encoding="utf-8")
    assert str(read_yaml_once(library_file)) == str(read_yaml(library_file))
    assert kept_of(library_file) == []


def test_nothing_is_kept_where_python_keeps_nothing(library_file, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert read_yaml_once(library_file)["a"] == [1, "two"]
    assert kept_of(library_file) == []
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    assert read_yaml_once(library_file)["a"] == [1, "two"]
    assert kept_of(library_file) == []


def test_a_library_that_cannot_be_written_to_is_read_all_the_same(library_file):
    (library_file.parent / "__pycache__").write_text("a file where the folder would be", encoding="utf-8")
    assert read_yaml_once(library_file)["a"] == [1, "two"]


def test_of_an_installed_package_nothing_is_written_among_the_packages(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCOVER_OUTPUTS", raising=False)
    assert files.outputs_folder() == files.REPOSITORY / "outputs"
    monkeypatch.setattr(files, "REPOSITORY", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    assert files.outputs_folder() == tmp_path / "outputs"


# -- YAML that somebody brings -----------------------------------------------------------------------------------------

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "it holds more than 100,000 values"),
        ("a: &a [*a]", r"\*a \(line 1\) holds itself"),
        ("a: &a\n  b: {c: *a}", r"\*a \(line 2\) holds itself"),
        ("a: " + "[" * 200_000, "it nests more than 100 levels deep"),
        ("[" + "x, " * 100_000 + "x]", "it holds more than 100,000 values"),
    ],
)
def test_yaml_that_would_fill_the_memory_or_the_stack_is_refused_in_a_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        yaml_of_people(text)
    assert "\n" not in str(caught.value)


def test_yaml_with_a_few_aliases_is_read_as_ever() -> None:
    text = "scale: &scale {low: 1, high: &top 9}\nrating: *scale\nsize: {<<: *scale, most: *top}"
    scale = {"low": 1, "high": 9}
    assert yaml_of_people(text) == {"scale": scale, "rating": scale, "size": scale | {"most": 9}}
    assert repeated_key(text) is None and repeated_key("a: {b: 1, b: 2}") == "b"
    assert yaml_of_people("") is None and yaml_of_people("[]") == []
