// SPDX-License-Identifier: Apache-2.0
// Conformance of optim, sumsq, rng_bits and dropout.

#include <cmath>

#include "conformance.h"

namespace trivet::testing {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 7, 1003, 70001};

struct OptimCase {
  const char* name;
  int kind;
  bool nesterov;
  float momentum, weight_decay;
};
const OptimCase kOptims[] = {{"sgd", TV_SGD, false, 0, 0},
                             {"sgd, decay", TV_SGD, false, 0, 0.25f},
                             {"momentum", TV_SGD, false, 0.5f, 0.25f},
                             {"nesterov", TV_SGD, true, 0.5f, 0},
                             {"adam", TV_ADAM, false, 0, 0},
                             {"adam, decay", TV_ADAM, false, 0, 0.25f},
                             {"lion", TV_LION, false, 0, 0.25f}};

tv_optim settings(const OptimCase& c, std::int64_t n) {
  tv_optim d = {};
  d.struct_size = sizeof(d);
  d.kind = static_cast<std::uint8_t>(c.kind);
  d.nesterov = c.nesterov;
  d.n = n;
  d.grad_scale = 0.5f, d.lr = 0.125f, d.weight_decay = c.weight_decay, d.momentum = c.momentum;
  d.beta1 = 0.75f, d.beta2 = 0.9375f, d.epsilon = 1e-3f, d.step_size = 0.25f, d.v_scale = 1.5f;
  return d;
}

// The formulas of backend.h, one parameter at a time.
void update(const tv_optim& d, double& w, double g, double& s0, double& s1) {
  g *= d.grad_scale;
  if (d.kind == TV_SGD) {
    g += d.weight_decay * w;
    if (d.momentum == 0) {
      w -= d.lr * g;
      return;
    }
    s0 = d.momentum * s0 + g;
    w -= d.lr * (d.nesterov ? g + d.momentum * s0 : s0);
  } else if (d.kind == TV_ADAM) {
    s0 = d.beta1 * s0 + (1 - d.beta1) * g;
    s1 = d.beta2 * s1 + (1 - d.beta2) * g * g;
    w -= d.lr * d.weight_decay * w;
    w -= d.step_size * s0 / (std::sqrt(s1) * d.v_scale + d.epsilon);
  } else {
    const double mixed = d.beta1 * s0 + (1 - d.beta1) * g;
    w -= d.lr * ((mixed > 0) - (mixed < 0) + d.weight_decay * w);
    s0 = d.beta2 * s0 + (1 - d.beta2) * g;
  }
}

void check_optim(Kit& kit, const OptimCase& c, std::int64_t n) {
  const tv_optim base = settings(c, n);
  const Values w = random_values(131, n), g = random_values(132, n);
  const Values s0 = random_values(133, n), s1 = random_values(134, n, 0, 1);
  Values want_w = w, want_0 = s0, want_1 = s1;
  for (std::size_t i = 0; i < w.size(); ++i) update(base, want_w[i], g[i], want_0[i], want_1[i]);
  const std::string subject = std::string(c.name) + " of " + std::to_string(n);
  kit.check("optim", subject, 2e-6, {want_w, want_0, want_1}, [&](Run& run) {
    tv_optim d = base;
    d.param = run.in_out(w);
    d.grad = run.input(g);
    d.slot0 = run.in_out(s0), d.slot1 = run.in_out(s1);
    return run.table().optim(run.context(), &d);
  });
}

void check_sumsq(Kit& kit, std::int64_t n) {
  const Values x = random_values(141, n);
  double want = 0;
  for (const double value : x) want += value * value;
  kit.check("sumsq", "of " + std::to_string(n), 2e-6, {{want}}, [&](Run& run) {
    const tv_view in = run.input(x).view({n}), out = run.output(1).view({1});
    return run.table().sumsq(run.context(), &out, &in);
  });
}

std::uint32_t rotated(std::uint32_t x, int bits) {
  return (x << bits) | (x >> (32 - bits));
}

