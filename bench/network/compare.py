#!/usr/bin/env python3
"""Times an update of a network in ours, PyTorch and NumPy in turn and prints how they compare.

Every measurement is a process of its own. Rounds alternate between contenders,
so that a busy moment of the machine falls on all of them, and the best round of
each counts. Progress goes to standard error, Markdown tables to standard output.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from protocol import environment, parse_widths

TORCH_VARIANTS = ("eager", "compiled", "autograd")
OURS = ("ours", "ours-bf16")


@dataclass(frozen=True)
class Row:
    """One network and batch size to time."""

    widths: tuple[int, ...]
    batch: int

    @property
    def label(self) -> str:
        """How progress and tables call it."""
        return f"{'-'.join(map(str, self.widths))}, batch {self.batch}"


@dataclass(frozen=True)
class Contender:
    """One program and the threads it gets: all for one network, or one for each of as many networks."""

    name: str
    threads: int
    seeds: int = 1

    @property
    def form(self) -> str:
        """The name without a variant."""
        return self.name.partition("/")[0]

    @property
    def processes(self) -> int:
        """Ours trains several networks in one process; others need as many processes."""
        return 1 if self.name in OURS else self.seeds

    @property
    def label(self) -> str:
        """How progress calls it."""
        return self.name if self.threads == 1 else f"{self.name}, {self.seeds} seeds, {self.threads} threads"


@dataclass(frozen=True)
class Run:
    """What one contender did on one row in one round."""

    row: Row
    contender: Contender
    round: int
    seconds_per_step: float
    steps: int | None
    gemm_seconds_per_step: float | None
    final_loss: float | None
    torch: str | None
    numpy: str | None

    @property
    def seconds_per_update(self) -> float:
        """Of one network: several trained at once share the time."""
        return self.seconds_per_step / self.contender.seeds


class Unavailable(Exception):
    """A contender that cannot run here, with the last thing it said."""


def main_row() -> Row:
    """The network all others are compared with."""
    return Row((784, 512, 512, 10), 64)


def sections(quick: bool) -> dict[str, list[Row]]:
    """Tables by title; a row may stand in several and is timed once."""
    main = {"Main network": [main_row()]}
    online = {"Online": [Row((784, 100, 10), 1), Row((784, 100, 100, 10), 1)]}
    if quick:
        return main | online
    widths = [Row((784, n, n, 10), 64) for n in (128, 256, 512, 1024, 2048, 4096)]
    batches = [Row((784, 512, 512, 10), b) for b in (1, 4, 16, 64, 256, 1024)]
    return main | {"Width of two hidden layers": widths, "Batch size": batches} | online


def rows_of(arguments: argparse.Namespace) -> list[Row]:
    """Every row once, in order."""
    return list(dict.fromkeys(row for rows in chosen_sections(arguments).values() for row in rows))


def chosen_sections(arguments: argparse.Namespace) -> dict[str, list[Row]]:
    """The standing sections, or the one row asked for."""
    if arguments.widths:
        return {"As asked": [Row(tuple(arguments.widths), arguments.batch)]}
    return sections(arguments.quick)


def contenders(threads: list[int]) -> list[Contender]:
    """Everything one round runs on a row, in order."""
    others = [*(f"torch/{variant}" for variant in TORCH_VARIANTS), "numpy"]
    line_up = []
    for count in threads:
        line_up += [Contender(name, count, seeds=count) for name in OURS]
        for name in others:
            line_up += [Contender(name, count, seeds) for seeds in sorted({1, count})]
    return line_up


def command_of(row: Row, contender: Contender, arguments: argparse.Namespace) -> list[str]:
    """The command line of one process of a measurement."""
    here = Path(__file__).resolve().parent
    options = ["--widths", ",".join(map(str, row.widths)), "--batch", str(row.batch)]
    options += ["--seconds", str(arguments.seconds), "--threads", str(contender.threads // contender.processes)]
    options += ["--clock", arguments.clock]
    if contender.name in OURS:
        seeds = ["--seeds", str(contender.seeds)] if contender.seeds > 1 else []
        precision = ["--precision", "bf16"] if contender.name == "ours-bf16" else []
        return [*shlex.split(arguments.ours), *options, *seeds, *precision]
    if arguments.images:
        options += ["--images", str(arguments.images)]
    if contender.form == "torch":
        options += ["--variant", contender.name.partition("/")[2]]
    return [arguments.python, str(here / f"{contender.form}_network.py"), *options]


def outputs_of(command: list[str], contender: Contender) -> list[str]:
    """Standard outputs of the processes of a contender, each of which must succeed."""
    variables = {**os.environ, **environment(contender.form, contender.threads // contender.processes)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    try:
        running = [
            subprocess.Popen(command, env=variables, cwd=repository(), **pipes) for _ in range(contender.processes)
        ]
    except OSError as error:
        raise Unavailable(f"cannot start {command[0]}: {error.strerror}") from error
    finished = [(process, *process.communicate()) for process in running]
    for process, _, errors in finished:
        if process.returncode != 0:
            said = errors.strip().splitlines() or ["nothing on standard error"]
            raise Unavailable(f"exit status {process.returncode}: {said[-1]}")
    return [output for _, output, _ in finished]


def repository() -> Path:
    """The root of the repository this folder lives in."""
    return Path(__file__).resolve().parents[2]


def parse_report(text: str) -> dict[str, Any]:
    """The last line of the text that is a JSON object."""
    for line in reversed(text.strip().splitlines()):
        try:
            document = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(document, dict):
            return document
    raise Unavailable("no JSON on standard output")


def run_once(row: Row, contender: Contender, round_number: int, arguments: argparse.Namespace) -> Run:
    """Runs a contender and reads its report; of several processes the slowest counts."""
    command = command_of(row, contender, arguments)
    reports = [parse_report(text) for text in outputs_of(command, contender)]
    for report in reports:
        seconds = report.get("seconds_per_step")
        if not isinstance(seconds, (int, float)) or seconds <= 0:
            raise Unavailable("the report lacks seconds_per_step")
    slowest = max(reports, key=lambda report: report["seconds_per_step"])
    optional = ("steps", "gemm_seconds_per_step", "final_loss", "torch", "numpy")
    return Run(row, contender, round_number, slowest["seconds_per_step"], *(slowest.get(key) for key in optional))


def run_rounds(arguments: argparse.Namespace) -> list[Run]:
    """All rounds; a contender that fails on a row is reported once and left out of that row from then on."""
    runs: list[Run] = []
    line_up = [
        (row, contender)
        for row in rows_of(arguments)
        for contender in contenders(arguments.threads)
        # Single images have no matrix products.
        if row.batch > 1 or contender.name != "ours-bf16"
    ]
    for round_number in range(1, arguments.rounds + 1):
        for row, contender in list(line_up):
            head = f"round {round_number}/{arguments.rounds}  {row.label}  {contender.label}"
            try:
                run = run_once(row, contender, round_number, arguments)
            except Unavailable as problem:
                print(f"{head}: left out, {problem}", file=sys.stderr)
                line_up.remove((row, contender))
                continue
            runs.append(run)
            print(f"{head}: {1e3 * run.seconds_per_step:.3f} ms/step", file=sys.stderr)
    return runs


def best(runs: list[Run], row: Row, form: str, threads: int) -> Run | None:
    """The fastest run of a form on a row, over its variants and all rounds."""
    matching = [
        run
        for run in runs
        if run.row == row and form in (run.contender.form, run.contender.name) and run.contender.threads == threads
    ]
    return min(matching, key=lambda run: run.seconds_per_update, default=None)


def summary(runs: list[Run], row: Row, threads: int) -> dict[str, Any]:
    """Best seconds of an update of one network on so many threads, and our factors over the others.

    Others may give all threads to one network or one to each of several: the better counts.
    """
    fastest = {form: best(runs, row, form, threads) for form in (*OURS, "torch", "numpy")}
    variants = {variant: best(runs, row, f"torch/{variant}", threads) for variant in TORCH_VARIANTS}
    times = {form: run.seconds_per_update if run else None for form, run in fastest.items()}
    ours, torch, alone = fastest["ours"], fastest["torch"], best(runs, row, "ours", 1)
    return {
        "widths": row.widths,
        "batch": row.batch,
        "threads": threads,
        "seconds_per_update": times,
        "torch_variant": torch.contender.name.partition("/")[2] if torch else None,
        "torch_variants": {name: run.seconds_per_update if run else None for name, run in variants.items()},
        "factors": {rival: ratio(times[rival], times["ours"]) for rival in ("torch", "numpy")},
        "factor_of_bf16": ratio(times["torch"], times["ours-bf16"]),
        "gemm_share": ratio(ours.gemm_seconds_per_step, ours.seconds_per_step) if ours and threads == 1 else None,
        "scaling": ratio(alone.seconds_per_update, times["ours"]) if alone and threads > 1 else None,
    }


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient of two numbers that may be missing."""
    return above / below if above and below else None


