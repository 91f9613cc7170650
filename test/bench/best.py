# SPDX-License-Identifier: Apache-2.0
"""The best figures of a row over the rounds, and what went wrong."""
import json
import sys


class Best:
    """The best figures of a row, by the way in which it ran: ours, plain and the tuned ways of the peer."""

    def __init__(self, row):
        self.row, self.rounds, self.llama, self.mismatch = row, 0, None, False
        self._ways, self._errors = {}, {}

    def better(self, value, than):
        return value < than if self.row.lower_is_better() else value > than

    def keep(self, way, figures):
        """The best speed and the least memory of the rounds."""
        old = self._ways.get(way)
        self._ways[way] = figures if old is None else self.merged(old, figures)

    def merged(self, old, figures):
        best = dict(figures if self.better(figures["value"], old["value"]) else old)
        best["peak_rss_bytes"] = min(old["peak_rss_bytes"], figures["peak_rss_bytes"])
        return best

    def figures(self, way):
        return self._ways.get(way)

    def by_speed(self):
        """Ways of the peer, the fastest first; plain is one of them."""
        ways = [way for way in self._ways if way != "ours"]
        return sorted(ways, key=lambda way: self._ways[way]["value"], reverse=not self.row.lower_is_better())

    def tuned_way(self):
        return next(iter(self.by_speed()), None)

    def tuned(self):
        return self.figures(self.tuned_way())

    def add_error(self, who, what):
        """Several programs of which the same is true make one error."""
        if what not in self._errors:
            print(f"  {self.row.name}: {who} {what}", file=sys.stderr)
        self._errors.setdefault(what, {})[who] = True

    def errors(self):
        return [f"{next(iter(whose))}{f' and {len(whose) - 1} more' if len(whose) > 1 else ''} {what}"
                for what, whose in self._errors.items()]

    def check_work(self):
        """Both sides do the same work: as many parameters, and the same tokens from the same weights."""
        counts = {figures["parameters"] for figures in self._ways.values()}
        if len(counts) > 1 and not self.mismatch:
            self.mismatch = True
            each = ", ".join(f"{way} {figures['parameters']:,}" for way, figures in self._ways.items())
            self.add_error("both sides", f"differ in the number of parameters, so there are no ratios: {each}")
        all_figures = [*self._ways.values(), *([self.llama] if self.llama else [])]
        if len({json.dumps(figures["ids"]) for figures in all_figures if "ids" in figures}) > 1:
            self.add_error("the programs", "do not generate the same tokens")
