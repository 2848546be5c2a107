# Written by python -m remanent._stubs from the options of the library: do not edit.
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
        preset: Literal["paper-permuted", "paper-fashion-mnist", "paper-mnist-fashion", "metaplasticity-2021", "kirkpatrick", "bayesbinn", "bimu", "si", "mesu", "remanent", "stream", "digits"] | None = 'remanent',
        epochs: int = 10,
        predictor: str = 'sampled',
        draws: int = 8,
        scaling: Literal["standard", "none"] = 'standard',
        random_state: int | np.random.RandomState | None = 1,
        progress: bool | Callable[[int, int], object] | None = False,
        learner: Literal["vcl", "ewc", "metaplasticity", "ste", "joint", "bayesbinn", "bimu", "si", "mesu", "sgd"] | None = None,
        batch: int | None = None,
        lr: float | None = None,
        lr_rule: Literal["constant", "batch", "steps"] | None = None,
        lr_schedule: Literal["constant", "cosine", "linear"] | None = None,
        optimizer: Literal["adam", "sgd"] | None = None,
        adam: ArrayLike | None = None,
        reset_moments: bool | None = None,
        metaplastic: bool | None = None,
        precision: Literal["f32", "bf16"] | None = None,
        hidden: int | Sequence[int] | None = None,
        activation: Literal["relu", "sign", "gate"] | None = None,
        normalisation: Literal["none", "layer", "batch", "layer-all", "batch-plain"] | None = None,
        output_scale: float | None = None,
        learned_scale: bool | None = None,
        least_scale: float | None = None,
        spread: float | None = None,
        standardise: ArrayLike | None = None,
        beta_schedule: float | str | Sequence[float] | None = None,
        anchor: Literal["none", "step", "task", "both"] | None = None,
        gamma: float | None = None,
        gamma_step: float | None = None,
        gamma_task: float | None = None,
        gamma_rule: Literal["constant", "weights"] | None = None,
        first_prior: Literal["none", "uniform"] | None = None,
        lambda_: float | None = None,
        rho: float | None = None,
        reserve: float | None = None,
        horizon: int | None = None,
        reset_fields: bool | None = None,
        window: int | None = None,
        fisher: Literal["variance", "empirical", "online"] | None = None,
        form: Literal["printed", "original"] | None = None,
        meta: ArrayLike | None = None,
        samples: int | None = None,
        temperature: float | None = None,
        likelihood: float | None = None,
        kl: float | None = None,
        max_rate: float | None = None,
        prior_strength: float | None = None,
        damping: float | None = None,
        sigma: float | None = None,
        lr_sigma: float | None = None,
        prior_sigma: float | None = None,
        clip: float | None = None,
    ) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> ContinualBinaryClassifier: ...
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> ContinualBinaryClassifier: ...
    @property
    def model_(self) -> Model: ...
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def uncertainty(self, X: ArrayLike, draws: int = 100) -> Uncertainty: ...
    def __sklearn_is_fitted__(self) -> bool: ...
