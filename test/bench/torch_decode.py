# SPDX-License-Identifier: Apache-2.0
"""Continues prompts greedily with a GPT-2 and a cache of keys and values in PyTorch, as a user would write it for
speed: the peer of the rows decode_124m*.

usage: torch_decode.py OPTIONS, a JSON object:
  data      folder of gpt2_files.py
  prompts   lists of ids, all of one length
  steps     tokens to generate after each prompt
  products  linear: products by functional.linear; mv: of one row, by torch.mv; columns: weights as the file has them
Prints one JSON object: tokens per second from the prompts to the last token, peak memory, the number of parameters and
the ids.
"""
import json
import struct
import time

import torch_run

EPSILON = 1e-5


def read_weights(torch, numpy, file, transposes):
    """Name -> tensor; products as [outputs, inputs] if `transposes`."""
    with open(file, "rb") as stream:
        size, = struct.unpack("<Q", stream.read(8))
        weights = {}
        for name, entry in json.loads(stream.read(size)).items():
            stream.seek(8 + size + entry["data_offsets"][0])
            values = numpy.fromfile(stream, numpy.float32, int(numpy.prod(entry["shape"])))
            tensor = torch.from_numpy(values).view(entry["shape"])
            product = tensor.dim() == 2 and name.startswith("h.")
            weights[name] = tensor.t().contiguous() if product and transposes else tensor
        return weights


def main():
    asked = torch_run.options()
    import numpy
    import torch
    from torch.nn import functional

    torch_run.set_up(torch)
    with open(f"{asked.data}/config.json") as file:
        config = json.load(file)
    heads, dims, layers = config["n_head"], config["n_embd"], config["n_layer"]
    head_dims = dims // heads
    w = read_weights(torch, numpy, f"{asked.data}/model.safetensors", asked.products != "columns")
    parameters = sum(each.numel() for each in w.values())
    prompts = torch.tensor(asked.prompts)
    rows, before = prompts.shape
    cache = torch.empty(layers, 2, rows, heads, before + asked.steps, head_dims)
    scale = head_dims ** -0.5

    def norm(name, x):
        return functional.layer_norm(x, (dims,), w[f"{name}.weight"], w[f"{name}.bias"], EPSILON)

    def product(name, x):
        """x [rows, inputs]"""
        weight, bias = w[f"{name}.weight"], w[f"{name}.bias"]
        if asked.products == "columns":
            return torch.addmv(bias, weight.t(), x[0])[None] if len(x) == 1 else torch.addmm(bias, x, weight)
        if asked.products == "mv" and len(x) == 1:
            return torch.addmv(bias, weight, x[0])[None]
        return functional.linear(x, weight, bias)

    def attention(layer, x, at, count):
        qkv = product(f"h.{layer}.attn.c_attn", x).view(rows, count, 3, heads, head_dims)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        cache[layer, 0, :, :, at:at + count], cache[layer, 1, :, :, at:at + count] = k, v
        keys, values = cache[layer, :, :, :, :at + count]
        scores = torch.matmul(q * scale, keys.transpose(-1, -2))
        if count > 1:
            scores = scores + torch.full((count, at + count), -torch.inf).triu(at + 1)
        mixed = torch.matmul(scores.softmax(-1), values).transpose(1, 2).reshape(rows * count, dims)
        return product(f"h.{layer}.attn.c_proj", mixed)

    def next_ids(ids, at):
        """The likeliest tokens after ids [rows, count], which are at position `at`."""
        count = ids.shape[1]
        x = (w["wte.weight"][ids] + w["wpe.weight"][at:at + count]).view(rows * count, dims)
        for layer in range(layers):
            x = x + attention(layer, norm(f"h.{layer}.ln_1", x), at, count)
            y = functional.gelu(product(f"h.{layer}.mlp.c_fc", norm(f"h.{layer}.ln_2", x)), approximate="tanh")
            x = x + product(f"h.{layer}.mlp.c_proj", y)
        last = norm("ln_f", x.view(rows, count, dims)[:, -1])
        if rows == 1 and asked.products != "linear":
            return torch.mv(w["wte.weight"], last[0]).argmax(-1).view(1, 1)
        return functional.linear(last, w["wte.weight"]).argmax(-1, keepdim=True)

    with torch.inference_mode():
        start = time.perf_counter()
        ids = next_ids(prompts, 0)
        made = [ids]
        for step in range(asked.steps - 1):
            ids = next_ids(ids, before + step)
            made.append(ids)
        made = torch.cat(made, 1).tolist()
        seconds = time.perf_counter() - start
    print(json.dumps({"tokens_per_second": rows * asked.steps / seconds,
                      "peak_rss_bytes": torch_run.peak_rss_bytes(),
                      "parameters": parameters, "ids": made}))


main()
