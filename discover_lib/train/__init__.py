"""Training on conversations: recipes, backends, the three trainers, and runs as processes (paper, section 4.1).

`stage.run_stage` is the one way through; importing this package loads nothing heavy.
"""

from collections.abc import Callable

Progress = Callable[[str], None]  # takes lines for people
