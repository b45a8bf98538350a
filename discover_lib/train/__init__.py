"""Training on conversations: recipes, backends, the three trainers, and runs as processes (paper, section 4.1).

`run_stage.run_stage` trains a stage.  Importing this package alone is fast.
"""

from collections.abc import Callable

Progress = Callable[[str], None]  # receives lines of text
