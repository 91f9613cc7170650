# SPDX-License-Identifier: Apache-2.0
"""The language models of the benchmark in PyTorch, as a user would write them for speed: GPT-2, Llama and BERT from one
block, and an LSTM. Names of options are those of rows.py."""
import math

import torch
from torch import nn
from torch.nn import functional

EPSILON = 1e-6  # of the norms, as in the configs


class RmsNorm(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dims))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * self.weight


def gelu(x):
    return functional.gelu(x, approximate="tanh")


class Attention(nn.Module):
    def __init__(self, asked, causal, rotary, bias):
        super().__init__()
        self.heads, self.kv_heads = asked.heads, getattr(asked, "kv_heads", asked.heads)
        self.head_dims, self.length = asked.dims // asked.heads, asked.length
        self.causal, self.rotary, self.sdpa = causal, rotary, asked.attention == "sdpa"
        self.qkv = nn.Linear(asked.dims, (self.heads + 2 * self.kv_heads) * self.head_dims, bias=bias)
        self.out = nn.Linear(asked.dims, asked.dims, bias=bias)
        queries = self.heads // self.kv_heads * self.length  # those that share keys and values, head by head
        if causal and not self.sdpa:
            mask = torch.full((self.length, self.length), -math.inf).triu(1)
            self.register_buffer("mask", mask.repeat(queries // self.length, 1), persistent=False)
        if rotary:
            half = self.head_dims // 2
            angles = torch.outer(torch.arange(self.length).float(), 10000.0 ** (-torch.arange(half) / half))
            self.register_buffer("cos", angles.cos(), persistent=False)
            self.register_buffer("sin", angles.sin(), persistent=False)

    def rotated(self, x):
        """x [B, heads, T, head_dims]"""
        first, second = x.chunk(2, -1)
        return torch.cat((first * self.cos - second * self.sin, second * self.cos + first * self.sin), -1)

    def by_sdpa(self, q, k, v):
        shared = self.heads // self.kv_heads
        if shared > 1:
            k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        return functional._scaled_dot_product_attention(q, k, v, None, 0.0, False, self.causal)[0]

    def by_bmm(self, q, k, v):
        """The queries of heads that share keys and values are one matrix."""
        rows = q.shape[0] * self.kv_heads
        q, k, v = (x.reshape(rows, -1, self.head_dims) for x in (q, k, v))
        scale = 1 / math.sqrt(self.head_dims)
        if self.causal:
            scores = torch.baddbmm(self.mask, q, k.transpose(1, 2), alpha=scale)
        else:
            scores = torch.baddbmm(q.new_empty(1), q, k.transpose(1, 2), beta=0, alpha=scale)
        return torch.bmm(scores.softmax(-1), v).view(-1, self.heads, self.length, self.head_dims)

    def forward(self, x):
        rows = x.shape[0]
        parts = self.qkv(x).view(rows, self.length, -1, self.head_dims).transpose(1, 2)
        q, k, v = parts.split((self.heads, self.kv_heads, self.kv_heads), 1)
        if self.rotary:
            q, k = self.rotated(q), self.rotated(k)
        mixed = self.by_sdpa(q, k, v) if self.sdpa else self.by_bmm(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(rows, self.length, -1))


class Mlp(nn.Module):
    def __init__(self, dims, hidden, gated, bias):
        super().__init__()
        self.gated = gated
        self.up = nn.Linear(dims, 2 * hidden if gated else hidden, bias=bias)
        self.down = nn.Linear(hidden, dims, bias=bias)

    def forward(self, x):
        if not self.gated:
            return self.down(gelu(self.up(x)))
        up, gate = self.up(x).chunk(2, -1)
        return self.down(functional.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, asked, norm, causal, llama):
        super().__init__()
        self.first_norm, self.second_norm = norm(), norm()
        self.attention = Attention(asked, causal, rotary=llama, bias=not llama)
        self.mlp = Mlp(asked.dims, getattr(asked, "hidden", 4 * asked.dims), gated=llama, bias=not llama)

    def forward(self, x):
        x = x + self.attention(self.first_norm(x))
        return x + self.mlp(self.second_norm(x))


class Transformer(nn.Module):
    """asked.model is gpt, llama or bert. Returns the logits of all positions, or of those that `chosen` marks."""

    def __init__(self, asked):
        super().__init__()
        self.llama, self.masked = asked.model == "llama", asked.model == "bert"

        def norm():
            return RmsNorm(asked.dims) if self.llama else nn.LayerNorm(asked.dims, eps=EPSILON)

        self.tokens = nn.Embedding(asked.vocabulary, asked.dims)
        nn.init.normal_(self.tokens.weight, std=asked.dims ** -0.5)
        if not self.llama:
            self.places = nn.Embedding(asked.length, asked.dims)
            nn.init.normal_(self.places.weight, std=asked.dims ** -0.5)
        self.blocks = nn.Sequential(*[Block(asked, norm, not self.masked, self.llama) for _ in range(asked.layers)])
        self.norm = norm()
        if self.llama:
            self.head = nn.Linear(asked.dims, asked.vocabulary, bias=False)
        if self.masked:
            self.dense, self.dense_norm = nn.Linear(asked.dims, asked.dims), norm()
            self.head_bias = nn.Parameter(torch.zeros(asked.vocabulary))

    def forward(self, ids, chosen=None):
        x = self.tokens(ids)
        if not self.llama:
            x = x + self.places.weight
        x = self.norm(self.blocks(x))
        if self.llama:
            return self.head(x)
        if self.masked:
            x = self.dense_norm(gelu(self.dense(x[chosen])))
        return functional.linear(x, self.tokens.weight, self.head_bias if self.masked else None)


class Lstm(nn.Module):
    """Layers with residual connections. Positions come first, which is PyTorch's faster order."""

    def __init__(self, asked):
        super().__init__()
        self.tokens = nn.Embedding(asked.vocabulary, asked.dims)
        nn.init.normal_(self.tokens.weight, std=asked.dims ** -0.5)
        self.layers = nn.ModuleList([nn.LSTM(asked.dims, asked.dims) for _ in range(asked.layers)])
        for layer in self.layers:
            # PyTorch has two biases, whose sum counts; trivet has one.
            nn.init.zeros_(layer.bias_hh_l0).requires_grad_(False)

    def forward(self, ids):
        x = self.tokens(ids.t())
        for layer in self.layers:
            x = x + layer(x)[0]
        return functional.linear(x, self.tokens.weight).transpose(0, 1)


def model_of(asked):
    return Lstm(asked) if asked.model == "lstm" else Transformer(asked)
