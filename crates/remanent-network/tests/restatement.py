#!/usr/bin/env python3
"""A second statement of what the networks compute and how they learn.

    python restatement.py DIR [DIR ...]     replay traced runs and compare
    python restatement.py --self-test       check the formulas below by themselves

A traced run is a folder with `case.json` and arrays: initial parameters, every
batch, every noise draw, and the parameters and losses the program arrived at.
The run is replayed here from the definitions, in double precision unless told
otherwise, and must arrive at the same. One line per folder; exit status 1 if
any parameter departs by more than 1e-5 of max(1, |parameter|), or any loss by
more than 1e-5 of itself.

Weights of layer l are indexed [upstream, downstream]; batches are rows; losses
and gradients are sums over the batch. Only NumPy is needed.
"""

import argparse
import itertools
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Protocol

import numpy as np

Array = np.ndarray

THETA_TOLERANCE = 1e-5
LOSS_TOLERANCE = 1e-5
NORMALISATION_EPSILON = 1e-5
TIE = 1e-6
"""An input of a sign this close to a threshold may fall on the other side in single precision."""


# Distributions of a binary weight.


def spin_mean(a: Array) -> Array:
    """Mean of a spin of +-1 in the field a."""
    return np.tanh(a)


def spin_variance(a: Array) -> Array:
    """1 - tanh^2(a) = 1 / cosh^2(a), without cancellation or overflow."""
    e = np.exp(-2 * np.abs(a))
    return 4 * e / (1 + e) ** 2


def sign(x: Array) -> Array:
    """+1 where x >= 0, else -1."""
    return np.where(x >= 0, 1.0, -1.0).astype(x.dtype)


# Layers of weights. Each holds what it needs to go back.


class Weights(Protocol):
    """A layer of weights: from activities upstream to the inputs z downstream, and back."""

    def forward(self, h: Array, noise: Array | None) -> Array:
        """z, a row per example."""

    def gradient(self, k: Array) -> Array:
        """dLoss/dtheta from K = dLoss/dz."""

    def upstream(self, k: Array) -> Array:
        """dLoss/dh from K = dLoss/dz."""


class FieldWeights:
    """Weights of +-1 in fields beta theta, their sum Gaussian: z = m + eps sqrt(V)."""

    def __init__(self, theta: Array, beta: float):
        self.beta, self.n = beta, theta.shape[0]
        self.mu = spin_mean(beta * theta)
        self.variance = spin_variance(beta * theta)

    def forward(self, h: Array, noise: Array | None) -> Array:
        """m = h mu / sqrt(N), V = h^2 sigma^2 / N."""
        assert noise is not None, "a network of fields needs noise"
        self.h = h
        m = h @ self.mu / math.sqrt(self.n)
        v = np.sqrt(h**2 @ self.variance / self.n)
        self.noise_over_v = np.divide(noise, v, out=np.zeros_like(v), where=v > 0)
        return m + noise * v

    def gradient(self, k: Array) -> Array:
        """beta sigma^2 delta, where delta is the gradient with respect to mu at the same noise."""
        through_mean = self.h.T @ k / math.sqrt(self.n)
        through_variance = (self.h**2).T @ (k * self.noise_over_v) / self.n
        delta = through_mean - self.mu * through_variance
        return self.beta * self.variance * delta

    def upstream(self, k: Array) -> Array:
        """The same two paths, to the activities."""
        through_mean = k @ self.mu.T / math.sqrt(self.n)
        through_variance = self.h * ((k * self.noise_over_v) @ self.variance.T) / self.n
        return through_mean + through_variance


class SignWeights:
    """Weights w = sign(theta), z = h w / sqrt(N); the sign passes gradients straight through."""

    def __init__(self, theta: Array):
        self.n = theta.shape[0]
        self.w = sign(theta)

    def forward(self, h: Array, noise: Array | None) -> Array:
        """z = h w / sqrt(N), no noise."""
        self.h = h
        return h @ self.w / math.sqrt(self.n)

    def gradient(self, k: Array) -> Array:
        """The gradient with respect to w, taken for that with respect to theta."""
        return self.h.T @ k / math.sqrt(self.n)

    def upstream(self, k: Array) -> Array:
        """K w^T / sqrt(N)."""
        return k @ self.w.T / math.sqrt(self.n)


