"""Compares logits with those of onnxruntime and of NumPy.

The directory that is named has, for every network, <name>.onnx, <name>.npz and <name>.json with the
number of images, and the images, logits and probabilities of Remanent as raw float32.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime

EPSILON = 1e-5
TOLERANCE = 1e-4
# Where the two largest logits are nearer than this, rounding may choose.
GAP = 1e-3
# A neuron of sign nearer to zero, or a gate nearer to its threshold, may be turned round by rounding.
MARGIN = 1e-5


def definition(arrays, images):
    """Logits in double precision, and how near sign neurons and gates came to where they change."""
    widths = arrays["widths"]
    activation, normalisation = str(arrays["activation"]), str(arrays["normalisation"])
    layers = len(widths) - 1
    h = images.astype(np.float64)
    margin = np.full(len(images), np.inf)
    for layer in range(layers):
        w = arrays[f"w{layer}"]
        assert w.dtype == np.int8 and w.shape == (widths[layer], widths[layer + 1])
        assert set(np.unique(w)) <= {-1, 1}
        z = h @ w.astype(np.float64) / np.sqrt(widths[layer])
        assert (normalisation == "batch") == (f"scale{layer}" in arrays)
        if normalisation == "batch":
            z = z * arrays[f"scale{layer}"] + arrays[f"shift{layer}"]
        last = layer == layers - 1
        if normalisation == "layer-all" or (normalisation == "layer" and not last):
            z = z - z.mean(1, keepdims=True)
            z = z / np.sqrt((z**2).mean(1, keepdims=True) + EPSILON)
        if last:
            return z * arrays["output_scale"], margin
        if activation == "relu":
            h = np.maximum(z, 0)
        elif activation == "gate":
            margin = np.minimum(margin, np.abs(np.abs(z) - 1).min(1))
            h = np.where(np.abs(z) > 1, 1.0, 0.0)
        else:
            margin = np.minimum(margin, np.abs(z).min(1))
            h = np.where(z >= 0, 1.0, -1.0)


def compare(name, what, found, wanted):
    error = np.abs(found - wanted).max()
    assert error < TOLERANCE, f"{name}: {what} differ by {error}"
    two = np.sort(wanted, 1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > GAP
    assert clear.any(), f"{name}: no image has a clear class"
    same = found.argmax(1) == wanted.argmax(1)
    assert same[clear].all(), f"{name}: {what} choose other classes"
    return error


def check(path):
    name = path.stem
    raw = lambda kind: np.fromfile(path.with_suffix(f".{kind}"), "<f4")
    batch = json.loads(path.with_suffix(".json").read_text())["images"]
    images, logits, probabilities = (
        raw(kind).reshape(batch, -1) for kind in ("images", "logits", "probabilities")
    )

    with np.load(path.with_suffix(".npz")) as file:
        exact, margin = definition(dict(file), images)
    # A black image has sums that are exactly zero, whose sign is +1 for everyone.
    black = ~images.any(1)
    assert black.any(), f"{name}: no image is black"
    clear = (margin > MARGIN) | (black & ("-none-" in name))
    assert clear.mean() > 0.5, f"{name}: rounding decides about {(~clear).sum()} images"

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (taken,) = session.get_inputs()
    assert (taken.name, taken.type) == ("images", "tensor(float)"), taken
    assert taken.shape == ["batch", images.shape[1]], taken
    given = [(output.name, output.shape) for output in session.get_outputs()]
    width = logits.shape[1]
    assert given == [("logits", ["batch", width]), ("probabilities", ["batch", width])], given
    their_logits, their_probabilities = session.run(None, {"images": images})
    # One image alone is a batch, too.
    alone, _ = session.run(["logits", "probabilities"], {"images": images[:1]})
    assert alone.shape == (1, width)

    errors = [
        compare(name, "logits and those of NumPy", exact[clear], logits[clear]),
        compare(name, "logits and those of onnxruntime", their_logits[clear], logits[clear]),
        compare(name, "probabilities", their_probabilities[clear], probabilities[clear]),
    ]
    print(f"{name}: {clear.sum()} of {batch} images, errors", *(f"{e:.1e}" for e in errors))


paths = sorted(Path(sys.argv[1]).glob("*.onnx"))
assert paths, "there are no networks"
for path in paths:
    check(path)
print(f"{len(paths)} networks agree")
