"""The editions of what the miniature's users and assistants say: a conversation goes on in the one it was begun in.

The first spoke in fifteen set phrases and opened with three sentences; the second has the phrase book; in the third
assistants no longer speak of an earlier reply in their first.
"""

from typing import Literal

Edition = Literal[1, 2, 3]
EDITION: Edition = 3


def edition_of_user(edition: Edition) -> Edition:
    """The edition of the user's words alone: they have not changed since the second."""
    return min(edition, 2)
