# SPDX-License-Identifier: Apache-2.0
"""The programs that trivet is compared with: PyTorch as Debian ships it and at its best here, and llama.cpp."""
import itertools
import json
import os
import shutil
from pathlib import Path

import child
from paths import HERE, LIBRARIES, PYTHON

AS_SHIPPED = "as shipped"
LLAMA_PACKAGE, LLAMA_VERSION = "node-llama-cpp", "3.22.1"


def environments(threads):
    """Ways to start PyTorch here: name -> environment. Another build of OpenBLAS, another allocator, and wider vectors
    where the processor has them make it faster."""
    plain = {"OMP_NUM_THREADS": str(threads)}
    tuned = dict(plain)
    if (LIBRARIES / "openblas-openmp").is_dir():
        tuned["LD_LIBRARY_PATH"] = str(LIBRARIES / "openblas-openmp")
    allocator = LIBRARIES / "libtcmalloc_minimal.so.4"
    if allocator.exists():
        tuned["LD_PRELOAD"] = str(allocator)
    found = {AS_SHIPPED: plain, "tuned": tuned}
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        # OpenBLAS takes a processor that is newer than itself for one without AVX-512.
        found["tuned, AVX-512"] = {**tuned, "ATEN_CPU_CAPABILITY": "avx512", "OPENBLAS_CORETYPE": "SkylakeX"}
    return found


def name_of(variant):
    names = []
    for key, value in variant.items():
        if isinstance(value, bool):
            names.append(key if value else f"no {key}")
        else:
            names.append(f"{key} {value}")
    return ", ".join(name.replace("_", " ") for name in names)


def ways(row, threads):
    """Ways to run the row's peer: name -> (environment, options of the variant). The first is PyTorch as shipped."""
    found = environments(threads)
    ways_of = {AS_SHIPPED: (found.pop(AS_SHIPPED), row.variants[0])}
    for (name, environment), variant in itertools.product(found.items(), row.variants):
        ways_of[f"{name}: {name_of(variant)}" if variant else name] = (environment, variant)
    return ways_of


def prompts_of(row):
    """Ids of the prompts of a decode row: eight for each."""
    return [[1 + 8 * row_index + i for i in range(8)] for row_index in range(row.batch)]


def options_of(row, data):
    if row.kind == "decode":
        return {"data": str(data), "prompts": prompts_of(row), "steps": row.steps}
    return {**row.peer_options, "data": str(data), "batch": row.batch, "steps": row.steps, "warmup": row.warmup}


def run_torch(row, way, data):
    """The figures that the peer prints, with `value` in the row's unit."""
    environment, variant = way
    options = {**options_of(row, data), **variant}
    figures = json.loads(child.output_of([PYTHON, HERE / row.peer, json.dumps(options)], environment))
    return {**figures, "value": value_of(row, figures)}


def value_of(row, figures):
    """Of figures that trivet or a peer prints."""
    if row.kind == "decode":
        return figures["tokens_per_second"]
    if row.kind == "start":
        return figures["first_step_seconds"]
    return figures["examples_per_second"] * row.length


def llama_package(source):
    """The folder of llama.cpp's package of npm; None if it is not installed."""
    folders = [Path(source) / "build-npm" / "node_modules",
               *map(Path, filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep)))]
    return next((folder / LLAMA_PACKAGE for folder in folders if (folder / LLAMA_PACKAGE).is_dir()), None)


def run_llama(row, package, gguf, threads):
    if shutil.which("node") is None:
        raise child.Failed("there is no program node")
    options = {"threads": threads, "prompt": prompts_of(row)[0], "steps": row.steps}
    out = child.output_of(["node", HERE / "llama_decode.mjs", package, gguf, json.dumps(options)])
    figures = json.loads(out.strip().splitlines()[-1])
    return {**figures, "ids": [figures["ids"]], "value": value_of(row, figures)}
