#!/usr/bin/env python3
"""Variational learning of a network of binary weights in PyTorch with nothing wasted, timed.

Layer l has fields beta theta of shape [N, N'], mu = tanh(beta theta) and
sigma^2 = 1 - mu^2. Every neuron sums Gaussian inputs, every sample with noise
eps of its own, in the last layer too:

    z = h mu / sqrt(N) + eps v,      v^2 = h^2 sigma^2 / N,      h' = max(0, z).

The loss is the cross entropy of softmax(z), summed over the batch. With K its
gradient with respect to z and q = eps / v,

    delta   = h^T K / sqrt(N) - mu (h^2)^T (K q) / N,
    g       = beta sigma^2 (delta + gamma beta (theta - theta_before)),
    dLoss/dh = K mu^T / sqrt(N) + h (K q) (sigma^2)^T / N,

and Adam follows g. The second term of g is the pull of the last step; as beta
stays the same, it and the first share one factor sigma^2, and the tanh of a step
serves it too.

Three variants of the same computation:

    eager      gradients by hand, in place, preallocated, Adam by the fused kernel
    compiled   the same by hand, all but tanh in one torch.compile graph
    autograd   PyTorch differentiates the forward pass; Adam as in eager

One JSON line goes to standard output; imports, data, compilation and the first
steps are not timed.
"""

import math
import sys
from typing import Callable

from protocol import RULE, Batches, Step, argument_parser, initial_fields, keep_to_environment, make_data, measure
from protocol import print_report

import numpy
import torch
from torch import Tensor
from torch.nn import functional

Learn = Callable[[Tensor, Tensor, list[Tensor]], Tensor]
"""Learns from images, classes and noise; returns the summed loss before the update."""


class FusedAdam:
    """Adam by the kernel behind torch.optim.Adam(fused=True), one pass over each matrix."""

    def __init__(self, theta: list[Tensor]):
        self.theta = theta
        self.first = [torch.zeros_like(t) for t in theta]
        self.second = [torch.zeros_like(t) for t in theta]
        self.steps = [torch.zeros(()) for _ in theta]

    def __call__(self, gradients: list[Tensor]) -> None:
        """One update of theta, in place."""
        for step in self.steps:
            step.add_(1)
        torch._fused_adam_(
            self.theta,
            gradients,
            self.first,
            self.second,
            [],
            self.steps,
            lr=RULE.learning_rate,
            beta1=RULE.decay_1,
            beta2=RULE.decay_2,
            weight_decay=0.0,
            eps=RULE.epsilon,
            amsgrad=False,
            maximize=False,
        )


def mean_field(theta: Tensor, mu: Tensor) -> None:
    """Writes tanh(beta theta) to mu."""
    if RULE.beta == 1:
        torch.tanh(theta, out=mu)
    else:
        torch.mul(theta, RULE.beta, out=mu).tanh_()


def noise_over_deviation(noise: Tensor, v: Tensor) -> Tensor:
    """eps / v, zero where nothing fluctuates."""
    return torch.where(v > 0, noise / v, 0.0)


class EagerLayer:
    """Fields of one layer with everything that is made of them, kept from step to step."""

    def __init__(self, theta: Tensor):
        self.theta = theta
        self.n = theta.shape[0]
        self.mu, self.variance = torch.empty_like(theta), torch.empty_like(theta)
        self.before, self.gradient, self.scratch = theta.clone(), torch.empty_like(theta), torch.empty_like(theta)
        self.one = torch.ones(1)
        self.refresh()

    def refresh(self) -> None:
        """mu and sigma^2 of the present fields."""
        mean_field(self.theta, self.mu)
        torch.addcmul(self.one, self.mu, self.mu, value=-1, out=self.variance)

    def forward(self, h: Tensor, noise: Tensor) -> Tensor:
        """z, a row per example."""
        self.h, self.squares = h, h * h
        v = torch.mm(self.squares, self.variance).mul_(1 / self.n).sqrt_()
        self.q = noise_over_deviation(noise, v)
        z = torch.mm(h, self.mu).mul_(self.n**-0.5)
        return z.addcmul_(noise, v)

    def backward(self, k: Tensor) -> None:
        """Leaves the gradient of the loss and the pull of the last step in `gradient`."""
        self.kq = (k * self.q).mul_(1 / self.n)
        self.k = k * self.n**-0.5
        torch.mm(self.h.t(), self.k, out=self.gradient)
        torch.mm(self.squares.t(), self.kq, out=self.scratch)
        self.gradient.addcmul_(self.mu, self.scratch, value=-1)
        torch.sub(self.theta, self.before, out=self.before)
        self.gradient.add_(self.before, alpha=RULE.gamma * RULE.beta).mul_(self.variance)
        if RULE.beta != 1:
            self.gradient.mul_(RULE.beta)
        self.before.copy_(self.theta)

    def upstream(self) -> Tensor:
        """dLoss/dh, after `backward`."""
        down = torch.mm(self.kq, self.variance.t()).mul_(self.h)
        return down.addmm_(self.k, self.mu.t())


