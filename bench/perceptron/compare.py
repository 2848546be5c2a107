#!/usr/bin/env python3
"""Runs the simulator and the PyTorch forms in turn and prints how they compare.

Every contender is its own process. Rounds alternate between contenders, so that
a busy moment of the machine falls on all of them, and the best round of each
counts. Progress goes to standard error, the tables to standard output.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Iterator


@dataclass(frozen=True)
class Contender:
    """One program to time on one protocol."""

    protocol: str
    name: str
    epochs: int
    seeds: int = 1
    threads: int = 1

    @property
    def label(self) -> str:
        """How progress and tables call it."""
        return self.name if self.seeds == 1 else f"{self.name}, {self.seeds} seeds on {self.threads} threads"


@dataclass(frozen=True)
class Run:
    """What one contender did in one round."""

    contender: Contender
    round: int
    epochs_per_second: float
    seconds: float
    final_error: float | None
    torch: str | None


class Unavailable(Exception):
    """A contender that cannot run here, with the last thing it said."""


def protocols() -> dict[str, str]:
    """Protocols by name, with their titles."""
    return {"sgd": "SGD, batch 32", "adam": "Adam, full batch"}


def clean_variants() -> list[str]:
    """The candidates of the clean form; the fastest of them is the competitor."""
    return ["eager", "compiled", "compiled-int8"]


def goal(protocol: str, rival: str) -> float | None:
    """The least ratio of our speed to the rival's that we aim for."""
    return {("sgd", "authors"): 30.0, ("sgd", "clean"): 5.0, ("adam", "clean"): 3.0}.get((protocol, rival))


def repository() -> Path:
    """The root of the repository this folder lives in."""
    return Path(__file__).resolve().parents[2]


def default_simulator() -> str:
    """The release build of the simulator."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", repository() / "target"))
    return shlex.join([str(target / "release" / "remanent"), "simulate"])


def simulator_command(simulator: str, contender: Contender, folder: str) -> list[str]:
    """The command line of one of our runs."""
    rules = {
        "sgd": "--learner sgd --lr 0.001 --momentum 0.9 --batch 32",
        "adam": "--learner gd --optimizer adam --lr 0.001 --weight-decay 0.001",
    }
    return [
        *shlex.split(simulator),
        *"--n 1000 --alpha 2".split(),
        *rules[contender.protocol].split(),
        *f"--epochs {contender.epochs} --record-every 1".split(),
        *f"--seeds {contender.seeds} --threads {contender.threads}".split(),
        *"--format json --quiet --fresh --out".split(),
        folder,
    ]


def torch_command(python: str, contender: Contender) -> list[str]:
    """The command line of one PyTorch run; a name may carry a variant after a slash."""
    form, _, variant = contender.name.partition("/")
    script = str(Path(__file__).with_name("torch_perceptron.py"))
    command = [python, script, "--form", form, "--protocol", contender.protocol]
    command += ["--epochs", str(contender.epochs), "--threads", str(contender.threads)]
    return command + (["--variant", variant] if variant else [])


def output_of(command: list[str], threads: int) -> str:
    """Standard output of a command that must succeed."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing on standard error"]
        raise Unavailable(f"exit status {done.returncode}: {said[-1]}")
    return done.stdout


def parse_report(text: str) -> Any:
    """A JSON document, or the last line of the text that is one."""
    for candidate in [text, *reversed(text.strip().splitlines())]:
        try:
            return json.loads(candidate)
        except json.JSONDecodeError:
            continue
    raise Unavailable("no JSON on standard output")


def values_of(document: Any, key: str) -> Iterator[Any]:
    """Every value under the key, the outermost first."""
    if isinstance(document, dict):
        if key in document:
            yield document[key]
        for value in document.values():
            yield from values_of(value, key)
    elif isinstance(document, list):
        for value in document:
            yield from values_of(value, key)


def first_of(document: Any, key: str) -> Any:
    """The outermost value under the key, or None."""
    return next(values_of(document, key), None)