# Normalisations.


class NoNorm:
    """Leaves z alone."""

    def forward(self, z: Array) -> Array:
        """z."""
        return z

    def backward(self, k: Array) -> Array:
        """K."""
        return k


class Standardise:
    """(z - mean) / sqrt(var + 1e-5) along an axis, variance biased."""

    def __init__(self, axis: int):
        self.axis = axis

    def forward(self, z: Array) -> Array:
        """Mean zero and variance (almost) one along the axis."""
        centred = z - z.mean(self.axis, keepdims=True)
        self.deviation = np.sqrt((centred**2).mean(self.axis, keepdims=True) + NORMALISATION_EPSILON)
        self.n = centred / self.deviation
        return self.n

    def backward(self, k: Array) -> Array:
        """Mean and deviation depend on every z along the axis."""
        k_mean = k.mean(self.axis, keepdims=True)
        k_along_n = (k * self.n).mean(self.axis, keepdims=True)
        return (k - k_mean - self.n * k_along_n) / self.deviation


class LayerNorm(Standardise):
    """Standardises the neurons of a layer, example by example."""

    def __init__(self) -> None:
        super().__init__(axis=1)


class BatchNorm:
    """Standardises each neuron over the batch, then a learned gain and shift per neuron."""

    def __init__(self, gain: Array, shift: Array):
        self.gain, self.shift = gain, shift
        self.standardise = Standardise(axis=0)

    def forward(self, z: Array) -> Array:
        """gain n + shift."""
        self.n = self.standardise.forward(z)
        return self.gain * self.n + self.shift

    def backward(self, k: Array) -> Array:
        """Keeps the gradients of gain and shift, sums over the batch."""
        self.gain_gradient = (k * self.n).sum(0)
        self.shift_gradient = k.sum(0)
        return self.standardise.backward(k * self.gain)


# Activations: value and derivative.


class Relu:
    """max(0, x), derivative 1 where x > 0."""

    def value(self, x: Array) -> Array:
        """max(0, x)."""
        return np.maximum(x, 0)

    def derivative(self, x: Array) -> Array:
        """1 where x > 0."""
        return (x > 0).astype(x.dtype)


class Sign:
    """sign(x), with the derivative of clip(x, -1, 1)."""

    def value(self, x: Array) -> Array:
        """+1 at x >= 0."""
        return sign(x)

    def derivative(self, x: Array) -> Array:
        """1 where |x| <= 1."""
        return (np.abs(x) <= 1).astype(x.dtype)

    def margin(self, x: Array) -> float:
        """Least distance to a place where value or derivative jumps."""
        return float(min(np.abs(x).min(), np.abs(np.abs(x) - 1).min()))


ACTIVATIONS: dict[str, Any] = {"relu": Relu, "sign": Sign}


# The loss.


class CrossEntropy:
    """Sum over the batch of the cross entropy of softmax(exp(t) x)."""

    def __init__(self, log_scale: float):
        self.scale = math.exp(log_scale)

    def forward(self, x: Array, labels: Array) -> float:
        """The loss, with the largest logit taken out."""
        self.x, self.labels = x, labels
        logits = self.scale * x
        shifted = logits - logits.max(1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(1, keepdims=True))
        self.log_probability = shifted - log_sum
        return float(-self.log_probability[np.arange(len(labels)), labels].sum())

    def logit_gradient(self) -> Array:
        """softmax minus one at the label."""
        p = np.exp(self.log_probability)
        p[np.arange(len(self.labels)), self.labels] -= 1
        return p

    def backward(self) -> Array:
        """dLoss/dx."""
        return self.scale * self.logit_gradient()

    def log_scale_gradient(self) -> float:
        """dLoss/dt; the logits are their own derivative with respect to t."""
        return float((self.logit_gradient() * self.scale * self.x).sum())


# The network.


@dataclass
class Gradients:
    """Of the loss, with respect to everything learned."""

    theta: list[Array]
    log_scale: float
    gain: list[Array] = field(default_factory=list)
    shift: list[Array] = field(default_factory=list)


