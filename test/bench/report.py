# SPDX-License-Identifier: Apache-2.0
"""What `./dev bench` has measured, as a table and as JSON."""
from pathlib import Path

LINE = "{:<22}{:<11}{:>10}{:>10}{:>10}{:>9}{:>9}{:>8}"


def ratio(a, b):
    return a / b if a is not None and b else None


def table_of(row, best, peaks, threads):
    """A row of the JSON file. `best` has the figures of each way: ours, plain and the ways of the peer."""
    ours, plain, tuned = best.figures("ours"), best.figures("plain"), best.tuned()
    value = {name: figures["value"] if figures else None
             for name, figures in (("ours", ours), ("plain", plain), ("tuned", tuned))}
    parameters = next((figures["parameters"] for figures in (ours, tuned) if figures), None)
    flops = row.flops(parameters) if row.flops and parameters else None
    need, peak = flops, peaks["peak_flops"]
    if row.kind == "decode" and row.batch == 1:  # each token reads each weight once
        need, peak = 4 * (parameters or 0), peaks["bytes_per_second"]
    table = {
        "name": row.name, "title": row.title, "unit": row.unit, "cpu": processor(), "threads": threads,
        **value, "tuned_way": best.tuned_way(),
        "speed_ratio": ratio(value["ours"], value["tuned"]),
        "memory_ratio": ratio(ours and ours["peak_rss_bytes"], tuned and tuned["peak_rss_bytes"]),
        "peak_share": share_of_peak(value["ours"], need, peak),
        "tuned_peak_share": share_of_peak(value["tuned"], need, peak),
        "peak_rss_bytes": {name: figures["peak_rss_bytes"] if figures else None
                           for name, figures in (("ours", ours), ("plain", plain), ("tuned", tuned))},
        "flops_per_unit": flops, **peaks, "parameters": parameters,
        **counts_of(row), "rounds": best.rounds, "errors": best.errors(),
    }
    if row.llama:
        table["llama_cpp"] = best.llama and best.llama["value"]
        table["llama_cpp_ratio"] = ratio(value["ours"], table["llama_cpp"])
        table["llama_cpp_memory_ratio"] = ratio(ours and ours["peak_rss_bytes"],
                                                best.llama and best.llama["peak_rss_bytes"])
    if best.mismatch:  # the two sides do other work, so their ratio says nothing
        table.update(speed_ratio=None, memory_ratio=None, peak_share=None, tuned_peak_share=None)
    return table


def share_of_peak(value, need, peak):
    """The need is that of a unit, a token or an example: its FLOPs, or the bytes that it reads."""
    return value * need / peak if value is not None and need and peak else None


def counts_of(row):
    """Steps of a run, and how many examples or tokens they have."""
    examples = row.batch if row.kind == "decode" else row.batch * row.steps
    tokens = row.batch * row.steps if row.kind == "decode" else examples * row.length if row.length > 1 else None
    return {"steps": row.steps, "examples": examples, "tokens": tokens}


def number(value, unit=""):
    return "-" if value is None else f"{value:.2f}{unit}"


def value_text(value):
    """Four digits, or all before the point."""
    if value is None:
        return "-"
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3
    return f"{value:,.{digits}f}"


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


LEGEND = """\
plain is PyTorch as Debian ships it. tuned is the fastest of its environments and variants: the first round tries all
of them, later rounds the two fastest. speed and memory are ratios to tuned; rows in seconds are better where they are
lower. peak is trivet's share of the peak of the machine: of FLOP/s, or of the bandwidth of memory for one prompt."""


def line_of(table):
    values = [value_text(table[name]) for name in ("ours", "plain", "tuned")]
    share = table["peak_share"]
    return LINE.format(table["name"], table["unit"], *values, number(table["speed_ratio"], " x"),
                       number(table["memory_ratio"], " x"), "-" if share is None else f"{100 * share:.0f} %")


def notes_of(table):
    if table["tuned_way"]:
        yield f"tuned is {table['tuned_way']}"
    if table.get("llama_cpp"):
        yield (f"llama.cpp {value_text(table['llama_cpp'])} {table['unit']}, to which trivet's speed is "
               f"{number(table['llama_cpp_ratio'])} x and its memory {number(table['llama_cpp_memory_ratio'])} x")
    yield from table["errors"]


def show(tables, peaks, threads):
    peak = (f"peak {peaks['peak_flops'] / 1e9:.0f} GFLOP/s and {peaks['bytes_per_second'] / 1e9:.1f} GB/s"
            if peaks["peak_flops"] else "no peak was measured")
    print(f"\n{processor()}, {threads} {'thread' if threads == 1 else 'threads'}, {peak}; best of the rounds")
    print(LINE.format("row", "unit", "ours", "plain", "tuned", "speed", "memory", "peak"))
    for table in tables:
        print(line_of(table))
    for table in tables:
        for note in notes_of(table):
            print(f"{table['name']}: {note}")
    print(LEGEND)
