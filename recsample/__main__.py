"""``python -m recsample`` is the command ``recsample``."""

import sys

from recsample.command_line import main

if __name__ == "__main__":
    sys.exit(main())