@dataclass
class Network:
    """Layers of weights with what stands between them, for one batch."""

    weights: list[Weights]
    norms: list[Any]
    activation: Any
    log_scale: float

    def forward(self, images: Array, labels: Array, noise: list[Array | None]) -> float:
        """The loss; the last layer has no activation."""
        h, self.inputs = images, []
        for l, (weights, norm) in enumerate(zip(self.weights, self.norms)):
            x = norm.forward(weights.forward(h, noise[l]))
            self.inputs.append(x)
            h = self.activation.value(x)
        self.loss = CrossEntropy(self.log_scale)
        return self.loss.forward(self.inputs[-1], labels)

    def backward(self) -> Gradients:
        """From the loss to the images, layer by layer."""
        theta: list[Array] = []
        down = self.loss.backward()
        for l in reversed(range(len(self.weights))):
            k = self.norms[l].backward(down)
            theta.insert(0, self.weights[l].gradient(k))
            if l > 0:
                down = self.weights[l].upstream(k) * self.activation.derivative(self.inputs[l - 1])
        batch_norms = [norm for norm in self.norms if isinstance(norm, BatchNorm)]
        return Gradients(
            theta,
            self.loss.log_scale_gradient(),
            [norm.gain_gradient for norm in batch_norms],
            [norm.shift_gradient for norm in batch_norms],
        )


    def ties(self) -> list[str]:
        """Hidden layers with a sign that rounding may turn."""
        if not isinstance(self.activation, Sign):
            return []
        return [f"hidden layer {l + 1}" for l, x in enumerate(self.inputs[:-1]) if self.activation.margin(x) < TIE]


# Optimisers: from a gradient to a step, theta <- theta - step.


class Adam:
    """Bias-corrected; moments and count are kept for the whole run, unless a switch makes new ones."""

    def __init__(self, learning_rate: float, constants: tuple[float, float, float]):
        self.learning_rate, self.constants = learning_rate, constants
        self.first: Any = 0.0
        self.second: Any = 0.0
        self.t = 0

    def step(self, g: Any) -> Any:
        """lr m1 / (1 - b1^t) / (sqrt(m2 / (1 - b2^t)) + eps)."""
        b1, b2, epsilon = self.constants
        self.t += 1
        self.first = b1 * self.first + (1 - b1) * g
        self.second = b2 * self.second + (1 - b2) * g**2
        first = self.first / (1 - b1**self.t)
        second = self.second / (1 - b2**self.t)
        return self.learning_rate * first / (np.sqrt(second) + epsilon)


class Sgd:
    """Plain gradient descent."""

    def __init__(self, learning_rate: float):
        self.learning_rate = learning_rate

    def step(self, g: Any) -> Any:
        """lr g."""
        return self.learning_rate * g


def metaplastic_step_printed(theta: Array, g: Array, learning_rate: float, m: float) -> Array:
    """lr (1 - zeta tanh^2(m theta)) g, zeta = 1 where the step shrinks |theta|."""
    zeta = (np.sign(sign(theta) * g) + 1) / 2
    return learning_rate * (1 - zeta * spin_mean(m * theta) ** 2) * g


def metaplastic_step_original(theta: Array, u: Array, m: float) -> Array:
    """An optimiser's step u, damped where it shrinks |theta|."""
    shrinks = u * sign(theta) > 0
    return np.where(shrinks, u * spin_variance(m * theta), u)


# Regularisers: what they add to the gradient of one layer.


class StepAnchor:
    """Pulls on from the last step: gamma D, D = beta^2 sigma^2 (theta^k - theta^{k-1})."""

    def __init__(self, gamma: float, variance_at_new: bool):
        self.gamma, self.variance_at_new = gamma, variance_at_new
        self.d: Any = 0.0

    def gradient(self) -> Any:
        """Zero at the first step."""
        return self.gamma * self.d

    def after_step(self, old: Array, new: Array, beta: float) -> None:
        """Variance at the new fields (KL of new from old), or at the old (Fisher metric there)."""
        at = new if self.variance_at_new else old
        self.d = beta**2 * spin_variance(beta * at) * (new - old)


class TaskAnchor:
    """Pulls back to the fields a* at the last switch; nothing in the first task."""

    def __init__(self, gamma: float, variance_at_new: bool):
        self.gamma, self.variance_at_new = gamma, variance_at_new
        self.reference: Array | None = None

    def gradient(self, theta: Array, beta: float, share: float) -> Any:
        """gamma (B/M) beta sigma^2 (beta theta - a*), share = B/M."""
        if self.reference is None:
            return 0.0
        a = beta * theta
        variance = spin_variance(a if self.variance_at_new else self.reference)
        return self.gamma * share * beta * variance * (a - self.reference)

    def switch(self, theta: Array, last_beta: float) -> None:
        """A new task begins."""
        self.reference = last_beta * theta


