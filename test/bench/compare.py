# SPDX-License-Identifier: Apache-2.0
"""Trains and runs the same models with trivet and with PyTorch, in turns, and prints the ratios.

usage: compare.py --trivet PROGRAM --source ROOT [ROW...] [--rounds N] [--json FILE] [--threads N] [--steps N]

PyTorch runs as Debian ships it and tuned: in other environments, with other forms of attention, optimizer and memory
layout. The first round tries all of them, later rounds the two fastest. Every program runs once per round, in turns;
the best of the rounds counts, because other work on the machine only ever makes a run slower. Ctrl-C and SIGTERM end
the benchmark: it prints and writes what it has measured so far.
"""
import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

import child
import peers
import report
from best import Best
from inputs import Inputs
from rows import ROWS, shorter
from trivet_side import Trivet

FASTEST = 2  # ways of the peer that run in later rounds
LEAST_STEPS = 3  # trivet does not measure its first two


class Stopped(BaseException):
    """A signal ends the benchmark."""


class Benchmark:
    def __init__(self, options, folder):
        self.options, self.inputs = options, Inputs(folder)
        self.trivet = Trivet(options.trivet, options.source, options.threads, self.inputs)
        self.rows = [ROWS[name] for name in options.rows or ROWS]
        if options.steps:
            self.rows = [shorter(row, options.steps) for row in self.rows]
        self.best = {row.name: Best(row) for row in self.rows}
        self.peaks = {"peak_flops": 0, "bytes_per_second": 0}
        self.package = peers.llama_package(options.source)

    def measure(self):
        self.measure_peaks()
        for turn in range(self.options.rounds):
            for row in self.rows:
                self.measure_row(row, first=turn == 0)
                self.best[row.name].rounds = turn + 1
                print(f"round {turn + 1} of {self.options.rounds}: {self.line_of(row)}", file=sys.stderr)
        self.measure_peaks()

    def measure_peaks(self):
        """Keeps the larger ones: other work can only make them smaller."""
        try:
            self.peaks = {name: max(self.peaks[name], value) for name, value in self.trivet.peaks().items()}
        except (child.Failed, KeyError, ValueError) as why:
            print(f"  no peak: trivet doctor: {why}", file=sys.stderr)

    def measure_row(self, row, first):
        best = self.best[row.name]
        self.attempt(best, "trivet", lambda: best.keep("ours", self.trivet.run(row)))
        for way, how in self.ways_of(row, best, first).items():
            key = "plain" if way == peers.AS_SHIPPED else way
            self.attempt(best, f"PyTorch ({way})",
                         lambda: best.keep(key, peers.run_torch(row, how, self.inputs.of(row))))
        if row.llama:
            self.measure_llama(row, best)
        best.check_work()

    def ways_of(self, row, best, first):
        """All at first, then plain and the fastest of the others."""
        ways = peers.ways(row, self.options.threads)
        if first:
            return ways
        chosen = [way for way in best.by_speed() if way != "plain"][:FASTEST]
        return {way: how for way, how in ways.items() if way == peers.AS_SHIPPED or way in chosen}

    def measure_llama(self, row, best):
        if self.package is None:
            best.add_error("llama.cpp", "was not measured; to install it: npm install --ignore-scripts --no-save "
                           f"--prefix build-npm {peers.LLAMA_PACKAGE}@{peers.LLAMA_VERSION}")
            return

        def run():
            figures = peers.run_llama(row, self.package, self.inputs.gguf(), self.options.threads)
            best.llama = figures if best.llama is None else best.merged(best.llama, figures)

        self.attempt(best, "llama.cpp", run)

    @staticmethod
    def attempt(best, who, run):
        try:
            run()
        except (child.Failed, OSError, KeyError, ValueError) as why:
            best.add_error(who, f"did not run: {why}")

    def line_of(self, row):
        best = self.best[row.name]
        values = {"trivet": best.figures("ours"), "plain": best.figures("plain"), "tuned": best.tuned()}
        texts = [f"{name} {report.value_text(figures and figures['value'])}" for name, figures in values.items()]
        way = f" ({best.tuned_way()})" if best.tuned_way() else ""
        return f"{row.name}: {', '.join(texts)} {row.unit}{way}"

    def tables(self):
        return [report.table_of(row, self.best[row.name], self.peaks, self.options.threads) for row in self.rows]


def finish(benchmark):
    """Prints and writes what was measured. No signal cuts it short."""
    set_handlers(signal.SIG_IGN)
    tables = benchmark.tables()
    report.show(tables, benchmark.peaks, benchmark.options.threads)
    if benchmark.options.json:
        Path(benchmark.options.json).write_text(json.dumps(tables, indent=2) + "\n")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="./dev bench",
                                     usage="%(prog)s [ROW ...] [OPTIONS]", epilog="rows: " + ", ".join(ROWS))
    parser.add_argument("--trivet", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--source", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, help="how often every program runs (5)")
    parser.add_argument("--json", metavar="FILE", help="writes the table there, too")
    parser.add_argument("--threads", type=int, default=2, help="of every program (2)")
    parser.add_argument("--steps", type=int, help=f"steps of every row, at least {LEAST_STEPS}, for a quick look; "
                        "the figures are then rough")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="default: all")
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS]:
        parser.error(f"no row '{unknown[0]}'; rows: {', '.join(ROWS)}")
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    if options.json and not Path(options.json).resolve().parent.is_dir():
        parser.error(f"--json: there is no folder for {options.json}")
    if options.steps is not None and options.steps < LEAST_STEPS:
        parser.error(f"--steps is at least {LEAST_STEPS}, as trivet does not measure its first two")
    return options


def set_handlers(handler):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def stop(*_):
    set_handlers(signal.SIG_IGN)
    raise Stopped


def main():
    options = parse()
    set_handlers(stop)
    with tempfile.TemporaryDirectory() as folder:
        benchmark = Benchmark(options, Path(folder))
        stopped = False
        try:
            benchmark.measure()
        except Stopped:
            stopped = True
        finish(benchmark)
    return 130 if stopped else 0


if __name__ == "__main__":
    sys.exit(main())
