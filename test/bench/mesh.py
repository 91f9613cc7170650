# SPDX-License-Identifier: Apache-2.0
"""Trains language models in one process and in two, and prints the ratios beside their goals.

usage: mesh.py --trivet PROGRAM --source ROOT [--sum-bench PROGRAM] [--network-plugins DIR] [--model NAME ...]
               [--rounds N] [--collective KEY]

The shards of a mesh, and so the results, are the same for one process of two threads and for two of one thread.
PyTorch's DistributedDataParallel over gloo trains the model in two processes, too. One process of one thread trains
the batch whole and in eight shards, for the CPU time of shards. The ways run in turns; the best of the rounds counts.
An engine as slow as a network of 200 MB/s, the plugin "distant" of the tests, shows what exchanges beside the
computation gain. The program of --sum-bench compares sums with those of MPI, see sum_bench.cpp.
"""
import argparse
import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import peers
from inputs import write_tokens
from paths import HERE, PYTHON
from rows import GPT, GPT_CHAR, GPT_SMALL, Gpt

SHARDS = 8


@dataclasses.dataclass
class Model:
    sizes: Gpt
    steps: int
    warmup: int  # steps of PyTorch before the clock starts; trivet's are the first two
    speed_goal: float = 0  # of two processes, as a ratio to one; 0: none

    def overrides(self):
        return [*self.sizes.overrides(), f"task.train_input.batch_size={self.sizes.batch}",
                f"trainer.train_steps={self.steps}"]


MODELS = {
    "lm": Model(GPT_SMALL, 24, 4),
    "10m": Model(GPT_CHAR, 12, 3, speed_goal=0.97),
    # Few weights and many tokens: next to no communication.
    "compute": Model(Gpt(256, 128, 2, 2, 256, 32), 24, 4, speed_goal=1.0),
}

MESH, OVER_DATA = "mesh.ici_mesh_shape=[2,1,1]", "mesh.ici_mesh_shape=[1,2,1]"
NO_MESH, ONE, TWO = "1 process x 2 threads, no mesh", "1 process x 2 threads", "2 processes x 1 thread"
PARTS = f"{TWO}, weights over data"
WAITING, BESIDE = f"{PARTS}, slow network, waiting", f"{PARTS}, slow network"
NETWORK = {"TRIVET_DISTANT_BANDWIDTH": "2e8"}
WHOLE, IN_SHARDS = "1 process x 1 thread, no mesh", f"1 process x 1 thread, {SHARDS} shards"


def ways(options):
    """Ways to train: name -> words of the command."""
    engine = [f"mesh.collective={options.collective}"] if options.collective else []
    over_data = [OVER_DATA, "runtime.threads=1", "mesh.processes=2"]
    slow = {}
    if options.network_plugins:
        distant = ["--plugin-dir", options.network_plugins, "mesh.collective=distant/Network"]
        slow = {WAITING: [*over_data, *distant, "mesh.overlap=0"], BESIDE: [*over_data, *distant, "mesh.overlap=2"]}
    return {NO_MESH: ["runtime.threads=2"],
            ONE: [MESH, "runtime.threads=2"],
            TWO: [MESH, "runtime.threads=1", "mesh.processes=2", *engine],
            PARTS: [*over_data, *engine, "mesh.overlap=2"],
            **slow,
            WHOLE: ["runtime.threads=1"],
            IN_SHARDS: [f"mesh.ici_mesh_shape=[{SHARDS},1,1]", "runtime.threads=1"]}


