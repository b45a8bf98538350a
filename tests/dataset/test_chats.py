"""Chats from elsewhere: the user's messages of every form, and one line about what is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from discover_lib.base.errors import DiscoverError
from discover_lib.dataset.formats import read_chats

SHARE_GPT = [{"conversations": [{"from": "human", "value": "an owl"}, {"from": "gpt", "value": "here"}]}]
LINES = [
    {"conversation": [{"role": "user", "content": "an owl"}, {"role": "assistant", "content": "x"}], "toxic": False},
    {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a boat"}]},
    {"conversation": []},
]
STUDY = """participant,place,turn,role,text,seconds
p-1,1,1,user,an owl,0
p-1,1,1,assistant,here,1
p-1,1,2,user,'- warmer,2
p-2,1,1,user,a boat,0"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("sharegpt.json", json.dumps(SHARE_GPT), [["an owl"]]),
        ("wildchat.jsonl", "\n".join(map(json.dumps, LINES)) + "\n", [["an owl"], ["a boat"]]),
        ("messages.csv", STUDY, [["an owl", "- warmer"], ["a boat"]]),
    ],
)
def test_the_user_s_messages_of_every_form_are_read(name: str, text: str, said: list[Any], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert read_chats(tmp_path / name) == said


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
