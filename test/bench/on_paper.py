# SPDX-License-Identifier: Apache-2.0
"""Compares predicted steps of 1, 2, 4 and 8 processes with runs of them on this machine.

usage: on_paper.py --trivet PROGRAM --source ROOT [--rounds N] [--processes 1,2,4,8]

A mesh of eight shards, one shard whose layers have blocks on four devices along mdl, and one whose layers are two
stages of a pipeline, are trained by each number of processes of one thread, by local/SharedMemory. `trivet doctor --collective` measures the network with as many
processes, and the run of one process the FLOP per CPU second of its mesh. Processes that are more than the cores share
them, so each has its part of that speed. `trivet summary --on-paper` predicts the rest. The ways run in turns; the
shortest step of the rounds counts, and so does the fastest network. Other work on the machine makes steps longer, so
the last columns compare the prediction with the CPU time of a step on the cores that it can use; that includes the time
in which a process waits for others.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from inputs import write_tokens
from rows import ROWS

MODEL = ROWS["gpt2_small_shape"]
ENGINE = "local/SharedMemory"
AXES = ("replica", "data", "mdl", "stage")
MESHES = ((8, 1, 1), (1, 1, 4), (1, 1, 1, 2))
MICROBATCHES = 4  # of the pipeline
STEPS = 8


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


class Machine:
    def __init__(self, options, tokens):
        self.program = options.trivet
        self.config = f"{options.source}/{MODEL.config}"
        self.words = [f"task.train_input.files=['{tokens}']", f"mesh.collective={ENGINE}", "runtime.threads=1", "mode=train"]

    def words_of(self, mesh, processes):
        names = [f"mesh.mesh_axis_names={json.dumps(AXES[: len(mesh)])}"]
        if len(mesh) > AXES.index("stage"):
            names.append(f"task.model.stacked_transformer_tpl.pipeline.num_microbatches={MICROBATCHES}")
        return [f"mesh.ici_mesh_shape={list(mesh)}".replace(" ", ""), f"mesh.processes={processes}", *names, *self.words]

    def run(self, mesh, processes):
        """Seconds and CPU seconds of a step, and FLOP per CPU second of the whole run."""
        with tempfile.TemporaryDirectory() as scratch:
            workdir = Path(scratch) / "run"
            output_of(self.program, "run", self.config, "--workdir", workdir, "--quiet", f"trainer.train_steps={STEPS}",
                      *self.words_of(mesh, processes))
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

    def predict(self, mesh, processes, network, flops):
        text = output_of(self.program, "summary", self.config, *self.words_of(mesh, processes), "--json", "--on-paper", "--network",
                         f"{network[0]:.2f}us,{network[1]:.1f}MB/s", "--device-flops", f"{flops:.6e}FLOP/s")
        return json.loads(text)["on_paper"]["rows"][0]


class Best:
    """The shortest steps of the rounds of each mesh and number of processes, and the fastest networks."""

    def __init__(self):
        self.seconds, self.cpu, self.flops, self.networks = {}, {}, {}, {}

    def add_step(self, mesh, processes, seconds, cpu, flops):
        key = mesh, processes
        self.seconds[key] = min(self.seconds.get(key, seconds), seconds)
        self.cpu[key] = min(self.cpu.get(key, cpu), cpu)
        if processes == 1:
            self.flops[mesh] = max(self.flops.get(mesh, 0), flops)

    def add_network(self, processes, latency, bandwidth):
        best = self.networks.get(processes, (latency, bandwidth))
        self.networks[processes] = min(best[0], latency), max(best[1], bandwidth)


def measure(machine, counts, rounds):
    best = Best()
    for turn in range(rounds):
        for count in sorted({1, *counts}):
            for mesh in meshes_of(count):
                best.add_step(mesh, count, *machine.run(mesh, count))
            best.add_network(count, *machine.network(count))
        print(f"round {turn + 1} of {rounds} done", file=sys.stderr)
    return best


def meshes_of(processes):
    return [mesh for mesh in MESHES if processes <= math.prod(mesh)]


def print_mesh(machine, best, mesh, counts):
    cores = len(os.sched_getaffinity(0))
    flops = best.flops[mesh]
    print(f"\n{MODEL.title}, mesh {list(mesh)}, {cores} cores, {flops / 1e9:.1f} GFLOP/s in one process of one thread")
    print(f"{'processes':>9}  {'latency':>8}  {'bandwidth':>9}  {'compute':>8}  {'exposed':>8}  {'sent':>7}  {'predicted':>9}  {'measured':>8}  ratio  {'CPU':>7}  ratio")
    for count in counts:
        row = machine.predict(mesh, count, best.networks[count], flops * min(1, cores / count))
        latency, bandwidth = best.networks[count]
        predicted, measured = row["step_seconds"], best.seconds[mesh, count]
        on_cores = best.cpu[mesh, count] / min(count, cores)
        print(f"{count:>9}  {latency:>5.1f} us  {bandwidth / 1e3:>4.1f} GB/s  {row['compute_seconds'] * 1e3:>5.0f} ms  "
              f"{row['exposed_seconds'] * 1e3:>5.1f} ms  {row['sent_bytes'] / 1e6:>4.0f} MB  {predicted * 1e3:>6.0f} ms  "
              f"{measured * 1e3:>5.0f} ms  {predicted / measured:>5.2f}  {on_cores * 1e3:>4.0f} ms  {predicted / on_cores:>5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trivet", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", default="1,2,4,8")
    options = parser.parse_args()
    counts = [int(count) for count in options.processes.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        tokens = Path(scratch) / "tokens.bin"
        write_tokens(tokens, MODEL.peer_options["vocabulary"], MODEL.length)
        machine = Machine(options, tokens)
        best = measure(machine, counts, options.rounds)
        for mesh in MESHES:
            print_mesh(machine, best, mesh, [count for count in counts if mesh in meshes_of(count)])


if __name__ == "__main__":
    main()
