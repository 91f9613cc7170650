# SPDX-License-Identifier: Apache-2.0
"""The rows of `./dev bench`: what each trains or generates, with which config and which peer, and its FLOPs.

The FLOPs of a language model are 6 N + 12 L C T for a token, forward and backward: N parameters without tables that
are only looked up, L layers of depth C, and T positions, masked or not. Those of a vision model are 6 for each
multiplication and addition of its products, and 4 in the first layer, whose input needs no gradient.
"""
import dataclasses
import math
from typing import Callable, Optional

GPT = "test/bench/gpt.toml"
OPTIMIZERS = ({"foreach": False}, {"foreach": True})
ATTENTIONS = ({"attention": "bmm"}, {"attention": "sdpa"})
LAYOUTS = ({"channels_last": False}, {"channels_last": True})


@dataclasses.dataclass
class Row:
    name: str
    title: str
    kind: str = "train"  # or start: until the first step has ended; or decode
    unit: str = "tokens/s"
    config: str = ""  # from the top of the sources
    overrides: list = dataclasses.field(default_factory=list)
    batch: int = 0
    length: int = 1  # units of an example
    steps: int = 0  # of a decode row: tokens that follow each prompt
    warmup: int = 0  # steps of the peer before its clock starts; those of trivet are the first two
    peer: str = ""  # program beside this one
    peer_options: dict = dataclasses.field(default_factory=dict)
    variants: list = dataclasses.field(default_factory=lambda: [{}])  # of the peer; `plain` is the first one
    llama: bool = False  # whether llama.cpp is measured, too
    data: str = ""  # of inputs.py: tokens, text or nothing
    flops: Optional[Callable] = None  # parameters -> FLOPs of a unit, forward and backward

    def lower_is_better(self):
        return self.kind == "start"


def combined(*choices):
    """Every choice from each of the lists, as one table of options."""
    tables = [{}]
    for choice in choices:
        tables = [{**table, **option} for option in choice for table in tables]
    return tables


def shorter(row, steps):
    """The row with another number of steps; one that measures the start alone is as short as it can be."""
    if row.kind == "start":
        return row
    return dataclasses.replace(row, steps=steps, warmup=min(row.warmup, steps - 1))


def language_model_flops(looked_up, layers, dims, length):
    return lambda parameters: 6 * (parameters - looked_up) + 12 * layers * dims * length


def product_flops(first, *others):
    """FLOPs of an example from the multiplications of its layers."""
    return lambda parameters: 4 * first + 6 * sum(others)


def convolution(pixels, kernel, inputs, outputs):
    return pixels * pixels * kernel * kernel * inputs * outputs


@dataclasses.dataclass
class Gpt:
    """Sizes of the model of gpt.toml."""
    vocabulary: int
    dims: int
    layers: int
    heads: int
    length: int
    batch: int

    def title(self):
        return (f"GPT-2 shape V={self.vocabulary} C={self.dims} L={self.layers} H={self.heads} T={self.length} "
                f"B={self.batch}")

    def overrides(self):
        model = {"vocab_size": self.vocabulary, "model_dims": self.dims, "num_layers": self.layers,
                 "num_heads": self.heads, "max_seq_len": self.length}
        return [*(f"task.model.{key}={value}" for key, value in model.items()),
                f"task.train_input.seq_len={self.length}"]

    def peer_options(self):
        return {"model": "gpt", "optimizer": "adamw", **dataclasses.asdict(self)}

    def flops(self):
        return language_model_flops(self.length * self.dims, self.layers, self.dims, self.length)


GPT_SMALL = Gpt(8192, 256, 4, 4, 256, 8)
GPT_CHAR = Gpt(256, 384, 6, 6, 256, 8)
GPT_124M = Gpt(50257, 768, 12, 12, 256, 4)


def gpt_row(name, sizes, steps, warmup, kind="train"):
    start = kind == "start"
    return Row(name, sizes.title(), kind=kind, unit="s" if start else "tokens/s", config=GPT,
               overrides=sizes.overrides(), batch=sizes.batch, length=sizes.length, steps=steps, warmup=warmup,
               peer="torch_lm.py", peer_options=sizes.peer_options(), variants=combined(ATTENTIONS, OPTIMIZERS),
               data="tokens", flops=None if start else sizes.flops())


