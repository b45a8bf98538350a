"""Files of people: refused in a line, or read; folders appear whole."""

from pathlib import Path

import pytest

from discover_lib.base import files
from discover_lib.base.errors import DiscoverError
from discover_lib.base.files import load_yaml, read_json, read_text, whole_folder


def test_of_an_installed_package_nothing_is_written_among_the_packages(tmp_path, monkeypatch):
    monkeypatch.delenv("DISCOVER_OUTPUTS", raising=False)
    assert files.outputs_folder() == files.REPOSITORY / "outputs"
    monkeypatch.setattr(files, "REPOSITORY", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    assert files.outputs_folder() == tmp_path / "outputs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "[" * 200_000, "nested too deep"),
        ("x" * 1_000_001, "longer than 1,000,000 characters"),
        ("a: &a\n  b: {c: *a}", r"\*a is not read; write the value \(line 2\)"),
        ("a: [1", "not valid YAML"),
        ("a: 2026-02-31", "not valid YAML"),
    ],
)
def test_yaml_that_would_fill_the_memory_or_the_stack_or_is_broken_is_refused_in_a_line(
    text: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(DiscoverError, match=rf"a\.yaml: {said}") as caught:
        load_yaml(tmp_path / "a.yaml")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "data"), [("", None), ("a: [1, two]", {"a": [1, "two"]})])
def test_yaml_is_read(text: str, data: object, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert load_yaml(tmp_path / "a.yaml") == data


def test_a_file_that_is_too_large_or_not_text_is_refused_in_a_line(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")
    with pytest.raises(DiscoverError, match=r"a\.json: not UTF-8 text"):
        read_json(tmp_path / "a.json")
    monkeypatch.setattr(files, "MOST_BYTES", 1)
    with pytest.raises(DiscoverError, match=r"a\.json: .* too large to read whole"):
        read_text(tmp_path / "a.json")


def test_a_folder_appears_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with whole_folder(tmp_path / "made") as folder:
            (folder / text).touch()
    with pytest.raises(KeyError), whole_folder(tmp_path / "made") as folder:
        (folder / "third").touch()
        raise KeyError
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["made", "made/second"]
