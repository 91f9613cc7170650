// SPDX-License-Identifier: Apache-2.0
// Conformance of attention_fwd and attention_bwd.

#include <cmath>
#include <limits>

#include "conformance.h"

namespace trivet::testing {
namespace {

struct AttentionCase {
  std::int64_t batch, queries, keys, heads, kv_heads, depth;
  bool causal = false;
  std::int64_t window = 0, q_offset = 0;
  float softcap = 0;
  bool segments = false;
  bool strided = false;  // heads in front of positions: [B, H, T, D] seen as [B, T, H, D]
};

const AttentionCase kAttentionCases[] = {
    {1, 1, 1, 1, 1, 1},
    {2, 5, 5, 2, 2, 8},
    {2, 50, 50, 4, 4, 16},
    {1, 70, 70, 2, 1, 5, true},
    {1, 3, 9, 4, 2, 4, true, 0, 6},
    {1, 130, 130, 1, 1, 32, true, 20},
    {2, 7, 11, 2, 2, 3, false, 4, 2},
    {1, 6, 6, 2, 2, 4, false, 0, 0, 2},
    {2, 6, 6, 2, 1, 4, true, 0, 0, 2, true},
    {2, 9, 7, 2, 2, 4, false, 0, 0, 0, true},
    {2, 66, 33, 3, 3, 8, false, 0, 0, 0, false, true},
    {1, 4, 4, 1, 1, 4, true, 0, -2},  // the first two queries see nothing
    {1, 300, 300, 2, 1, 33, true},
    {1, 300, 600, 2, 2, 16, true, 100, 290, 2},
    {1, 40, 530, 4, 2, 12, false, 0, 0, 0, true},
    {2, 1, 700, 4, 2, 32, true, 0, 699},
    {0, 4, 4, 1, 1, 4},
    {1, 0, 4, 1, 1, 4},
    {1, 4, 0, 1, 1, 4},
};

std::string case_text(const AttentionCase& c) {
  const auto n = [](std::int64_t x) { return std::to_string(x); };
  return n(c.batch) + " of " + n(c.queries) + " queries, " + n(c.keys) + " keys, heads " +
         n(c.heads) + "/" + n(c.kv_heads) + ", depth " + n(c.depth) + (c.causal ? ", causal" : "") +
         (c.window > 0 ? ", window " + n(c.window) : "") +
         (c.q_offset != 0 ? ", offset " + n(c.q_offset) : "") + (c.softcap > 0 ? ", capped" : "") +
         (c.segments ? ", segments" : "") + (c.strided ? ", strided" : "");
}

// q, k, v and the gradient as [B, H, T, D], whatever way they lie in memory.
struct Attention {
  AttentionCase c;
  Values q, k, v, dout, q_segments, kv_segments;
  Values out, lse, dq, dk, dv;

  explicit Attention(const AttentionCase& given)
      : c(given),
        q(random_values(171, c.batch * c.heads * c.queries * c.depth, -2, 2)),
        k(random_values(172, c.batch * c.kv_heads * c.keys * c.depth, -2, 2)),
        v(random_values(173, c.batch * c.kv_heads * c.keys * c.depth)),
        dout(random_values(174, c.batch * c.heads * c.queries * c.depth)),
        q_segments(random_integers(175, c.batch * c.queries, 0, 3)),
        kv_segments(random_integers(176, c.batch * c.keys, 0, 2)),
        out(q.size(), 0.0),
        dq(q.size(), 0.0),
        dk(k.size(), 0.0),
        dv(k.size(), 0.0) {
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t h = 0; h < c.heads; ++h) {
        for (std::int64_t i = 0; i < c.queries; ++i) query(b, h, i);
      }
    }
  }
  double scale() const { return 0.5; }

 private:
  bool sees(std::int64_t b, std::int64_t i, std::int64_t j) const {
    const std::int64_t position = i + c.q_offset;
    if (c.causal && j > position) return false;
    if (c.window > 0 && position - j >= c.window) return false;
    return !c.segments || at(q_segments, b * c.queries + i) == at(kv_segments, b * c.keys + j);
  }

  // One query's output and its share of the gradients.
  void query(std::int64_t b, std::int64_t h, std::int64_t i) {
    const std::int64_t own = ((b * c.heads + h) * c.queries + i) * c.depth;
    const std::int64_t others = (b * c.kv_heads + h / (c.heads / c.kv_heads)) * c.keys * c.depth;
    const double cap = static_cast<double>(c.softcap);
    Values score(static_cast<std::size_t>(c.keys), 0.0), weight = score, dweight = score;
    double total = 0, mean = 0;
    for (std::int64_t j = 0; j < c.keys; ++j) {
      for (std::int64_t d = 0; d < c.depth; ++d) {
        at(score, j) += scale() * at(q, own + d) * at(k, others + j * c.depth + d);
      }
      if (cap > 0) at(score, j) = cap * std::tanh(at(score, j) / cap);
      at(weight, j) = sees(b, i, j) ? std::exp(at(score, j)) : 0;
      total += at(weight, j);
    }
    lse.push_back(total > 0 ? std::log(total) : -std::numeric_limits<double>::infinity());
    for (std::int64_t j = 0; j < c.keys && total > 0; ++j) {
      at(weight, j) /= total;
      for (std::int64_t d = 0; d < c.depth; ++d) {
        at(out, own + d) += at(weight, j) * at(v, others + j * c.depth + d);
        at(dv, others + j * c.depth + d) += at(weight, j) * at(dout, own + d);
        at(dweight, j) += at(dout, own + d) * at(v, others + j * c.depth + d);
      }
      mean += at(weight, j) * at(dweight, j);
    }
    for (std::int64_t j = 0; j < c.keys; ++j) {
      const double slope = cap > 0 ? 1 - std::pow(at(score, j) / cap, 2) : 1;
      const double dscore = at(weight, j) * (at(dweight, j) - mean) * slope * scale();
      for (std::int64_t d = 0; d < c.depth; ++d) {
        at(dq, own + d) += dscore * at(k, others + j * c.depth + d);
        at(dk, others + j * c.depth + d) += dscore * at(q, own + d);
      }
    }
  }
};

