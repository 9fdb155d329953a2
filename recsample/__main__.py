"""``python -m recsample`` is the command ``recsample``."""

import sys

from recsample.evaluation.command_line import main

if __name__ == "__main__":
    sys.exit(main())
