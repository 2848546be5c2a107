#!/usr/bin/env python3
"""Variational learning of a network of binary weights in NumPy, as scripts are published, timed.

Lists of matrices, one pass over each for the mean, the variance, the forward
pass, the deltas, the gradients and Adam, every intermediate a fresh array, tanh
taken anew wherever it stands in a formula. Single precision. The mathematics is
that of `torch_network.py`. One JSON line goes to standard output.
"""

import math

from protocol import RULE, Batches, Step, argument_parser, initial_fields, keep_to_environment, make_data, measure
from protocol import print_report

import numpy as np

Array = np.ndarray


def means(theta: list[Array]) -> list[Array]:
    """mu = tanh(beta theta)."""
    return [np.tanh(RULE.beta * t) for t in theta]


def variances(theta: list[Array]) -> list[Array]:
    """sigma^2 = 1 - tanh^2(beta theta)."""
    return [1 - np.tanh(RULE.beta * t) ** 2 for t in theta]


def forward(
    x: Array, mu: list[Array], variance: list[Array], noise: list[Array]
) -> tuple[list[Array], list[Array], list[Array]]:
    """Activities upstream of every layer, inputs z and deviations v downstream of it."""
    h, z, v = [x], [], []
    for l in range(len(mu)):
        n = mu[l].shape[0]
        mean = np.dot(h[l], mu[l]) / math.sqrt(n)
        v.append(np.sqrt(np.dot(h[l] ** 2, variance[l]) / n))
        z.append(mean + noise[l] * v[l])
        h.append(np.maximum(z[l], 0))
    return h, z, v


def softmax(z: Array) -> Array:
    """Rows of probabilities."""
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def noise_over_deviation(noise: Array, v: Array) -> Array:
    """eps / v, zero where nothing fluctuates."""
    return np.where(v > 0, noise / np.where(v > 0, v, 1), 0).astype(np.float32)


def deltas(
    probability: Array,
    one_hot: Array,
    h: list[Array],
    z: list[Array],
    q: list[Array],
    mu: list[Array],
    variance: list[Array],
) -> list[Array]:
    """K = dLoss/dz of every layer."""
    k = [probability - one_hot]
    for l in range(len(mu) - 1, 0, -1):
        n = mu[l].shape[0]
        through_mean = np.dot(k[0], mu[l].T) / math.sqrt(n)
        through_variance = h[l] * np.dot(k[0] * q[l], variance[l].T) / n
        k.insert(0, (through_mean + through_variance) * (z[l - 1] > 0))
    return k


def gradients(
    theta: list[Array], h: list[Array], k: list[Array], q: list[Array], last: list[Array]
) -> list[Array]:
    """beta sigma^2 delta, and the pull of the last step."""
    g = []
    for l in range(len(theta)):
        n = theta[l].shape[0]
        through_mean = np.dot(h[l].T, k[l]) / math.sqrt(n)
        through_variance = np.dot((h[l] ** 2).T, k[l] * q[l]) / n
        delta = through_mean - np.tanh(RULE.beta * theta[l]) * through_variance
        likelihood = RULE.beta * (1 - np.tanh(RULE.beta * theta[l]) ** 2) * delta
        g.append(likelihood + RULE.gamma * last[l])
    return g


class Adam:
    """Written out, a fresh array for every intermediate."""

    def __init__(self, theta: list[Array]):
        self.first = [np.zeros_like(t) for t in theta]
        self.second = [np.zeros_like(t) for t in theta]
        self.t = 0

    def updated(self, theta: list[Array], g: list[Array]) -> list[Array]:
        """The parameters after a step."""
        self.t += 1
        new = []
        for l in range(len(theta)):
            self.first[l] = RULE.decay_1 * self.first[l] + (1 - RULE.decay_1) * g[l]
            self.second[l] = RULE.decay_2 * self.second[l] + (1 - RULE.decay_2) * g[l] ** 2
            first = self.first[l] / (1 - RULE.decay_1**self.t)
            second = self.second[l] / (1 - RULE.decay_2**self.t)
            new.append(theta[l] - RULE.learning_rate * first / (np.sqrt(second) + RULE.epsilon))
        return new


def pulls(new: list[Array], old: list[Array]) -> list[Array]:
    """beta^2 sigma^2 (theta^k - theta^{k-1})."""
    return [RULE.beta**2 * (1 - np.tanh(RULE.beta * b) ** 2) * (b - a) for a, b in zip(old, new)]


class Learner:
    """Everything that changes from step to step."""

    def __init__(self, theta: list[Array]):
        self.theta = theta
        self.last = [np.zeros_like(t) for t in theta]
        self.adam = Adam(theta)

    def learn(self, x: Array, labels: Array, noise: list[Array]) -> float:
        """One batch; the mean loss before the update."""
        mu, variance = means(self.theta), variances(self.theta)
        h, z, v = forward(x, mu, variance, noise)
        probability = softmax(z[-1])
        one_hot = np.eye(probability.shape[1], dtype=np.float32)[labels]
        q = [noise_over_deviation(e, s) for e, s in zip(noise, v)]
        k = deltas(probability, one_hot, h, z, q, mu, variance)
        old = self.theta
        self.theta = self.adam.updated(old, gradients(old, h, k, q, self.last))
        self.last = pulls(self.theta, old)
        return -np.mean(np.log(np.sum(probability * one_hot, axis=1) + 1e-30))


def make_step(arguments) -> Step:
    """Draws a batch and its noise and learns."""
    images, labels = make_data(arguments)
    learner = Learner(initial_fields(arguments))
    rng = np.random.default_rng(arguments.seed + 2)
    batches = Batches(len(images), arguments.batch, rng.permutation)

    def step() -> float:
        index = batches.next()
        noise = [rng.standard_normal((arguments.batch, n), dtype=np.float32) for n in arguments.widths[1:]]
        return learner.learn(images[index], labels[index], noise)

    return step


def main() -> None:
    """Prints the JSON line of one run."""
    arguments = argument_parser(__doc__.splitlines()[0]).parse_args()
    keep_to_environment("numpy", arguments.threads)
    timing = measure(make_step(arguments), arguments)
    print_report("numpy", arguments, timing, None, np.__version__)


if __name__ == "__main__":
    main()
