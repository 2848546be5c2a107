"""Executes the notebooks of this folder: ``python execute.py [--keep]``.

Each takes less than two minutes on two idle cores; the limit leaves room for other work of the machine. With --keep the results are written into the notebooks.
"""

import sys
import time
from pathlib import Path

import nbclient
import nbformat

LIMIT = 300


def main() -> None:
    folder = Path(__file__).parent
    for path in sorted(folder.glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        start = time.perf_counter()
        nbclient.NotebookClient(book, timeout=LIMIT, kernel_name="python3").execute(cwd=str(folder))
        seconds = time.perf_counter() - start
        print(f"{path.name}: {seconds:.0f} s")
        if seconds > LIMIT:
            sys.exit(f"{path.name} takes {seconds:.0f} s, and {LIMIT} are the most")
        if "--keep" in sys.argv[1:]:
            for cell in book.cells:
                cell.metadata.pop("execution", None)
            nbformat.write(book, path)


if __name__ == "__main__":
    main()