def run_trivet(options, model, tokens, words):
    with tempfile.TemporaryDirectory() as scratch:
        workdir = Path(scratch) / "run"
        command = [options.trivet, "run", f"{options.source}/{GPT}", "--mode", "train", "--workdir", str(workdir),
                   "--quiet", f"task.train_input.files=['{tokens}']", *model.overrides(), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **NETWORK})
        return json.loads((workdir / "summary.json").read_text())


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def run_torch(environment, model, tokens):
    asked = {**model.sizes.peer_options(), "data": str(tokens), "steps": model.steps, "warmup": model.warmup,
             "attention": "bmm", "foreach": False}
    common = {**os.environ, **environment, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_port())}
    started = [subprocess.Popen([PYTHON, str(HERE / "torch_lm.py"), json.dumps(asked)],
                                env={**common, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
               for rank in range(2)]
    texts = [process.communicate() for process in started]
    if any(process.returncode != 0 for process in started):
        print(f"  PyTorch did not run: {texts[0][1].strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(texts[0][0])


def keep_better(best, way, figures):
    """Keeps the fastest run of a way, and its least CPU time."""
    if figures is None:
        return
    least = max(best.get(way, {}).get("examples_per_cpu_second", 0), figures["examples_per_cpu_second"])
    if way not in best or figures["examples_per_second"] > best[way]["examples_per_second"]:
        best[way] = figures
    best[way] = {**best[way], "examples_per_cpu_second": least}


def measure(options, name, tokens):
    model, best = MODELS[name], {}
    for turn in range(options.rounds):
        for way, words in ways(options).items():
            keep_better(best, way, run_trivet(options, model, tokens, words))
        for peer, environment in peers.environments(threads=1).items():
            keep_better(best, f"torch {peer}, 2 processes of gloo", run_torch(environment, model, tokens))
        print(f"{name}: round {turn + 1} of {options.rounds} done", file=sys.stderr)
    return best


def ratios(model, best):
    """(what, ratio, goal) of the best runs."""
    def faster(way, other):
        return best[way]["examples_per_second"] / best[other]["examples_per_second"]

    rows = [("speed of 2 processes to 1 process x 2 threads", faster(TWO, ONE),
             f"at least {model.speed_goal:.2f}" if model.speed_goal else ""),
            ("the same, to 1 process without a mesh", faster(TWO, NO_MESH), "")]
    peers = [way for way in best if way.startswith("torch")]
    if peers:
        peer = max(peers, key=lambda way: best[way]["examples_per_second"])
        rows.append(("the same, to DistributedDataParallel", faster(TWO, peer), "at least 1.30"))
    seconds = best[TWO]["measured_seconds"]
    rows.append(("exposed communication, of a step", best[TWO]["exchange_seconds"] / seconds, "at most 0.03"))
    rows += [(f"all waiting of process {rank}, of a step", waited / seconds, "")
             for rank, waited in enumerate(best[TWO]["waited_seconds"])]
    rows.append(("time with weights over data to whole weights", faster(TWO, PARTS), "at most 1.10"))
    if BESIDE in best:
        rows.append(("time on a slow network, beside the computation to waiting", faster(WAITING, BESIDE), ""))
    rows.append((f"CPU time of {SHARDS} shards in 1 process to 1 shard",
                 best[WHOLE]["examples_per_cpu_second"] / best[IN_SHARDS]["examples_per_cpu_second"], "at most 1.05"))
    return rows


def show(model, best):
    print(f"\n{model.sizes.title()}, best of the rounds\n{'':<62}{'tokens/s':>10}{'tokens/CPU-s':>14}")
    for way, figures in best.items():
        print(f"{way:<62}{figures['examples_per_second'] * model.sizes.length:>10.0f}"
              f"{figures['examples_per_cpu_second'] * model.sizes.length:>14.0f}")
    print(f"{'':<62}{'ratio':>10}  goal")
    for what, ratio, goal in ratios(model, best):
        print(f"{what:<62}{ratio:>10.3f}  {goal}".rstrip())


def compare_sums(program):
    # As words of mpirun these would be Open MPI's alone, and MPICH's would refuse them.
    environment = {**os.environ, "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    print("\nsums in the order of the mesh, goal: at most 1.05 of MPI_Allreduce", flush=True)
    for processes in (2, 4):
        subprocess.run(["mpirun", "-n", str(processes), program], env=environment, check=True)


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trivet", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--sum-bench", help="compares sums with those of MPI; without it they are left out")
    parser.add_argument("--network-plugins", help="the folder of the plugin distant; else no network is imitated")
    parser.add_argument("--model", action="append", choices=[*MODELS, "none"], help="may be repeated; none: only sums; default: lm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--collective", default="")
    options = parser.parse_args(words)
    options.model = [name for name in options.model or ["lm"] if name != "none"]
    return options


def main():
    options = parse()
    for name in options.model:
        with tempfile.TemporaryDirectory() as scratch:
            tokens = Path(scratch) / "tokens.bin"
            write_tokens(tokens, MODELS[name].sizes.vocabulary, MODELS[name].sizes.length)
            show(MODELS[name], measure(options, name, tokens))
    if options.sum_bench:
        compare_sums(options.sum_bench)


if __name__ == "__main__":
    main()
