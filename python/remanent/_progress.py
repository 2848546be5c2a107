"""Progress of a computation: tqdm if it is installed, or a function of the user."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from ._notices import tell

#: True, False, a function of done and total, or None: a bar if somebody looks.
Progress = bool | Callable[[int, int], object] | None


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or sys.stderr.isatty()


def _bar(total: int, wanted: bool) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise ImportError("progress=True needs tqdm: pip install 'remanent[progress]'") from None
        return None
    return tqdm(total=total, leave=False, unit_scale=True)


class Watcher:
    """Called by the library with the work that is done and with what the user should know."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total = total
        self._done = 0
        self._function = progress if callable(progress) else None
        shows = progress is True or (progress is None and _is_watched())
        self._bar = _bar(total, progress is True) if shows else None

    def __call__(self, done: int, notices: list[str]) -> None:
        tell(notices, depth=5)
        if self._bar is not None:
            self._bar.update(done - self._done)
        if self._function is not None and done != self._done:
            self._function(done, self.total)
        self._done = done

    def advance(self, units: int) -> None:
        self(self._done + units, [])

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
