# SPDX-License-Identifier: Apache-2.0
"""A GPT-2-shaped language model in PyTorch, as a user would write it for speed: the peer of `./dev bench lm`.

usage: torch_lm.py TOKENS STEPS WARMUP BATCH LENGTH VOCABULARY DIMS LAYERS HEADS
TOKENS is a file of 16-bit ids. With RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment it is one of
several processes of DistributedDataParallel over gloo, which share each batch; rank 0 prints. Prints one JSON object: rows per second and per CPU second over the steps after WARMUP,
seconds from process start to the end of the first step, peak memory and the mean loss of the last steps.
"""
import json
import math
import os
import resource
import sys
import time


def seconds_since_process_start():
    """From the kernel's record of the process, so that the interpreter's own start counts."""
    with open("/proc/self/stat") as stat:
        started = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    file = sys.argv[1]
    steps, warmup, batch, length, vocabulary, dims, layers, heads = map(int, sys.argv[2:10])
    import numpy
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(1)
    tokens = torch.from_numpy(numpy.fromfile(file, numpy.uint16).astype(numpy.int64))
    mask = torch.full((length, length), -math.inf).triu(1)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first_norm, self.second_norm = nn.LayerNorm(dims), nn.LayerNorm(dims)
            self.qkv, self.out = nn.Linear(dims, 3 * dims), nn.Linear(dims, dims)
            self.mlp_in, self.mlp_out = nn.Linear(dims, 4 * dims), nn.Linear(4 * dims, dims)

        def forward(self, x):
            rows = x.shape[0]
            q, k, v = self.qkv(self.first_norm(x)).view(rows, length, 3, heads, dims // heads).permute(2, 0, 3, 1, 4)
            scores = torch.baddbmm(mask, q.reshape(-1, length, dims // heads),
                                   k.reshape(-1, length, dims // heads).transpose(1, 2),
                                   alpha=1 / math.sqrt(dims // heads))
            mixed = torch.bmm(scores.softmax(-1), v.reshape(-1, length, dims // heads))
            mixed = mixed.view(rows, heads, length, dims // heads).transpose(1, 2).reshape(rows, length, dims)
            x = x + self.out(mixed)
            return x + self.mlp_out(functional.gelu(self.mlp_in(self.second_norm(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, dims), nn.Embedding(length, dims)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm = nn.LayerNorm(dims)
            nn.init.normal_(self.tokens.weight, std=dims ** -0.5)
            nn.init.normal_(self.places.weight, std=dims ** -0.5)

        def forward(self, ids):
            x = self.tokens(ids) + self.places.weight
            return functional.linear(self.norm(self.blocks(x)), self.tokens.weight)

    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    model = Gpt()
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    own = range(rank * batch // world, (rank + 1) * batch // world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    rows = (len(tokens) - 1) // length
    first, losses = None, []
    wall = cpu = 0.0
    for step in range(steps):
        if step == warmup:
            wall, cpu = time.perf_counter(), cpu_seconds()
        begins = [(step * batch + i) % rows * length for i in own]
        ids = torch.stack([tokens[b:b + length] for b in begins])
        labels = torch.stack([tokens[b + 1:b + 1 + length] for b in begins])
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(ids).view(-1, vocabulary), labels.view(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if first is None:
            first = seconds_since_process_start()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    if rank > 0:
        return
    examples = (steps - warmup) * batch
    print(json.dumps({
        "examples_per_second": examples / wall,
        "examples_per_cpu_second": examples / world / cpu,
        "first_step_seconds": first,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "last_loss": sum(losses[-10:]) / len(losses[-10:]),
    }))


main()
