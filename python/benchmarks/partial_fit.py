"""Processor time of a step: `partial_fit` against `remanent train`, on 60,000 × 784 single-precision numbers.

    python python/benchmarks/partial_fit.py [EPOCHS, default 2]

Needs MNIST (`remanent data get mnist`) and scikit-learn. The time of `partial_fit` includes everything: checks, scaling, labels and copies.
That of `remanent train` is the time of its steps alone, as it records it.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import remanent as rm
from remanent.sklearn import ContinualBinaryClassifier

BATCH = 64


def of_train(epochs: int) -> float:
    """Milliseconds a step of the command."""
    with tempfile.TemporaryDirectory() as folder:
        rm.train(preset="remanent", stream="permuted:mnist:2", epochs=epochs, batch=BATCH, evaluate="task", draws=1,
                 out=folder, progress=False)
        with open(Path(folder) / "times.csv") as file:
            seconds = sum(float(row["step_seconds"]) for row in csv.DictReader(file))
    return 1e3 * seconds / (2 * epochs * -(-60_000 // BATCH))


def of_partial_fit(epochs: int, scaling: str) -> float:
    """Milliseconds a step of two calls, with everything around the steps."""
    data = rm.load_data("mnist")
    x = np.ascontiguousarray(data.X_train, dtype=np.float32)
    learner = ContinualBinaryClassifier(epochs=epochs, batch=BATCH, scaling=scaling)
    start = time.process_time()
    for _ in range(2):
        learner.partial_fit(x, data.y_train)
    return 1e3 * (time.process_time() - start) / (2 * epochs * -(-len(x) // BATCH))


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    rm.set_threads(1)
    train = of_train(epochs)
    print(f"remanent train: {train:.3f} ms a step")
    for scaling in ("none", "standard"):
        fit = of_partial_fit(epochs, scaling)
        print(f"partial_fit, scaling={scaling!r}: {fit:.3f} ms a step, {100 * (fit / train - 1):+.1f} %")


if __name__ == "__main__":
    main()
