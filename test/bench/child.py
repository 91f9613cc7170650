# SPDX-License-Identifier: Apache-2.0
"""Runs programs of the benchmark. A program has a session of its own, so that Ctrl-C reaches the benchmark alone, which
then ends the program."""
import os
import signal
import subprocess
import tempfile
import time


class Failed(Exception):
    """Why a program did not do its part, in one line."""


class Child:
    def __init__(self, words, environment=None):
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen([str(word) for word in words], env={**os.environ, **(environment or {})},
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors,
                                             start_new_session=True)
        except OSError as why:
            raise Failed(str(why)) from why
        self.printed_at = None  # when its first words arrived, by time.perf_counter
        self.peak_rss_bytes = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kills the program and what it has started, unless it has ended."""
        if self._process.returncode is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._wait()
            except (ProcessLookupError, ChildProcessError):
                pass  # the signal came while the program ended
        self._process.stdout.close()
        self._errors.close()

    def is_running(self):
        state = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return state is None

    def output(self):
        """What the program prints until it ends."""
        parts = []
        while part := os.read(self._process.stdout.fileno(), 1 << 16):
            self.printed_at = self.printed_at or time.perf_counter()
            parts.append(part)
        self._wait()
        if self._process.returncode != 0:
            raise Failed(f"exit status {self._process.returncode}: {self._last_error()}")
        return b"".join(parts).decode()

    def _wait(self):
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.peak_rss_bytes = usage.ru_maxrss * 1024

    def _last_error(self):
        """The last line that says something."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][-200:].strip() if lines else "it printed no reason"


def output_of(words, environment=None):
    with Child(words, environment) as program:
        return program.output()
