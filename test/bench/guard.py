#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts instructions and cache misses of training steps, and compares them with the table in guard.json.

usage: guard.py --trivet PROGRAM --source ROOT [MODEL...] [--update]

Valgrind's callgrind runs the program on a simulated processor: AVX2, one thread, and caches of fixed sizes. So the
counts do not depend on the machine nor on other work on it, only on the code and on the compiler. A step's counts are
the difference between a longer and a shorter run. A count that differs by more than 2 % from the table fails; --update
writes the counts to the table.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from inputs import write_text, write_tokens
from paths import HERE

TABLE = HERE / "guard.json"
TOLERANCE = 0.02
CACHES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=262144,16,64"]
SHORT, LONG = 3, 7  # steps; the first two plan memory
KINDS = ("instructions", "first_level_misses", "last_level_misses")


@dataclasses.dataclass
class Model:
    config: str  # from the top of the sources
    overrides: list
    vocabulary: int = 0  # of a file of tokens
    length: int = 0
    files: str = "task.train_input.files"  # the field of the file; empty: none


def sizes(**values):
    return [f"task.model.{name}={value}" for name, value in values.items()]


def inputs(**values):
    return [f"task.train_input.{name}={value}" for name, value in values.items()]


# The library Highway starts with RDTSCP, which valgrind refuses where a hypervisor hides it. The name is the library's.
NO_TIMER = """\
#include <cstdint>
namespace hwy::platform {
std::uint64_t TimerResolution() { return 1; }
}  // namespace hwy::platform
"""

# Small, as each multiply-add takes valgrind a microsecond.
MODELS = {
    "gpt": Model("test/bench/gpt.toml",
                 sizes(vocab_size=300, model_dims=64, num_layers=2, num_heads=2, max_seq_len=32) +
                 inputs(seq_len=32, batch_size=2), 300, 32),
    "llama": Model("test/bench/llama.toml",
                   sizes(vocab_size=300, model_dims=64, hidden_dims=192, num_layers=2, num_heads=4,
                         num_kv_heads=2, max_seq_len=32) + inputs(seq_len=32, batch_size=2), 300, 32),
    "bert": Model("test/bench/masked.toml", sizes(model_dims=64, num_layers=2, num_heads=2, max_seq_len=32) +
                  inputs(seq_len=32, batch_size=2), files="task.train_input.source.files"),
    "lstm": Model("test/bench/lstm.toml",
                  sizes(model_dims=64, max_seq_len=16) + inputs(seq_len=16, batch_size=4) +
                  [f"task.model.block_tpl.{part}.{field}=64"
                   for part in ("attention_tpl", "ffn_tpl") for field in ("input_dims", "output_dims")], 256, 16),
    "mlp": Model("configs/vision/fashion_mnist_mlp.toml", inputs(batch_size=16) + ["trainer.summary_writers=[]"],
                 files=""),
    "cnn": Model("configs/vision/fashion_mnist_cnn.toml", inputs(batch_size=2) + ["trainer.summary_writers=[]"],
                 files=""),
}


def data_of(model, folder):
    if not model.files:
        return []
    file = folder / "data"
    if model.vocabulary:
        write_tokens(file, model.vocabulary, model.length)
    else:
        write_text(file)
    return [f"{model.files}=['{file}']"]


def build_shim(folder):
    """A library that is loaded before Highway's and spares it the instruction."""
    source, library = folder / "no_timer.cpp", folder / "no_timer.so"
    source.write_text(NO_TIMER)
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def counts_of_run(options, model, data, steps, folder):
    out = folder / f"callgrind.{steps}"
    command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, f"--callgrind-out-file={out}",
               options.trivet, "run", f"{options.source}/{model.config}", "--mode", "train", "--quiet",
               "--workdir", str(folder / f"run{steps}"), f"trainer.train_steps={steps}",
               "trainer.save_checkpoints=false", "runtime.threads=1", "runtime.peak_flops=1", *data, *model.overrides]
    # With fewer variables, their sizes do not move the stack.
    environment = {name: os.environ[name] for name in ("PATH", "TRIVET_PLUGIN_PATH") if name in os.environ}
    environment["LD_PRELOAD"] = str(options.shim)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model.config} did not run under valgrind ({done.returncode}): {done.stderr.strip()[-600:]}")
    text = out.read_text()
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    totals = [int(number) for number in re.search(r"^(?:totals|summary): (.*)$", text, re.M).group(1).split()]
    found = dict(zip(events, totals))
    return {"instructions": found["Ir"], "first_level_misses": found["D1mr"] + found["D1mw"],
            "last_level_misses": found["DLmr"] + found["DLmw"]}


def counts_of_step(options, name):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = data_of(MODELS[name], folder)
        short, long = (counts_of_run(options, MODELS[name], data, steps, folder) for steps in (SHORT, LONG))
    return {kind: round((long[kind] - short[kind]) / (LONG - SHORT)) for kind in KINDS}


def all_counts(options, names):
    """In the order of the names, as many at a time as there are cores."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        options.shim = build_shim(Path(folder))
        yield from pool.map(lambda name: counts_of_step(options, name), names)


def differences(name, counts, expected):
    """Of each kind, as a share of the table's count."""
    return {kind: counts[kind] / expected[name][kind] - 1 for kind in KINDS if expected[name][kind] > 0}


def line_of(name, counts, changes):
    texts = []
    for kind in KINDS:
        change = f" ({100 * changes[kind]:+.2f} %)" if kind in changes else ""
        texts.append(f"{counts[kind]:,} {kind.replace('_', ' ')}{change}")
    return f"{name}: {', '.join(texts)} a step"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="./dev bench guard",
                                     usage="%(prog)s [MODEL ...] [--update]", epilog="models: " + ", ".join(MODELS))
    parser.add_argument("--trivet", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--source", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--update", action="store_true", help="writes the counts to the table")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    options = parser.parse_args()
    if unknown := [name for name in options.models if name not in MODELS]:
        parser.error(f"no model '{unknown[0]}'; models: {', '.join(MODELS)}")
    expected = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        sys.exit("the table is that of AVX2, which valgrind cannot simulate on this processor")
    names, failed = options.models or list(MODELS), []
    for name, counts in zip(names, all_counts(options, names)):
        changes = differences(name, counts, expected) if name in expected else {}
        print(line_of(name, counts, changes), flush=True)
        if options.update:
            expected[name] = counts
        elif name not in expected:
            failed.append(f"{name} is not in the table")
        else:
            failed += [f"{name} has {100 * change:+.2f} % {kind.replace('_', ' ')}"
                       for kind, change in changes.items() if abs(change) > TOLERANCE]
    if options.update:
        TABLE.write_text(json.dumps(expected, indent=2) + "\n")
        return
    if failed:
        sys.exit("\n".join(failed) + "\nIf the change is meant, './dev bench guard --update' updates the table.")


if __name__ == "__main__":
    main()
