#!/usr/bin/env python3
"""The teacher-student perceptron of arXiv:2212.02846 in PyTorch, timed.

One task: a student with fields theta learns the +-1 teacher W from M = alpha N
patterns of independent signs. The loss and its gradient are the paper's,

    L       = -sum_mu ln H(-u_mu),      u_mu = y_mu x_mu . m / sqrt(V),
    dL/dtheta_j = -sigma_j^2 sum_mu y_mu (x_j V + m_j x_mu . m) / V^1.5 h(u_mu),

with m = tanh(theta), sigma^2 = 1 - m^2, V = sum_j sigma_j^2 and the hazard
h(u) = phi(u) / H(-u). The field scale is 1 throughout.

Three forms of the same protocol, fastest last:

    textbook   DataLoader over a TensorDataset, torch.optim
    authors    the order of work of the authors' published scripts
    clean      what PyTorch can do when nothing is wasted

One JSON line goes to standard output. Imports, data, compilation and one
warm-up epoch are not timed; the test error of every epoch is.
"""

import argparse
import json
import math
import sys
import time
from dataclasses import dataclass
from typing import Callable

import torch
from torch.utils.data import DataLoader, TensorDataset

Epoch = Callable[[], float]
"""Trains for one epoch and returns the test error after it."""


@dataclass(frozen=True)
class Protocol:
    """A learning rule: mini-batch momentum SGD, or full-batch Adam."""

    name: str
    batch: int
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 1e-3
    decay_1: float = 0.9
    decay_2: float = 0.999


@dataclass(frozen=True)
class Task:
    """What the student is given; no form changes it."""

    patterns: torch.Tensor
    labels: torch.Tensor
    teacher: torch.Tensor
    fields: torch.Tensor


def make_task(n: int, alpha: float, seed: int) -> Task:
    """Draws teacher, patterns and initial fields; labels are sign(x . W), +1 on a tie."""
    generator = torch.Generator().manual_seed(seed)

    def signs(*shape: int) -> torch.Tensor:
        return torch.randint(0, 2, shape, generator=generator).float() * 2 - 1

    teacher = signs(n)
    patterns = signs(int(alpha * n), n)
    labels = torch.where(patterns @ teacher >= 0, 1.0, -1.0)
    return Task(patterns, labels, teacher, torch.randn(n, generator=generator))


def test_error(theta: torch.Tensor, teacher: torch.Tensor) -> float:
    """arccos(mean_j sign(theta_j) W_j) / pi."""
    overlap = torch.dot(torch.sign(theta), teacher).item() / teacher.numel()
    return math.acos(max(-1.0, min(1.0, overlap))) / math.pi


# The authors' form. Departs from their scripts in two ways that cost nothing:
# mini-batches are reshuffled, as in the other forms, and the test error is
# taken every epoch.


