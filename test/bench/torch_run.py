# SPDX-License-Identifier: Apache-2.0
"""What the peers in PyTorch share: their options, the training loop and what they print.

A peer's only word is a JSON object of its options. It prints one JSON object: examples per second and per CPU second
over the steps after the warm-up, seconds from process start to the end of the first step, peak memory, the number of
trained parameters and the mean loss of the last steps.
"""
import json
import os
import resource
import sys
import time
from types import SimpleNamespace


def options():
    return SimpleNamespace(**json.loads(sys.argv[1]))


def seconds_since_process_start():
    """From the kernel's record of the process, so that the interpreter's own start counts."""
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_rss_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def set_up(torch):
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(1)


def trained(model):
    return [each for each in model.parameters() if each.requires_grad]


def optimizer_of(torch, kind, model, foreach):
    parameters = trained(model)
    if kind == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1, foreach=foreach)
    if kind == "adam":
        return torch.optim.Adam(parameters, lr=1e-3, foreach=foreach)
    decays = [each for each in parameters if each.dim() > 1]
    others = [each for each in parameters if each.dim() <= 1]
    groups = [{"params": decays, "weight_decay": 5e-4}, {"params": others, "weight_decay": 0}]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True, foreach=foreach)


def train(torch, model, asked, batch_loss, rank=0, world=1):
    """Trains for asked.steps; batch_loss(step) is the loss of a batch. The first of several processes prints."""
    optimizer = optimizer_of(torch, asked.optimizer, model, asked.foreach)
    first, losses = None, []
    wall = cpu = 0.0
    for step in range(asked.steps):
        if step == asked.warmup:
            wall, cpu = time.perf_counter(), cpu_seconds()
        optimizer.zero_grad(set_to_none=True)
        loss = batch_loss(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if first is None:
            first = seconds_since_process_start()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    examples = (asked.steps - asked.warmup) * asked.batch
    if rank == 0:
        print(json.dumps({
            "examples_per_second": examples / wall,
            "examples_per_cpu_second": examples / world / cpu,
            "first_step_seconds": first,
            "peak_rss_bytes": peak_rss_bytes(),
            "parameters": sum(each.numel() for each in trained(model)),
            "last_loss": sum(losses[-10:]) / len(losses[-10:]),
        }))
