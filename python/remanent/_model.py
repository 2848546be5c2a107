"""Trained networks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Layer(NamedTuple):
    """The weights of a layer, inputs × outputs."""

    #: The binary weights, ±1.
    sign: NDArray[np.int8]
    #: The mean of each weight; equal to the sign in a packed model.
    mean: NDArray[np.float32]
    #: The latent numbers; None in a packed model.
    theta: NDArray[np.float32] | None


class Uncertainty(NamedTuple):
    """How uncertain the answers are, in nats, image by image."""

    #: Entropy of the averaged probabilities.
    entropy: NDArray[np.float64]
    #: Mean entropy of the sampled networks: what no further data would remove.
    expected_entropy: NDArray[np.float64]
    #: The difference of both: what the sampled networks disagree about.
    mutual_information: NDArray[np.float64]
    #: The largest averaged probability.
    confidence: NDArray[np.float64]


def as_images(x: ArrayLike) -> NDArray[np.float32]:
    """Images as a contiguous array of float32; an array that is one is not copied."""
    try:
        array = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise TypeError(f"X cannot be used: it must be an array of numbers ({error})") from None
    if array.ndim < 2:
        raise ValueError(f"X has shape {array.shape}; it must have a row for each image")
    array = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if not np.isfinite(array).all():
        raise ValueError("X contains NaN or infinity")
    return array


class Model:
    """A trained network of binary weights.

    A model of ``train`` has a distribution over each weight; a packed model (.rbin) has signs only.
    """

    def __init__(self, inner: _core.Model) -> None:
        self._inner = inner
        self._about: dict[str, Any] = inner.about()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Reads a model (.safetensors or .rbin), or the first trial of a run directory."""
        if os.path.isdir(path):
            from ._run import load_run

            return load_run(path).model()
        return cls(_core.Model.load(os.fspath(path)))

    @property
    def widths(self) -> list[int]:
        """The widths of the layers, from the inputs to the classes."""
        return list(self._about["architecture"]["widths"])

    @property
    def is_packed(self) -> bool:
        """Whether there are signs only, and no distribution to sample from."""
        return bool(self._about["packed"])

    @property
    def provenance(self) -> dict[str, Any]:
        """How the model was trained, as far as it is known."""
        return dict(self._about["provenance"] or {})

    @property
    def weights(self) -> list[Layer]:
        """The weights, layer by layer."""
        layers = []
        for theta, mean, sign in self._inner.layers():
            layers.append(Layer(sign, sign.astype(np.float32) if mean is None else mean, theta))
        return layers

    def predict_proba(
        self, X: ArrayLike, how: str = "hard", draws: int = 8, seed: int | None = None
    ) -> NDArray[np.float32]:
        """The probabilities of the classes.

        ``how`` is ``hard`` (the most probable binary network), ``sampled`` (averaged over ``draws`` binary networks),
        ``mean_field`` (averaged over ``draws`` passes with Gaussian preactivations) or ``stochastic`` (one pass).
        """
        return self._inner.predict_proba(as_images(X), how, _count("draws", draws), seed)

    def predict(self, X: ArrayLike, how: str = "hard", draws: int = 8, seed: int | None = None) -> NDArray[np.intp]:
        """The most probable class of each image."""
        classes: NDArray[np.intp] = self.predict_proba(X, how, draws, seed).argmax(axis=1)
        return classes

    def uncertainty(self, X: ArrayLike, draws: int = 100, seed: int | None = None) -> Uncertainty:
        """How uncertain the answers are, from ``draws`` binary networks."""
        mean, expected = self._inner.sample(as_images(X), _count("draws", draws), seed)
        probabilities = mean.astype(np.float64)
        logarithms = np.log(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
        entropy = -(probabilities * logarithms).sum(axis=1)
        inner = np.asarray(expected)
        confidence = probabilities.max(axis=1, initial=0.0)
        return Uncertainty(entropy, inner, np.maximum(entropy - inner, 0.0), confidence)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model: packed if the name ends with .rbin, otherwise with its distributions."""
        name = os.fspath(path)
        self._inner.write(name, "rbin" if name.endswith(".rbin") else "model")

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Writes the binary network as an ONNX file."""
        self._inner.write(os.fspath(path), "onnx")

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Writes the binary weights as a NumPy file."""
        self._inner.write(os.fspath(path), "npz")

    def __reduce__(self) -> tuple[Any, ...]:
        return _decode, (self._inner.encode(),)

    def __repr__(self) -> str:
        shape = " → ".join(map(str, self.widths))
        architecture = self._about["architecture"]
        kind = "packed" if self.is_packed else f"{self._about['weights']} weights"
        return f"<Model {shape}, {architecture['activation']}, normalisation {architecture['normalisation']}, {kind}>"


def _decode(content: bytes) -> Model:
    return Model(_core.Model.decode(content))


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{key} = {value!r} cannot be used: it must be a whole number, 0 or above")
    number = int(value.__index__())
    if not 0 <= number < 2**32:
        raise ValueError(f"{key} = {number} is out of range: it must be between 1 and 10000")
    return number