def authors_gradient(theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of each example, as a batch x N matrix; theta is 1 x N.

    H is 1/2 - erf/2 in single precision, kept from zero by 1e-10: wrong beyond
    five standard deviations, as published.
    """
    y = y.reshape(-1, 1)
    variance = 1 - torch.tanh(theta) ** 2
    total = variance.sum()
    u = -(y * (torch.tanh(theta) * x).sum(1, keepdim=True)) / (torch.sqrt(total) + 1e-10)
    h = 0.5 - 0.5 * torch.erf(u / math.sqrt(2))
    h_prime = -torch.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    projection = (torch.tanh(theta) * x).sum(1, keepdim=True)
    direction = x * total + torch.tanh(theta) * projection
    return y * variance * direction / (total**1.5 + 1e-10) * h_prime / (h + 1e-10)


def authors_momentum(theta: torch.Tensor, protocol: Protocol) -> Callable[[torch.Tensor], None]:
    """Momentum written out, a new tensor for every intermediate."""
    velocity = torch.zeros_like(theta)

    def update(gradient: torch.Tensor) -> None:
        nonlocal theta, velocity
        velocity = protocol.momentum * velocity + protocol.learning_rate * gradient
        theta -= velocity

    return update


def authors_adam(theta: torch.Tensor, protocol: Protocol) -> Callable[[torch.Tensor], None]:
    """Adam with decoupled weight decay written out, a new tensor for every intermediate."""
    first, second, step = 0, 0, 1

    def update(gradient: torch.Tensor) -> None:
        nonlocal theta, first, second, step
        first = protocol.decay_1 * first + (1 - protocol.decay_1) * gradient
        second = protocol.decay_2 * second + (1 - protocol.decay_2) * gradient**2
        unbiased_first = first / (1 - protocol.decay_1**step)
        unbiased_second = second / (1 - protocol.decay_2**step)
        decay = protocol.weight_decay * theta
        theta -= protocol.learning_rate * (unbiased_first / (torch.sqrt(unbiased_second) + 1e-20) + decay)
        step += 1

    return update


def authors_epoch(task: Task, protocol: Protocol) -> Epoch:
    """A DataLoader over a list of (pattern, label) pairs, collated batch by batch."""
    theta = task.fields.clone().reshape(1, -1)
    pairs = list(zip(task.patterns, task.labels))
    loader = DataLoader(pairs, batch_size=protocol.batch, shuffle=protocol.name == "sgd")
    update = (authors_momentum if protocol.name == "sgd" else authors_adam)(theta, protocol)

    def epoch() -> float:
        for x, y in loader:
            update(authors_gradient(theta, x * 1, y).sum(0, keepdim=True))
        return test_error(theta[0], task.teacher)

    return epoch


# The textbook form: the usual loader and the usual optimiser.


def textbook_gradient(theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the batch, through batch x N temporaries, with H from erfc."""
    y = y.unsqueeze(1)
    m = torch.tanh(theta)
    variance = 1 - m**2
    total = variance.sum()
    projection = (x @ m).unsqueeze(1)
    u = -y * projection / torch.sqrt(total)
    h = 0.5 * torch.erfc(u / math.sqrt(2))
    h_prime = -torch.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    direction = (x * total + m * projection) / total**1.5
    return (variance * (y * direction * h_prime / (h + 1e-10))).sum(0)


def textbook_epoch(task: Task, protocol: Protocol) -> Epoch:
    """A shuffling DataLoader over a TensorDataset; torch.optim reads `.grad`."""
    theta = task.fields.clone()
    loader = DataLoader(TensorDataset(task.patterns, task.labels), batch_size=protocol.batch, shuffle=True)
    if protocol.name == "sgd":
        optimiser = torch.optim.SGD([theta], lr=protocol.learning_rate, momentum=protocol.momentum)
    else:
        optimiser = torch.optim.AdamW(
            [theta],
            lr=protocol.learning_rate,
            betas=(protocol.decay_1, protocol.decay_2),
            weight_decay=protocol.weight_decay,
        )

    def epoch() -> float:
        for x, y in loader:
            theta.grad = textbook_gradient(theta, x, y)
            optimiser.step()
        return test_error(theta, task.teacher)

    return epoch


# The clean form: labels absorbed, z = y x, and two matrix-vector products a step,
#   a = Z m,   r = h(a / sqrt V),   dL/dtheta = -sigma^2 (Z^T r + m (r . a) / V) / sqrt V.


def hazard_by_erfcx(a: torch.Tensor, inverse_deviation: float) -> torch.Tensor:
    """h(a / sqrt V) up to the factor sqrt(2 / pi), in three operations; for eager code."""
    return torch.special.erfcx(a * (-math.sqrt(0.5) * inverse_deviation)).reciprocal_()


def hazard_by_log_ndtr(a: torch.Tensor, inverse_deviation: torch.Tensor) -> torch.Tensor:
    """h(a / sqrt V); more operations, but cheaper once they are fused."""
    u = a * inverse_deviation
    return torch.exp(-0.5 * u * u - torch.special.log_ndtr(u)) * math.sqrt(0.5 / math.pi)


def row_blocks(z: torch.Tensor, bytes_per_block: int = 1 << 20) -> list[torch.Tensor]:
    """Blocks of rows small enough for both products to find them in the second-level cache."""
    rows = max(1, bytes_per_block // (z.shape[1] * z.element_size()))
    return list(z.split(rows))


class EagerGradient:
    """The direction w with dL/dtheta = -scale sigma^2 w, for any blocks of rows of Z."""

    def __init__(self, theta: torch.Tensor):
        self.theta = theta
        self.one = torch.ones(1)

    def moments(self) -> tuple[torch.Tensor, torch.Tensor, float]:
        """m, sigma^2 and V."""
        m = torch.tanh(self.theta)
        variance = torch.addcmul(self.one, m, m, value=-1)
        return m, variance, variance.sum().item()

    def __call__(self, blocks: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Returns sigma^2, w and the scale."""
        m, variance, total = self.moments()
        inverse = total**-0.5
        w, overlap = None, 0.0
        for z in blocks:
            a = torch.mv(z, m)
            r = hazard_by_erfcx(a, inverse)
            overlap += torch.dot(r, a).item()
            w = torch.mv(z.t(), r) if w is None else w.addmv_(z.t(), r)
        w.add_(m, alpha=overlap / total)
        return variance, w, math.sqrt(2 / math.pi) * inverse


def eager_sgd(task: Task, protocol: Protocol) -> Epoch:
    """Gathers each batch just before use, so that both products find it in cache."""
    z = task.patterns * task.labels[:, None]
    theta = task.fields.clone()
    velocity = torch.zeros_like(theta)
    gradient = EagerGradient(theta)

    def epoch() -> float:
        for index in torch.randperm(z.shape[0]).split(protocol.batch):
            variance, w, scale = gradient([z.index_select(0, index)])
            velocity.mul_(protocol.momentum).addcmul_(variance, w, value=-scale)
            theta.sub_(velocity, alpha=protocol.learning_rate)
        return test_error(theta, task.teacher)

    return epoch


class EagerAdam:
    """Adam with decoupled weight decay, in place."""

    def __init__(self, theta: torch.Tensor, protocol: Protocol):
        self.theta, self.protocol, self.step = theta, protocol, 0
        self.first, self.second = torch.zeros_like(theta), torch.zeros_like(theta)

    def __call__(self, gradient: torch.Tensor) -> None:
        """One update of theta."""
        p = self.protocol
        self.step += 1
        self.first.lerp_(gradient, 1 - p.decay_1)
        self.second.mul_(p.decay_2).addcmul_(gradient, gradient, value=1 - p.decay_2)
        root = self.second.sqrt().mul_((1 - p.decay_2**self.step) ** -0.5).add_(1e-8)
        self.theta.mul_(1 - p.learning_rate * p.weight_decay)
        self.theta.addcdiv_(self.first, root, value=-p.learning_rate / (1 - p.decay_1**self.step))


def eager_adam(task: Task, protocol: Protocol) -> Epoch:
    """Full batch in blocks of rows: the matrix crosses the outer memory once a step, not twice."""
    blocks = row_blocks(task.patterns * task.labels[:, None])
    theta = task.fields.clone()
    gradient, update = EagerGradient(theta), EagerAdam(theta, protocol)

    def epoch() -> float:
        variance, w, scale = gradient(blocks)
        update(variance.mul_(w).mul_(-scale))
        return test_error(theta, task.teacher)

    return epoch


def compiled(function: Callable) -> Callable:
    """torch.compile with the settings that measured fastest.

    The C++ wrapper removes Python between kernels. Horizontal fusion must be
    off: it hoists the gathers of many batches to the top of the epoch, where
    they leave the cache before they are used.
    """
    options = {"cpp_wrapper": True, "cpp.max_horizontal_fusion_size": 0}
    return torch.compile(function, dynamic=False, options=options)


def fused_direction(theta: torch.Tensor, blocks: list[torch.Tensor]) -> torch.Tensor:
    """dL/dtheta as a pure function, for the compiler to fuse."""
    m = torch.tanh(theta)
    variance = 1 - m * m
    total = variance.sum()
    inverse = total.rsqrt()
    w, overlap = 0, 0
    for z in blocks:
        a = z @ m
        r = hazard_by_log_ndtr(a, inverse)
        w = w + r @ z
        overlap = overlap + (r * a).sum()
    return -variance * (w + m * (overlap / total)) * inverse


def compiled_sgd(task: Task, protocol: Protocol, storage: torch.dtype = torch.float32) -> Epoch:
    """Up to 64 batches, as a rule the whole epoch, in one compiled graph."""
    z = (task.patterns * task.labels[:, None]).to(storage)
    theta = task.fields.clone()
    velocity = torch.zeros_like(theta)

    def batches(z, order, theta, velocity):
        for index in order.split(protocol.batch):
            batch = z.index_select(0, index).float()
            velocity = protocol.momentum * velocity + fused_direction(theta, [batch])
            theta = theta - protocol.learning_rate * velocity
        return theta, velocity

    run = compiled(batches)

    def epoch() -> float:
        nonlocal theta, velocity
        for order in torch.randperm(z.shape[0]).split(64 * protocol.batch):
            theta, velocity = run(z, order, theta, velocity)
        return test_error(theta, task.teacher)

    return epoch


def compiled_adam(task: Task, protocol: Protocol) -> Epoch:
    """The blocked full-batch step in one compiled graph."""
    z = task.patterns * task.labels[:, None]
    theta = task.fields.clone()
    first, second, step = torch.zeros_like(theta), torch.zeros_like(theta), 0

    def update(z, theta, first, second, rate, correction):
        gradient = fused_direction(theta, row_blocks(z))
        first = protocol.decay_1 * first + (1 - protocol.decay_1) * gradient
        second = protocol.decay_2 * second + (1 - protocol.decay_2) * gradient * gradient
        theta = theta * (1 - protocol.learning_rate * protocol.weight_decay)
        return theta - rate * first / ((second * correction).sqrt() + 1e-8), first, second

    run = compiled(update)

    def epoch() -> float:
        nonlocal theta, first, second, step
        step += 1
        rate = torch.tensor(protocol.learning_rate / (1 - protocol.decay_1**step))
        correction = torch.tensor(1 / (1 - protocol.decay_2**step))
        theta, first, second = run(z, theta, first, second, rate, correction)
        return test_error(theta, task.teacher)

    return epoch


def int8_sgd(task: Task, protocol: Protocol) -> Epoch:
    """Signs are exact in a byte: a quarter of the traffic, widened as each batch is gathered."""
    return compiled_sgd(task, protocol, torch.int8)


def int8_adam(task: Task, protocol: Protocol) -> Epoch:
    """Z and its transpose as bytes, each row product one compiled loop that widens as it reads."""
    z = (task.patterns * task.labels[:, None]).to(torch.int8)
    z_transposed = z.t().contiguous()
    theta = task.fields.clone()
    gradient, update = EagerGradient(theta), EagerAdam(theta, protocol)
    product = compiled(lambda matrix, vector: (matrix.float() * vector).sum(1))

    def epoch() -> float:
        m, variance, total = gradient.moments()
        inverse = total**-0.5
        a = product(z, m)
        r = hazard_by_erfcx(a, inverse)
        w = product(z_transposed, r).add_(m, alpha=torch.dot(r, a).item() / total)
        update(variance.mul_(w).mul_(-math.sqrt(2 / math.pi) * inverse))
        return test_error(theta, task.teacher)

    return epoch


def clean_variants() -> dict[str, dict[str, Callable[[Task, Protocol], Epoch]]]:
    """The clean form's candidates; none is fastest everywhere."""
    return {
        "eager": {"sgd": eager_sgd, "adam": eager_adam},
        "compiled": {"sgd": compiled_sgd, "adam": compiled_adam},
        "compiled-int8": {"sgd": int8_sgd, "adam": int8_adam},
    }


def seconds_for(epoch: Epoch, epochs: int) -> tuple[float, float]:
    """Wall time of so many epochs, and the last test error."""
    error = float("nan")
    start = time.perf_counter()
    for _ in range(epochs):
        error = epoch()
    return time.perf_counter() - start, error


def fastest_variant(task: Task, protocol: Protocol, trial_epochs: int = 150) -> str:
    """Tries each candidate for a moment; one that cannot be compiled here is passed over."""
    best, best_seconds = "eager", math.inf
    for name, makers in clean_variants().items():
        try:
            epoch = makers[protocol.name](task, protocol)
            epoch()
            seconds, _ = min(seconds_for(epoch, trial_epochs) for _ in range(3))
        except Exception as error:  # The compiler raises whatever its toolchain does.
            print(f"variant {name} is not available: {type(error).__name__}", file=sys.stderr)
            continue
        if seconds < best_seconds:
            best, best_seconds = name, seconds
    return best


def make_epoch(form: str, variant: str, task: Task, protocol: Protocol) -> Epoch:
    """The epoch function of one form."""
    if form == "clean":
        return clean_variants()[variant][protocol.name](task, protocol)
    return {"authors": authors_epoch, "textbook": textbook_epoch}[form](task, protocol)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", choices=["authors", "textbook", "clean"], required=True)
    parser.add_argument("--protocol", choices=["sgd", "adam"], required=True, help="adam is full batch")
    parser.add_argument("--variant", choices=["auto", *clean_variants()], default="auto", help="of the clean form")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--alpha", type=float, default=2.0)
    parser.add_argument("--batch", type=int, default=32, help="of SGD")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in ("n", "batch", "epochs", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if int(arguments.alpha * arguments.n) < 1:
        parser.error("--alpha leaves no pattern to learn")
    return arguments


def measure(arguments: argparse.Namespace) -> dict:
    """Runs one form once."""
    task = make_task(arguments.n, arguments.alpha, arguments.seed)
    batch = arguments.batch if arguments.protocol == "sgd" else len(task.labels)
    protocol = Protocol(arguments.protocol, batch)

    variant = arguments.variant
    if arguments.form != "clean":
        variant = None
    else:
        # Saturated synapses leave their velocity to decay into denormals, which are slow.
        torch.set_flush_denormal(True)
        if variant == "auto":
            variant = fastest_variant(task, protocol)

    torch.manual_seed(arguments.seed)
    epoch = make_epoch(arguments.form, variant, task, protocol)
    epoch()
    seconds, error = seconds_for(epoch, arguments.epochs)
    return {
        "form": arguments.form,
        "protocol": arguments.protocol,
        "variant": variant,
        "epochs": arguments.epochs,
        "seconds": seconds,
        "epochs_per_second": arguments.epochs / seconds,
        "final_error": error,
        "threads": arguments.threads,
        "torch": torch.__version__,
    }


def main() -> None:
    """Prints the JSON line of one run."""
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    # No form differentiates automatically, but only the clean one tells PyTorch so.
    with torch.inference_mode(arguments.form == "clean"):
        print(json.dumps(measure(arguments)))


if __name__ == "__main__":
    main()
