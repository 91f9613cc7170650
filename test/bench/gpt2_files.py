# SPDX-License-Identifier: Apache-2.0
"""Writes a GPT-2 of 124 million random weights in the layout of Hugging Face's transformers: the model of the decode
rows, which `trivet import` and torch_decode.py read.

usage: gpt2_files.py FOLDER
The tokenizer has a token for each of the words w0, w1, ..., so that any id can be given and read.
"""
import json
import struct
import sys
from pathlib import Path

LAYERS, HEADS, DIMS, POSITIONS, VOCABULARY = 12, 12, 768, 1024, 50257


def shapes():
    """Name -> shape, as GPT-2 has them: products are [inputs, outputs]."""
    names = {"wte.weight": (VOCABULARY, DIMS), "wpe.weight": (POSITIONS, DIMS)}

    def add_norm(name):
        names.update({f"{name}.weight": (DIMS,), f"{name}.bias": (DIMS,)})

    for layer in range(LAYERS):
        block = f"h.{layer}"
        add_norm(f"{block}.ln_1")
        add_norm(f"{block}.ln_2")
        for name, inputs, outputs in (("attn.c_attn", DIMS, 3 * DIMS), ("attn.c_proj", DIMS, DIMS),
                                      ("mlp.c_fc", DIMS, 4 * DIMS), ("mlp.c_proj", 4 * DIMS, DIMS)):
            names.update({f"{block}.{name}.weight": (inputs, outputs), f"{block}.{name}.bias": (outputs,)})
    add_norm("ln_f")
    return names


def write_weights(file):
    """As safetensors, one array in memory at a time."""
    import numpy
    draw = numpy.random.default_rng(1)
    header, offset = {}, 0
    for name, shape in shapes().items():
        size = 4 * int(numpy.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for name, shape in shapes().items():
            if len(shape) == 2:
                values = draw.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
            else:
                values = numpy.full(shape, name.endswith(".weight"), numpy.float32)
            stream.write(values.tobytes())


def write_config(file):
    file.write_text(json.dumps({
        "model_type": "gpt2", "vocab_size": VOCABULARY, "n_embd": DIMS, "n_layer": LAYERS, "n_head": HEADS,
        "n_positions": POSITIONS, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}))


def write_tokenizer(file):
    vocabulary = {f"w{id}": id for id in range(VOCABULARY)}
    file.write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir()
    write_config(folder / "config.json")
    write_tokenizer(folder / "tokenizer.json")
    write_weights(folder / "model.safetensors")


if __name__ == "__main__":
    main()