def number(value: float | None, pattern: str) -> str:
    """A number of a table, or a dash."""
    return "–" if value is None else pattern.format(value)


def milliseconds(seconds: float | None) -> str:
    """About three digits."""
    if seconds is None:
        return "–"
    value = 1e3 * seconds
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{decimals}f}"


def markdown(rows: list[list[str]]) -> str:
    """A table with its first row for a head, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]

    def line(cells: list[str]) -> str:
        padded = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
        return f"| {' | '.join(padded)} |"

    rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])])


def section_table(runs: list[Run], rows: list[Row], threads: int) -> str:
    """Best times and factors of a section at one number of threads."""
    head = ["ms per update", "ours", "ours bf16", *(f"PyTorch {v}" for v in TORCH_VARIANTS), "NumPy"]
    head += ["PyTorch/ours", "PyTorch/ours bf16", "NumPy/ours"]
    head.append("products in ours" if threads == 1 else "scaling of ours")
    lines = [head]
    for row in rows:
        total = summary(runs, row, threads)
        times, factors = total["seconds_per_update"], total["factors"]
        lines.append(
            [
                row.label,
                milliseconds(times["ours"]),
                milliseconds(times["ours-bf16"]),
                *(milliseconds(total["torch_variants"][variant]) for variant in TORCH_VARIANTS),
                milliseconds(times["numpy"]),
                number(factors["torch"], "{:.2f}"),
                number(total["factor_of_bf16"], "{:.2f}"),
                number(factors["numpy"], "{:.1f}"),
                number(total["gemm_share"], "{:.0%}") if threads == 1 else number(total["scaling"], "×{:.2f}"),
            ]
        )
    return markdown(lines)


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions(runs: list[Run]) -> dict[str, str | None]:
    """Of everything that could matter."""
    return {
        "python": platform.python_version(),
        "torch": next((run.torch for run in runs if run.torch), None),
        "numpy": next((run.numpy for run in runs if run.numpy), None),
        "rustc": first_line(["rustc", "--version"]),
        "ours": first_line(["git", "describe", "--always", "--dirty"]),
    }


def first_line(command: list[str]) -> str | None:
    """What a program says of itself, if it is there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=repository()).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def write_results(path: Path, runs: list[Run], arguments: argparse.Namespace) -> None:
    """Everything measured, for later comparison."""
    document = {
        "version": 1,
        "machine": platform.node(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "versions": versions(runs),
        "clock": arguments.clock,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "summary": [summary(runs, row, threads) for row in rows_of(arguments) for threads in arguments.threads],
        "runs": [flat(run) for run in runs],
    }
    path.write_text(json.dumps(document, indent=2) + "\n")


def flat(run: Run) -> dict[str, Any]:
    """A run with its row and contender on one level."""
    rest = {key: value for key, value in asdict(run).items() if key not in ("row", "contender")}
    return {**asdict(run.row), **asdict(run.contender), **rest}


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of every measurement; three steps at least")
    parser.add_argument("--quick", action="store_true", help="only the main row and the online rows")
    parser.add_argument("--widths", type=parse_widths, help="time this network alone")
    parser.add_argument("--batch", type=int, default=64, help="with --widths")
    parser.add_argument("--threads", type=thread_counts, default=default_threads(), help="numbers of threads, as 1,2")
    parser.add_argument(
        "--clock", choices=("wall", "processor"), default="wall", help="processor: for a busy machine, one thread only"
    )
    parser.add_argument("--images", type=Path, metavar="FILE.npy", help="images for PyTorch and NumPy")
    parser.add_argument("--ours", metavar="COMMAND", default=default_ours(), help="the program of ours to time")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch and NumPy")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measurements here")
    arguments = parser.parse_args()
    for name in ("rounds", "batch"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if arguments.clock == "processor":
        # Threads of one process would add up.
        arguments.threads = [1]
    if not arguments.seconds > 0:
        parser.error("--seconds must be positive")
    if arguments.images:
        arguments.images = arguments.images.resolve()
    return arguments


def thread_counts(text: str) -> list[int]:
    """Whole numbers separated by commas."""
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return counts


def default_threads() -> list[int]:
    """One, and two where there are two cores."""
    return [1, 2] if (os.cpu_count() or 1) >= 2 else [1]


def default_ours() -> str:
    """The timing example of the crate."""
    return "cargo run --release --quiet -p remanent-network --example step_time --"


def main() -> int:
    """Measures, prints, and writes on request; fails only if nothing of ours ran."""
    arguments = parse_arguments()
    runs = run_rounds(arguments)
    print(f"Best of {arguments.rounds} rounds; {processor()}; PyTorch {versions(runs)['torch'] or 'missing'}; {arguments.clock} time.")
    for title, rows in chosen_sections(arguments).items():
        for threads in arguments.threads:
            how = "one thread" if threads == 1 else f"{threads} threads, time per update of one network"
            print(f"\n**{title}**, {how}\n\n{section_table(runs, rows, threads)}")
    if arguments.json:
        write_results(arguments.json, runs, arguments)
    return 0 if any(run.contender.name in OURS for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
