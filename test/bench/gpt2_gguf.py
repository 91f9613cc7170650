# SPDX-License-Identifier: Apache-2.0
"""Writes a GPT-2 of gpt2_files.py as GGUF in f32, for llama.cpp.

usage: gpt2_gguf.py FOLDER FILE
A GGUF file (version 3) has a header of typed keys, a table of tensors with their sizes from the innermost one, and
their bytes, aligned to 32. llama.cpp has products as [outputs, inputs].
"""
import json
import struct
import sys

TEXT, U32, F32, FLAG, LIST, I32 = 8, 4, 6, 7, 9, 5  # types of values
NORMAL, CONTROL = 1, 3  # types of tokens
ALIGNMENT = 32
OF_BLOCK = {"ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
            "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
OTHERS = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def letters_of_bytes():
    """The letter of each byte in GPT-2's vocabulary: itself if it is visible in Latin-1, else one from 256 on."""
    letters, more = [], 256
    for byte in range(256):
        visible = 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD)
        letters.append(chr(byte if visible else more))
        more += not visible
    return letters


def tokenizer(count):
    tokens = letters_of_bytes()
    tokens += [f"w{id}" for id in range(len(tokens), count - 1)] + ["<|endoftext|>"]
    kinds = [NORMAL] * (count - 1) + [CONTROL]
    end = struct.pack("<I", count - 1)
    return [
        entry("tokenizer.ggml.model", TEXT, text("gpt2")),
        entry("tokenizer.ggml.pre", TEXT, text("gpt-2")),
        entry("tokenizer.ggml.tokens", LIST, struct.pack("<IQ", TEXT, count) + b"".join(map(text, tokens))),
        entry("tokenizer.ggml.token_type", LIST, struct.pack(f"<IQ{count}i", I32, count, *kinds)),
        entry("tokenizer.ggml.merges", LIST, struct.pack("<IQ", TEXT, 1) + text("a b")),
        entry("tokenizer.ggml.bos_token_id", U32, end),
        entry("tokenizer.ggml.eos_token_id", U32, end),
        entry("tokenizer.ggml.add_bos_token", FLAG, b"\0"),
    ]


def header(config):
    sizes = {"context_length": config["n_positions"], "embedding_length": config["n_embd"],
             "feed_forward_length": 4 * config["n_embd"], "block_count": config["n_layer"],
             "attention.head_count": config["n_head"]}
    return [
        entry("general.architecture", TEXT, text("gpt2")),
        entry("general.name", TEXT, text("random")),
        entry("general.file_type", U32, struct.pack("<I", 0)),
        *(entry(f"gpt2.{key}", U32, struct.pack("<I", size)) for key, size in sizes.items()),
        entry("gpt2.attention.layer_norm_epsilon", F32, struct.pack("<f", config["layer_norm_epsilon"])),
        *tokenizer(config["vocab_size"]),
    ]


def name_of(name):
    """That of llama.cpp, from transformers'."""
    stem, kind = name.rsplit(".", 1)
    if not stem.startswith("h."):
        return f"{OTHERS[stem]}.{kind}"
    layer, part = stem[2:].split(".", 1)
    return f"blk.{layer}.{OF_BLOCK[part]}.{kind}"


def main():
    import numpy
    folder, out = sys.argv[1:3]
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    with open(f"{folder}/model.safetensors", "rb") as weights, open(out, "wb") as file:
        size, = struct.unpack("<Q", weights.read(8))
        tensors = json.loads(weights.read(size))
        table, offset = b"", 0
        for name, entry_of in tensors.items():
            shape = entry_of["shape"]
            inner_first = shape if name.startswith("h.") else shape[::-1]
            table += text(name_of(name)) + struct.pack(f"<I{len(shape)}Q", len(shape), *inner_first)
            table += struct.pack("<IQ", 0, offset)  # f32
            offset += (4 * int(numpy.prod(shape)) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        keys = header(config)
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + table)
        for name, entry_of in tensors.items():
            file.write(bytes(-file.tell() % ALIGNMENT))
            weights.seek(8 + size + entry_of["data_offsets"][0])
            values = numpy.fromfile(weights, numpy.float32, int(numpy.prod(entry_of["shape"])))
            values = values.reshape(entry_of["shape"])
            file.write(values.T.tobytes() if name.startswith("h.") else values.tobytes())


main()
