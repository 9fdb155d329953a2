"""The minutes of a chapter: counted as said, stated as counted."""

import chapters
import clock
import pytest

HUNDRED = "word " * 100
TEN = "rank = 1\n" * 10


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (f"| {HUNDRED} |\n|---|\n| {HUNDRED} |", 1),
        ("$a + b + c$ and `x = y + z` " * 100, 1.5),
        (f"{HUNDRED}\n\n$$\na + b\n$$", 2),
        (f"```{{prf:proof}}\n{HUNDRED}\n```", 2),
        (f":::{{admonition}} {HUNDRED}\n:class: tip\n{HUNDRED}\n:::", 1),
        (f"```{{figure}} a.svg\n---\nname: fig-a\nalt: {HUNDRED}\n---\n{HUNDRED}\n```", 0.505),
        (f"```{{code-cell}}\n{TEN}{TEN}```", 1),
        (f"```{{code-cell}}\n:tags: [remove-cell]\n\n{TEN}```", 0),
    ],
)
def test_counts_what_is_read(text, taken):
    assert clock.minutes(text) == pytest.approx(taken)


def test_chapters_state_what_they_take():
    """Rounded to five; a few sentences more or fewer need no other number."""
    off = {}
    for page in chapters.pages():
        text = chapters.source(page)
        for stated in clock.STATED.findall(text):
            off[page] = abs(int(stated) - clock.minutes(text))
    assert {page: by for page, by in off.items() if by > 5} == {}
    assert len(off) > 20


def test_prints_chapters_and_writes_into_their_boxes(tmp_path, capsys):
    clock.main()
    printed = capsys.readouterr().out
    assert all(f"  {page}\n" in printed for page in chapters.pages())
    page = tmp_path / "a.md"
    page.write_text("Takes **99 minutes.** You need 20 minutes.\n", encoding="utf-8")
    clock.state(page, 23.1)
    assert page.read_text(encoding="utf-8") == "Takes **25 minutes.** You need 20 minutes.\n"