class FisherAnchor:
    """Pulls back with the empirical Fisher information of all tasks before."""

    def __init__(self, gamma: float):
        self.gamma = gamma
        self.fisher: Any = 0.0
        self.centre: Any = 0.0

    def gradient(self, theta: Array, beta: float, share: float) -> Any:
        """gamma (B/M) sum_t F_t (theta - theta_t)."""
        return self.gamma * share * (self.fisher * theta - self.centre)

    def add(self, theta: Array, task_fisher: Array) -> None:
        """A task ends at theta."""
        self.fisher = self.fisher + task_fisher
        self.centre = self.centre + task_fisher * theta


# A traced run.


class Trace:
    """The folder of one run, read as it is asked for."""

    def __init__(self, folder: Path, dtype: type = np.float64):
        self.folder, self.dtype = folder, dtype
        self.case: dict[str, Any] = json.loads((folder / "case.json").read_text())

    def __getattr__(self, key: str) -> Any:
        try:
            return self.__dict__["case"][key]
        except KeyError:
            raise AttributeError(f"{self.__dict__['folder']}/case.json lacks {key}") from None

    def array(self, name: str) -> Array:
        """Real numbers, at the precision of the replay."""
        return np.load(self.folder / f"{name}.npy").astype(self.dtype)

    def labels(self, name: str) -> Array:
        """Classes, for use as indices."""
        return np.load(self.folder / f"{name}.npy").astype(np.int64)

    @property
    def layers(self) -> range:
        """Indices of the layers of weights."""
        return range(len(self.widths) - 1)

    @property
    def has_fields(self) -> bool:
        """Whether weights are drawn from fields, or are signs."""
        return self.learner in ("vcl", "ewc")

    @property
    def is_empirical(self) -> bool:
        """Whether tasks are remembered by the empirical Fisher information."""
        return self.learner == "ewc" and self.fisher == "empirical"

    def anchored(self, to: str) -> bool:
        """Whether a regulariser ties each step to the last "step" or to the last "task"."""
        return self.has_fields and self.anchor in (to, "both")

    def refuse_undefined(self) -> None:
        """Combinations that the definitions leave open."""
        if self.is_empirical and self.anchored("step"):
            raise ValueError("an empirical Fisher information is taken at the end of a task, not at a step")
        if self.is_empirical and self.normalisation == "batch":
            raise ValueError("batch normalisation has no gradient of a single example")


