"""Draws the picture that the README shows: `python scripts/draw_pictures.py`."""

from pathlib import Path

import matplotlib.pyplot as plt

from recsample import experiments, plotting

IMAGES = Path(__file__).parents[1] / "book" / "images"


def main():
    plotting.use_style()
    plt.rcParams["svg.hashsalt"] = "recsample"  # the same file on every run
    ax = plotting.metric_by_samples(experiments.figure2().loc["AP"])
    ax.set_ylabel("expected average precision")
    ax.figure.savefig(IMAGES / "order.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