def run_once(contender: Contender, round_number: int, arguments: argparse.Namespace) -> Run:
    """Runs a contender and reads its report."""
    if contender.name == "ours":
        with tempfile.TemporaryDirectory() as folder:
            command = simulator_command(arguments.ours, contender, folder)
            report = parse_report(output_of(command, contender.threads))
    else:
        report = parse_report(output_of(torch_command(arguments.python, contender), contender.threads))
    speed = first_of(report, "epochs_per_second")
    seconds = first_of(report, "wall_seconds") or first_of(report, "seconds")
    if speed is None or seconds is None:
        raise Unavailable("the report lacks epochs_per_second or seconds")
    return Run(contender, round_number, speed, seconds, first_of(report, "final_error"), first_of(report, "torch"))


def contenders(arguments: argparse.Namespace) -> list[Contender]:
    """Everything one round runs, in order."""
    cores = os.cpu_count() or 1
    line_up = []
    for protocol in protocols():
        line_up.append(Contender(protocol, "ours", arguments.epochs))
        line_up += [Contender(protocol, f"clean/{v}", arguments.epochs) for v in clean_variants()]
        line_up.append(Contender(protocol, "authors", arguments.slow_epochs))
        if arguments.textbook:
            line_up.append(Contender(protocol, "textbook", arguments.slow_epochs))
        if cores >= 2:
            line_up.append(Contender(protocol, "ours", arguments.epochs, seeds=2, threads=2))
    return line_up


def run_rounds(arguments: argparse.Namespace) -> list[Run]:
    """All rounds; a contender that fails is reported once and left out from then on."""
    line_up, runs = contenders(arguments), []
    for round_number in range(1, arguments.rounds + 1):
        for contender in list(line_up):
            head = f"round {round_number}/{arguments.rounds}  {contender.protocol:4}  {contender.label}"
            try:
                run = run_once(contender, round_number, arguments)
            except Unavailable as problem:
                print(f"{head}: left out, {problem}", file=sys.stderr)
                line_up.remove(contender)
                continue
            runs.append(run)
            print(f"{head}: {run.epochs_per_second:.1f} epochs/s", file=sys.stderr)
    return runs


def best(runs: list[Run], protocol: str, form: str) -> Run | None:
    """The fastest single-seed run of a form, over its variants and all rounds."""
    matching = [
        run
        for run in runs
        if run.contender.protocol == protocol
        and run.contender.name.partition("/")[0] == form
        and run.contender.seeds == 1
    ]
    return max(matching, key=lambda run: run.epochs_per_second, default=None)


def ratio(runs: list[Run], protocol: str, rival: str) -> float | None:
    """Our best speed over the rival's."""
    ours, theirs = best(runs, protocol, "ours"), best(runs, protocol, rival)
    return ours.epochs_per_second / theirs.epochs_per_second if ours and theirs else None


def scaling(runs: list[Run], protocol: str) -> float | None:
    """Seeds finished per second, two on two threads over one on one; 2 is perfect."""

    def least_seconds(seeds: int) -> float | None:
        return min(
            (
                run.seconds
                for run in runs
                if (run.contender.protocol, run.contender.name, run.contender.seeds) == (protocol, "ours", seeds)
            ),
            default=None,
        )

    one, two = least_seconds(1), least_seconds(2)
    return 2 * one / two if one and two else None


def summary(runs: list[Run]) -> dict[str, dict[str, Any]]:
    """Per protocol: best speeds, ratios with their goals, scaling."""
    result = {}
    for protocol in protocols():
        speeds = {}
        for form in ("ours", "clean", "authors", "textbook"):
            fastest = best(runs, protocol, form)
            speeds[form] = fastest.epochs_per_second if fastest else None
        clean = best(runs, protocol, "clean")
        result[protocol] = {
            "epochs_per_second": speeds,
            "clean_variant": clean.contender.name.partition("/")[2] if clean else None,
            "ratios": {rival: ratio(runs, protocol, rival) for rival in ("authors", "clean")},
            "goals": {rival: goal(protocol, rival) for rival in ("authors", "clean")},
            "two_seeds_two_threads": scaling(runs, protocol),
        }
    return result