class Replay:
    """One run, from its initial parameters, batches and noise."""

    def __init__(self, trace: Trace):
        trace.refuse_undefined()
        self.trace = trace
        self.theta = [trace.array(f"theta0_{l}") for l in trace.layers]
        self.log_scale = 0.0
        outputs = trace.widths[1:] if trace.normalisation == "batch" else []
        self.gain = [np.ones(n, trace.dtype) for n in outputs]
        self.shift = [np.zeros(n, trace.dtype) for n in outputs]
        self.task, self.steps = 0, 0
        self.first_tie = ""

        at_new = trace.learner == "vcl"
        self.step_anchors: list[StepAnchor] = []
        self.task_anchors: list[TaskAnchor] | list[FisherAnchor] = []
        if trace.anchored("step"):
            self.step_anchors = [StepAnchor(trace.gamma_step, at_new) for _ in trace.layers]
        if trace.anchored("task") and trace.is_empirical:
            self.task_anchors = [FisherAnchor(trace.gamma_task) for _ in trace.layers]
        elif trace.anchored("task"):
            self.task_anchors = [TaskAnchor(trace.gamma_task, at_new) for _ in trace.layers]

        self.make_optimisers()

    def make_optimisers(self) -> None:
        """Optimisers without a past."""
        trace = self.trace
        use_sgd = trace.has_fields and trace.optimizer == "sgd"
        self.optimisers: list[Any] = [Sgd(trace.learning_rate) if use_sgd else self.adam() for _ in trace.layers]
        self.log_scale_adam = self.adam()
        self.gain_adam = [self.adam() for _ in self.gain]
        self.shift_adam = [self.adam() for _ in self.shift]

    def adam(self) -> Adam:
        """Adam with the constants of the run and moments of its own."""
        return Adam(self.trace.learning_rate, tuple(self.trace.adam))

    def network(self, beta: float) -> Network:
        """The network of the present parameters."""
        make = {
            "none": lambda l, last: NoNorm(),
            "layer": lambda l, last: NoNorm() if last else LayerNorm(),
            "batch": lambda l, last: BatchNorm(self.gain[l], self.shift[l]),
        }[self.trace.normalisation]
        weights: list[Weights] = [
            FieldWeights(theta, beta) if self.trace.has_fields else SignWeights(theta) for theta in self.theta
        ]
        norms: list[Any] = [make(l, l == self.trace.layers[-1]) for l in self.trace.layers]
        return Network(weights, norms, ACTIVATIONS[self.trace.activation](), self.log_scale)

    def regulariser(self, l: int, beta: float, share: float) -> Any:
        """Everything added to the gradient of a layer."""
        total: Any = 0.0
        if self.step_anchors:
            total = total + self.step_anchors[l].gradient()
        if self.task_anchors:
            total = total + self.task_anchors[l].gradient(self.theta[l], beta, share)
        return total

    def theta_step(self, l: int, g: Array, beta: float, meta: float) -> Array:
        """What is subtracted from the parameters of a layer."""
        if self.trace.learner != "metaplasticity":
            step = self.optimisers[l].step(g)
            return step / np.cosh(beta * self.theta[l]) ** 2 if self.trace.metaplastic else step
        if self.trace.form == "printed":
            return metaplastic_step_printed(self.theta[l], g, self.trace.learning_rate, meta)
        return metaplastic_step_original(self.theta[l], self.optimisers[l].step(g), meta)

    def step(self, images: Array, labels: Array, noise: list[Array | None], beta: float, meta: float) -> float:
        """One batch; the loss before the update."""
        network = self.network(beta)
        loss = network.forward(images, labels, noise)
        gradients = network.backward()
        self.steps += 1
        for tie in network.ties()[:1]:
            self.first_tie = self.first_tie or f"{tie} at step {self.steps}"
        share = len(labels) / self.trace.examples[self.task]
        for l, g in enumerate(gradients.theta):
            old = self.theta[l]
            new = old - self.theta_step(l, g + self.regulariser(l, beta, share), beta, meta)
            if self.step_anchors:
                self.step_anchors[l].after_step(old, new, beta)
            self.theta[l] = new
        if self.trace.learned_temperature:
            self.log_scale -= float(self.log_scale_adam.step(gradients.log_scale))
            if self.trace.least_temperature > 0:
                self.log_scale = max(self.log_scale, float(np.log(self.trace.least_temperature)))
        for l in range(len(self.gain)):
            self.gain[l] = self.gain[l] - self.gain_adam[l].step(gradients.gain[l])
            self.shift[l] = self.shift[l] - self.shift_adam[l].step(gradients.shift[l])
        return loss

    def empirical_fisher(self, images: Array, labels: Array, noise: list[Array], beta: float) -> list[Array]:
        """Sum over examples of the square of each one's gradient."""
        total = [np.zeros_like(theta) for theta in self.theta]
        network = self.network(beta)
        for n in range(len(labels)):
            network.forward(images[n : n + 1], labels[n : n + 1], [draws[n : n + 1] for draws in noise])
            for sum_of_squares, g in zip(total, network.backward().theta):
                sum_of_squares += g**2
        return total

    def switch(self, last_beta: float) -> None:
        """Ends a task and begins the next."""
        trace, t = self.trace, self.task
        if self.task_anchors and trace.is_empirical:
            images, labels = trace.array(f"fisher_images_{t}"), trace.labels(f"fisher_labels_{t}")
            noise = [trace.array(f"fisher_noise_{t}_{l}") for l in trace.layers]
            fishers = self.empirical_fisher(images, labels, noise, last_beta)
            for anchor, theta, fisher in zip(self.task_anchors, self.theta, fishers):
                anchor.add(theta, fisher)
        else:
            for anchor, theta in zip(self.task_anchors, self.theta):
                anchor.switch(theta, last_beta)
        if trace.reset_moments:
            self.make_optimisers()
        self.task += 1


