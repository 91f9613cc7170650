# SPDX-License-Identifier: Apache-2.0
"""Trains the same models on the same data with trivet and with PyTorch, in turns, and prints the ratios.

usage: compare.py --trivet PROGRAM --source ROOT [--rounds N] [--json FILE]

PyTorch runs as Debian ships it and at its best here (another build of OpenBLAS, another allocator, wider vectors where
the processor has them); each figure is compared with the better of them. Every program runs once per round, in turns;
the best of the rounds counts, because other work on the machine only ever makes a run slower.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
THREADS = "2"
BATCH = 128
# model: (steps, steps before the clock starts)
MODELS = {"mlp": (1404, 100), "cnn": (234, 20)}
HIGHER, LOWER = ("examples_per_second", "examples_per_cpu_second"), ("first_step_seconds", "peak_rss_bytes")


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


def run_torch(model, environment):
    steps, warmup = MODELS[model]
    command = ["/usr/bin/python3", str(HERE / "torch_peer.py"), model, str(steps), str(warmup), str(BATCH), "1"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"  PyTorch did not run ({done.returncode}): {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def run_trivet(model, program, source):
    steps, _ = MODELS[model]
    with tempfile.TemporaryDirectory() as scratch:
        workdir = Path(scratch) / "run"
        command = [program, "run", f"{source}/configs/vision/fashion_mnist_{model}.toml", "--mode", "train",
                   "--workdir", str(workdir), "--quiet", f"trainer.train_steps={steps}",
                   f"task.train_input.batch_size={BATCH}", f"runtime.threads={THREADS}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads((workdir / "summary.json").read_text())


def better(best, figures):
    """Keeps the best value of every figure."""
    for name in HIGHER:
        best[name] = max(best.get(name, 0), figures[name])
    for name in LOWER:
        best[name] = min(best.get(name, float("inf")), figures[name])
    return best


def measure(options):
    ours, theirs = {}, {}
    for turn in range(options.rounds):
        for model in MODELS:
            figures = run_trivet(model, options.trivet, options.source)
            better(ours.setdefault(model, {}), figures)
            for name in ("page_faults_per_step", "backend_allocations_per_step"):
                ours[model][name] = figures[name]
            for peer, environment in peers().items():
                if (figures := run_torch(model, environment)) is not None:
                    better(theirs.setdefault(model, {}).setdefault(peer, {}), figures)
        print(f"round {turn + 1} of {options.rounds} done", file=sys.stderr)
    return ours, theirs


def rows_of(ours, theirs):
    rows = []
    for model, mine in ours.items():
        if model not in theirs:
            continue
        best = {}
        for figures in theirs[model].values():
            better(best, figures)
        rows.append({
            "name": f"fashion_mnist_{model}, batch {BATCH}, {THREADS} threads", "unit": "examples/s",
            "ours": mine["examples_per_second"], "theirs": best["examples_per_second"],
            "speed_ratio": mine["examples_per_second"] / best["examples_per_second"],
            "cpu_ratio": mine["examples_per_cpu_second"] / best["examples_per_cpu_second"],
            "memory_ratio": mine["peak_rss_bytes"] / best["peak_rss_bytes"],
            "start_ratio": mine["first_step_seconds"] / best["first_step_seconds"],
        })
    return rows


def show(ours, theirs, rows):
    line = "{:<18}{:>14}{:>18}{:>16}{:>12}"
    for model, mine in ours.items():
        print(f"\n{model}, batch {BATCH}, {THREADS} threads, best of the rounds")
        print(line.format("", "examples/s", "examples/CPU-s", "first step s", "peak MiB"))
        for name, figures in [("trivet", mine), *((f"torch {p}", f) for p, f in theirs.get(model, {}).items())]:
            print(line.format(name[:17], f"{figures['examples_per_second']:.0f}",
                              f"{figures['examples_per_cpu_second']:.0f}", f"{figures['first_step_seconds']:.3f}",
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
    options = parser.parse_args()
    ours, theirs = measure(options)
    rows = rows_of(ours, theirs)
    show(ours, theirs, rows)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")
    if not rows:
        print("PyTorch did not run here: no ratios (Debian package python3-torch)", file=sys.stderr)


main()
