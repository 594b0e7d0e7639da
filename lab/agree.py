#!/usr/bin/env python3
"""Runs the same comparison again and again, in pairs, and tells whether the intervals agree.

    lab/agree.py [--pairs 10] [--runs 5] [WORKLOAD]

Two runs of one comparison on one machine should give ratios to `raw` whose 95 % intervals overlap.
Builds `wigwag` first. Ends with exit code 1 when fewer than nine in ten rows agree; on a machine that
others use as well, that is a fact about the machine. Ten pairs of `counter` take some 20 minutes.
"""
import argparse
import json
import subprocess
import sys

PARTICIPANTS = "raw,wigwag"


def intervals(workload, runs):
    """Cell and participant, and the interval of the ratio."""
    command = ["cargo", "run", "--quiet", "--release", "--", "lab", "run", workload]
    command += ["--peers", PARTICIPANTS, "--runs", str(runs), "--json", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    rows = json.loads(done.stdout)["rows"]
    compared = (row for row in rows if row["participant"] != "raw" and row["ratio_to_raw"])
    return {(row["cell"], row["participant"]): row["ratio_to_raw"] for row in compared}


def main():
    reader = argparse.ArgumentParser()
    reader.add_argument("workload", nargs="?", default="counter")
    reader.add_argument("--pairs", type=int, default=10)
    reader.add_argument("--runs", type=int, default=5)
    options = reader.parse_args()
    agreed = total = 0
    for pair in range(options.pairs):
        one, other = (intervals(options.workload, options.runs) for _ in range(2))
        for row in sorted(one.keys() & other.keys()):
            first, second = one[row], other[row]
            overlap = first["low"] <= second["high"] and second["low"] <= first["high"]
            total, agreed = total + 1, agreed + overlap
            ends = "  ".join(f"{it['median']:.3f} ({it['low']:.3f}-{it['high']:.3f})" for it in (first, second))
            print(f"pair {pair + 1}  {' / '.join(row):24}  {ends}  {'agree' if overlap else 'DIFFER'}", flush=True)
    print(f"{agreed} of {total} agree")
    return 0 if total and agreed * 10 >= total * 9 else 1


sys.exit(main())
