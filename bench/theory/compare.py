#!/usr/bin/env python3
"""Times the theory away from beta = 20 and prints the results as Markdown.

Every program given by --program NAME=PATH is an example `times` of remanent-theory, e.g. of two revisions. All programs take
turns in every round; a time is processor time of one thread, and the best round counts.
"""

import argparse
import json
import pathlib
import platform
import subprocess

BETAS = [1, 2, 5, 10, 15, 17, 20, 30, 50, 100, 200, 500, 1000]
ALPHAS = [0.3, 1, 1.5, 2, 3]
BRANCHES = [20, 50, 200, 1000]
TASKS = [5, 10, 25, 50, 100]


def measure(program, arguments, limit):
    """What `program` prints, or None if it takes longer than `limit` seconds."""
    command = [program, *map(str, arguments)]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(finished.stdout)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def rounds_of(programs, arguments, options):
    """All measurements of one question, by program."""
    found = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, path in programs.items():
            found[name].append(measure(path, arguments, options.limit))
    return found


def best(measurements):
    known = [m["milliseconds"] for m in measurements if m]
    return min(known) if known else float("nan")


def text(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", required=True, metavar="NAME=PATH", help="may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a measurement is given up")
    parser.add_argument("--quick", action="store_true", help="cold points at three beta only")
    parser.add_argument("--json", type=pathlib.Path, help="write all measurements to this file")
    options = parser.parse_args()
    programs = dict(given.split("=", 1) for given in options.program)
    everything = []

    def ask(*arguments):
        found = rounds_of(programs, arguments, options)
        everything.append({"arguments": arguments, "rounds": found})
        return found

    print(f"{processor()}; one thread; best of {options.rounds} rounds; milliseconds.\n")
    betas = [20, 200, 1000] if options.quick else BETAS
    rows = []
    for beta in betas:
        found = [ask("cold", beta, alpha, 0.05) for alpha in ALPHAS]
        for name in programs:
            accurate = all(m and m["termination"] == "converged" for f in found for m in f[name])
            times = [text(best(f[name])) for f in found]
            rows.append([str(beta), name, *times, "yes" if accurate else "no"])
    print("One point, cold (`theory single`):\n")
    table(["beta", "program", *(f"alpha = {a}" for a in ALPHAS), "all converged"], rows)
    if not options.quick:
        rows = []
        for beta in BRANCHES:
            found = ask("branches", beta)
            for name in programs:
                last = found[name][-1] or {}
                crossing = last.get("crossing")
                rows.append([str(beta), name, text(best(found[name])), str(last.get("rows", "")),
                             f"{crossing:.6f}" if crossing else "not found"])
        print("All branches (`theory branches`, alpha from 0.05 to 3):\n")
        table(["beta", "program", "time", "rows", "crossing"], rows)
        rows = []
        for tasks in TASKS:
            found = ask("chain", tasks, 20)
            for name in programs:
                time = best(found[name])
                rows.append([str(tasks), name, text(time), text(time / tasks)])
        print("Chains of T tasks, beta = 20, alpha = 2, gamma = 1, r_0 = 0.5 (`theory chain`):\n")
        table(["T", "program", "time", "per task"], rows)
    if options.json:
        options.json.write_text(json.dumps({"processor": processor(), "measurements": everything}, indent=1) + "\n")


if __name__ == "__main__":
    main()
