# SPDX-License-Identifier: Apache-2.0
"""trivet's side of the rows: a training run, or texts of a run that `trivet import` has made."""
import errno
import json
import os
import re
import tempfile
import time
from pathlib import Path

import child
import peers

INPUT_OF = {"tokens": "task.train_input.files", "text": "task.train_input.source.files"}


def line_of(ids):
    """A prompt in the words of gpt2_files.py."""
    return " ".join(f"w{id}" for id in ids)


def give(program, pipe, text):
    """Writes the text when the program opens the pipe, which `trivet generate` does as soon as it has loaded the
    model. Returns the time."""
    while True:
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError as why:
            if why.errno != errno.ENXIO:
                raise
        if not program.is_running():
            program.output()  # raises with the reason
            raise child.Failed("it ended before it read the prompts")
        time.sleep(0.002)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return time.perf_counter()


class Trivet:
    def __init__(self, program, source, threads, inputs):
        self.program, self.source, self.threads, self.inputs = program, source, threads, inputs
        self._imported = None  # the run of the decode rows, and the number of its parameters

    def run(self, row):
        """Figures of the row, with `value` in its unit."""
        figures = self._generate(row) if row.kind == "decode" else self._train(row)
        return {**figures, "value": peers.value_of(row, figures)}

    def peaks(self):
        """Peak FLOP/s and bytes per second read from memory, by `trivet doctor`. A cache of an earlier time is not
        used."""
        with tempfile.TemporaryDirectory() as cache:
            out = child.output_of([self.program, "doctor", "--peak", "--json", "--threads", self.threads],
                                  {"XDG_CACHE_HOME": cache})
        found = json.loads(out)
        return {name: found[name] or 0 for name in ("peak_flops", "bytes_per_second")}

    def _train(self, row):
        data = self.inputs.of(row)
        files = [f"{INPUT_OF[row.data]}=['{data}']"] if data is not None else []
        with tempfile.TemporaryDirectory() as scratch:
            workdir = Path(scratch) / "run"
            child.output_of([self.program, "run", f"{self.source}/{row.config}", "--mode", "train", "--quiet",
                             "--workdir", workdir, f"runtime.threads={self.threads}",
                             f"trainer.train_steps={row.steps}", "trainer.save_checkpoints=false",
                             f"task.train_input.batch_size={row.batch}", *files, *row.overrides])
            return json.loads((workdir / "summary.json").read_text())

    def _import(self, row):
        if self._imported is None:
            folder = self.inputs.of(row)
            run = folder.with_name("gpt2_run")
            out = child.output_of([self.program, "import", folder, "-o", run])
            self._imported = run, int(re.search(r"(\d+) numbers", out).group(1))
        return self._imported

    def _generate(self, row):
        run, parameters = self._import(row)
        with tempfile.TemporaryDirectory() as scratch:
            pipe = Path(scratch) / "prompts"
            os.mkfifo(pipe)
            with child.Child([self.program, "generate", run, "--file", pipe, "--json", "--logprobs",
                              "--temperature", "0", "--tokens", row.steps,
                              "--set", f"runtime.threads={self.threads}"]) as program:
                start = give(program, pipe, "".join(f"{line_of(ids)}\n" for ids in peers.prompts_of(row)))
                out = program.output()
                seconds = program.printed_at - start
        texts = [json.loads(line) for line in out.splitlines()]
        made = sum(text["tokens"] for text in texts)
        if made != row.batch * row.steps:
            raise child.Failed(f"it generated {made} tokens, not {row.batch * row.steps}")
        return {"tokens_per_second": made / seconds, "peak_rss_bytes": program.peak_rss_bytes,
                "parameters": parameters, "ids": [text["ids"] for text in texts]}
