"""Writes the .npz files beside it, by NumPy: what tests/npz.rs reads. Run it as `python3 make.py`."""

import pathlib

import numpy as np

here = pathlib.Path(__file__).parent
x = np.arange(10 * 2 * 3).reshape(10, 2, 3)
y = np.arange(10) % 3

np.savez(here / "bytes.npz", x=x.astype(np.uint8), y=y.astype(np.uint8))
np.savez_compressed(here / "fortran.npz", x=np.asfortranarray(x / 7.0), y=y.astype(np.int32)[:, None])
np.savez(
    here / "keras.npz",
    x_train=x[:7].reshape(7, 6).astype(">f4"),
    y_train=y[:7],
    x_test=x[7:].reshape(3, 6).astype(">f4"),
    y_test=y[7:],
)
(here / "pair").mkdir(exist_ok=True)
np.savez(here / "pair" / "train.npz", x=x[:6].astype(np.float32), y=y[:6])
np.savez(here / "pair" / "test.npz", x=x[6:].astype(np.float32), y=y[6:].astype(np.uint64))

np.savez(here / "negative.npz", x=x.astype(np.uint8), y=y - 1)
np.savez(here / "float_labels.npz", x=x.astype(np.uint8), y=y / 2)
np.savez(here / "wide_pixels.npz", x=x.astype(np.int64), y=y)
np.savez(here / "nan.npz", x=np.where(x == 13, np.nan, x), y=y)
np.savez(here / "short.npz", x=x.astype(np.uint8), y=y[:9])
np.savez(here / "vector.npz", x=x.astype(np.uint8).ravel(), y=y)
np.savez(here / "one_hot.npz", x=x.astype(np.uint8), y=np.eye(3, dtype=np.int64)[y])
np.savez(here / "other_names.npz", images=x, labels=y)
