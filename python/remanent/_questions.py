"""Questions to the theory on arrays.

Arguments are broadcast here; each group of points that one question of the command covers is one question, so
that the numbers are the same bits as those of the command. All questions are answered by one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._notices import ConvergenceWarning, tell
from ._options import Option, by_key, documented, options
from ._table import Answer, Table, as_array

#: Points of one call: more are a mistake.
MOST_POINTS = 1_000_000


def _ask(questions: list[dict[str, Any]]) -> list[Any]:
    answers = _core.ask(questions)
    for _, notes, complete in answers:
        if not complete:
            tell(notes or ["some points have no solution"], ConvergenceWarning, depth=5)
    return [numbers for numbers, _, _ in answers]


def _wrong(key: str, value: Any, expected: str) -> str:
    text = repr(value)
    text = text if len(text) <= 60 else text[:60] + "..."
    return f"{key} = {text} cannot be used: it must be {expected}"


def _numbers(key: str, value: Any) -> Any:
    """Numbers as an array of floats."""
    expected = 'a number, a list of numbers or a text like "0.1:3:0.01"'
    if isinstance(value, str):
        return np.array(_core.numbers(key, value))
    array = np.asarray(value)
    if array.dtype.kind == "O":
        kinds = {type(entry) for entry in array.flat}
        if any(issubclass(kind, (str, bytes, complex, bool)) or kind is type(None) for kind in kinds):
            raise TypeError(_wrong(key, value, expected))
    elif array.dtype.kind not in "iuf":
        raise TypeError(_wrong(key, value, expected))
    try:
        array = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(_wrong(key, value, expected)) from None
    if array.size == 0:
        raise ValueError(_wrong(key, [], expected))
    return array


def _words(key: str, value: Any) -> Any:
    array = np.asarray(value)
    if array.size == 0 or array.dtype.kind not in "UOiu":
        raise TypeError(_wrong(key, value, "a word"))
    return array


def _arrays(own: list[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are given as arrays. Unknown ones are passed on: the library refuses them."""
    kinds = {option.key: option.kind for option in own}
    arrays: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        kind = kinds.get(key)
        if kind in ("number", "numbers"):
            arrays[key] = _numbers(key, value)
        elif kind in ("word", "words"):
            arrays[key] = _words(key, value)
        else:
            arrays[key] = value
    return arrays