def number(value: float | None, pattern: str = "{:.0f}") -> str:
    """A number of a table, or a dash."""
    return "-" if value is None else pattern.format(value)


def verdict(value: float | None, least: float | None) -> str:
    """A ratio with its goal beside it."""
    if least is None:
        return number(value, "{:.1f}")
    met = "" if value is None else (" met" if value >= least else " missed")
    return f"{number(value, '{:.1f}')} (goal {least:.0f}{met})"


def table(rows: list[list[str]]) -> str:
    """Left-aligned columns under a rule."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def comparison_table(totals: dict[str, dict[str, Any]]) -> str:
    """Best speeds, ratios and goals."""
    rows = [["epochs/s", "ours", "clean", "authors", "ours/authors", "ours/clean", "2 seeds, 2 threads"]]
    for protocol, title in protocols().items():
        total = totals[protocol]
        speeds, ratios, goals = total["epochs_per_second"], total["ratios"], total["goals"]
        rows.append(
            [
                title,
                number(speeds["ours"]),
                number(speeds["clean"]),
                number(speeds["authors"], "{:.1f}"),
                verdict(ratios["authors"], goals["authors"]),
                verdict(ratios["clean"], goals["clean"]),
                number(total["two_seeds_two_threads"], "x{:.2f}"),
            ]
        )
    return table(rows)


def detail_table(runs: list[Run]) -> str:
    """Every contender: best and worst round, our factor over it, and where its learning ended."""
    rows = [["contender", "protocol", "best", "worst", "ours is faster by", "epochs", "final error"]]
    for contender in dict.fromkeys(run.contender for run in runs):
        mine = [run for run in runs if run.contender == contender]
        speeds = [run.epochs_per_second for run in mine]
        ours = best(runs, contender.protocol, "ours")
        factor = ours.epochs_per_second / max(speeds) if ours and contender.name != "ours" else None
        rows.append(
            [
                contender.label,
                contender.protocol,
                number(max(speeds), "{:.1f}"),
                number(min(speeds), "{:.1f}"),
                number(factor, "x{:.1f}"),
                str(contender.epochs),
                number(mine[-1].final_error, "{:.4f}"),
            ]
        )
    return table(rows)


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def write_results(path: Path, runs: list[Run]) -> None:
    """Everything measured, for later comparison."""
    document = {
        "version": 1,
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": next((run.torch for run in runs if run.torch), None),
        "summary": summary(runs),
        "runs": [
            {**asdict(run.contender), **{k: v for k, v in asdict(run).items() if k != "contender"}} for run in runs
        ],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1000, help="of ours and of the clean form")
    parser.add_argument("--slow-epochs", type=int, default=40, help="of the authors' and the textbook form")
    parser.add_argument("--textbook", action="store_true", help="time the textbook form too")
    parser.add_argument("--ours", metavar="COMMAND", default=default_simulator(), help="the simulator to time")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements here")
    arguments = parser.parse_args()
    for name in ("rounds", "epochs", "slow_epochs"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return arguments


def main() -> int:
    """Measures, prints, and writes on request; fails only if nothing of ours ran."""
    arguments = parse_arguments()
    runs = run_rounds(arguments)
    print(f"N = 1000, alpha = 2, one thread; best of {arguments.rounds} rounds; {processor()}\n")
    totals = summary(runs)
    print(comparison_table(totals))
    for protocol, title in protocols().items():
        print(f"clean, {title}: fastest was {totals[protocol]['clean_variant'] or 'none'}")
    print()
    print(detail_table(runs))
    if arguments.json:
        write_results(arguments.json, runs)
    return 0 if any(run.contender.name == "ours" for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
