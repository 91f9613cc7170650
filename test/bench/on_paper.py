# SPDX-License-Identifier: Apache-2.0
"""Compares predicted steps of 1, 2, 4 and 8 processes with runs of them on this machine.

usage: on_paper.py --trivet PROGRAM --source ROOT [--rounds N] [--processes 1,2,4,8]

A mesh of eight shards is trained by each number of processes of one thread, by local/SharedMemory. `trivet doctor
--collective` measures the network with as many processes, and the run of one process the FLOP per CPU second. Processes
that are more than the cores share them, so each has its part of that speed. `trivet summary --on-paper` predicts the
rest. The ways run in turns; the shortest step of the rounds counts, and so does the fastest network. Other work on the
machine makes steps longer, so the last columns compare the prediction with the CPU time of a step on the cores that it
can use; that includes the time in which a process waits for others.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import compare

MODEL = compare.MODELS["lm"]
ENGINE = "local/SharedMemory"
SHARDS = 8
STEPS = 8


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


class Machine:
    def __init__(self, options, tokens):
        self.program = options.trivet
        self.config = f"{options.source}/{MODEL.config}"
        self.words = [f"task.train_input.files=['{tokens}']", f"mesh.ici_mesh_shape=[{SHARDS},1,1]",
                      f"mesh.collective={ENGINE}", "runtime.threads=1", "mode=train"]

    def run(self, processes):
        """Seconds and CPU seconds of a step, and FLOP per CPU second of the whole run."""
        with tempfile.TemporaryDirectory() as scratch:
            workdir = Path(scratch) / "run"
            output_of(self.program, "run", self.config, "--workdir", workdir, "--quiet", f"trainer.train_steps={STEPS}",
                      f"mesh.processes={processes}", *self.words)
            summary = json.loads((workdir / "summary.json").read_text())
        cpu = MODEL.batch / summary["examples_per_cpu_second"]
        seconds = 1 / summary["steps_per_second"]
        return seconds, cpu, summary["tokens_per_second"] * summary["flops_per_token"] * seconds / cpu

    def network(self, processes):
        """Latency in us and bandwidth in MB/s."""
        if processes == 1:
            return 0.0, 1.0
        text = json.loads(output_of(self.program, "doctor", "--collective", ENGINE, "--processes", processes, "--json"))["network"]
        latency, bandwidth = text.split(",")
        return float(latency.removesuffix("us")), float(bandwidth.removesuffix("MB/s"))

    def predict(self, processes, network, flops):
        text = output_of(self.program, "summary", self.config, f"mesh.processes={processes}", *self.words, "--json", "--on-paper",
                         "--network", f"{network[0]:.2f}us,{network[1]:.1f}MB/s", "--device-flops", f"{flops:.6e}FLOP/s")
        return json.loads(text)["on_paper"]["rows"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trivet", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", default="1,2,4,8")
    options = parser.parse_args()
    counts = [int(count) for count in options.processes.split(",")]
    cores = len(os.sched_getaffinity(0))
    measured, used, networks, flops = {}, {}, {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        tokens = Path(scratch) / "tokens.bin"
        compare.write_tokens(tokens)
        machine = Machine(options, tokens)
        for turn in range(options.rounds):
            for count in sorted({1, *counts}):
                seconds, cpu, speed = machine.run(count)
                measured[count] = min(measured.get(count, seconds), seconds)
                used[count] = min(used.get(count, cpu), cpu)
                if count == 1:
                    flops = max(flops, speed)
                latency, bandwidth = machine.network(count)
                best = networks.get(count, (latency, bandwidth))
                networks[count] = (min(best[0], latency), max(best[1], bandwidth))
            print(f"round {turn + 1} of {options.rounds} done", file=sys.stderr)
        print(f"\n{MODEL.title}, {SHARDS} shards, {cores} cores, {flops / 1e9:.1f} GFLOP/s in one process of one thread")
        print(f"{'processes':>9}  {'latency':>8}  {'bandwidth':>9}  {'compute':>8}  {'exposed':>8}  {'predicted':>9}  {'measured':>8}  ratio  {'CPU':>7}  ratio")
        for count in counts:
            row = machine.predict(count, networks[count], flops * min(1, cores / count))
            latency, bandwidth = networks[count]
            predicted = row["step_seconds"]
            on_cores = used[count] / min(count, cores)
            print(f"{count:>9}  {latency:>5.1f} us  {bandwidth / 1e3:>4.1f} GB/s  {row['compute_seconds'] * 1e3:>5.0f} ms  "
                  f"{row['exposed_seconds'] * 1e3:>5.1f} ms  {predicted * 1e3:>6.0f} ms  {measured[count] * 1e3:>5.0f} ms  "
                  f"{predicted / measured[count]:>5.2f}  {on_cores * 1e3:>4.0f} ms  {predicted / on_cores:>5.2f}")


if __name__ == "__main__":
    main()
