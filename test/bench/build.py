#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs, in CPU seconds: the headers that plugins include and README's plugin, each
beside a file that includes only the standard library; with --all the quickstart, the product and
the tests, too, from nothing and without a compiler cache.

--check compares the headers with RECORDED and fails when one costs a tenth more. It compares the memory
that the compiler allocates: that grows with the work and is the same in every run, while CPU time
on a shared machine varies by more than a tenth."""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile

ROUNDS = 7
TOLERANCE = 1.10
BASELINE = "".join(f"#include <{name}>\n" for name in
                   ("algorithm", "cstdint", "functional", "map", "memory", "optional", "string", "vector"))
# Memory to compile each file as a multiple of the baseline, measured with g++ 12 on Debian 12.
RECORDED = {"layer.h": 1.18, "task.h": 1.72, "README's plugin": 1.43}


def readme_plugin():
    text = open("README.md", encoding="utf-8").read()
    return re.search(r"```cpp\n(// mish\.cpp\n.*?)```", text, re.DOTALL).group(1)


def cpu_seconds_of(command, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compile_command(source):
    return ["g++", "-std=c++20", "-O2", "-fPIC", "-Isdk/include", "-c", source, "-o", "/dev/null"]


def megabytes_of(command):
    """What the compiler allocates, from the last column of its report's line TOTAL."""
    run = subprocess.run(command + ["-ftime-report"], capture_output=True, text=True, check=True)
    return int(re.search(r"^ *TOTAL .*?(\d+)M *$", run.stderr, re.MULTILINE).group(1))


def header_costs(folder):
    """CPU seconds of each file, and the memory to compile it as a multiple of the baseline."""
    sources = {"standard library": BASELINE, "layer.h": "#include <trivet/layer.h>\n",
               "task.h": "#include <trivet/task.h>\n", "README's plugin": readme_plugin()}
    commands = {}
    for i, (name, text) in enumerate(sources.items()):
        path = os.path.join(folder, f"{i}.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        commands[name] = compile_command(path)
    seconds = {name: min(times) for name, times in interleaved(commands).items()}
    memory = {name: megabytes_of(command) for name, command in commands.items()}
    return seconds, {name: memory[name] / memory["standard library"] for name in commands}


def interleaved(commands):
    times = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(cpu_seconds_of(command))
    return times


def build_costs(folder):
    environment = dict(os.environ, CCACHE_DISABLE="1")
    quiet = {"stdout": subprocess.DEVNULL, "env": environment}
    subprocess.run(["meson", "setup", "--wrap-mode=nodownload", folder, "."], check=True, **quiet)
    total = 0.0
    for name, targets in (("quickstart", quickstart_targets()), ("product", ["product"]), ("tests", [])):
        seconds = cpu_seconds_of(["ninja", "-C", folder] + targets, **quiet)
        total = total + seconds if name == "product" else seconds
        print(f"{name:18} {total / 60:6.1f} CPU-minutes")
    size = subprocess.run(["du", "-sm", folder], capture_output=True, text=True, check=True)
    print(f"{'build folder':18} {size.stdout.split()[0]:>6} MB")


def quickstart_targets():
    text = open("dev", encoding="utf-8").read()
    return re.search(r"quickstart_targets=\(([^)]*)\)", text).group(1).split()


def main():
    parser = argparse.ArgumentParser(description="what compiling trivet costs")
    parser.add_argument("--all", action="store_true", help="builds everything once from nothing, too")
    parser.add_argument("--check", action="store_true", help="fails when a header costs more than recorded")
    arguments = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        seconds, multiples = header_costs(folder)
        for name, recorded in RECORDED.items():
            multiple = multiples[name]
            print(f"{name:18} {seconds[name]:6.2f} CPU-seconds  {multiple:.2f} times the memory, "
                  f"recorded {recorded:.2f}")
            if arguments.check and multiple > recorded * TOLERANCE:
                print(f"build.py: {name} takes {multiple / recorded - 1:.0%} more memory to compile than recorded", file=sys.stderr)
                bad = 1
        print(f"{'standard library':18} {seconds['standard library']:6.2f} CPU-seconds")
        if arguments.all:
            build_costs(os.path.join(folder, "build"))
    return bad


sys.exit(main())
