"""Chats from elsewhere: the user's messages of every form, and one line about what is none."""

import json
from pathlib import Path

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.formats import read_chats


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
    with pytest.raises(
        DiscoverError, match=r"^[^\n]*a\.\w+: (no (file of chats|chat found); ShareGPT|not JSON|nested|line 3 is)"
    ):
        read_chats(path)