def llama_row():
    sizes = {"vocabulary": 32000, "dims": 512, "hidden": 1536, "layers": 8, "heads": 8, "kv_heads": 2, "length": 512}
    return Row("llama_shape", "Llama shape V=32000 C=512 L=8 H=8 KV=2 SwiGLU T=512 B=4", config="test/bench/llama.toml",
               batch=4, length=512, steps=6, warmup=2, peer="torch_lm.py",
               peer_options={"model": "llama", "optimizer": "adamw", **sizes}, data="tokens",
               variants=combined(ATTENTIONS, OPTIMIZERS), flops=language_model_flops(32000 * 512, 8, 512, 512))


def masked_row():
    sizes = {"vocabulary": 259, "dims": 384, "layers": 6, "heads": 6, "length": 128}
    return Row("masked_lm", "BERT shape V=259 C=384 L=6 H=6 T=128 B=32, 15 % masked", config="test/bench/masked.toml",
               batch=32, length=128, steps=8, warmup=2, peer="torch_lm.py",
               peer_options={"model": "bert", "optimizer": "adamw", **sizes}, data="text",
               variants=combined(ATTENTIONS, OPTIMIZERS), flops=language_model_flops(128 * 384, 6, 384, 128))


def lstm_row():
    sizes = {"vocabulary": 256, "dims": 512, "layers": 2, "length": 128}
    return Row("lstm", "LSTM language model V=256, 2 x 512, T=128 B=32", config="test/bench/lstm.toml", batch=32,
               length=128, steps=6, warmup=2, peer="torch_lm.py",
               peer_options={"model": "lstm", "optimizer": "adamw", **sizes}, data="tokens",
               variants=combined(OPTIMIZERS), flops=language_model_flops(0, 0, 0, 0))


def vision_row(name, title, model, steps, warmup, layouts, flops, optimizer="adam", kind="train"):
    """A row of a shipped config, which has B=128."""
    start = kind == "start"
    return Row(name, f"{title}, Fashion-MNIST, B=128", kind=kind, unit="s" if start else "examples/s",
               config=f"configs/vision/fashion_mnist_{model}.toml", batch=128, steps=steps, warmup=warmup,
               overrides=["trainer.summary_writers=[]"], peer="torch_vision.py",
               peer_options={"model": model, "optimizer": optimizer}, variants=combined(layouts, OPTIMIZERS),
               flops=None if start else flops)


def decode_row(name, prompts, variants):
    return Row(name, f"GPT-2 124M, greedy, f32, {'one prompt' if prompts == 1 else f'{prompts} prompts'}",
               kind="decode", batch=prompts, steps=96, peer="torch_decode.py",
               variants=[{"products": each} for each in variants], llama=prompts == 1, data="gpt2")


MLP_FLOPS = product_flops(784 * 512, 512 * 10)
CNN_FLOPS = product_flops(convolution(28, 3, 1, 32), convolution(14, 3, 32, 64), 3136 * 128, 128 * 10)
RESNET_FLOPS = product_flops(
    convolution(14, 3, 1, 32), 2 * convolution(14, 3, 32, 32),
    convolution(7, 3, 32, 64), convolution(7, 3, 64, 64), convolution(7, 1, 32, 64),
    convolution(4, 3, 64, 128), convolution(4, 3, 128, 128), convolution(4, 1, 64, 128), 128 * 10)
MLP_TITLE = "MLP 784-512-10"

ROWS = {row.name: row for row in (
    gpt_row("gpt2_small_shape", GPT_SMALL, 14, 3),
    gpt_row("gpt2_char_shape", GPT_CHAR, 10, 2),
    gpt_row("gpt2_124m", GPT_124M, 6, 2),
    llama_row(),
    masked_row(),
    vision_row("mlp", MLP_TITLE, "mlp", 702, 100, ({},), MLP_FLOPS),
    vision_row("cnn", "CNN of the shipped config", "cnn", 120, 20, LAYOUTS, CNN_FLOPS),
    vision_row("resnet", "ResNet of the shipped config", "resnet", 120, 20, LAYOUTS, RESNET_FLOPS, optimizer="sgd"),
    lstm_row(),
    decode_row("decode_124m", 1, ("linear", "mv", "columns")),
    decode_row("decode_124m_8_prompts", 8, ("linear", "columns")),
    vision_row("start_mlp", f"start to first step, {MLP_TITLE}", "mlp", 1, 0, ({},), None, kind="start"),
    gpt_row("start_124m", GPT_124M, 1, 0, kind="start"),
)}
