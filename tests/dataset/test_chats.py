"""Chats from elsewhere: the user's messages of every form, and one line about what is none."""

import json
from pathlib import Path

import pytest
from command_line import discover

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.chats import read_chats


def test_a_sharegpt_export_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sharegpt.json"
    said = [{"from": "human", "value": "an owl"}, {"from": "gpt", "value": "here"}]
    path.write_text(json.dumps([{"conversations": said}]), "utf-8")
    assert read_chats(path) == [["an owl"]]


def test_lines_of_conversations_or_messages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wildchat.jsonl"
    lines = [
        {
            "conversation": [{"role": "user", "content": "an owl"}, {"role": "assistant", "content": "x"}],
            "toxic": False,
        },
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a boat"}]},
        {"conversation": []},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    assert read_chats(path) == [["an owl"], ["a boat"]]


def test_a_study_s_own_messages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "messages.csv"
    rows = ["participant,place,turn,role,text,seconds", "p-1,1,1,user,an owl,0", "p-1,1,1,assistant,here,1"]
    path.write_text("\n".join([*rows, "p-1,1,2,user,'- warmer,2", "p-2,1,1,user,a boat,0"]), "utf-8")
    assert read_chats(path) == [["an owl", "- warmer"], ["a boat"]]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("a.json", text) for text in ("[]", "{}", "[{}, 2]", '[{"messages": 7}]', "no json", "[" * 100_000)),
        ("a.jsonl", '{"messages": []}\n\n{"mess'),
        ("a.csv", "participant,text\np-1,an owl\n"),
    ],
)
def test_what_holds_no_chat_is_one_plain_error(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(DiscoverError, match=r"^[^\n]*a\.\w+: no (file of chats|chat found); ShareGPT"):
        read_chats(path)


@pytest.mark.slow
def test_short_chats_are_counted_and_not_measured(tmp_path: Path) -> None:
    """Four chats of 60 words and one of two, against five of two: no window of 50 words on the one side."""
    long, short = tmp_path / "long.jsonl", tmp_path / "short.jsonl"
    texts = {long: ["the owl and the sea " * 12] * 4 + ["an owl"], short: ["an owl"] * 5}
    for path, said in texts.items():
        lines = [json.dumps({"messages": [{"role": "user", "content": text}]}) for text in said]
        path.write_text("\n".join(lines), "utf-8")
    said = discover("reality", long, short).stdout
    windows = "different words in windows of 50: too short: 1 of 5 chats of people"
    assert f"{windows}, 5 of 5 here; not compared\n" in said
    assert "people: 5 chats, 5 messages\nhere: 5 chats, 5 messages\n" in said
    assert f"{windows}, 1 of 5 here\n" in discover("reality", long, long).stdout
