# SPDX-License-Identifier: Apache-2.0
"""Trains a model of the shipped configs on Fashion-MNIST in PyTorch, as a user would write it for speed: the peer of
the rows mlp, cnn, resnet and start_mlp.

usage: torch_vision.py OPTIONS, see torch_run.py
"""
import gzip
import os

import torch_run

DATA = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")
MEAN, STD = 0.2860, 0.3530
PADDING = 2  # of the random crops of the ResNet


def read_idx(name, header):
    with gzip.open(f"{DATA}/{name}-ubyte.gz") as file:
        return file.read()[header:]


def make_resnet(nn, functional):
    """Stages of one block, of 32, 64 and 128 filters, as in fashion_mnist_resnet.toml."""
    def convolution(inputs, outputs, kernel, stride):
        return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.first, self.first_norm = convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
            self.second, self.second_norm = convolution(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
            nn.init.zeros_(self.second_norm.weight)
            self.shortcut = nn.Identity()
            if stride > 1:
                self.shortcut = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

        def forward(self, x):
            y = functional.relu(self.first_norm(self.first(x)), inplace=True)
            return functional.relu(self.second_norm(self.second(y)) + self.shortcut(x), inplace=True)

    return nn.Sequential(convolution(1, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
                         Block(32, 32, 1), Block(32, 64, 2), Block(64, 128, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def make_model(torch, kind):
    nn = torch.nn
    if kind == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    if kind == "resnet":
        return make_resnet(nn, nn.functional)
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10))


def main():
    asked = torch_run.options()
    import numpy
    import torch
    from torch.nn import functional

    torch_run.set_up(torch)
    pixels = numpy.frombuffer(read_idx("train-images-idx3", 16), numpy.uint8).reshape(-1, 1, 28, 28)
    images = (torch.from_numpy(pixels.copy()).float() / 255 - MEAN) / STD
    labels = torch.from_numpy(numpy.frombuffer(read_idx("train-labels-idx1", 8), numpy.uint8).astype(numpy.int64))
    model = make_model(torch, asked.model)
    channels_last = getattr(asked, "channels_last", False)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    crops = asked.model == "resnet"
    if crops:  # pads with black before the normalization
        images = functional.pad(images, (PADDING,) * 4, value=-MEAN / STD)
    across = torch.arange(28)

    def augmented(chosen):
        """A random crop of each image, mirrored or not."""
        down, right = torch.randint(2 * PADDING + 1, (2, len(chosen), 1))
        columns = torch.where(torch.rand(len(chosen), 1) < 0.5, across, 27 - across) + right
        return images[chosen[:, None, None], 0, (across + down)[:, :, None], columns[:, None, :]].unsqueeze(1)

    per_pass = len(images) // asked.batch
    order = None

    def batch_loss(step):
        nonlocal order
        if step % per_pass == 0:
            order = torch.randperm(len(images))
        begin = step % per_pass * asked.batch
        chosen = order[begin:begin + asked.batch]
        batch = augmented(chosen) if crops else images[chosen]
        if channels_last:
            batch = batch.contiguous(memory_format=torch.channels_last)
        return functional.cross_entropy(model(batch), labels[chosen])

    torch_run.train(torch, model, asked, batch_loss)


main()
