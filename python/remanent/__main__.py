"""``python -m remanent`` is the command."""

from ._program import main

if __name__ == "__main__":
    main()
