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
IMAGES = draw_pictures.IMAGES


def test_pictures_are_reproduced(tmp_path):
    text = (IMAGES / "order.svg").read_text(encoding="utf-8")
    version = re.search(r"Matplotlib v([\d.]+)", text)[1]
    if version != matplotlib.__version__:  # which places text differently
        pytest.skip(f"drawn by matplotlib {version}, this is {matplotlib.__version__}")
    draw_pictures.main(tmp_path)
    drawn = (tmp_path / "order.svg").read_text(encoding="utf-8")
    numbers = [np.array(re.findall(r"-?\d+\.\d+", one), dtype=float) for one in (drawn, text)]
    assert len(numbers[0]) == len(numbers[1]) > 200
    assert np.allclose(*numbers, rtol=0, atol=1e-3)
    cards = [plt.imread(folder / "social_card.png") for folder in (tmp_path, IMAGES)]
    assert cards[0].shape == cards[1].shape and np.abs(cards[0] - cards[1]).mean() < 1e-4


def test_every_box_of_the_map_leads_to_a_page_beside_it():
    links = ElementTree.parse(IMAGES / "concept_map.svg").findall("{http://www.w3.org/2000/svg}a")
    targets = {f"book/{link.get('href')}" for link in links}
    assert len(links) == 8 and targets <= {f"{page}.html" for page in chapters.pages()}