// Threefry-2x32 with 20 rounds, from the paper's description.
void threefry(std::uint64_t key, std::uint64_t counter, std::uint32_t (&out)[2]) {
  const int turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t keys[] = {k0, k1, 0x1BD11BDAu ^ k0 ^ k1};
  out[0] = static_cast<std::uint32_t>(counter) + k0;
  out[1] = static_cast<std::uint32_t>(counter >> 32) + k1;
  for (std::uint32_t round = 0; round < 20; ++round) {
    out[0] += out[1];
    out[1] = rotated(out[1], turns[round % 8]) ^ out[0];
    if (round % 4 != 3) continue;
    const std::uint32_t injection = round / 4 + 1;
    out[0] += keys[injection % 3];
    out[1] += keys[(injection + 1) % 3] + injection;
  }
}

Values random_words(std::uint64_t key, std::uint64_t offset, std::int64_t n) {
  Values words;
  for (std::uint64_t e = offset; e < offset + static_cast<std::uint64_t>(n); ++e) {
    std::uint32_t pair[2];
    threefry(key, e / 2, pair);
    words.push_back(pair[e % 2]);
  }
  return words;
}

// The one known answer of Random123 (kat_vectors, "threefry2x32 20") whose counter is below 2^63.
void check_known_answer(Kit& kit) {
  kit.check("rng_bits", "known answer", 0, {{0x6b200159u, 0x99ba4efeu}}, [&](Run& run) {
    const tv_view out = run.output(2, TV_U32).view({2});
    return run.table().rng_bits(run.context(), &out, 0, 0);
  });
}

void check_bits(Kit& kit, std::int64_t n, std::uint64_t offset) {
  const std::uint64_t key = 0x0123456789abcdefull;
  const std::string subject = std::to_string(n) + " from " + std::to_string(offset);
  kit.check("rng_bits", subject, 0, {random_words(key, offset, n)}, [&](Run& run) {
    const tv_view out = run.output(n, TV_U32).view({n});
    return run.table().rng_bits(run.context(), &out, key, offset);
  });
}

void check_dropout(Kit& kit, std::int64_t n, float p, bool in_place) {
  const std::uint64_t key = 77, offset = 5;
  const Values x = random_values(151, n), words = random_words(key, offset, n);
  const double threshold = std::floor(static_cast<double>(p) * 0x1p32);
  Values want;
  for (std::size_t i = 0; i < x.size(); ++i) {
    want.push_back(words[i] >= threshold ? x[i] / (1 - static_cast<double>(p)) : 0);
  }
  const std::string subject = std::to_string(n) + " p=" + std::to_string(p);
  kit.check("dropout", subject + (in_place ? " in place" : ""), 1e-6, {want}, [&](Run& run) {
    tv_dropout d = {};
    d.struct_size = sizeof(d);
    d.n = n;
    d.out = in_place ? run.in_out(x) : run.output(n);
    d.x = in_place ? d.out : static_cast<void*>(run.input(x));
    d.key = key, d.offset = offset, d.p = p;
    return run.table().dropout(run.context(), &d);
  });
}

}  // namespace

void check_optim(Kit& kit) {
  for (const std::int64_t n : kSizes) {
    for (const OptimCase& c : kOptims) check_optim(kit, c, n);
  }
}

void check_sumsq(Kit& kit) {
  for (const std::int64_t n : kSizes) check_sumsq(kit, n);
}

void check_rng_bits(Kit& kit) {
  for (const std::int64_t n : kSizes) {
    check_bits(kit, n, 0);
    check_bits(kit, n, 3);
  }
  check_known_answer(kit);
  check_bits(kit, 50, 0x1fffffff0ull);  // the low half of the counter runs over
}

void check_dropout(Kit& kit) {
  for (const std::int64_t n : kSizes) {
    for (const float p : {0.0f, 0.1f, 0.5f}) check_dropout(kit, n, p, p == 0.5f);
  }
}

}  // namespace trivet::testing
