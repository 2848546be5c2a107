"""Tables of numbers: named NumPy arrays of one shape."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWN_ROWS = 10
SHOWN_COLUMNS = 8


def as_array(values: Any) -> Any:
    """Numbers, texts or lists of the same length as an array; anything else as it is. None is NaN."""
    if isinstance(values, np.ndarray):
        return values
    flat = values
    while isinstance(flat, list) and flat and isinstance(flat[0], list):
        flat = [entry for part in flat if isinstance(part, list) for entry in part]
    numbers = all(entry is None or isinstance(entry, (bool, int, float)) for entry in flat)
    if numbers and any(entry is None for entry in flat):
        try:
            return np.array(values, dtype=float)
        except (TypeError, ValueError):
            return _objects(values)
    if numbers or all(isinstance(entry, str) for entry in flat):
        try:
            return np.array(values)
        except ValueError:
            pass
    return _objects(values)


def _objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class Table(Mapping[str, Any]):
    """Named arrays of one shape, as attributes and by name.

    A table of shape ``()`` is one row: its attributes are numbers and texts instead of arrays. A column
    with several values in a row, such as an error for each task, has one axis more than the table.
    """

    __slots__ = ("_columns", "_shape")

    def __init__(self, columns: Mapping[str, Any], shape: tuple[int, ...] | None = None) -> None:
        arrays = {key: as_array(values) for key, values in columns.items()}
        if shape is None:
            shape = (min((len(array) for array in arrays.values()), default=0),)
        self._columns = arrays
        self._shape = shape

    @classmethod
    def from_rows(cls, rows: list[dict[str, Any]]) -> Table:
        """A table of rows that have the same keys."""
        keys: dict[str, None] = {}
        for row in rows:
            keys.update(dict.fromkeys(row))
        return cls({key: [row.get(key) for row in rows] for key in keys}, (len(rows),))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all columns begin with."""
        return self._shape

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, key: str) -> Any:
        column = self._columns[key]
        return _scalar(column[()]) if column.ndim == 0 else column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Table.__slots__:
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            names = ", ".join(self._columns)
            raise AttributeError(f"there is no column '{name}'; the columns are {names}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self._shape != other._shape or list(self) != list(other):
            return False
        return all(_same(self._columns[key], other._columns[key]) for key in self)

    __hash__ = None  # type: ignore[assignment]

    def at(self, index: Any) -> Table:
        """The part of the table at an index of its shape."""
        columns = {key: np.asarray(column[index]) for key, column in self._columns.items()}
        return Table(columns, np.empty(self._shape, dtype=bool)[index].shape)

    def _flat(self) -> dict[str, Any]:
        """Columns of one axis; several values in a row become several columns."""
        dims, size = len(self._shape), int(np.prod(self._shape))
        flat: dict[str, Any] = {}
        for key, column in self._columns.items():
            rest = column.shape[dims:]
            rows = column.reshape((size, -1)) if size else column.reshape((0, 1))
            if not rest:
                flat[key] = rows[:, 0]
                continue
            for place, index in enumerate(np.ndindex(rest)):
                name = "_".join(str(i + 1) for i in index)
                flat[f"{key}_{name}"] = rows[:, place]
        return flat

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row for each element of the table."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas: pip install 'remanent[pandas]'") from None
        return pandas.DataFrame(self._flat())

    def plot(self, x: str | None = None, y: str | None = None, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws one column over another, and returns the axes."""
        from ._plot import curve

        return curve(self, x, y, ax, style)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._columns, self._shape)

    def _shown(self) -> tuple[list[str], list[list[str]], bool]:
        flat = self._flat()
        names = list(flat)[:SHOWN_COLUMNS]
        count = min(int(np.prod(self._shape)), SHOWN_ROWS)
        rows = [[_text(flat[name][i]) for name in names] for i in range(count)]
        return names, rows, len(flat) > len(names)

    def __repr__(self) -> str:
        names, rows, more = self._shown()
        if more:
            names, rows = [*names, "…"], [[*row, "…"] for row in rows]
        widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        lines = [" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [names, *rows]]
        if int(np.prod(self._shape)) > len(rows):
            lines.append("…")
        what = f"{type(self).__name__}, shape {self._shape}, {len(self._columns)} columns"
        return "\n".join([f"<{what}>", *lines])

    def _repr_html_(self) -> str:
        names, rows, more = self._shown()
        tail = "<th>…</th>" if more else ""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names) + tail
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        note = f"<p>{html.escape(type(self).__name__)}, shape {self._shape}, {len(self._columns)} columns</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def _same(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _text(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 20 else text[:19] + "…"


class Answer:
    """A result with several parts: numbers, tables and other such results, as attributes."""

    __slots__ = ("_json", "_parts")

    def __init__(self, json: Mapping[str, Any]) -> None:
        self._json = dict(json)
        self._parts: dict[str, Any] = {key: part(value) for key, value in json.items()}

    @property
    def json(self) -> dict[str, Any]:
        """The same as the command prints with ``--format json``."""
        return self._json

    def __getitem__(self, key: str) -> Any:
        return self._parts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def keys(self) -> list[str]:
        """The names of the parts."""
        return list(self._parts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Answer.__slots__:
            raise AttributeError(name)
        try:
            return self._parts[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}'; there are {', '.join(self._parts)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parts]

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if isinstance(other, Answer) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Answer, (self._json,)

    def _main(self) -> Table:
        tables = [value for value in self._parts.values() if isinstance(value, Table)]
        if not tables:
            return Table({key: [value] for key, value in self._json.items() if not isinstance(value, (list, dict))})
        return max(tables, key=lambda table: table.shape)

    def to_pandas(self) -> pd.DataFrame:
        """The longest table as a data frame."""
        return self._main().to_pandas()

    def plot(self, x: str | None = None, y: str | None = None, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws the longest table, and returns the axes."""
        return self._main().plot(x, y, ax, **style)

    def _lines(self) -> list[tuple[str, str]]:
        def short(value: Any) -> str:
            if isinstance(value, Table):
                return f"table of {value.shape[0]} rows"
            text = " ".join(repr(value).split())
            return text if len(text) <= 90 else text[:89] + "…"

        return [(key, short(value)) for key, value in self._parts.items()]

    def __repr__(self) -> str:
        return "\n".join([f"<{type(self).__name__}>", *(f"{key}: {text}" for key, text in self._lines())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(t)}</td></tr>" for k, t in self._lines())
        return f"<table>{rows}</table>"


def part(value: Any) -> Any:
    """A part of a result: rows as a table, a dictionary as an answer, numbers as an array."""
    if isinstance(value, dict):
        return Answer(value)
    if isinstance(value, list):
        if value and all(isinstance(entry, dict) for entry in value):
            return Table.from_rows(value)
        return as_array(value) if value else value
    return value
