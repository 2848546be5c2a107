"""Experiments: arguments, run directory, progress, and where the cells are computed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _core
from ._notices import ConvergenceWarning, tell
from ._options import by_key, documented, options
from ._progress import Watcher
from ._run import Run
from ._worker import gather

#: Arguments besides the options: key, default, type in the stubs, what it does.
ARGUMENTS = [
    ("scan", None, "Mapping[str, Any] | None", 'Run a case for every value, e.g. {"gamma": [0, 0.5, 1]}; several make all combinations.'),
    ("seeds", None, "int | None", "Number of trials [default: 1]."),
    ("seed", None, "int | None", "Seed of all random numbers [default: 1]."),
    ("config", None, "str | os.PathLike[str] | Mapping[str, Any] | None", "A TOML file or a dictionary with options; arguments override it."),
    ("quick", False, "bool", "Use the reduced size that the configuration states in its table quick."),
    ("out", None, "str | os.PathLike[str] | None", "Run directory; an earlier run in it is continued. Without one nothing is kept."),
    ("fresh", False, "bool", "Discard an earlier run in the run directory."),
    ("checkpoint_every", 10.0, "float", "Seconds between checkpoints of a running cell."),
    ("progress", None, "bool | Callable[[int, int], object] | None", "A bar of tqdm, or a function of done and total. None: a bar in terminals and notebooks."),
    ("executor", None, "Executor | None", "Computes the cells: a process pool, client.get_executor() of Dask, MPIPoolExecutor. None: the threads of this process."),
]
DATA_DIR = ("data_dir", None, "str | os.PathLike[str] | None", "Directory of the datasets [default: as in remanent data].")

ABOUT = {
    "simulate": ("simulate", "Simulates perceptrons that learn several tasks in sequence, or samples the theory's ensemble."),
    "bound": ("bound", "Compares the expected log-likelihood with its upper bound, along training."),
    "convergence_time": ("convergence-time", "Measures the convergence time of gradient descent over alpha."),
    "train": ("train", "Trains a network of binary weights on a sequence of tasks."),
}


def _plain(value: Any) -> Any:
    """Values that every process can read: a layer is sent to workers."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def _run(kind: str, view_keys: set[str], given: dict[str, Any]) -> Run:
    own = {key: given.pop(key, default) for key, default, *_ in [*ARGUMENTS, DATA_DIR]}
    view = {key: given.pop(key) for key in view_keys if key in given}
    flags = {key: _plain(value) for key, value in given.items() if value is not None}
    flags |= {key: own[key] for key in ("seeds", "seed") if own[key] is not None}
    config = own["config"]
    layers = {
        "file": _plain(config) if isinstance(config, dict) or config is None else os.path.abspath(os.fspath(config)),
        "flags": flags,
        "scans": _plain(dict(own["scan"] or {})),
        "quick": bool(own["quick"]),
        "data_dir": None if own["data_dir"] is None else os.path.abspath(os.fspath(own["data_dir"])),
    }
    experiment = _core.Experiment(kind, layers)
    tell((text.removeprefix("note: ").removeprefix("warning: ") for text in experiment.warnings), depth=5)
    keep = None
    if own["out"] is None:
        keep = tempfile.TemporaryDirectory(prefix="remanent-", ignore_cleanup_errors=True)
        directory = Path(keep.name) / "run"
    else:
        directory = Path(own["out"])
    fresh = bool(own["fresh"])
    with Watcher(sum(experiment.works), own["progress"]) as watcher:
        if own["executor"] is not None:
            gather(experiment, kind, layers, directory, fresh, own["executor"], watcher)
            fresh = False
        watch = None if own["executor"] is not None else watcher
        report = experiment.run(directory, view, fresh, float(own["checkpoint_every"]), watch)
    if not report["complete"]:
        tell(report["notes"], ConvergenceWarning, depth=5)
    return Run(
        kind,
        directory,
        report["json"],
        tables=report["tables"],
        svg=report["svg"],
        keep=keep,
    )


def bind(name: str, module: str) -> Callable[..., Run]:
    """The function of an experiment."""
    kind, about = ABOUT[name]
    own = options(kind)
    view = {option.key for option in own if option.view}

    def function(**given: Any) -> Run:
        return _run(kind, view, by_key(given))

    more = [(key, default, text) for key, default, _, text in arguments(name)]
    return documented(function, name, about, own, more, module)


def arguments(name: str) -> list[tuple[str, Any, str, str]]:
    """Arguments of an experiment besides its options."""
    return [*ARGUMENTS, DATA_DIR] if name == "train" else ARGUMENTS