def _broadcast(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    try:
        shape = np.broadcast_shapes(*shapes.values())
    except ValueError:
        text = ", ".join(f"{key} {shape}" for key, shape in shapes.items() if shape)
        raise ValueError(f"the arguments do not broadcast together: {text}") from None
    if int(np.prod(shape)) > MOST_POINTS:
        raise ValueError(f"{int(np.prod(shape))} points are asked for, and {MOST_POINTS} are the most")
    return shape


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


class Solutions(Table):
    """Solutions of one task: order parameters, errors and convergence, as arrays of the shape of the arguments."""

    __slots__ = ()


def _points(question: str, along: str, own: list[Option], given: dict[str, Any]) -> Solutions:
    """A question on a grid of points; one curve serves all points that differ in `along` only."""
    arrays = _arrays(own, given)
    if along not in arrays or not set(arrays) <= {option.key for option in own}:
        # The library says what is missing or unknown.
        return Solutions(_ask([{"ask": question, **given}])[0])
    shape = _broadcast({key: array.shape for key, array in arrays.items()})
    flat = {key: np.broadcast_to(array, shape).ravel() for key, array in arrays.items()}
    others = [key for key in arrays if key != along]
    groups: dict[tuple[Any, ...], Any]
    if all(arrays[key].size == 1 for key in others):
        groups = {tuple(_plain(arrays[key].flat[0]) for key in others): slice(None)}
    else:
        groups = {}
        for index, values in enumerate(zip(*(flat[key] for key in others), strict=True)):
            groups.setdefault(tuple(map(_plain, values)), []).append(index)
    questions = [
        {"ask": question, along: flat[along][where], **dict(zip(others, values, strict=True))}
        for values, where in groups.items()
    ]
    answers = _ask(questions)
    counts = [len(flat[along][where]) for where in groups.values()]
    found = [len(next(iter(answer.values()), ())) for answer in answers]
    if found != counts:
        # All branches: a row for each solution.
        keys = list(answers[0])
        return Solutions({key: np.concatenate([as_array(answer[key]) for answer in answers]) for key in keys})
    columns: dict[str, Any] = {}
    for key in answers[0]:
        parts = [as_array(answer[key]) for answer in answers]
        column = np.concatenate(parts)
        if len(parts) > 1:
            places = np.concatenate([np.asarray(where) for where in groups.values()])
            ordered = np.empty_like(column)
            ordered[places] = column
            column = ordered
        columns[key] = column.reshape(shape)
    return Solutions(columns, shape)


class Chain(Table):
    """A chain of tasks. The last axis of every column is the task; ``eps_by_task[..., after, task]``."""

    __slots__ = ()

    @property
    def tasks(self) -> list[Table]:
        """The tasks: ``chain.tasks[1].q_d``."""
        tasks = self._shape[-1]
        lead = self._shape[:-1]
        axis = len(lead)
        return [
            Table({key: np.asarray(np.take(column, task, axis=axis)) for key, column in self._columns.items()}, lead)
            for task in range(tasks)
        ]

    @property
    def final_errors(self) -> Any:
        """The error of each task after the last one."""
        return self["eps_by_task"][..., -1, :]


class Streams(Table):
    """Stationary states over scanned parameters: ``memory[..., back]`` is the error on the task that many steps back."""

    __slots__ = ()


def _stationary(given: dict[str, Any]) -> Answer | Streams:
    given.setdefault("stationary", True)
    scan = given.pop("scan", None)
    if scan is None:
        return _whole("chain", given)
    axes = _scans(scan)
    given["scan"] = [[key, np.asarray(values).tolist()] for key, values in axes]
    found = _ask([{"ask": "chain", **given}])[0]
    rows = [dict(zip(found, map(_plain, row), strict=True)) for row in zip(*found.values(), strict=True)]
    shape = tuple(len(np.atleast_1d(values)) for _, values in axes)
    # A stream without a stationary state remembers nothing.
    back = max((len(row["memory"]) for row in rows), default=0)
    memory = np.full((len(rows), back), np.nan)
    for place, row in zip(memory, rows, strict=True):
        place[: len(row["memory"])] = row["memory"]
    apart = ("memory", "state")
    flat = Table.from_rows([{**{key: row[key] for key in row if key not in apart}, **row["state"]} for row in rows])
    columns = {key: as_array(flat._columns[key]).reshape(shape) for key in flat.columns}
    return Streams({**columns, "memory": memory.reshape(shape + (back,))}, shape)


def _chain(own: list[Option], given: dict[str, Any]) -> Chain:
    scan = given.pop("scan", None)
    if given.get("stationary"):
        raise ValueError("the stationary state of a stream is rm.theory.stationary(...)")
    arrays = _arrays(own, given)
    known = {option.key for option in own}
    if "alpha" not in arrays or not set(arrays) <= known:
        _ask([{"ask": "chain", **given}])
        raise ValueError("alpha is missing")
    per_task = [option.key for option in own if option.kind in ("numbers", "words")]
    lead = {
        key: (array.shape[:-1] if key in per_task else array.shape) for key, array in arrays.items() if array.ndim
    }
    shape = _broadcast(lead) if lead else ()
    tasks = arrays["alpha"].shape[-1] if arrays["alpha"].ndim else 1
    questions = []
    for index in np.ndindex(shape):
        question: dict[str, Any] = {"ask": "chain"}
        for key, array in arrays.items():
            if array.ndim == 0:
                question[key] = _plain(array[()])
                continue
            tail = array.shape[-1:] if key in per_task else ()
            question[key] = _plain(np.broadcast_to(array, shape + tail)[index])
        if scan is not None:
            question["scan"] = [[key, np.asarray(values).tolist()] for key, values in _scans(scan)]
        questions.append(question)
    answers = _ask(questions)
    if scan is not None:
        lengths = tuple(len(np.atleast_1d(_numbers(key, values))) for key, values in _scans(scan))
        rows = [task for answer in answers for tasks_of in answer["tasks"] for task in tasks_of]
        return _stack(rows, shape + lengths + (tasks,))
    return _stack([task for answer in answers for task in answer["tasks"]], shape + (tasks,))


def _scans(scan: Any) -> list[tuple[str, Any]]:
    if not isinstance(scan, Mapping):
        raise TypeError(_wrong("scan", scan, 'a dictionary of lists, e.g. {"alpha.2": [1, 2, 4]}'))
    return [(str(key), _numbers(str(key), values)) for key, values in scan.items()]


def _stack(rows: list[dict[str, Any]], shape: tuple[int, ...]) -> Chain:
    flat = Table.from_rows(rows)
    columns = {}
    for key in flat.columns:
        column = as_array(flat._columns[key])
        columns[key] = column.reshape(shape + column.shape[1:])
    return Chain(columns, shape)


def _constrained(own: list[Option], given: dict[str, Any]) -> Solutions | Chain:
    if given.get("r0") is not None or given.get("gamma") is not None:
        return _chain(options("chain"), given)
    return _points("constrained", "q_star", own, given)


def _whole(question: str, given: dict[str, Any]) -> Answer:
    numbers = _ask([{"ask": question, **given}])[0]
    if isinstance(numbers, dict) and any(isinstance(value, np.ndarray) for value in numbers.values()):
        numbers = {"rows": [dict(zip(numbers, row, strict=True)) for row in zip(*numbers.values(), strict=True)]}
    return Answer(numbers)


#: Name, question, what it does.
QUESTIONS = {
    "single": ("single", "Solves one task. Arguments broadcast; ``branch=\"all\"`` gives a row for each solution."),
    "constrained": (
        "constrained",
        "Solves one task with the self-overlap held at q_star, or, with r0 or gamma, a chain. Arguments broadcast.",
    ),
    "chain": (
        "chain",
        "Solves a chain of tasks. The last axis of alpha, beta, r0, gamma, q_star and branch is the task; "
        "other axes broadcast.",
    ),
    "stationary": (
        "chain",
        "Solves the stationary state of an endless stream of like tasks: its state and the error on the task 0, 1, 2, ... "
        "steps back. With scan, arrays over the scanned values.",
    ),
    "branches": ("branches", "Follows the curve of solutions, with its folds, crossing and replicon zeros."),
    "phase_diagram": ("phase-diagram", "Spinodals, crossing and replicon lines over beta."),
    "tune": ("tune", "Finds the gamma, lambda and rho that minimise the errors at the end of a chain."),
    "complexity": ("complexity", "Counts clusters of states: the complexity over the free energy of a cluster."),
    "monte_carlo": ("monte-carlo", "Compares the published estimator with exact values."),
}

SCAN = ("scan", None, 'Repeat the chain over values, e.g. {"alpha.2": [1, 2, 4]}; two entries make a map.')
RESULTS = {
    "single": "Solutions",
    "constrained": "Solutions | Chain",
    "chain": "Chain",
    "stationary": "Answer | Streams",
}
#: Questions whose arguments broadcast.
ON_ARRAYS = ("single", "constrained", "chain")


def bind(name: str, module: str) -> Callable[..., Any]:
    """The function of a question."""
    question, about = QUESTIONS[name]
    own = options(question)

    def function(**given: Any) -> Any:
        given = by_key({key: value for key, value in given.items() if value is not None})
        if name == "stationary":
            return _stationary(given)
        if name == "single":
            return _points("single", "alpha", own, given)
        if name == "constrained":
            return _constrained(own, given)
        if name == "chain":
            return _chain(own, given)
        return _whole(question, given)

    return documented(function, name, about, own, [SCAN] if question == "chain" else [], module)
