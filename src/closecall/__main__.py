"""``python -m closecall`` is the command line."""

from closecall.cli import main

if __name__ == "__main__":
    main()
