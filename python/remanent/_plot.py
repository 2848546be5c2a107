"""Drawings with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._table import Table

#: Columns that are an axis, in this order.
AXES = ("alpha", "gamma", "beta", "q_star", "r0", "epoch", "free_energy", "minus_beta_f")
#: Columns that are drawn, in this order.
CURVES = ("eps", "objective", "complexity", "eps_by_task", "loss")
#: Columns that grow or shrink by orders of magnitude.
LOGARITHMIC = ("eps",)


def axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'remanent[plot]'") from None
    return plt.subplots(constrained_layout=True)[1]


def curve(table: Table, x: str | None, y: str | None, ax: Axes | None, style: dict[str, Any]) -> Axes:
    """One column over another; a line for each branch, and for each value of the other axes."""
    x = x or _axis(table)
    y = y or next((name for name in CURVES if name in table), None)
    if x is None or y is None or x not in table or y not in table:
        raise ValueError(f"choose x and y among the columns {', '.join(table.columns)}")
    ax = axes(ax)
    xs: Any = np.atleast_1d(np.asarray(table[x], dtype=np.float64))
    ys: Any = np.atleast_1d(np.asarray(table[y], dtype=np.float64))
    dims = max(len(table.shape), 1)
    extra = ys.shape[dims:]
    along = _varying(xs) if xs.ndim > 1 else 0
    xs, ys = np.moveaxis(xs, along, 0), np.moveaxis(ys, along, 0)
    xs, lines = xs.reshape(len(xs), -1), ys.reshape(len(ys), -1)
    repeat = int(np.prod(extra)) if extra else 1
    for i in range(lines.shape[1]):
        at = xs[:, i // repeat if xs.shape[1] > 1 else 0]
        label = f"task {i % repeat + 1}" if repeat > 1 else _label(table, x, i)
        ax.plot(at, lines[:, i], **({"label": label} | style))
    if y in LOGARITHMIC and np.nanmin(lines) > 0 and np.nanmax(lines) > 10 * np.nanmin(lines):
        ax.set_yscale("log")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if lines.shape[1] > 1:
        ax.legend()
    return ax


def _axis(table: Table) -> str | None:
    there = [name for name in AXES if name in table and np.asarray(table[name]).dtype.kind in "if"]
    varied = [name for name in there if np.asarray(table[name]).size and np.ptp(np.asarray(table[name], dtype=float)) > 0]
    return next(iter([*varied, *there]), None)


def _varying(values: Any) -> int:
    """The axis along which the values vary most."""
    return int(np.argmax([np.abs(np.diff(values, axis=axis)).sum() for axis in range(values.ndim)]))


def _label(table: Table, x: str, line: int) -> str | None:
    for name in ("beta", "gamma", "r0", "alpha"):
        if name == x or name not in table:
            continue
        values = np.unique(np.asarray(table[name], dtype=float))
        if len(values) > line and len(values) > 1:
            return f"{name} = {values[line]:g}"
    return None


def accuracies(ax: Axes | None, title: str, histories: list[tuple[str, Any, Any]], ends: list[int]) -> Axes:
    """Accuracy of each task over the epochs; a line where a task begins."""
    ax = axes(ax)
    for label, epochs, values in histories:
        ax.plot(epochs, values, label=label)
    for end in ends:
        ax.axvline(end, color="0.8", zorder=0)
    ax.set_xlabel("epoch")
    ax.set_ylabel("accuracy")
    ax.set_title(title)
    ax.legend()
    return ax
