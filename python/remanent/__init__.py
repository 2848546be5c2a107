"""Theory, simulation and training of binary networks that learn several tasks in sequence.

>>> import remanent as rm
>>> rm.theory.single(alpha=1.0, beta=20).branch
'poor'
"""

from . import theory
from ._core import VERSION as __version__
from ._core import set_threads, threads
from ._data import Data, load_data
from ._model import Layer, Model, Uncertainty
from ._notices import ConvergenceWarning, RemanentWarning
from ._run import Case, Run, load_run
from ._table import Answer, Table
from .experiments import bound, convergence_time, simulate, train

__all__ = [
    "Answer",
    "Case",
    "ConvergenceWarning",
    "Data",
    "Layer",
    "Model",
    "RemanentWarning",
    "Run",
    "Table",
    "Uncertainty",
    "__version__",
    "bound",
    "convergence_time",
    "load_data",
    "load_run",
    "set_threads",
    "simulate",
    "theory",
    "threads",
    "train",
]
