"""What every contender of this benchmark has in common: data, constants, timing, report."""

import argparse
import json
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

Step = Callable[[], object]
"""Trains on one batch and returns something `float()` makes the mean loss of it."""


@dataclass(frozen=True)
class Rule:
    """Variational learning with the anchor at the last step, by Adam."""

    beta: float = 1.0
    gamma: float = 1.0
    learning_rate: float = 1e-2
    decay_1: float = 0.9
    decay_2: float = 0.999
    epsilon: float = 1e-8


RULE = Rule()


CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.thread_time}
"""Processor time is that of one thread, for a busy machine."""


def argument_parser(description: str) -> argparse.ArgumentParser:
    """The options all contenders take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--widths", type=parse_widths, default=[784, 512, 512, 10], help="neurons, layer by layer")
    parser.add_argument("--batch", type=positive, default=64)
    parser.add_argument("--steps", type=positive, help="stop after so many steps")
    parser.add_argument("--seconds", type=float, help="stop after so long, three steps at least; 3 without --steps")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--images", type=Path, metavar="FILE.npy", help="images as rows, in place of synthetic ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall", help="which time counts")
    return parser


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def parse_widths(text: str) -> list[int]:
    """Two or more widths, separated by commas."""
    widths = [positive(part) for part in text.split(",")]
    if len(widths) < 2:
        raise argparse.ArgumentTypeError("at least an input and an output are needed")
    return widths


def environment(form: str, threads: int) -> dict[str, str]:
    """Variables that keep OpenMP and every BLAS to so many threads.

    PyTorch also keeps the memory it frees, rather than fault the pages of large temporaries in anew every step.
    """
    libraries = ("OMP", "MKL", "OPENBLAS", "BLIS")
    variables = {f"{library}_NUM_THREADS": str(threads) for library in libraries}
    if form == "torch":
        variables |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    return variables


def keep_to_environment(form: str, threads: int) -> None:
    """Starts the script over if libraries were loaded under other settings."""
    wanted = environment(form, threads)
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.environ.update(wanted)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def make_data(arguments: argparse.Namespace) -> tuple["np.ndarray", "np.ndarray"]:
    """Images in [0, 1] and classes that a random linear map gives them.

    Synthetic images are like handwritten digits in what matters for speed: 81 %
    of the pixels are exactly zero.
    """
    import numpy as np

    inputs, classes = arguments.widths[0], arguments.widths[-1]
    rng = np.random.default_rng(arguments.seed)
    if arguments.images:
        images = np.load(arguments.images)
        scale = 255 if images.dtype == np.uint8 else 1
        images = (images.reshape(len(images), -1) / scale).astype(np.float32)
        if images.shape[1] != inputs:
            raise SystemExit(f"{arguments.images}: {images.shape[1]} pixels, but the network has {inputs} inputs")
        if len(images) < arguments.batch:
            raise SystemExit(f"{arguments.images}: {len(images)} images, fewer than a batch")
    else:
        count = max(4096, 2 * arguments.batch)
        images = rng.random((count, inputs), dtype=np.float32)
        images *= rng.random((count, inputs), dtype=np.float32) < 0.19
    scores = images @ rng.standard_normal((inputs, classes), dtype=np.float32)
    labels = np.argmax(scores - scores.mean(0), axis=1)
    return images, labels


def initial_fields(arguments: argparse.Namespace) -> list["np.ndarray"]:
    """Fields from the normal distribution, a tenth wide."""
    import numpy as np

    rng = np.random.default_rng(arguments.seed + 1)
    shapes = zip(arguments.widths, arguments.widths[1:])
    return [0.1 * rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


class Batches:
    """Indices of the batches of one reshuffled epoch after another; what is left over of an epoch is dropped."""

    def __init__(self, examples: int, batch: int, permutation: Callable[[int], object]):
        self.examples, self.batch, self.permutation = examples, batch, permutation
        self.at = examples

    def next(self) -> object:
        """As many indices as a batch has examples."""
        if self.at + self.batch > self.examples:
            self.order, self.at = self.permutation(self.examples), 0
        self.at += self.batch
        return self.order[self.at - self.batch : self.at]


@dataclass(frozen=True)
class Timing:
    """What was measured."""

    seconds_per_step: float
    steps: int
    final_loss: float


def measure(step: Step, arguments: argparse.Namespace, least_steps: int = 3) -> Timing:
    """Warms up for a tenth of the time, then runs until the time or the steps are over.

    Without a limit of time the warm-up is two steps, so that runs can be compared step by step.
    """
    steps, seconds, clock = arguments.steps, arguments.seconds, CLOCKS[arguments.clock]
    if seconds is None:
        seconds, warm_up = (3.0, 0.3) if steps is None else (math.inf, 0.0)
    else:
        warm_up = 0.1 * seconds
    warm_until = time.perf_counter() + warm_up
    step()
    loss = step()  # The first step may have compiled; this one is ordinary, and still not counted.
    while (start := time.perf_counter()) < warm_until:
        loss = step()
    done, limit, clock_start = 0, steps or sys.maxsize, clock()
    while done < limit and (done < least_steps or time.perf_counter() - start < seconds):
        loss = step()
        done += 1
    final_loss = float(loss)
    return Timing((clock() - clock_start) / done, done, final_loss)


def print_report(name: str, arguments: argparse.Namespace, timing: Timing, torch: str | None, numpy: str) -> None:
    """The one JSON line."""
    report = {
        "name": name,
        "widths": arguments.widths,
        "batch": arguments.batch,
        "threads": arguments.threads,
        "seconds_per_step": timing.seconds_per_step,
        "steps": timing.steps,
        "torch": torch,
        "numpy": numpy,
        "final_loss": timing.final_loss,
    }
    print(json.dumps(report))
