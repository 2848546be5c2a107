"""Models: the same answers as `remanent predict`, weights, files."""

import pickle

import numpy as np
import pytest
import remanent as rm


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Images of the size of the digits, as an array and as a file for the command."""
    x = np.random.default_rng(1).random((300, 64), dtype=np.float32)
    path = tmp_path_factory.mktemp("images") / "x.npz"
    np.savez(path, x=x)
    return x, path


@pytest.mark.parametrize("how", ["hard", "sampled", "mean_field", "stochastic"])
def test_answers_are_those_of_the_command(command_json, digits_run, images, how):
    x, path = images
    model = digits_run.case.json["models"][0]
    theirs = command_json("predict", model, path, "--predictor", how, "--draws", 3)["predictions"]
    mine = digits_run.model().predict_proba(x, how=how, draws=3)
    expected = np.array([row["probabilities"] for row in theirs], dtype=np.float32)
    assert mine.dtype == np.float32 and mine.tobytes() == expected.tobytes()
    assert digits_run.model().predict(x, how, 3).tolist() == [row["class"] for row in theirs]


def test_any_array_of_images(digits_run, images):
    x, _ = images
    model = digits_run.model()
    expected = model.predict_proba(x)
    for other in (x.astype(float), np.asfortranarray(x), x[::-1][::-1], x.astype(">f4"), x.reshape(-1, 8, 8), x.tolist()):
        assert np.array_equal(model.predict_proba(other), expected)
    assert model.predict_proba(x[:0]).shape == (0, 10) and model.uncertainty(x[:0]).entropy.shape == (0,)
    for wrong, told in [(x[:, :5], "64"), (x[0], "row"), (np.full((2, 64), np.nan), "NaN")]:
        with pytest.raises(ValueError, match=told):
            model.predict(wrong)


def test_uncertainty_is_that_of_sampled_networks(digits_run, images):
    x, _ = images
    model = digits_run.model()
    found = model.uncertainty(x, draws=20)
    p = model.predict_proba(x, "sampled", draws=20).astype(float)
    assert np.allclose(found.entropy, -(p * np.log(p)).sum(axis=1), atol=1e-5)
    assert np.allclose(found.confidence, p.max(axis=1), atol=1e-6)
    assert (found.mutual_information >= 0).all() and (found.mutual_information > 1e-4).any()
    assert np.allclose(found.entropy - found.expected_entropy, found.mutual_information, atol=1e-6)


def test_weights_are_signs_and_means(digits_run):
    layers = digits_run.model().weights
    assert [layer.sign.shape for layer in layers] == [(64, 32), (32, 10)]
    for layer in layers:
        assert layer.sign.dtype == np.int8 and set(np.unique(layer.sign)) == {-1, 1}
        assert (np.abs(layer.mean) <= 1).all() and np.array_equal(np.sign(layer.theta), layer.sign)


def test_files(digits_run, images, tmp_path, command):
    x, _ = images
    model = digits_run.model()
    model.save(tmp_path / "a.rbin")
    model.save(tmp_path / "a.safetensors")
    model.to_npz(tmp_path / "a.npz")
    model.to_onnx(tmp_path / "a.onnx")
    packed = rm.Model.load(tmp_path / "a.rbin")
    assert packed.is_packed and np.array_equal(packed.predict_proba(x), model.predict_proba(x))
    assert packed.weights[0].theta is None and (packed.weights[0].mean == packed.weights[0].sign).all()
    with pytest.raises(ValueError, match="signs only"):
        packed.predict_proba(x, "sampled")
    whole = rm.Model.load(tmp_path / "a.safetensors")
    assert np.array_equal(whole.predict_proba(x, "sampled"), model.predict_proba(x, "sampled"))
    command("export", digits_run.case.json["models"][0], "--format", "onnx", "--out", tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    for one in (model, packed):
        assert np.array_equal(pickle.loads(pickle.dumps(one)).predict_proba(x), one.predict_proba(x))
    assert np.array_equal(rm.Model.load(digits_run.directory).predict_proba(x), model.predict_proba(x))
    assert "64 → 32 → 10" in repr(model) and model.provenance["trial"] == 0
