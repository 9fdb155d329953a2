"""The checks of the built pages find what is broken on purpose: each in the good page below."""

import browser
import pytest

GOOD = r"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Ranks</title>
<link rel="icon" href="data:,">
<style>
  article { max-width: 700px }
  @media (prefers-color-scheme: dark) { body { background: #14181e; color: #ced6dd } }
</style>
</head>
<body><main><article>
<h1>Ranks</h1>
<p>The rank <span class="math"><mjx-container>r</mjx-container></span> of an item, as
<code>\frac{1}{r}</code>.</p>
<figure><img src="curve.svg" alt="A curve that falls from left to right.">
<figcaption>Figure 1. A metric.</figcaption></figure>
<details><summary>Solution</summary><p>The rank is one.</p></details>
</article></main></body>
</html>
"""
CURVE = "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='60'></svg>"
ALT = "A curve that falls from left to right."

# What of the page is changed into what, and what the checks say.
BROKEN = [
    ("curve.svg", "missing.svg", "picture not seen"),
    (f'alt="{ALT}"', "", "picture without alt text that describes it"),
    (ALT, "Figure 1. A metric.", "picture with alt text that repeats its caption"),
    ("<figure", '<figure style="margin-top: 900px"', "no figure or table in the first screen"),
    ("<img", '<img style="width: 900px"', "too wide at 1440 px: <img"),
    ("of an item", "of_an_item" * 20, "too wide at 375 px: the page"),
    ("<mjx-container>r</mjx-container>", "r", "formula not typeset"),
    ("of an item", r"of \(n\) items", r"raw TeX: The rank  of \(n\) items"),
    ("<summary>", '<summary onclick="return false">', "does not open: <details"),
    ("<p>The rank is", '<p style="color: #aaa">The rank is', "color-contrast in the light theme"),
    ("color: #ced6dd", "color: #333", "color-contrast in the dark theme"),
    ("</style>", "</style><script>none.of.this()</script>", "error: none is not defined"),
    ("<title>", '<script src="https://example.org/a.js"></script><title>', "request to https://ex"),
]


def problems(chromium, folder, text):
    (folder / "curve.svg").write_text(CURVE, encoding="utf-8")
    (folder / "page.html").write_text(text, encoding="utf-8")
    with browser.serve(folder) as address:
        return browser.problems(chromium, address, "page.html", figure_first=True)


def test_a_good_page_is_accepted(chromium, tmp_path):
    assert problems(chromium, tmp_path, GOOD) == []


@pytest.mark.parametrize(("good", "bad", "said"), BROKEN)
def test_a_broken_page_is_caught(chromium, tmp_path, good, bad, said):
    assert good in GOOD
    found = problems(chromium, tmp_path, GOOD.replace(good, bad, 1))
    assert any(said in line for line in found), found
