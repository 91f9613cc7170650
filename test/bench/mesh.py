# SPDX-License-Identifier: Apache-2.0
"""Trains one language model in one process of two threads, and in two processes of one thread, and prints the ratios.

usage: mesh.py --trivet PROGRAM --source ROOT [--rounds N] [--collective KEY]

The two shards of the mesh, and so the results, are the same for both. PyTorch's DistributedDataParallel over gloo trains
the model in two processes, too. The ways run in turns; the best of the rounds counts.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import compare

MODEL = compare.MODELS["lm"]


def run_trivet(options, tokens, words):
    with tempfile.TemporaryDirectory() as scratch:
        workdir = Path(scratch) / "run"
        command = [options.trivet, "run", f"{options.source}/{MODEL.config}", "--mode", "train", "--workdir", str(workdir),
                   "--quiet", f"trainer.train_steps={MODEL.steps}", f"task.train_input.files=['{tokens}']", *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads((workdir / "summary.json").read_text())["examples_per_second"]


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def run_torch(environment, tokens):
    words = [str(tokens), *(str(n) for n in (MODEL.steps, MODEL.warmup, MODEL.batch)),
             *map(str, (compare.LENGTH, compare.VOCABULARY, compare.DIMS, compare.LAYERS, compare.HEADS))]
    common = {**os.environ, **environment, "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_port())}
    started = [subprocess.Popen(["/usr/bin/python3", str(compare.HERE / MODEL.peer), *words],
                                env={**common, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for rank in range(2)]
    texts = [process.communicate() for process in started]
    if any(process.returncode != 0 for process in started):
        print(f"  PyTorch did not run: {texts[0][1].strip()[-200:]}", file=sys.stderr)
        return 0
    return json.loads(texts[0][0])["examples_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trivet", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--collective", default="")
    options = parser.parse_args()
    mesh = "mesh.ici_mesh_shape=[2,1,1]"
    engine = [f"mesh.collective={options.collective}"] if options.collective else []
    ways = {"1 process x 2 threads, no mesh": ["runtime.threads=2"],
            "1 process x 2 threads": [mesh, "runtime.threads=2"],
            "2 processes x 1 thread": [mesh, "runtime.threads=1", "mesh.processes=2", *engine]}
    best = {}
    with tempfile.TemporaryDirectory() as scratch:
        tokens = Path(scratch) / "tokens.bin"
        compare.write_tokens(tokens)
        for turn in range(options.rounds):
            for way, words in ways.items():
                best[way] = max(best.get(way, 0), run_trivet(options, tokens, words))
            for name, environment in compare.peers().items():
                way = f"torch {name}, 2 processes of gloo"
                best[way] = max(best.get(way, 0), run_torch(environment, tokens))
            print(f"round {turn + 1} of {options.rounds} done", file=sys.stderr)
    print(f"\n{MODEL.title}, batch {MODEL.batch}, tokens/s, best of the rounds")
    for way, speed in best.items():
        print(f"{way:<42}{speed * MODEL.units:>10.0f}")
    two = best["2 processes x 1 thread"]
    print(f"\n2 processes: {two / best['1 process x 2 threads']:.2f} x one process of two threads, "
          f"{two / best['1 process x 2 threads, no mesh']:.2f} x one without a mesh")
    torch = max(speed for way, speed in best.items() if way.startswith("torch"))
    if torch > 0:
        print(f"2 processes: {two / torch:.2f} x PyTorch's DistributedDataParallel")


if __name__ == "__main__":
    main()
