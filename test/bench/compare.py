# SPDX-License-Identifier: Apache-2.0
"""Trains the same models on the same data with trivet and with PyTorch, in turns, and prints the ratios.

usage: compare.py --trivet PROGRAM --source ROOT [--rounds N] [--json FILE] [mlp] [cnn] [lm]

PyTorch runs as Debian ships it and at its best here (another build of OpenBLAS, another allocator, wider vectors where
the processor has them); each figure is compared with the better of them. Every program runs once per round, in turns;
the best of the rounds counts, because other work on the machine only ever makes a run slower.
"""
import argparse
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
THREADS = "2"
VOCABULARY, LENGTH, DIMS, LAYERS, HEADS = 8192, 256, 256, 4, 4  # of gpt.toml
HIGHER, LOWER = ("examples_per_second", "examples_per_cpu_second"), ("first_step_seconds", "peak_rss_bytes")


@dataclasses.dataclass
class Model:
    title: str
    config: str  # from the top of the sources
    batch: int
    steps: int
    warmup: int  # steps before the clock starts
    peer: str  # program beside this one
    unit: str = "examples"
    units: int = 1  # in an example


MODELS = {
    "mlp": Model("fashion_mnist_mlp", "configs/vision/fashion_mnist_mlp.toml", 128, 1404, 100, "torch_peer.py"),
    "cnn": Model("fashion_mnist_cnn", "configs/vision/fashion_mnist_cnn.toml", 128, 234, 20, "torch_peer.py"),
    "lm": Model(f"language model V={VOCABULARY} C={DIMS} L={LAYERS} T={LENGTH}", "test/bench/gpt.toml", 8, 24, 4,
                "torch_lm.py", "tokens", LENGTH),
}


def write_tokens(file, vocabulary=VOCABULARY, length=LENGTH):
    """Ids as nanoGPT stores them. Their meaning does not matter for speed."""
    draw = random.Random(1)
    array("H", (draw.randrange(vocabulary) for _ in range(200 * length + 1))).tofile(file.open("wb"))


def peers():
    """Ways to start PyTorch here: name -> environment."""
    found = {"as shipped": {"OMP_NUM_THREADS": THREADS}}
    best = {"OMP_NUM_THREADS": THREADS}
    if (LIBRARIES / "openblas-openmp").is_dir():
        best["LD_LIBRARY_PATH"] = str(LIBRARIES / "openblas-openmp")
    allocator = LIBRARIES / "libtcmalloc_minimal.so.4"
    if allocator.exists():
        best["LD_PRELOAD"] = str(allocator)
    found["tuned"] = best
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        found["tuned, AVX-512"] = {**best, "ATEN_CPU_CAPABILITY": "avx512"}
    return found


def run_torch(name, environment, tokens):
    model = MODELS[name]
    lengths = [str(n) for n in (model.steps, model.warmup, model.batch)]
    if name == "lm":
        words = [str(tokens), *lengths, *map(str, (LENGTH, VOCABULARY, DIMS, LAYERS, HEADS))]
    else:
        words = [name, *lengths, "1"]
    command = ["/usr/bin/python3", str(HERE / model.peer), *words]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"  PyTorch did not run ({done.returncode}): {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def run_trivet(name, program, source, tokens):
    model = MODELS[name]
    data = [f"task.train_input.files=['{tokens}']"] if name == "lm" else []
    with tempfile.TemporaryDirectory() as scratch:
        workdir = Path(scratch) / "run"
        command = [program, "run", f"{source}/{model.config}", "--mode", "train", "--workdir", str(workdir), "--quiet",
                   f"trainer.train_steps={model.steps}", f"task.train_input.batch_size={model.batch}",
                   f"runtime.threads={THREADS}", *data]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads((workdir / "summary.json").read_text())


def better(best, figures):
    """Keeps the best value of every figure."""
    for name in HIGHER:
        best[name] = max(best.get(name, 0), figures[name])
    for name in LOWER:
        best[name] = min(best.get(name, float("inf")), figures[name])
    return best


def measure(options, tokens):
    ours, theirs = {}, {}
    for turn in range(options.rounds):
        for model in options.models or MODELS:
            figures = run_trivet(model, options.trivet, options.source, tokens)
            better(ours.setdefault(model, {}), figures)
            for name in ("page_faults_per_step", "backend_allocations_per_step"):
                ours[model][name] = figures[name]
            for peer, environment in peers().items():
                if (figures := run_torch(model, environment, tokens)) is not None:
                    better(theirs.setdefault(model, {}).setdefault(peer, {}), figures)
        print(f"round {turn + 1} of {options.rounds} done", file=sys.stderr)
    return ours, theirs


def rows_of(ours, theirs):
    rows = []
    for name, mine in ours.items():
        if name not in theirs:
            continue
        model = MODELS[name]
        best = {}
        for figures in theirs[name].values():
            better(best, figures)
        rows.append({
            "name": f"{model.title}, batch {model.batch}, {THREADS} threads", "unit": f"{model.unit}/s",
            "ours": mine["examples_per_second"] * model.units, "theirs": best["examples_per_second"] * model.units,
            "speed_ratio": mine["examples_per_second"] / best["examples_per_second"],
            "cpu_ratio": mine["examples_per_cpu_second"] / best["examples_per_cpu_second"],
            "memory_ratio": mine["peak_rss_bytes"] / best["peak_rss_bytes"],
            "start_ratio": mine["first_step_seconds"] / best["first_step_seconds"],
        })
    return rows


def show(ours, theirs, rows):
    line = "{:<18}{:>14}{:>18}{:>16}{:>12}"
    for key, mine in ours.items():
        model = MODELS[key]
        print(f"\n{model.title}, batch {model.batch}, {THREADS} threads, best of the rounds")
        print(line.format("", f"{model.unit}/s", f"{model.unit}/CPU-s", "first step s", "peak MiB"))
        for name, figures in [("trivet", mine), *((f"torch {p}", f) for p, f in theirs.get(key, {}).items())]:
            print(line.format(name[:17], f"{figures['examples_per_second'] * model.units:.0f}",
                              f"{figures['examples_per_cpu_second'] * model.units:.0f}",
                              f"{figures['first_step_seconds']:.3f}",
                              f"{figures['peak_rss_bytes'] / 2**20:.0f}"))
        print(f"after step 2, per step: {mine['backend_allocations_per_step']:g} allocations from the system, "
              f"{mine['page_faults_per_step']:g} page faults")
    for row in rows:
        print(f"\n{row['name']}: speed {row['speed_ratio']:.2f} x, per CPU-second {row['cpu_ratio']:.2f} x, "
              f"memory {row['memory_ratio']:.2f} x, start {row['start_ratio']:.2f} x of PyTorch's best")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trivet", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("models", nargs="*", choices=[[], *MODELS], metavar="MODEL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tokens = Path(scratch) / "tokens.bin"
        write_tokens(tokens)
        ours, theirs = measure(options, tokens)
    rows = rows_of(ours, theirs)
    show(ours, theirs, rows)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    if not rows:
        print("PyTorch did not run here: no ratios (Debian package python3-torch)", file=sys.stderr)


if __name__ == "__main__":
    main()
