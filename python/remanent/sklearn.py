"""A learner for one's own data, in the manner of scikit-learn.

>>> from remanent.sklearn import ContinualBinaryClassifier
>>> learner = ContinualBinaryClassifier(epochs=20)
>>> learner.partial_fit(X_1, y_1)          # doctest: +SKIP
>>> learner.partial_fit(X_2, y_2)          # the next task, without forgetting the first  # doctest: +SKIP
"""

from __future__ import annotations

import copyreg
import inspect
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ImportError("remanent.sklearn needs scikit-learn 1.6 or later: pip install 'remanent[sklearn]'") from None

from . import _core
from ._model import Model, Uncertainty
from ._options import by_key, options
from ._progress import Progress, Watcher

__all__ = ["ContinualBinaryClassifier"]

#: Options of train that are about its data and measurements, and not about network and learner.
_OF_TRAIN_ONLY = {
    *("stream", "train_images", "validation", "test_images"),
    *("predictor", "draws", "evaluate", "ood", "tensorboard", "epochs", "preset"),
}
#: Parameters of the estimator itself, with their defaults.
_OWN: dict[str, Any] = {
    "preset": "remanent",
    "epochs": 10,
    "predictor": "sampled",
    "draws": 8,
    "scaling": "standard",
    "random_state": 1,
    "progress": False,
}
_LEARNER = [option.name for option in options("train") if option.key not in _OF_TRAIN_ONLY]


def _decode(content: bytes) -> _core.Learner:
    return _core.Learner.decode(content)


def _reduce(learner: _core.Learner) -> tuple[Any, ...]:
    return _decode, (learner.encode(),)


copyreg.pickle(_core.Learner, _reduce)


class ContinualBinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network of binary weights that learns one task after another without forgetting.

    ``fit`` learns one task from the beginning. ``partial_fit`` learns the next task: a task has examples of some or
    all classes, and its data is not needed again. Pickling keeps the whole state: a learner that is loaded continues
    with the same bits. Ctrl-C leaves the learner as it was before the call.

    Parameters
    ----------
    preset
        Named settings, which the other parameters override; None for the defaults of ``remanent train``.
    epochs
        Passes over the examples of a task.
    predictor
        ``sampled`` (mean over ``draws`` binary networks), ``hard`` (the most probable binary network),
        ``mean_field`` or ``stochastic``.
    draws
        Number of networks or passes that are averaged.
    scaling
        ``standard``: features are shifted and divided by mean and standard deviation of the first task; features that
        do not vary are only shifted. ``none``: features are used as they are; values of order one are best.
    random_state
        Seed of all random numbers, or a generator of NumPy that it is drawn from.
    progress
        True for a bar of tqdm, or a function of done and total steps.
    learner, hidden, batch, lr, ...
        Network and learner, as the options of ``remanent train``; ``beta_schedule`` is one number.

    Attributes
    ----------
    classes_
        The labels.
    n_features_in_
        The number of features.
    n_tasks_
        The number of tasks learned.
    loss_curves_
        The mean loss of each epoch, task by task.
    """

    classes_: NDArray[Any]
    n_features_in_: int
    n_tasks_: int
    loss_curves_: list[NDArray[np.float64]]
    _learner: _core.Learner

    def __init__(self, **parameters: Any) -> None:
        known = _OWN | dict.fromkeys(_LEARNER)
        unknown = next((key for key in parameters if key not in known), None)
        if unknown is not None:
            raise TypeError(f"unknown parameter '{unknown}'; the parameters are {', '.join(known)}")
        for key, value in (known | parameters).items():
            setattr(self, key, value)

    def fit(self, X: ArrayLike, y: ArrayLike) -> ContinualBinaryClassifier:
        """Learns one task, and forgets everything before."""
        for name in ("_learner", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
        return self._learn(X, y, None, only_task=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> ContinualBinaryClassifier:
        """Learns the next task without forgetting those before.

        ``classes`` lists all labels of all tasks; it is needed at the first call if later tasks have other labels.
        """
        return self._learn(X, y, classes, only_task=False)

    def _learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None, only_task: bool
    ) -> ContinualBinaryClassifier:
        is_first = not hasattr(self, "_learner")
        checked = validate_data(self, X, y, dtype=[np.float32, np.float64], reset=is_first)
        examples: NDArray[Any] = checked[0]
        given: NDArray[Any] = checked[1]
        check_classification_targets(given)
        if is_first:
            labels = unique_labels(given if classes is None else classes)
            self._begin(examples, labels, only_task or classes is None)
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError("classes differ from those of the first call of partial_fit")
        place = np.clip(np.searchsorted(self.classes_, given), 0, len(self.classes_) - 1)
        unknown = self.classes_[place] != given
        if unknown.any():
            raise ValueError(
                f"y contains the label {given[unknown][0]!r}, which is none of the classes {self.classes_}; "
                "list all labels in classes at the first call of partial_fit"
            )
        epochs = self._whole("epochs")
        steps = epochs * -(-len(examples) // 64)
        with Watcher(steps, self._progress()) as watcher:
            try:
                places = place.astype(np.uint8)
                losses = self._learner.learn(np.ascontiguousarray(examples), places, epochs, watcher, self._scale())
            except BaseException:
                if is_first:
                    # Nothing was learned: the learner is as before the call.
                    del self._learner, self.classes_
                raise
        self.loss_curves_ = [*([] if is_first else self.loss_curves_), np.asarray(losses)]
        self.n_tasks_ = self._learner.tasks
        return self

    def _begin(self, X: Any, labels: Any, needs_two: bool) -> None:
        if needs_two and len(labels) < 2:
            raise ValueError(f"y has one class only, {labels[0]!r}: two or more classes are needed")
        if len(labels) > 256:
            raise ValueError(f"y has {len(labels)} classes, and 256 are the most")
        if self.scaling not in ("standard", "none"):
            raise ValueError(f"scaling = {self.scaling!r} cannot be used: it must be one of standard, none")
        settings = by_key({key: getattr(self, key) for key in ["preset", *_LEARNER]})
        learner = _core.Learner(settings, X.shape[1], max(len(labels), 2), self._seed())
        if self.scaling == "standard":
            mean, spread = _core.moments(np.ascontiguousarray(X))
            tiny = spread <= 1e-6 * np.maximum(1.0, np.abs(mean))
            self._mean, self._spread = mean, np.where(tiny, 1.0, spread)
        self.classes_ = labels
        self._learner = learner

    def _scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        return (self._mean, self._spread) if self.scaling == "standard" else None

    def _scaled(self, X: Any) -> NDArray[np.float32]:
        images: NDArray[Any] = np.ascontiguousarray(X)
        if self.scaling == "none" and images.dtype == np.float32:
            # Checked before, and not copied.
            return images
        return _core.scale(images, self._scale())

    def _seed(self) -> int:
        state = self.random_state
        if isinstance(state, numbers.Integral) and int(state) >= 0:
            return int(state)
        return int(check_random_state(state).randint(2**31 - 1))

    def _whole(self, key: str) -> int:
        value = getattr(self, key)
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
            raise ValueError(f"{key} = {value!r} cannot be used: it must be a whole number, 1 or above")
        return int(value)

    def _progress(self) -> Progress:
        progress: Progress = self.progress
        return progress

    @property
    def model_(self) -> Model:
        """The network."""
        check_is_fitted(self, "_learner")
        return Model(self._learner.model())

    def _validated(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self, "_learner")
        return self._scaled(validate_data(self, X, dtype=[np.float32, np.float64], reset=False))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of the classes, in the order of ``classes_``."""
        images = self._validated(X)
        found = self.model_.predict_proba(images, self.predictor, self._whole("draws"))
        probabilities: NDArray[np.float64] = found[:, : len(self.classes_)].astype(np.float64)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable label of each example."""
        probabilities = self.predict_proba(X)
        labels: NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def uncertainty(self, X: ArrayLike, draws: int = 100) -> Uncertainty:
        """How uncertain the answers are, from ``draws`` binary networks."""
        return self.model_.uncertainty(self._validated(X), draws)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")


_PARAMETERS = [
    inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    *(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default) for key, default in _OWN.items()),
    *(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in _LEARNER),
]
ContinualBinaryClassifier.__init__.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]
