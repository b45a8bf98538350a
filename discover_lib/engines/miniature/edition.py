"""The editions of what the miniature's users and assistants say: a conversation goes on in the one it was begun in.

The first spoke in fifteen set phrases and opened with three sentences; the second has the phrase book.
"""

from typing import Literal

Edition = Literal[1, 2]
EDITION: Edition = 2
