"""Results of experiments, and runs as they are found on disk."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._notices import tell
from ._table import Answer, Table, part

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ._model import Model

PREDICTORS = ("stochastic", "mean_field", "sampled", "hard")


class Case:
    """One case of a run: its configuration, and the summary over its trials."""

    def __init__(self, kind: str, json: Mapping[str, Any]) -> None:
        self._kind = kind
        self._json = dict(json)

    @property
    def json(self) -> dict[str, Any]:
        """All numbers, as the command prints them."""
        return self._json

    @property
    def label(self) -> str:
        """What distinguishes the case from the others."""
        return str(self._json.get("label") or "")

    @property
    def config(self) -> dict[str, Any]:
        """Everything that is set, defaults included."""
        config: dict[str, Any] = self._json["config"]
        return config

    @property
    def history(self) -> Table:
        """The numbers over time: a row for each epoch, means over the trials."""
        rows = self._json.get("epochs" if self._kind == "train" else "rows")
        if not rows:
            raise ValueError("the run has no history: no trial is done")
        return Table.from_rows([_flat(row) for row in rows] if self._kind == "train" else rows)

    def accuracy_matrix(self, predictor: str = "hard", what: str = "mean") -> NDArray[np.float64]:
        """The accuracies ``[after, task]``: the mean over trials, or ``what="standard_error"``."""
        if predictor not in PREDICTORS:
            raise ValueError(f"predictor = {predictor!r} cannot be used: it must be one of {', '.join(PREDICTORS)}")
        if predictor not in self._json:
            raise ValueError(f"a run of {self._kind} has no accuracies, or no trial is done")
        matrix = self._json[predictor]["accuracy_matrix"]
        return np.array([[np.nan if entry is None else entry[what] for entry in row] for row in matrix], dtype=float)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """The accuracies of the binary network, ``accuracy[after, task]``: means over trials."""
        return self.accuracy_matrix()

    @property
    def errors(self) -> NDArray[np.float64]:
        """The errors of a simulation over time, ``errors[row, task]``: means over trials."""
        errors: NDArray[np.float64] = self.history["eps"]
        return errors

    @property
    def final(self) -> Answer:
        """The end of a simulation."""
        answer: Answer = part(self._json["final"])
        return answer

    @property
    def comparison(self) -> Table:
        """The simulation beside the theory, with ``compare="theory"``."""
        if "comparison" not in self._json:
            raise ValueError('there is no comparison; run it with compare="theory"')
        return Table.from_rows(self._json["comparison"])

    def plot(self, ax: Axes | None = None, predictor: str = "hard") -> Axes:
        """Draws accuracies or errors over the epochs, and returns the axes."""
        from ._plot import accuracies, axes

        if self._kind == "train":
            rows = [row for row in self._json["epochs"] if predictor in row["accuracy"]]
            tasks = self.accuracy_matrix(predictor).shape[1]
            lines = []
            for task in range(tasks):
                known = [row for row in rows if len(row["accuracy"][predictor]) > task]
                values = [row["accuracy"][predictor][task]["mean"] for row in known]
                lines.append((f"task {task + 1}", [row["epoch"] for row in known], values))
            ends = [row["epoch"] for row, after in zip(rows, rows[1:], strict=False) if row["task"] != after["task"]]
            return accuracies(ax, self.label, lines, ends)
        if self._kind == "simulate":
            ax = axes(ax)
            history = self.history
            for task in range(history["eps"].shape[1]):
                ax.plot(history["epoch"], history["eps"][:, task], label=f"task {task + 1}")
            ax.set_xlabel("epoch")
            ax.set_ylabel("eps")
            ax.set_title(self.label)
            ax.legend()
            return ax
        return part(self._json).plot(ax=ax)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<Case of {self._kind}{': ' + self.label if self.label else ''}>"


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a training with means instead of means and errors."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if key == "accuracy":
            continue
        if isinstance(value, list):
            flat[key] = [entry["mean"] if entry else None for entry in value]
        else:
            flat[key] = value["mean"] if isinstance(value, dict) else value
    return flat


class Run:
    """The result of an experiment. With one case, the attributes of the case are those of the run."""

    def __init__(
        self,
        kind: str,
        directory: Path | None,
        json: Any,
        *,
        tables: list[dict[str, Any]] | None = None,
        svg: str | None = None,
        keep: object = None,
    ) -> None:
        self.kind = kind
        #: The run directory.
        self.directory = directory
        #: All numbers, as the command prints them with ``--format json``.
        self.json = json
        self._tables = tables
        #: The figure of the command, as SVG.
        self.svg = svg
        # A temporary directory is there as long as the run.
        self._keep = keep
        cases = json.get("cases") if isinstance(json, dict) else None
        self.cases = [Case(kind, case) for case in (cases if cases is not None else [json])]

    @property
    def case(self) -> Case:
        """The only case."""
        if len(self.cases) != 1:
            raise ValueError(f"the run has {len(self.cases)} cases: choose one by run.cases[i]")
        return self.cases[0]

    @property
    def config(self) -> dict[str, Any]:
        """Everything that is set, of the only case."""
        return self.case.config

    @property
    def history(self) -> Table:
        """The numbers over time, of the only case."""
        return self.case.history

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """The accuracies of the binary network, ``accuracy[after, task]``; with several cases, case by case."""
        if len(self.cases) == 1:
            return self.case.accuracy
        return np.stack([case.accuracy for case in self.cases])

    def accuracy_matrix(self, predictor: str = "hard", what: str = "mean") -> NDArray[np.float64]:
        """The accuracies of a predictor, of the only case."""
        return self.case.accuracy_matrix(predictor, what)

    @property
    def errors(self) -> NDArray[np.float64]:
        """The errors of a simulation over time, of the only case."""
        return self.case.errors

    @property
    def final(self) -> Answer:
        """The end of a simulation, of the only case."""
        return self.case.final

    @property
    def comparison(self) -> Table:
        """The simulation beside the theory, of the only case."""
        return self.case.comparison

    @property
    def table(self) -> Table:
        """The table that the command prints with ``--format csv``."""
        if self._tables:
            return Table(self._tables[0])
        return self.history

    def to_pandas(self) -> pd.DataFrame:
        """The table as a data frame."""
        return self.table.to_pandas()

    def model(self, trial: int = 0, case: int | None = None) -> Model:
        """The network that a trial has learned."""
        from ._model import Model

        if self.kind != "train":
            raise ValueError(f"a run of {self.kind} has no models; only train leaves models")
        chosen = self.case if case is None else self.cases[case]
        models = chosen.json.get("models", [])
        if not 0 <= trial < len(models):
            raise ValueError(f"trial {trial} is not done (done: {len(models)} trials, counted from 0)")
        return Model.load(models[trial])

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draws all cases over the epochs, and returns the axes."""
        for case in self.cases:
            ax = case.plot(ax, **options)
        if ax is None:
            raise ValueError("the run has no case")
        return ax

    def __repr__(self) -> str:
        where = f" in {self.directory}" if self.directory else ""
        return "\n".join([f"<Run of {self.kind}{where}, {len(self.cases)} cases>", *self._lines()])

    def _lines(self) -> list[str]:
        lines = []
        for case in self.cases[:10]:
            text = case.label
            if self.kind == "train" and "hard" in case.json:
                final = np.nanmean(case.accuracy[-1])
                text += f"{': ' if text else ''}accuracy {final:.4f} over {case.accuracy.shape[1]} tasks, hard predictor"
            elif self.kind == "simulate" and case.json.get("final"):
                errors = ", ".join(f"{entry['mean']:.4f}" for entry in case.json["final"]["eps"])
                text += f"{': ' if text else ''}eps {errors}"
            if text:
                lines.append(text)
        return lines

    def _repr_html_(self) -> str:
        text = "<br>".join(html.escape(line) for line in repr(self).splitlines())
        return f"<p>{text}</p>{self.svg or ''}"


def load_run(directory: str | os.PathLike[str]) -> Run:
    """Reads a run directory: configuration, history, accuracies and models of the trials that are done.

    Nothing is locked or changed, so that a run under way can be looked at as well.
    """
    path = Path(directory)
    if not path.exists():
        raise FileNotFoundError(f"there is no directory {path}; give the --out of remanent train or simulate")
    found = _core.load_run(path)
    tell((f"damaged: {text}" for text in found["damaged"]), depth=3)
    cases = found["cases"]
    json = cases[0] if len(cases) == 1 else {"cases": cases}
    return Run(found["kind"], path, json)