def output_gradient(z: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy summed over the batch, and K of the last layer."""
    log_probability = torch.log_softmax(z, 1)
    index = labels.unsqueeze(1)
    loss = -log_probability.gather(1, index).sum()
    return loss, log_probability.exp_().scatter_add_(1, index, z.new_full((1, 1), -1.0).expand(len(z), 1))


def eager(theta: list[Tensor]) -> Learn:
    """Gradients by hand, in place; tanh is taken once a step."""
    layers = [EagerLayer(t) for t in theta]
    adam = FusedAdam(theta)

    def learn(x: Tensor, labels: Tensor, noise: list[Tensor]) -> Tensor:
        z = layers[0].forward(x, noise[0])
        for layer, eps in zip(layers[1:], noise[1:]):
            z = layer.forward(z.clamp_(min=0), eps)
        loss, k = output_gradient(z, labels)
        for l in reversed(range(len(layers))):
            layers[l].backward(k)
            if l > 0:
                k = layers[l].upstream().mul_(layers[l].h > 0)
        adam([layer.gradient for layer in layers])
        for layer in layers:
            layer.refresh()
        return loss

    return torch.inference_mode()(learn)


def compiled(theta: list[Tensor]) -> Learn:
    """One graph for the step, for the compiler to fuse everything between the products.

    Only tanh stays outside: PyTorch's own is several times faster than the compiler's.
    """
    # Present and previous fields, their means, first and second moments.
    state = [[t, t.clone(), torch.empty_like(t), torch.zeros_like(t), torch.zeros_like(t)] for t in theta]
    t = 0

    def graph(x, labels, noise, state, rate, correction):
        h, kept = x, []
        for (theta, _, mu, _, _), eps in zip(state, noise):
            n = theta.shape[0]
            variance = 1 - mu * mu
            squares = h * h
            v = torch.sqrt((squares @ variance) * (1 / n))
            z = (h @ mu) * n**-0.5 + eps * v
            kept.append((h, squares, variance, noise_over_deviation(eps, v)))
            h = torch.relu(z)
        log_probability = torch.log_softmax(z, 1)
        one_hot = (labels.unsqueeze(1) == torch.arange(z.shape[1])).float()
        loss = -(log_probability * one_hot).sum()
        k = log_probability.exp() - one_hot
        for l in reversed(range(len(state))):
            theta, before, mu, first, second = state[l]
            h, squares, variance, q = kept[l]
            n = theta.shape[0]
            k, kq = k * n**-0.5, k * q * (1 / n)
            g = h.t() @ k - mu * (squares.t() @ kq)
            g = RULE.beta * variance * (g + RULE.gamma * RULE.beta * (theta - before))
            if l > 0:
                k = (k @ mu.t() + h * (kq @ variance.t())) * (h > 0)
            new_first = RULE.decay_1 * first + (1 - RULE.decay_1) * g
            new_second = RULE.decay_2 * second + (1 - RULE.decay_2) * g * g
            new = theta - rate * new_first / (torch.sqrt(new_second * correction) + RULE.epsilon)
            before.copy_(theta)
            theta.copy_(new)
            first.copy_(new_first)
            second.copy_(new_second)
        return loss

    run = torch.compile(graph, dynamic=False, options={"cpp_wrapper": True})

    def learn(x: Tensor, labels: Tensor, noise: list[Tensor]) -> Tensor:
        nonlocal t
        t += 1
        rate = torch.tensor(RULE.learning_rate / (1 - RULE.decay_1**t))
        correction = torch.tensor(1 / (1 - RULE.decay_2**t))
        for theta, _, mu, _, _ in state:
            mean_field(theta, mu)
        return run(x, labels, noise, state, rate, correction)

    return torch.no_grad()(learn)


def autograd(theta: list[Tensor]) -> Learn:
    """The forward pass alone; PyTorch does the rest."""
    theta = [t.requires_grad_() for t in theta]
    before = [t.detach().clone() for t in theta]
    adam = FusedAdam(theta)

    def learn(x: Tensor, labels: Tensor, noise: list[Tensor]) -> Tensor:
        h, variances = x, []
        for t, eps in zip(theta, noise):
            n = t.shape[0]
            mu = torch.tanh(t if RULE.beta == 1 else RULE.beta * t)
            variance = 1 - mu * mu
            variances.append(variance.detach())
            total = (h * h) @ variance
            # The root has no derivative at zero; a row without input must not spoil the gradient.
            v = torch.sqrt(torch.where(total > 0, total, 1.0) * (1 / n)) * (total > 0)
            z = (h @ mu) * n**-0.5 + eps * v
            h = torch.relu(z)
        loss = functional.cross_entropy(z, labels, reduction="sum")
        gradients = torch.autograd.grad(loss, theta)
        with torch.no_grad():
            for l, g in enumerate(gradients):
                torch.sub(theta[l], before[l], out=before[l])
                g.addcmul_(before[l], variances[l], value=RULE.gamma * RULE.beta**2)
                before[l].copy_(theta[l])
            adam(list(gradients))
        return loss.detach()

    return learn


VARIANTS: dict[str, Callable[[list[Tensor]], Learn]] = {"eager": eager, "compiled": compiled, "autograd": autograd}


def make_step(arguments, variant: str) -> Step:
    """Draws a batch and its noise and learns."""
    images, labels = (torch.from_numpy(array) for array in make_data(arguments))
    learn = VARIANTS[variant]([torch.from_numpy(t) for t in initial_fields(arguments)])
    torch.manual_seed(arguments.seed)
    batches = Batches(len(images), arguments.batch, torch.randperm)
    noise = [torch.empty(arguments.batch, n) for n in arguments.widths[1:]]

    def step() -> Tensor:
        index = batches.next()
        x, y = images.index_select(0, index), labels.index_select(0, index)
        for draws in noise:
            draws.normal_()
        return learn(x, y, noise) / arguments.batch

    return step


def main() -> int:
    """Prints the JSON line of one run."""
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--variant", choices=list(VARIANTS), default="eager")
    arguments = parser.parse_args()
    keep_to_environment("torch", arguments.threads)
    torch.set_num_threads(arguments.threads)
    # Moments of synapses that no longer learn decay into denormals, which are slow.
    torch.set_flush_denormal(True)
    timing = measure(make_step(arguments, arguments.variant), arguments)
    print_report(f"torch/{arguments.variant}", arguments, timing, torch.__version__, numpy.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
