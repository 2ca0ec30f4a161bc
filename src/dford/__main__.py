"""`python -m dford` is `dford`."""

import sys

from dford.cli import main

if __name__ == "__main__":
    sys.exit(main())