# The comparison.


@dataclass
class Deviation:
    """The largest seen so far, where, and where the first beyond the tolerance was."""

    tolerance: float
    value: float = 0.0
    where: str = ""
    first: str = ""

    def see(self, value: float, where: str) -> None:
        """Keeps the larger; what is not a number is larger than anything."""
        value = math.inf if math.isnan(value) else value
        if value > self.value:
            self.value, self.where = value, where
        if value > self.tolerance:
            self.first = self.first or where

    def offence(self) -> list[str]:
        """Where it went wrong, if it did."""
        return [f"most {self.where}, first {self.first}"] if self.first else []


def parameter_deviation(ours: Array, theirs: Array) -> float:
    """Largest |ours - theirs| / max(1, |ours|)."""
    if np.shape(ours) != np.shape(theirs):
        raise ValueError(f"recorded with shape {np.shape(theirs)}, expected {np.shape(ours)}")
    return float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(ours))))


def relative_deviation(ours: float, theirs: float) -> float:
    """|ours - theirs| / |ours|."""
    return abs(ours - theirs) / max(abs(ours), sys.float_info.min)


@dataclass
class Recorded:
    """What the program recorded of its parameters, to be compared as the replay passes by."""

    trace: Trace

    def __post_init__(self) -> None:
        trace = self.trace
        self.after = [trace.array(f"after_{l}") for l in trace.layers]
        batch_norm = trace.normalisation == "batch"
        self.gain = [trace.array(f"gain_{l}") for l in trace.layers] if batch_norm else []
        self.shift = [trace.array(f"shift_{l}") for l in trace.layers] if batch_norm else []
        self.log_scale = trace.array("temperature") if trace.learned_temperature else None

    def compare(self, replay: Replay, steps: int, worst: Deviation) -> None:
        """Everything recorded after so many steps."""
        for row in (row for row, count in enumerate(self.trace.recorded) if count == steps):
            for name, ours, theirs in (
                ("theta", replay.theta, self.after),
                ("gain", replay.gain, self.gain),
                ("shift", replay.shift, self.shift),
            ):
                for l in range(len(ours)):
                    worst.see(parameter_deviation(ours[l], theirs[l][row]), f"{name} of layer {l} after step {steps}")
            if self.log_scale is not None:
                ours_scale = np.asarray(replay.log_scale)
                worst.see(parameter_deviation(ours_scale, self.log_scale[row]), f"temperature after step {steps}")


def replay_and_compare(trace: Trace) -> tuple[Deviation, Deviation, str]:
    """Largest deviations of parameters and of losses, and where a sign was first within rounding of turning."""
    replay, recorded = Replay(trace), Recorded(trace)
    images, labels, losses = trace.array("images"), trace.labels("labels"), trace.array("loss")
    noise = [trace.array(f"noise_{l}") for l in trace.layers] if trace.has_fields else None
    of_theta, of_loss = Deviation(THETA_TOLERANCE), Deviation(LOSS_TOLERANCE)
    recorded.compare(replay, 0, of_theta)
    for k in range(len(images)):
        if k in trace.switches:
            replay.switch(last_beta=trace.beta[k - 1])
        draws = [layer[k] for layer in noise] if noise else [None for _ in trace.layers]
        loss = replay.step(images[k], labels[k], draws, trace.beta[k], trace.meta[k])
        of_loss.see(relative_deviation(loss, float(losses[k])), f"loss of step {k + 1}")
        recorded.compare(replay, k + 1, of_theta)
    return of_theta, of_loss, replay.first_tie


def report(folder: Path, dtype: type) -> bool:
    """Prints the line of one folder; whether it agrees."""
    try:
        of_theta, of_loss, tie = replay_and_compare(Trace(folder, dtype))
    except (OSError, ValueError, AttributeError, KeyError, IndexError, TypeError) as problem:
        print(f"{folder.name}  cannot be replayed: {problem}")
        return False
    line = f"{folder.name}  theta {of_theta.value:.2e}  loss {of_loss.value:.2e}"
    offences = of_theta.offence() + of_loss.offence()
    tied = f" (a sign is within {TIE:.0e} of turning: {tie})" if tie else ""
    print(line + (f"  DEPARTS: {'; '.join(offences)}{tied}" if offences else "  agrees"))
    return not offences


