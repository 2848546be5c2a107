"""The estimator: the checks of scikit-learn, tasks one after another, and pickles."""

import pickle

import numpy as np
import pytest
import remanent as rm
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from remanent import _core
from remanent.sklearn import ContinualBinaryClassifier

#: Checks that need not pass, with the reason.
EXCEPTIONS: dict[str, str] = {}


def small(**more):
    return ContinualBinaryClassifier(**({"hidden": [32], "epochs": 25, "batch": 16} | more))


@parametrize_with_checks([small()], expected_failed_checks=lambda _: EXCEPTIONS)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def tasks():
    """Two tasks: the digits, and the digits with permuted pixels."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(3).permutation(64)
    return [(x / 16, y), (x[:, order] / 16, y)]


def test_the_next_task_is_learned_without_forgetting():
    data = rm.load_data("digits")
    orders = [np.random.default_rng(task).permutation(64) for task in range(5)]

    def after_all(**more):
        learner = ContinualBinaryClassifier(hidden=[256, 256], epochs=15, scaling="none", **more)
        for order in orders:
            learner.partial_fit(data.X_train[:, order], data.y_train)
        assert learner.n_tasks_ == 5 and len(learner.loss_curves_) == 5
        return np.array([learner.score(data.X_test[:, order], data.y_test) for order in orders])

    kept, lost = after_all(), after_all(gamma=0.0)
    assert kept[-1] > 0.8 and kept.mean() > 0.7
    assert kept[:-1].mean() > lost[:-1].mean() + 0.1


def test_labels_of_any_kind(tasks):
    x, y = tasks[0]
    names = np.array([f"digit {label}" for label in y])
    learner = small().fit(x, names)
    assert learner.predict(x[:5]).dtype.kind == "U" and learner.score(x, names) > 0.9
    assert np.array_equal(learner.predict(x), np.array([f"digit {label}" for label in small().fit(x, y).predict(x)]))


def test_classes_of_later_tasks_are_listed_first(tasks):
    x, y = tasks[0]
    learner = small(epochs=5)
    for pair in range(5):
        chosen = y // 2 == pair
        learner.partial_fit(x[chosen], y[chosen], classes=range(10))
    assert learner.predict_proba(x).shape == (len(x), 10)
    with pytest.raises(ValueError, match="list all labels in classes"):
        small(epochs=1).partial_fit(x[y < 2], y[y < 2]).partial_fit(x, y)


def test_a_pickle_continues_with_the_same_bits(tasks):
    (x1, y1), (x2, y2) = tasks
    straight = small(epochs=3).partial_fit(x1, y1)
    stopped = pickle.loads(pickle.dumps(straight))
    assert np.array_equal(stopped.predict_proba(x1), straight.predict_proba(x1))
    straight.partial_fit(x2, y2)
    stopped.partial_fit(x2, y2)
    assert np.array_equal(stopped.predict_proba(x1), straight.predict_proba(x1))


def test_an_interrupt_leaves_the_learner_as_it_was(tasks):
    x, y = tasks[0]

    def interrupt(done, total):
        raise KeyboardInterrupt

    learner = small(epochs=3).partial_fit(x, y)
    before = learner.predict_proba(x)
    learner.set_params(progress=interrupt, epochs=1000)
    with pytest.raises(KeyboardInterrupt):
        learner.partial_fit(x, y)
    assert learner.n_tasks_ == 1 and np.array_equal(learner.predict_proba(x), before)
    fresh = small(epochs=1000, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        fresh.partial_fit(x, y)
    assert not hasattr(fresh, "classes_")


def test_the_learner_is_that_of_train():
    """The same data in the same order gives the same network, bit for bit."""
    data = rm.load_data("digits")
    run = rm.train(stream="sequence:digits", preset="remanent", hidden=[16], epochs=2)
    learner = ContinualBinaryClassifier(hidden=[16], epochs=2, scaling="none")
    learner.partial_fit(data.X_train, data.y_train)
    mine, theirs = learner.model_.weights, run.model().weights
    assert all(np.array_equal(a.theta, b.theta) for a, b in zip(mine, theirs, strict=True))


def test_parameters():
    learner = small(lr=0.01)
    assert clone(learner).get_params() == learner.get_params()
    assert {"learner", "hidden", "lr", "gamma", "epochs"} <= set(learner.get_params())
    assert "stream" not in learner.get_params()
    x, y = load_digits(return_X_y=True)
    for wrong, told in [
        ({"learner": "vlc"}, "did you mean 'vcl'"),
        ({"learner": "joint", "preset": None}, "all tasks at once"),
        ({"beta_schedule": "tanh:10,0.1,2"}, "in advance"),
        ({"lr": -1.0}, "lr = -1"),
        ({"scaling": "robust"}, "one of standard, none"),
        ({"epochs": 0}, "epochs = 0"),
    ]:
        with pytest.raises(ValueError, match=told):
            small(**wrong).fit(x, y)
    with pytest.raises(ValueError, match="one of stochastic"):
        small(predictor="best", epochs=1).fit(x, y).predict(x)
    with pytest.raises(TypeError, match="unknown parameter 'learning_rate'"):
        ContinualBinaryClassifier(learning_rate=1)


def test_uncertainty_and_model(tasks):
    x, y = tasks[0]
    learner = small(epochs=5).fit(x, y)
    found = learner.uncertainty(x, draws=10)
    assert found.entropy.shape == (len(x),) and learner.model_.widths == [64, 32, 10]


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 3), (2000, 70), (700, 300), (3, 70_000)])
def test_scaling_has_the_bits_of_numpy(kind, shape):
    x = (np.random.default_rng(1).normal(size=shape) * 10 + 3).astype(kind)
    mean, spread = _core.moments(x)
    assert np.array_equal(mean, x.mean(axis=0, dtype=np.float64))
    assert np.array_equal(spread, x.std(axis=0, dtype=np.float64))
    learner = ContinualBinaryClassifier()
    learner._mean, learner._spread = mean, np.where(spread == 0, 1.0, spread)
    assert np.array_equal(learner._scaled(x), ((x - mean) / learner._spread).astype(np.float32))


def test_scaling_of_extreme_numbers():
    x = np.array([[1e300, -1e300, 5.0]])
    found = _core.scale(x, (np.array([0.0, 0.0, 5.0]), np.array([1.0, 1.0, 0.0])))
    assert np.array_equal(found, np.nan_to_num(np.array([[np.inf, -np.inf, np.nan]], dtype=np.float32)))
    with pytest.raises(ValueError, match="two numbers for each feature"):
        _core.scale(x, (np.zeros(2), np.ones(3)))
