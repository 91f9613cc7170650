# SPDX-License-Identifier: Apache-2.0
"""The same Fashion-MNIST training in PyTorch, as a user would write it for speed: the peer of `./dev bench`.

usage: torch_peer.py mlp|cnn STEPS WARMUP BATCH SEED
Prints one JSON object: examples per second and per CPU second over the steps after WARMUP, seconds from process start
to the end of the first step, peak memory and the mean loss of the last steps.
"""
import gzip
import json
import os
import resource
import sys
import time

DATA = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
MEAN, STD = 0.2860, 0.3530


def seconds_since_process_start():
    """From the kernel's record of the process, so that the interpreter's own start counts."""
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def read_idx(name, header):
    with gzip.open(f"{DATA}/{name}-ubyte.gz") as file:
        return file.read()[header:]


def make_model(nn, kind):
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    kind, steps, warmup, batch, seed = sys.argv[1], *map(int, sys.argv[2:6])
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(seed)
    pixels = numpy.frombuffer(read_idx("train-images-idx3", 16), numpy.uint8).reshape(-1, 1, 28, 28)
    images = (torch.from_numpy(pixels.copy()).float() / 255 - MEAN) / STD
    labels = torch.from_numpy(numpy.frombuffer(read_idx("train-labels-idx1", 8), numpy.uint8).astype(numpy.int64))
    model = make_model(nn, kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    first, losses, done = None, [], 0
    wall = cpu = 0.0
    while done < steps:
        order = torch.randperm(len(images))
        for begin in range(0, len(images) - batch + 1, batch):
            if done == warmup:
                wall, cpu = time.perf_counter(), cpu_seconds()
            chosen = order[begin:begin + batch]
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(model(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if first is None:
                first = seconds_since_process_start()
            done += 1
            if done == steps:
                break
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    examples = (steps - warmup) * batch
    print(json.dumps({
        "examples_per_second": examples / wall,
        "examples_per_cpu_second": examples / cpu,
        "first_step_seconds": first,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "last_loss": sum(losses[-50:]) / len(losses[-50:]),
    }))


main()