# The self-test.


class LinearWeights(SignWeights):
    """Sign weights with theta itself for w, so that straight-through gradients are exact."""

    def __init__(self, theta: Array):
        super().__init__(theta)
        self.w = theta


class Clip(Sign):
    """The function whose derivative a sign is given."""

    def value(self, x: Array) -> Array:
        """clip(x, -1, 1)."""
        return np.clip(x, -1, 1)


def central_difference(f: Callable[[], float], x: Array, index: tuple[int, ...], width: float = 1e-5) -> float:
    """df/dx at one place, x being changed and put back."""
    kept = x[index]
    x[index] = kept + width
    above = f()
    x[index] = kept - width
    below = f()
    x[index] = kept
    return (above - below) / (2 * width)


def gradient_error(f: Callable[[], float], x: Array, g: Array) -> float:
    """Largest departure of a gradient from central differences, over the largest entry."""
    numeric = np.array([central_difference(f, x, index) for index in np.ndindex(x.shape)]).reshape(x.shape)
    return float(np.abs(numeric - g).max() / max(np.abs(g).max(), 1e-3))


def network_gradient_errors(weights: str, activation: Any, norm: str, seed: int) -> dict[str, float]:
    """Every gradient of a small random network against central differences."""
    rng = np.random.default_rng(seed)
    widths, batch, beta = [7, 6, 5, 4], 5, 1.3
    layers = range(len(widths) - 1)
    theta = [rng.normal(size=shape) for shape in zip(widths, widths[1:])]
    gain = [1 + 0.3 * rng.normal(size=n) for n in widths[1:]]
    shift = [0.3 * rng.normal(size=n) for n in widths[1:]]
    log_scale = np.array([0.4])
    images = rng.random((batch, widths[0])) * (rng.random((batch, widths[0])) < 0.7)
    labels = rng.integers(widths[-1], size=batch)
    noise = [rng.normal(size=(batch, n)) for n in widths[1:]]

    def network() -> Network:
        make_weights = {"field": lambda x: FieldWeights(x, beta), "sign": LinearWeights}[weights]
        norms: list[Any] = {
            "none": [NoNorm() for _ in layers],
            "layer": [*(LayerNorm() for _ in layers[:-1]), NoNorm()],
            "batch": [BatchNorm(*parameters) for parameters in zip(gain, shift)],
        }[norm]
        return Network([make_weights(x) for x in theta], norms, activation, float(log_scale[0]))

    def loss() -> float:
        return network().forward(images, labels, list(noise))

    net = network()
    net.forward(images, labels, list(noise))
    g = net.backward()
    errors = {f"theta {l}": gradient_error(loss, theta[l], g.theta[l]) for l in layers}
    errors["temperature"] = gradient_error(loss, log_scale, np.array([g.log_scale]))
    if norm == "batch":
        errors |= {f"gain {l}": gradient_error(loss, gain[l], g.gain[l]) for l in layers}
        errors |= {f"shift {l}": gradient_error(loss, shift[l], g.shift[l]) for l in layers}
    return errors


def single_layer_errors(seed: int) -> dict[str, float]:
    """Each path of one layer of fields alone: mean, deviation, activities; and a layer without variance."""
    rng = np.random.default_rng(seed)
    theta, h = rng.normal(size=(6, 4)), rng.normal(size=(3, 6))
    noise, k = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    errors = {}
    for name, draws in (("mean alone", 0 * noise), ("mean and deviation", noise)):
        layer = FieldWeights(theta, 0.8)
        layer.forward(h, draws)

        def projected() -> float:
            return float((k * FieldWeights(theta, 0.8).forward(h, draws)).sum())

        errors[f"layer, {name}"] = gradient_error(projected, theta, layer.gradient(k))
        errors[f"upstream, {name}"] = gradient_error(projected, h, layer.upstream(k))
    silent = FieldWeights(theta, 0.8)
    z = silent.forward(0 * h, noise)
    errors["no variance"] = float(np.abs(z).max() + np.abs(silent.gradient(k)).max())
    return errors


def kl_divergence(theta: Array, reference: Array, beta: float) -> float:
    """KL(q_theta || q_reference), q(w) = prod exp(beta theta w) / 2 cosh(beta theta)."""
    a, b = beta * theta, beta * reference
    return float(((a - b) * np.tanh(a) - np.logaddexp(a, -a) + np.logaddexp(b, -b)).sum())


