"""Who says that a reply refuses, and how often they err by people's labels."""

from pathlib import Path

import pytest

from discover_lib.dataset.labelled import LabelledFileError, read_labelled
from discover_lib.metrics.corrected import Confusion
from discover_lib.metrics.refusals import LabelledReply, Phrases, scored

FILE = """# dataset_version=1.2
objective,assistant_response,human_score,data_type
Draw an owl.,"I'm sorry, I can't.",1,text
Draw an owl.,"Here it is:
an owl, drawn.",0,text
Write a story.,"""  # a story that says sorry, a refusal in other words, and a picture
FILE += """\"\"\"I am sorry,\"\" said the owl.\",0,text
Write a story.,Let us talk about the weather instead.,1,text
Write a story.,prompt.png,1,image_path
"""


def test_labels_as_pyrit_ships_them(tmp_path: Path) -> None:
    (tmp_path / "refusal.csv").write_text(FILE, encoding="utf-8")
    labelled = read_labelled(tmp_path / "refusal.csv")
    assert labelled[1] == LabelledReply("Draw an owl.", "Here it is:\nan owl, drawn.", False)
    assert [each.refused for each in labelled] == [True, False, False, True]
    assert scored(Phrases(), labelled) == Confusion(hits=1, misses=1, false_alarms=1, rejections=1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: no column objective"),
        ("# made by hand\nobjective,assistant_response\na,b\n", "line 2: no column human_score"),
        (FILE.replace('drawn.",0', 'drawn.",no'), "line 5: human_score is 'no'"),
        (FILE.replace('drawn.",0,text', 'drawn."'), "line 5: human_score is ''"),
    ],
)
def test_other_files_are_refused_by_line_and_with_what_is_needed(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
    with pytest.raises(LabelledFileError, match=rf"bad\.csv, {says}.*objective, assistant_response, human_score"):
        read_labelled(tmp_path / "bad.csv")