// [B, H, T, D] as [B, T, H, D].
Values by_place(const Values& x, std::int64_t batch, std::int64_t heads, std::int64_t positions,
                std::int64_t depth) {
  Values y(x.size(), 0.0);
  for (std::int64_t i = 0; i < batch * heads * positions * depth; ++i) {
    const std::int64_t d = i % depth, t = i / depth % positions,
                       h = i / (depth * positions) % heads;
    at(y, ((i / (depth * positions * heads) * positions + t) * heads + h) * depth + d) = at(x, i);
  }
  return y;
}

// The arguments of one execution.
struct AttentionArguments {
  const Attention& a;
  Run& run;

  tv_view view(const Array& array, std::int64_t heads, std::int64_t positions) const {
    const Extents shape = {a.c.batch, positions, heads, a.c.depth};
    if (!a.c.strided) return array.view(shape);
    return array.strided(shape,
                         {heads * positions * a.c.depth, a.c.depth, positions * a.c.depth, 1});
  }
  tv_view input(const Values& x, std::int64_t heads, std::int64_t positions) const {
    const bool moved = !a.c.strided;
    return view(run.input(moved ? by_place(x, a.c.batch, heads, positions, a.c.depth) : x), heads,
                positions);
  }
  void fill(tv_attention& d) const {
    d.struct_size = sizeof(d);
    d.q = input(a.q, a.c.heads, a.c.queries);
    d.k = input(a.k, a.c.kv_heads, a.c.keys);
    d.v = input(a.v, a.c.kv_heads, a.c.keys);
    if (a.c.segments) {
      d.q_segments = run.input(a.q_segments, TV_I32);
      d.kv_segments = run.input(a.kv_segments, TV_I32);
    }
    d.scale = static_cast<float>(a.scale()), d.softcap = a.c.softcap;
    d.causal = a.c.causal, d.window = static_cast<std::int32_t>(a.c.window);
    d.q_offset = a.c.q_offset;
  }
};

void check_forward(Kit& kit, const Attention& a) {
  const AttentionCase& c = a.c;
  const Values out = by_place(a.out, c.batch, c.heads, c.queries, c.depth);
  kit.check("attention_fwd", case_text(c), 2e-5, {out, a.lse}, [&](Run& run) {
    tv_attention d = {};
    AttentionArguments{a, run}.fill(d);
    d.out = run.output(static_cast<std::int64_t>(a.q.size()))
                .view({c.batch, c.queries, c.heads, c.depth});
    d.lse = run.output(c.batch * c.heads * c.queries);
    return run.table().attention_fwd(run.context(), &d);
  });
}

void check_backward(Kit& kit, const Attention& a) {
  const AttentionCase& c = a.c;
  const Extents queries = {c.batch, c.queries, c.heads, c.depth};
  const Extents keys = {c.batch, c.keys, c.kv_heads, c.depth};
  const std::vector<Values> want = {by_place(a.dq, c.batch, c.heads, c.queries, c.depth),
                                    by_place(a.dk, c.batch, c.kv_heads, c.keys, c.depth),
                                    by_place(a.dv, c.batch, c.kv_heads, c.keys, c.depth)};
  kit.check("attention_bwd", case_text(c), 5e-5, want, [&](Run& run) {
    tv_attention_grad d = {};
    d.struct_size = sizeof(d);
    AttentionArguments{a, run}.fill(d.fwd);
    const auto given = [&](const Values& x) {
      return run.input(by_place(x, c.batch, c.heads, c.queries, c.depth)).view(queries);
    };
    d.fwd.out = given(a.out);
    d.fwd.lse = run.input(a.lse);
    d.dout = given(a.dout);
    d.dq = run.output(product(queries)).view(queries);
    d.dk = run.output(product(keys)).view(keys);
    d.dv = run.output(product(keys)).view(keys);
    return run.table().attention_bwd(run.context(), &d);
  });
}

}  // namespace

void check_attention_fwd(Kit& kit) {
  for (const AttentionCase& c : kAttentionCases) check_forward(kit, Attention(c));
}

void check_attention_bwd(Kit& kit) {
  for (const AttentionCase& c : kAttentionCases) check_backward(kit, Attention(c));
}

}  // namespace trivet::testing
