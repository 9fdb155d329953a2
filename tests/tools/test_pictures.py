"""The committed pictures are those that scripts/draw_pictures.py draws, and lead where they say."""

import re
from xml.etree import ElementTree

import chapters
import draw_pictures
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

matplotlib.use("Agg")
SVG = {"": "http://www.w3.org/2000/svg"}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    draw_pictures.main(folder)
    return folder


def committed(name):
    return draw_pictures.IMAGES / name


def same_matplotlib():
    """The versions of matplotlib place text differently; the committed file names its own."""
    version = re.search(
        r"Matplotlib v([\d.]+)", committed("order.svg").read_text(encoding="utf-8")
    )[1]
    if version != matplotlib.__version__:
        pytest.skip(f"drawn by matplotlib {version}, this is {matplotlib.__version__}")


def test_every_committed_picture_is_drawn(drawn):
    names = {path.name for path in draw_pictures.IMAGES.iterdir()}
    assert names == {path.name for path in drawn.iterdir()}


@pytest.mark.parametrize("name", ["concept_map.svg", "logo.svg"])
def test_plain_pictures_are_reproduced_to_the_byte(drawn, name):
    assert (drawn / name).read_bytes() == committed(name).read_bytes()


def test_curves_are_reproduced(drawn):
    same_matplotlib()
    number = r"-?\d+\.\d+"
    texts = [
        path.read_text(encoding="utf-8") for path in (drawn / "order.svg", committed("order.svg"))
    ]
    numbers = [np.array(re.findall(number, text), dtype=float) for text in texts]
    assert len(numbers[0]) == len(numbers[1]) > 500
    assert np.allclose(*numbers, rtol=0, atol=1e-3)


def test_social_card_is_reproduced(drawn):
    same_matplotlib()
    pixels = [
        plt.imread(path) for path in (drawn / "social_card.png", committed("social_card.png"))
    ]
    assert pixels[0].shape == pixels[1].shape
    assert np.abs(pixels[0] - pixels[1]).mean() < 1e-4


def test_every_box_of_the_map_leads_to_a_page_beside_it():
    links = ElementTree.parse(committed("concept_map.svg")).findall("a", SVG)
    targets = [link.get("href") for link in links]
    assert len(targets) == len(draw_pictures.BOXES)
    assert {f"book/{target}" for target in targets} <= {f"{p}.html" for p in chapters.pages()}
    assert all(len(" ".join(link.itertext()).split()) > 3 for link in links)
