// SPDX-License-Identifier: Apache-2.0
// A transformer block in double, position by position, from its published formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace trivet::test {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // the positions of one sequence
// The parameter below a path, e.g. "attention/query/w".
using Weights = std::function<std::vector<float>(const std::string&)>;

// x w + b; b may be empty.
inline Row affine(const Row& x, const std::vector<float>& w, const std::vector<float>& b) {
  const std::size_t out = w.size() / x.size();
  Row y(out, 0.0);
  for (std::size_t o = 0; o < out; ++o) {
    if (!b.empty()) y[o] = static_cast<double>(b[o]);
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += x[i] * static_cast<double>(w[i * out + o]);
  }
  return y;
}

inline Rows affine(const Rows& x, const std::vector<float>& w, const std::vector<float>& b) {
  Rows y;
  for (const Row& row : x) y.push_back(affine(row, w, b));
  return y;
}

// Ba et al. 2016, with the default epsilon of nn/LayerNorm.
inline Rows layer_norm(const Rows& x, const std::vector<float>& scale,
                       const std::vector<float>& bias) {
  Rows y = x;
  for (Row& row : y) {
    const auto n = static_cast<double>(row.size());
    double mean = 0, variance = 0;
    for (const double v : row) mean += v / n;
    for (const double v : row) variance += (v - mean) * (v - mean) / n;
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = (row[i] - mean) / std::sqrt(variance + 1e-6) * static_cast<double>(scale[i]) +
               static_cast<double>(bias[i]);
    }
  }
  return y;
}

struct Heads {
  std::size_t heads, kv_heads;
  // Whether position i sees position j.
  std::function<bool(std::size_t, std::size_t)> sees = [](std::size_t, std::size_t) {
    return true;
  };
  // Transforms one head of a query or key at position i before the product.
  std::function<Row(const Row&, std::size_t, bool)> prepared = [](const Row& head, std::size_t,
                                                                  bool) { return head; };
  // Transforms q k / sqrt(d) of head, query i and key j.
  std::function<double(double, std::size_t, std::size_t, std::size_t)> scored =
      [](double score, std::size_t, std::size_t, std::size_t) { return score; };
  // Transforms a weight after the softmax.
  std::function<double(double, std::size_t, std::size_t, std::size_t)> weighed =
      [](double weight, std::size_t, std::size_t, std::size_t) { return weight; };
  // Added to the sum of the exponentials.
  double extra = 0;
};

// Features [at, at + depth) of each position, prepared.
inline Rows head_of(const Rows& x, std::size_t at, std::size_t depth, const Heads& h, bool query) {
  Rows heads;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto begin = x[i].begin() + static_cast<std::ptrdiff_t>(at);
    heads.push_back(h.prepared(Row(begin, begin + static_cast<std::ptrdiff_t>(depth)), i, query));
  }
  return heads;
}

// Vaswani et al. 2017: softmax(q k^T / sqrt(d)) v, head by head.
inline Rows mixed_values(const Rows& q, const Rows& k, const Rows& v, const Heads& h) {
  const std::size_t depth = q[0].size() / h.heads;
  Rows mixed(q.size(), Row(q[0].size(), 0.0));
  for (std::size_t head = 0; head < h.heads; ++head) {
    const std::size_t at = head * depth, from = head / (h.heads / h.kv_heads) * depth;
    const Rows asking = head_of(q, at, depth, h, true), asked = head_of(k, from, depth, h, false);
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row p(k.size(), 0.0);
      double total = h.extra;
      for (std::size_t j = 0; j < k.size(); ++j) {
        double score = 0;
        for (std::size_t d = 0; d < depth; ++d) score += asking[i][d] * asked[j][d];
        score = h.scored(score / std::sqrt(static_cast<double>(depth)), head, i, j);
        p[j] = h.sees(i, j) ? std::exp(score) : 0;
        total += p[j];
      }
      for (std::size_t j = 0; j < k.size() && total > 0; ++j) {
        const double share = h.weighed(p[j] / total, head, i, j);
        for (std::size_t d = 0; d < depth; ++d) mixed[i][at + d] += share * v[j][from + d];
      }
    }
  }
  return mixed;
}

// Keys and values come from `source`.
inline Rows attention(const Rows& x, const Rows& source, const Weights& weight, const Heads& h) {
  const Rows mixed = mixed_values(affine(x, weight("query/w"), weight("query/b")),
                                  affine(source, weight("key/w"), weight("key/b")),
                                  affine(source, weight("value/w"), weight("value/b")), h);
  return affine(mixed, weight("output/w"), weight("output/b"));
}

inline Rows attention(const Rows& x, const Weights& weight, const Heads& h) {
  return attention(x, x, weight, h);
}

inline Rows sum(const Rows& a, const Rows& b) {
  Rows y = a;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < y[i].size(); ++j) y[i][j] += b[i][j];
  }
  return y;
}

// nn/TransformerBlock with the default activation, the tanh form of gelu, and no dropout.
inline Rows transformer_block(const Rows& x, const Weights& weight, const Heads& heads) {
  const auto below = [&](const std::string& child) {
    return [&weight, child](const std::string& path) { return weight(child + "/" + path); };
  };
  const Rows normed = layer_norm(x, weight("attention_norm/scale"), weight("attention_norm/bias"));
  const Rows h = sum(x, attention(normed, below("attention"), heads));
  Rows y = layer_norm(h, weight("mlp_norm/scale"), weight("mlp_norm/bias"));
  y = affine(y, weight("mlp_in/w"), weight("mlp_in/b"));
  for (Row& row : y) {
    for (double& v : row) {
      v *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    }
  }
  return sum(h, affine(y, weight("mlp_out/w"), weight("mlp_out/b")));
}

// Row-major numbers as sequences of `length` positions, and back.
inline std::vector<Rows> sequences(const std::vector<float>& values, std::size_t length,
                                   std::size_t dims) {
  std::vector<Rows> batch;
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(dims)) {
    if (batch.empty() || batch.back().size() == length) batch.emplace_back();
    batch.back().emplace_back(at, at + static_cast<std::ptrdiff_t>(dims));
  }
  return batch;
}

inline std::vector<double> flattened(const std::vector<Rows>& batch) {
  std::vector<double> values;
  for (const Rows& rows : batch) {
    for (const Row& row : rows) values.insert(values.end(), row.begin(), row.end());
  }
  return values;
}

}  // namespace trivet::test
