"""Datasets as arrays."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core


class Data(NamedTuple):
    """Images, one in a row with pixels from 0 to 1, and their labels."""

    X_train: NDArray[np.float32]
    y_train: NDArray[np.uint8]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.uint8]


def load_data(name: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None = None) -> Data:
    """The images of a dataset: ``digits``, which is built in, ``mnist``, ``fashion-mnist``, or the path of one's own.

    ``remanent data get mnist`` downloads a dataset.
    """
    train, test = _core.load_data(os.fspath(name), data_dir)
    return Data(*train, *test)
