"""Writes one line for every trial of the run directories named on the command line.

    python figures/streams/collect.py [--role TEXT] [--also TEXT] RUN... > figures/streams/second.csv

--role writes TEXT into a first column, for the runs that follow. --also appends TEXT to the commands of the runs that follow: options that a
trial version of the program took elsewhere. Columns: the command that repeats the run, trial, predictor, after how many tasks, mean accuracy over the tasks measured,
over the last five of them, on the newest task, of the tasks from the first to the last measured, and the mean uncertainty
of every layer at the end. All numbers come from the records of the run.
"""

import csv
import json
import pathlib
import sys

FLAGS = {"beta": "beta-schedule", "standardise": "standardise"}
SKIPPED = {"revision", "meta", "fisher", "form", "activation", "ood"}


def command(case: dict, seed: int) -> str:
    """The options of a case; those that are the same in all runs of this folder are left out."""
    words = ["remanent train"]
    if case["gamma_step"] == case["gamma_task"]:
        case = {**case, "gamma": case["gamma_task"]}
    for key, value in sorted(case.items()):
        if key in SKIPPED or value is None or key in ("gamma_step", "gamma_task"):
            continue
        if key == "normalisation" and value == "none":
            continue
        if isinstance(value, bool):
            words += [f"--{key.replace('_', '-')}"] if value else []
            continue
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words.append(f"--{FLAGS.get(key, key.replace('_', '-'))} {text}")
    return " ".join([*words, f"--seed {seed}"])


def read(path: pathlib.Path) -> dict:
    """A record: a line with its checksum, then JSON."""
    return json.loads(path.read_text().split("\n", 1)[1])


def lines(record: dict):
    key, value = record["key"], record["value"]
    case = key["training"]
    images = "validation" if case.get("validation") else "test"
    last = value["epochs"][-1]
    for predictor in ("sampled", "hard"):
        # On each task directly after it was learned, where that was measured.
        newest = []
        for number, end in enumerate(value["ends"]):
            scores = end["scores"].get(predictor, [])
            tasks = end.get("tasks", list(range(number + 1)))
            newest += [s["accuracy"] for s, t in zip(scores, tasks) if t == number]
        scores = value["ends"][-1]["scores"].get(predictor, [])
        if not scores:
            continue
        accuracies = [s["accuracy"] for s in scores]
        mean = lambda x: f"{100 * sum(x) / len(x):.2f}" if x else ""
        yield {
            "images": images,
            "protocol": f"{case['stream']} {case['hidden']} batch {case['batch']} epochs {case['epochs']} images {case['train_images']}",
            "seed": key["seed"],
            "trial": key["trial"] + 1,
            "predictor": predictor,
            "draws": case["draws"] if predictor == "sampled" else 1,
            "tasks": len(value["ends"]),
            "average": mean(accuracies),
            "last_five": mean(accuracies[-5:]),
            "newest_last_five": mean(newest[-5:]) if len(newest) >= 5 else "",
            "accuracies": " ".join(f"{100 * a:.2f}" for a in accuracies),
            "newest": " ".join(f"{100 * a:.2f}" for a in newest),
            "uncertainty": " ".join(f"{u:.4f}" for u in last["uncertainty"]),
            "command": command(case, key["seed"]),
        }


def main() -> None:
    writer = None
    words = iter(sys.argv[1:])
    role, also = None, ""
    for run in words:
        if run == "--role":
            role = next(words)
            continue
        if run == "--also":
            also = next(words)
            continue
        for path in sorted(pathlib.Path(run, "records").glob("*.json")):
            for line in lines(read(path)):
                line = line if role is None else {"role": role, **line}
                line["command"] += f" {also}" if also else ""
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, list(line), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(line)


main()
