# Written by python -m remanent._stubs from the options of the library: do not edit.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

from ._questions import Chain as Chain
from ._questions import Solutions as Solutions
from ._questions import Streams as Streams
from ._table import Answer

__all__ = [
    "Chain",
    "Solutions",
    "Streams",
    "branches",
    "chain",
    "complexity",
    "constrained",
    "monte_carlo",
    "phase_diagram",
    "single",
    "stationary",
    "tune",
]

def single(
    *,
    alpha: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    branch: Literal["stable", "poor", "middle", "good", "all"] | NDArray[Any] | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | NDArray[Any] | None = None,
    prior: Literal["none", "uniform"] | NDArray[Any] | None = None,
) -> Solutions: ...
def constrained(
    *,
    q_star: ArrayLike | None = None,
    gamma: ArrayLike | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | NDArray[Any] | None = None,
    alpha: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    r0: ArrayLike | None = None,
    branch: Literal["stable", "poor", "middle", "good"] | Sequence[Literal["stable", "poor", "middle", "good"]] | NDArray[Any] | None = None,
    prior: Literal["none", "uniform"] | NDArray[Any] | None = None,
) -> Solutions | Chain: ...
def chain(
    *,
    gamma: ArrayLike | None = None,
    lambda_: ArrayLike | None = None,
    rho: ArrayLike | None = None,
    q_star: ArrayLike | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | NDArray[Any] | None = None,
    stationary: bool | None = None,
    alpha: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    r0: ArrayLike | None = None,
    branch: Literal["stable", "poor", "middle", "good"] | Sequence[Literal["stable", "poor", "middle", "good"]] | NDArray[Any] | None = None,
    prior: Literal["none", "uniform"] | NDArray[Any] | None = None,
    memory: int | None = None,
    remembered: float | None = None,
    scan: Mapping[str, ArrayLike] | None = None,
) -> Chain: ...
def stationary(
    *,
    gamma: ArrayLike | None = None,
    lambda_: ArrayLike | None = None,
    rho: ArrayLike | None = None,
    q_star: ArrayLike | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | None = None,
    stationary: bool | None = None,
    alpha: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    r0: ArrayLike | None = None,
    branch: Literal["stable", "poor", "middle", "good"] | Sequence[Literal["stable", "poor", "middle", "good"]] | None = None,
    prior: Literal["none", "uniform"] | None = None,
    memory: int | None = None,
    remembered: float | None = None,
    scan: Mapping[str, ArrayLike] | None = None,
) -> Answer | Streams: ...
def branches(
    *,
    beta: ArrayLike | None = None,
    alpha: tuple[float, float] | str | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | None = None,
    prior: Literal["none", "uniform"] | None = None,
) -> Answer: ...
def phase_diagram(
    *,
    beta: ArrayLike | None = None,
    rsb: Literal["0", "1", "2", "auto", 0, 1, 2] | None = None,
    prior: Literal["none", "uniform"] | None = None,
) -> Answer: ...
def tune(
    *,
    objective: Literal["mean", "max", "newest"] | None = None,
    gamma: ArrayLike | None = None,
    lambda_: ArrayLike | None = None,
    rho: ArrayLike | None = None,
    last: int | None = None,
    stationary: bool | None = None,
    alpha: ArrayLike | None = None,
    beta: ArrayLike | None = None,
    r0: ArrayLike | None = None,
    branch: Literal["stable", "poor", "middle", "good"] | Sequence[Literal["stable", "poor", "middle", "good"]] | None = None,
    prior: Literal["none", "uniform"] | None = None,
) -> Answer: ...
def complexity(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    rows: int | None = None,
    prior: Literal["none", "uniform"] | None = None,
) -> Answer: ...
def monte_carlo(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    draws: int | Sequence[int] | None = None,
    outer: int | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    inner: Literal["shared", "fresh"] | None = None,
    settle: bool | None = None,
) -> Answer: ...
