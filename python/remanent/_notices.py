"""Warnings of this package."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class RemanentWarning(UserWarning):
    """Something that the user should know about a result."""


class ConvergenceWarning(RemanentWarning):
    """Some numbers were not found; the column ``termination`` says which and why."""


def tell(texts: Iterable[str], category: type[Warning] = RemanentWarning, depth: int = 4) -> None:
    """Warns once for each text, in the name of the caller of the package."""
    for text in dict.fromkeys(texts):
        warnings.warn(text, category, stacklevel=depth)
