"""Writes the stubs of the functions whose arguments are options: ``python -m remanent._stubs``.

The options are declared in the Rust library. A test compares the stubs with what is written here.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from ._experiments import ABOUT, arguments
from ._options import Option, options
from ._questions import ON_ARRAYS, QUESTIONS, RESULTS

NOTE = "# Written by python -m remanent._stubs from the options of the library: do not edit.\n"


def _word(words: list[str]) -> str:
    shown = [f'"{word}"' for word in words] + [word for word in words if word.isdigit()]
    return f"Literal[{', '.join(shown)}]"


def _type(option: Option, on_arrays: bool) -> str:
    words = _word(option.words) if option.words else ""
    types = {
        "number": "float",
        "count": "int",
        "numbers": "ArrayLike",
        "counts": "int | Sequence[int]",
        "word": words + (" | NDArray[Any]" if on_arrays else ""),
        "words": f"{words} | Sequence[{words}]" + (" | NDArray[Any]" if on_arrays else ""),
        "interval": "tuple[float, float] | str",
        "switch": "bool",
        "text": "str | os.PathLike[str]",
        "number-or-text": "float | str | Sequence[float]",
    }
    return f"{types[option.kind]} | None"


def _function(name: str, parameters: list[tuple[str, str, str]], result: str) -> str:
    lines = [f"    {key}: {kind} = {default},\n" for key, kind, default in parameters]
    return f"def {name}(\n    *,\n{''.join(lines)}) -> {result}: ...\n"


def theory() -> str:
    """The stubs of remanent.theory."""
    text = NOTE
    text += "from collections.abc import Mapping, Sequence\nfrom typing import Any, Literal\n\n"
    text += "from numpy.typing import ArrayLike, NDArray\n\n"
    text += "from ._questions import Chain as Chain\nfrom ._questions import Solutions as Solutions\n"
    text += "from ._questions import Streams as Streams\n"
    text += "from ._table import Answer\n\n"
    names = sorted(["Chain", "Solutions", "Streams", *QUESTIONS])
    text += "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n\n"
    for name, (question, _) in QUESTIONS.items():
        on_arrays = name in ON_ARRAYS
        parameters = [(option.name, _type(option, on_arrays), "None") for option in options(question)]
        if question == "chain":
            parameters.append(("scan", "Mapping[str, ArrayLike] | None", "None"))
        text += _function(name, parameters, RESULTS.get(name, "Answer"))
    return text


def experiments() -> str:
    """The stubs of remanent.experiments."""
    text = NOTE
    text += "import os\nfrom collections.abc import Callable, Mapping, Sequence\n"
    text += "from concurrent.futures import Executor\nfrom typing import Any, Literal\n\n"
    text += "from numpy.typing import ArrayLike\n\nfrom ._run import Run\n\n"
    text += "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(ABOUT)) + "]\n\n"
    for name, (kind, _) in ABOUT.items():
        parameters = [(option.name, _type(option, False), "None") for option in options(kind)]
        parameters += [(key, kind, repr(default)) for key, default, kind, _ in arguments(name)]
        text += _function(name, parameters, "Run")
    return text


ESTIMATOR = """
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ._model import Model, Uncertainty

__all__ = ["ContinualBinaryClassifier"]

class ContinualBinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    classes_: NDArray[Any]
    n_features_in_: int
    n_tasks_: int
    loss_curves_: list[NDArray[np.float64]]
    def __init__(
        self,
        *,
PARAMETERS    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> ContinualBinaryClassifier: ...
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> ContinualBinaryClassifier: ...
    @property
    def model_(self) -> Model: ...
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def uncertainty(self, X: ArrayLike, draws: int = 100) -> Uncertainty: ...
    def __sklearn_is_fitted__(self) -> bool: ...
"""

#: Types of the parameters of the estimator that are no options.
OWN_TYPES = {
    "epochs": "int",
    "predictor": "str",
    "draws": "int",
    "scaling": 'Literal["standard", "none"]',
    "random_state": "int | np.random.RandomState | None",
    "progress": "bool | Callable[[int, int], object] | None",
}


def estimator() -> str:
    """The stubs of remanent.sklearn."""
    # Its own names are not in its stubs.
    module: Any = importlib.import_module("remanent.sklearn")
    of_train = {option.name: option for option in options("train")}
    types = {"preset": _type(of_train["preset"], False)} | OWN_TYPES
    lines = [f"        {key}: {types[key]} = {default!r},\n" for key, default in module._OWN.items()]
    lines += [f"        {key}: {_type(of_train[key], False)} = None,\n" for key in module._LEARNER]
    return NOTE + ESTIMATOR.lstrip().replace("PARAMETERS", "".join(lines))


def files() -> dict[str, str]:
    """The stubs by the names of their files."""
    return {"theory.pyi": theory(), "experiments.pyi": experiments(), "sklearn.pyi": estimator()}


def main() -> None:
    """Writes the files into the folder that is named, or beside this file."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, text in files().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
