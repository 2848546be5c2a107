"""The part of a run that other processes compute: cells, one at a time."""

from __future__ import annotations

import tempfile
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from . import _core
from ._progress import Watcher

Parcel = tuple[str, str, bytes, float, float]

#: The experiment of the last cell: a worker computes many cells of one run, and loads its data once.
_last: tuple[tuple[str, dict[str, Any]], _core.Experiment] | None = None


def compute_cell(kind: str, layers: dict[str, Any], number: int) -> Parcel:
    """Computes one cell of an experiment in this process, on one thread, and gives what it leaves."""
    global _last
    if _last is None or _last[0] != (kind, layers):
        _core.set_threads(1)
        _last = (kind, layers), _core.Experiment(kind, layers)
    with tempfile.TemporaryDirectory(prefix="remanent-") as scratch:
        return _last[1].compute(number, Path(scratch) / "run")


def gather(
    experiment: _core.Experiment,
    kind: str,
    layers: dict[str, Any],
    directory: Path,
    fresh: bool,
    executor: Executor,
    watcher: Watcher,
) -> None:
    """Lets an executor compute the cells that are missing, and stores each as soon as it is there."""
    works = experiment.works
    run = experiment.open(directory, fresh)
    try:
        missing = experiment.missing(directory, False)
        watcher.advance(sum(works) - sum(works[i] for i in missing))
        # Long cells first: one that is started last leaves all other workers idle.
        missing.sort(key=lambda i: -works[i])
        pending: dict[Future[Parcel], int] = {executor.submit(compute_cell, kind, layers, i): i for i in missing}
        try:
            while pending:
                # The time lets Ctrl-C through where a wait without one does not.
                done, _ = wait(list(pending), timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    number = pending.pop(future)
                    run.accept(number, future.result())
                    watcher.advance(works[number])
        finally:
            for future in pending:
                future.cancel()
    finally:
        run.close()
