# SPDX-License-Identifier: Apache-2.0
"""Trains a language model in PyTorch: the peer of the rows gpt2_*, llama_shape, masked_lm, lstm and start_124m.

usage: torch_lm.py OPTIONS, see torch_run.py
With RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment it is one of several processes of
DistributedDataParallel over gloo, which share each batch; rank 0 prints.
"""
import os

import torch_run

MASK_RATE, MASK_SHARE, RANDOM_SHARE = 0.15, 0.8, 0.1
FIRST_SPECIAL, MASK_ID = 256, 258  # as masked.toml numbers the tokens after the bytes


def main():
    asked = torch_run.options()
    import numpy
    import torch
    from torch.nn import functional
    from torch_models import model_of

    torch_run.set_up(torch)
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    model = model_of(asked)
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    kind = numpy.uint8 if asked.model == "bert" else numpy.uint16
    tokens = torch.from_numpy(numpy.fromfile(asked.data, kind).astype(numpy.int64))
    rows = (len(tokens) - 1) // asked.length
    own = range(rank * asked.batch // world, (rank + 1) * asked.batch // world)

    def windows(step, offset):
        begins = [(step * asked.batch + i) % rows * asked.length + offset for i in own]
        return torch.stack([tokens[begin:begin + asked.length] for begin in begins])

    def next_token_loss(step):
        logits = model(windows(step, 0))
        return functional.cross_entropy(logits.reshape(-1, asked.vocabulary), windows(step, 1).view(-1))

    def masked_loss(step):
        labels = windows(step, 0)
        chosen, draw = torch.rand(labels.shape) < MASK_RATE, torch.rand(labels.shape)
        ids = labels.masked_fill(chosen & (draw < MASK_SHARE), MASK_ID)
        other = chosen & (draw >= MASK_SHARE) & (draw < MASK_SHARE + RANDOM_SHARE)
        ids = torch.where(other, torch.randint(FIRST_SPECIAL, labels.shape), ids)
        return functional.cross_entropy(model(ids, chosen), labels[chosen])

    loss = masked_loss if asked.model == "bert" else next_token_loss
    torch_run.train(torch, model, asked, loss, rank, world)


main()