def kl_by_enumeration(theta: Array, reference: Array, beta: float) -> float:
    """The same from all 2^N configurations."""
    w = np.array(list(itertools.product([-1, 1], repeat=theta.size)))

    def log_probability(x: Array) -> Array:
        energy = beta * w @ x
        return energy - np.log(np.exp(energy).sum())

    log_q, log_r = log_probability(theta), log_probability(reference)
    return float((np.exp(log_q) * (log_q - log_r)).sum())


def divergence_errors(seed: int) -> dict[str, float]:
    """The anchors as gradients of what they claim to be gradients of."""
    rng = np.random.default_rng(seed)
    beta, theta, reference = 1.7, rng.normal(size=8), rng.normal(size=8)
    exact = kl_by_enumeration(theta, reference, beta)
    errors = {"KL by enumeration": abs(kl_divergence(theta, reference, beta) - exact) / exact}

    step = StepAnchor(1.0, variance_at_new=True)
    step.after_step(reference, theta, beta)
    task = TaskAnchor(1.0, variance_at_new=True)
    task.switch(reference, beta)
    for name, g in (("step anchor", step.gradient()), ("task anchor", task.gradient(theta, beta, 1.0))):
        errors[f"{name}, gradient of KL"] = gradient_error(lambda: kl_divergence(theta, reference, beta), theta, g)

    def quadratic() -> float:
        return float(0.5 * (beta**2 * spin_variance(beta * reference) * (theta - reference) ** 2).sum())

    step = StepAnchor(1.0, variance_at_new=False)
    step.after_step(reference, theta, beta)
    task = TaskAnchor(1.0, variance_at_new=False)
    task.switch(reference, beta)
    for name, g in (("step", step.gradient()), ("task", task.gradient(theta, beta, 1.0))):
        errors[f"{name} anchor at reference, gradient of quadratic form"] = gradient_error(quadratic, theta, g)

    fields = np.array([0.0, 0.3, -2.0, 8.0])
    errors["variance of a spin"] = float(np.abs(spin_variance(fields) * np.cosh(fields) ** 2 - 1).max())
    return errors


def quadratic_form_error(seed: int, size: float = 1e-4) -> float:
    """KL(q_theta || q_reference) over 1/2 Delta F Delta, F = beta^2 sigma^2, less one: of the order of Delta."""
    rng = np.random.default_rng(seed)
    beta, reference, delta = 1.7, rng.normal(size=8), size * rng.normal(size=8)
    form = 0.5 * (beta**2 * spin_variance(beta * reference) * delta**2).sum()
    return float(abs(kl_divergence(reference + delta, reference, beta) / form - 1))


def self_test(tolerance: float = 1e-7, first_order: float = 1e-3) -> bool:
    """Prints every check; whether all hold."""
    checks: dict[str, float] = {}
    activations = (("relu", Relu()), ("clip", Clip()))
    for weights, (label, activation), norm in itertools.product(
        ("field", "sign"), activations, ("none", "layer", "batch")
    ):
        for name, error in network_gradient_errors(weights, activation, norm, seed=1).items():
            checks[f"{weights} weights, {label}, norm {norm}: {name}"] = error
    checks |= single_layer_errors(seed=2)
    checks |= divergence_errors(seed=3)
    limits = dict.fromkeys(checks, tolerance)
    checks["KL as quadratic form"], limits["KL as quadratic form"] = quadratic_form_error(seed=4), first_order
    for name, error in checks.items():
        print(f"{error:.1e}  {'holds' if error <= limits[name] else 'FAILS'}  {name}")
    return all(error <= limits[name] for name, error in checks.items())


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", metavar="DIR", nargs="*", type=Path, help="traced runs")
    parser.add_argument("--self-test", action="store_true", help="check the formulas by themselves")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64", help="precision of the replay")
    arguments = parser.parse_args()
    if not arguments.folders and not arguments.self_test:
        parser.error("nothing to do: give folders or --self-test")
    good = self_test() if arguments.self_test else True
    agreed = [report(folder, getattr(np, arguments.dtype)) for folder in arguments.folders]
    return 0 if good and all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
