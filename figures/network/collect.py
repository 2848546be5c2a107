"""Replaces the lines of runs in summary.csv and accuracy.csv by those of run directories of `remanent train`.

    python figures/network/collect.py NAME RUN COMMAND [NAME RUN COMMAND ...]
"""

import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).parent


def read(path: pathlib.Path) -> list[dict]:
    with path.open() as file:
        return list(csv.DictReader(file))


def main() -> None:
    words = sys.argv[1:]
    runs = [words[i : i + 3] for i in range(0, len(words), 3)]
    for table in ("summary.csv", "accuracy.csv"):
        lines = read(HERE / table)
        columns = list(lines[0])
        for name, run, command in runs:
            new = [{"run": name, "command": command, **line} for line in read(pathlib.Path(run, table))]
            new = [{column: line.get(column, "") for column in columns} for line in new]
            places = [i for i, line in enumerate(lines) if line["run"] == name]
            start = places[0] if places else len(lines)
            lines = [line for line in lines if line["run"] != name]
            lines[start:start] = new
        with (HERE / table).open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\r\n")
            writer.writeheader()
            writer.writerows(lines)


main()
