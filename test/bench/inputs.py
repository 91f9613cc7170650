# SPDX-License-Identifier: Apache-2.0
"""The data of the benchmark: random tokens and letters. Their meaning does not matter for speed."""
import random
import sys
from array import array

import child
from paths import HERE, PYTHON

TEXT_LETTERS = 1 << 19


def write_tokens(file, vocabulary, length, rows=200):
    """Ids as nanoGPT stores them."""
    draw = random.Random(1)
    with file.open("wb") as stream:
        array("H", (draw.randrange(vocabulary) for _ in range(rows * length + 1))).tofile(stream)


def write_text(file):
    draw = random.Random(1)
    file.write_text("".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=TEXT_LETTERS)))


class Inputs:
    """Files of a scratch folder, each written when a row first needs it."""

    def __init__(self, folder):
        self.folder = folder

    def of(self, row):
        """The file or folder of the row's data; None where the row has its own."""
        if row.data == "tokens":
            vocabulary = row.peer_options["vocabulary"]
            return self._made(f"tokens_{vocabulary}_{row.length}",
                              lambda file: write_tokens(file, vocabulary, row.length))
        if row.data == "text":
            return self._made("text", write_text)
        if row.data == "gpt2":
            return self._made("gpt2", lambda folder: child.output_of([PYTHON, HERE / "gpt2_files.py", folder]))
        return None

    def gguf(self):
        """The same weights as those of gpt2, as llama.cpp reads them."""
        return self._made("gpt2.gguf", lambda file: child.output_of([PYTHON, HERE / "gpt2_gguf.py",
                                                                     self.folder / "gpt2", file]))

    def _made(self, name, make):
        path = self.folder / name
        if not path.exists():
            print(f"writing {name}", file=sys.stderr)
            draft = path.with_name(f"{name}.draft")
            make(draft)
            draft.rename(path)
        return path
