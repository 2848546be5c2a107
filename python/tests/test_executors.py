"""Cells computed by other processes: a pool, Dask, MPI."""

import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
import remanent as rm

from test_runs import SMALL, contents


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "run"
    return rm.simulate(**SMALL, out=out), out


def check(expected, run, out):
    reference, folder = expected
    assert np.array_equal(run.errors, reference.errors)
    assert contents(out / "records") == contents(folder / "records")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_pool(expected, tmp_path, method):
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        told = []
        run = rm.simulate(**SMALL, out=tmp_path / "run", executor=pool, progress=lambda done, _: told.append(done))
    check(expected, run, tmp_path / "run")
    assert told == sorted(told) and told


def test_models_come_back(digits_run, tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        run = rm.train(preset="digits", hidden=[32], epochs=2, seeds=2, out=tmp_path / "run", executor=pool)
    assert contents(tmp_path / "run/models") == contents(digits_run.directory / "models")
    assert np.array_equal(run.accuracy, digits_run.accuracy)


def test_cells_that_are_done_are_not_computed_again(expected, tmp_path):
    class Refuses:
        def submit(self, *_):
            raise AssertionError("nothing is missing")

    shutil.copytree(expected[1], tmp_path / "run")
    run = rm.simulate(**SMALL, out=tmp_path / "run", executor=Refuses())
    check(expected, run, tmp_path / "run")


def test_a_failure_of_a_worker_is_told(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(RuntimeError, match="diverged"):
            rm.train(preset="digits", hidden=[16], learner="ste", output_scale=3e38, executor=pool)


def test_dask(expected, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            run = rm.simulate(**SMALL, out=tmp_path / "run", executor=client.get_executor())
    check(expected, run, tmp_path / "run")


MPI = """
import sys, remanent as rm
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        rm.simulate(n=60, alpha=[1, 1], r0=0.5, epochs=10, seeds=3, out=sys.argv[1], executor=pool)
    print("done")
"""


def test_two_processes_of_mpi(expected, tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: MPI is not tested")
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        pytest.skip("mpirun is not installed: MPI is not tested")
    script = tmp_path / "run.py"
    script.write_text(MPI)
    launch = [mpirun, "--oversubscribe", "-n", "2", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run([*launch, str(tmp_path / "run")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "done" in done.stdout
    check(expected, rm.load_run(tmp_path / "run"), tmp_path / "run")
