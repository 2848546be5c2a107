"""The stubs are those of the options, and imports are fast."""

import subprocess
import sys
from pathlib import Path

import remanent
from remanent import _stubs


def test_the_stubs_are_current():
    folder = Path(remanent.__file__).parent
    for name, text in _stubs.files().items():
        assert (folder / name).read_text() == text, f"{name} is stale: run python -m remanent._stubs python/remanent"


def test_nothing_but_numpy_is_imported():
    program = "import sys, remanent; print(' '.join({'pandas', 'matplotlib', 'tqdm', 'sklearn', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == ""
