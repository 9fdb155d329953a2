"""The minutes of a chapter: counted as said, stated as counted."""

import chapters
import clock
import pytest

WORDS = "word " * 150
TEN = "rank = 1\n" * 10
FIGURE = f"---\nmystnb:\n  figure:\n    caption: {WORDS}\n    name: fig-a\n"


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (f"{WORDS}\n\n{WORDS}", 2),
        (f"| {WORDS} |\n|---|\n| {WORDS} |", 2.75),
        ("$a + b + c$ and `x = y + z` " * 75, 1 + 75 * 0.05),
        (f"{WORDS}\n\n$$\na + b\n$$", 2.5),
        (f"```{{math}}\n:label: eq-a\n\na + b\n```\n\n{WORDS}", 2.5),
        (f"```{{prf:proof}}\n{WORDS}\n\n$$\na + b\n$$\n```", 2.5),
        (f":::{{admonition}} {WORDS}\n:class: tip\n{WORDS}\n:::", 2),
        (f"```{{figure}} a.svg\n---\nname: fig-a\nalt: {WORDS}\n---\n{WORDS}\n```", 1.75 + 1 / 150),
        (f"```{{code-cell}}\n{TEN}\n{TEN}```", 2),
        (f"```python\n{TEN}```", 1),
        (f"```{{code-cell}}\n:tags: [check]\n\n{TEN}```", 1),
        (f"```{{code-cell}}\n:tags: [remove-cell]\n\n{TEN}```", 0),
        (f"```{{exercise}} A\n:label: ex-a\n\n{WORDS}\n```\n\n{WORDS}", 1),
        (
            f"```{{solution-start}} ex-a\n```\n\n{WORDS}\n\n```{{code-cell}}\n{TEN}```\n\n"
            f"{WORDS}\n\n```{{solution-end}}\n```\n\n{WORDS}",
            1,
        ),
        (f"```{{code-cell}}\n{FIGURE}tags: [hide-input]\n---\n{TEN}```", 1.75),
        (f"```{{code-cell}}\n{FIGURE}---\n{TEN}```", 2.75),
        (f"```{{code-cell}}\n{FIGURE}tags: [hide-cell]\n---\n{TEN}```", 0),
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
    assert len(off) >= 18


def test_prints_chapters_and_writes_into_their_boxes(tmp_path, capsys):
    clock.main()
    printed = capsys.readouterr().out
    assert all(f"  {page}\n" in printed for page in chapters.pages())
    page = tmp_path / "a.md"
    page.write_text("Takes **99 minutes.** You need 20 minutes.\n", encoding="utf-8")
    clock.state(page, 23.1)
    assert page.read_text(encoding="utf-8") == "Takes **25 minutes.** You need 20 minutes.\n"
