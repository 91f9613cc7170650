// SPDX-License-Identifier: Apache-2.0
// Conformance of the image kernels, see trivet/backend/kernels/vision.h.

#include <cmath>
#include <limits>

#include "conformance.h"
#include "reference_activation.h"
#include "trivet/backend/kernels/vision.h"

namespace trivet::testing {
namespace {

struct VisionCase {
  std::int64_t batch, h, w, cin, cout, kh, kw;
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, top = 0, left = 0;
  std::int64_t bottom = 0, right = 0;
};

const VisionCase kConvolutions[] = {
    {1, 1, 1, 1, 1, 1, 1},
    {0, 4, 4, 2, 3, 3, 3},
    {2, 5, 7, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {3, 6, 5, 1, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {17, 4, 4, 2, 17, 2, 2},
    {35, 3, 3, 2, 3, 2, 2},
    {2, 7, 9, 4, 33, 3, 2, 2, 3, 1, 1, 1, 0, 1, 1},
    {2, 9, 8, 3, 4, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
    {1, 9, 11, 2, 6, 3, 3, 2, 2, 2, 3, 1, 2, 2, 1},
    {2, 6, 6, 5, 7, 1, 1},
    {2, 7, 6, 5, 7, 1, 1, 2, 2},
    {1, 6, 5, 3, 20, 6, 5},
    {2, 14, 14, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 3, 300, 2, 16, 1, 5, 1, 1, 1, 1, 0, 2, 0, 2},
    {1, 5, 5, 2, 3, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2},
    // Filters of 3 x 3 with as many channels as fast algorithms ask for.
    {3, 7, 7, 40, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {9, 4, 4, 32, 48, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {2, 9, 8, 32, 32, 3, 3},
    {1, 3, 3, 35, 37, 3, 3},
    {1, 5, 6, 32, 34, 3, 3, 1, 1, 1, 1, 4, 0, 3, 5},
    {100, 3, 3, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},  // several images for each partial sum
    // Strides with other numbers of taps, and with dilations that divide them or not.
    {2, 14, 13, 8, 12, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 9, 9, 2, 3, 2, 2, 4, 4},
    {1, 13, 14, 3, 5, 5, 4, 3, 2, 2, 3, 2, 1, 2, 1},
    {2, 12, 11, 3, 4, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2},
    {1, 17, 18, 2, 3, 3, 3, 4, 4, 2, 6, 1, 1, 1, 1},
};

const VisionCase kPools[] = {
    {2, 4, 6, 3, 3, 2, 2, 2, 2},
    {2, 8, 8, 32, 32, 2, 2, 2, 2},
    {0, 4, 4, 2, 2, 2, 2, 2, 2},
    {1, 5, 7, 17, 17, 2, 2, 2, 2},
    {2, 6, 7, 9, 9, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 9, 9, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 7, 8, 5, 5, 2, 3, 3, 4},
    {1, 5, 5, 40, 40, 5, 5, 5, 5},
};

tv_conv2d_shape shape_of(const VisionCase& c) {
  tv_conv2d_shape s = {};
  s.batch = c.batch, s.in_h = c.h, s.in_w = c.w, s.in_c = c.cin;
  s.kernel_h = c.kh, s.kernel_w = c.kw, s.stride_h = c.stride_h, s.stride_w = c.stride_w;
  s.dilation_h = c.dilation_h, s.dilation_w = c.dilation_w;
  s.pad_top = c.top, s.pad_left = c.left;
  s.out_h = (c.h + c.top + c.bottom - (c.kh - 1) * c.dilation_h - 1) / c.stride_h + 1;
  s.out_w = (c.w + c.left + c.right - (c.kw - 1) * c.dilation_w - 1) / c.stride_w + 1;
  s.out_c = c.cout;
  return s;
}

std::string case_text(const tv_conv2d_shape& s) {
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return std::to_string(a) + "x" + std::to_string(b);
  };
  return std::to_string(s.batch) + " of " + pair(s.in_h, s.in_w) + "x" + std::to_string(s.in_c) +
         " to " + std::to_string(s.out_c) + ", window " + pair(s.kernel_h, s.kernel_w) +
         " stride " + pair(s.stride_h, s.stride_w) + " dilation " +
         pair(s.dilation_h, s.dilation_w) + " from " + pair(-s.pad_top, -s.pad_left);
}

std::int64_t inputs(const tv_conv2d_shape& s) {
  return s.batch * s.in_h * s.in_w * s.in_c;
}
std::int64_t outputs(const tv_conv2d_shape& s) {
  return s.batch * s.out_h * s.out_w * s.out_c;
}

// Calls visit(pixel in, pixel out, tap) for every tap of every window that lies inside the image.
template <typename Visit>
void for_each_tap(const tv_conv2d_shape& s, Visit visit) {
  for (std::int64_t out = 0; out < s.batch * s.out_h * s.out_w; ++out) {
    const std::int64_t image = out / (s.out_h * s.out_w);
    const std::int64_t oy = out / s.out_w % s.out_h, ox = out % s.out_w;
    for (std::int64_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
      const std::int64_t y = oy * s.stride_h - s.pad_top + tap / s.kernel_w * s.dilation_h;
      const std::int64_t x = ox * s.stride_w - s.pad_left + tap % s.kernel_w * s.dilation_w;
      if (y < 0 || y >= s.in_h || x < 0 || x >= s.in_w) continue;
      visit((image * s.in_h + y) * s.in_w + x, out, tap);
    }
  }
}

enum class Bias { none, there };

void check_conv_fwd(Kit& kit, tv_conv2d_fwd_fn function, const tv_conv2d_shape& s, int activation,
                    Bias bias) {
  const bool has_bias = bias == Bias::there;
  const Values x = random_values(81, inputs(s)), b = random_values(83, s.out_c);
  const Values w = random_values(82, s.kernel_h * s.kernel_w * s.in_c * s.out_c);
  Values pre(static_cast<std::size_t>(outputs(s)), 0.0), y;
  for (std::size_t i = 0; has_bias && i < pre.size(); ++i) pre[i] = b[i % b.size()];
  for_each_tap(s, [&](auto in, auto out, auto tap) {
    for (std::int64_t c = 0; c < s.in_c; ++c) {
      for (std::int64_t o = 0; o < s.out_c; ++o) {
        at(pre, out * s.out_c + o) +=
            at(x, in * s.in_c + c) * at(w, (tap * s.in_c + c) * s.out_c + o);
      }
    }
  });
  for (const double value : pre) y.push_back(activate(activation, value));
  const bool wants_pre = activation > TV_ACT_SIGMOID;
  const std::string subject =
      case_text(s) + ", activation " + std::to_string(activation) + (has_bias ? "" : ", no bias");
  kit.check(TV_CONV2D_FWD, subject, 2e-5, {y, wants_pre ? pre : Values{}}, [&](Run& run) {
    tv_conv2d d = {};
    d.struct_size = sizeof(d);
    d.activation = static_cast<std::uint8_t>(activation);
    d.shape = s;
    d.x = run.input(x), d.w = run.input(w);
    if (has_bias) d.b = run.input(b);
    d.y = run.output(outputs(s));
    if (wants_pre) d.pre = run.output(outputs(s));
    return function(run.context(), &d);
  });
}

void check_conv_bwd(Kit& kit, tv_conv2d_bwd_fn function, const tv_conv2d_shape& s, int activation,
                    float beta, bool in_place) {
  const std::int64_t filter = s.kernel_h * s.kernel_w * s.in_c * s.out_c;
  const Values x = random_values(84, inputs(s)), w = random_values(85, filter);
  const Values saved = random_values(86, outputs(s)), dy = random_values(87, outputs(s));
  const Values dw_start = random_values(88, filter), db_start = random_values(89, s.out_c);
  Values dz, dx(x.size(), 0.0), dw(w.size(), 0.0), db(static_cast<std::size_t>(s.out_c), 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i) {
    dz.push_back(dy[i] * activation_slope(activation, saved[i]));
    db[i % db.size()] += dz[i];
  }
  for_each_tap(s, [&](auto in, auto out, auto tap) {
    for (std::int64_t c = 0; c < s.in_c; ++c) {
      for (std::int64_t o = 0; o < s.out_c; ++o) {
        const std::int64_t k = (tap * s.in_c + c) * s.out_c + o;
        at(dx, in * s.in_c + c) += at(dz, out * s.out_c + o) * at(w, k);
        at(dw, k) += at(dz, out * s.out_c + o) * at(x, in * s.in_c + c);
      }
    }
  });
  for (std::size_t i = 0; beta != 0 && i < dw.size(); ++i) dw[i] += dw_start[i];
  for (std::size_t i = 0; beta != 0 && i < db.size(); ++i) db[i] += db_start[i];
  const std::string subject = case_text(s) + ", activation " + std::to_string(activation) +
                              " beta=" + std::to_string(beta) + (in_place ? " in place" : "");
  kit.check(TV_CONV2D_BWD, subject, 5e-5, {dx, dw, db, {}}, [&](Run& run) {
    tv_conv2d_grad d = {};
    d.struct_size = sizeof(d);
    d.activation = static_cast<std::uint8_t>(activation);
    d.shape = s;
    d.x = run.input(x), d.w = run.input(w);
    if (activation != TV_ACT_NONE) d.saved = run.input(saved);
    d.dx = run.output(inputs(s)), d.dw = run.in_out(dw_start), d.db = run.in_out(db_start);
    d.dz = in_place ? run.in_out(dy) : run.output(outputs(s));
    d.dy = in_place ? d.dz : static_cast<void*>(run.input(dy));
    d.beta_dw = d.beta_db = beta;
    return function(run.context(), &d);
  });
}

void check_conv_without_outputs(Kit& kit, tv_conv2d_bwd_fn function) {
  const tv_conv2d_shape s = shape_of(kConvolutions[2]);
  const Values x = random_values(84, inputs(s)), dy = random_values(87, outputs(s));
  const Values w = random_values(85, s.kernel_h * s.kernel_w * s.in_c * s.out_c);
  kit.check(TV_CONV2D_BWD, "with no gradient wanted", 0, {}, [&](Run& run) {
    tv_conv2d_grad d = {};
    d.struct_size = sizeof(d);
    d.shape = s;
    d.x = run.input(x), d.w = run.input(w), d.dy = run.input(dy);
    d.dz = run.output(outputs(s));
    return function(run.context(), &d);
  });
}

struct Pooled {
  Values y, argmax;
};

Pooled pooled(const tv_conv2d_shape& s, int kind, const Values& x) {
  Pooled p;
  p.y.assign(static_cast<std::size_t>(outputs(s)), 0.0);
  p.argmax.assign(p.y.size(), -1);
  Values count(p.y.size(), 0.0);
  for_each_tap(s, [&](auto in, auto out, auto tap) {
    for (std::int64_t c = 0; c < s.in_c; ++c) {
      const double value = at(x, in * s.in_c + c);
      const std::int64_t to = out * s.in_c + c;
      at(count, to) += 1;
      if (kind == TV_POOL_AVG) {
        at(p.y, to) += value;
      } else if (at(p.argmax, to) < 0 || value > at(p.y, to) ||
                 (std::isnan(value) && !std::isnan(at(p.y, to)))) {
        at(p.y, to) = value;
        at(p.argmax, to) = static_cast<double>(tap);
      }
    }
  });
  for (std::size_t i = 0; kind == TV_POOL_AVG && i < count.size(); ++i) p.y[i] /= count[i];
  return p;
}

void check_pool(Kit& kit, const tv_conv2d_shape& s, int kind, tv_pool2d_fwd_fn fwd,
                tv_pool2d_bwd_fn bwd) {
  Values x = random_integers(91, inputs(s), -9, 10);  // ties: the first one counts
  if (kind == TV_POOL_MAX && x.size() > 50) x[7] = x[40] = NAN;
  const Values dy = random_values(92, outputs(s));
  const Pooled p = pooled(s, kind, x);
  const bool max = kind == TV_POOL_MAX;
  Values dx(x.size(), 0.0), count(p.y.size(), 0.0);
  for_each_tap(s, [&](auto, auto out, auto) { at(count, out * s.in_c) += 1; });
  for_each_tap(s, [&](auto in, auto out, auto tap) {
    for (std::int64_t c = 0; c < s.in_c; ++c) {
      const std::int64_t from = out * s.in_c + c;
      const double share =
          max ? at(p.argmax, from) == static_cast<double>(tap) : 1 / at(count, out * s.in_c);
      at(dx, in * s.in_c + c) += at(dy, from) * share;
    }
  });
  const std::string subject = std::string(max ? "max " : "mean ") + case_text(s);
  if (fwd) {
    for (const bool wants_argmax : {true, false}) {
      if (wants_argmax && !max) continue;
      const Values argmax = wants_argmax ? p.argmax : Values{};
      kit.check(TV_POOL2D_FWD, subject, 1e-6, {p.y, argmax}, [&](Run& run) {
        tv_pool2d d = {};
        d.struct_size = sizeof(d);
        d.kind = static_cast<std::uint8_t>(kind);
        d.shape = s;
        d.x = run.input(x), d.y = run.output(outputs(s));
        if (wants_argmax) d.argmax = run.output(outputs(s), TV_U8);
        return fwd(run.context(), &d);
      });
    }
  }
  if (!bwd) return;
  kit.check(TV_POOL2D_BWD, subject, 1e-6, {dx}, [&](Run& run) {
    tv_pool2d_grad d = {};
    d.struct_size = sizeof(d);
    d.kind = static_cast<std::uint8_t>(kind);
    d.shape = s;
    d.dy = run.input(dy), d.dx = run.output(inputs(s));
    if (max) d.argmax = run.input(p.argmax, TV_U8);
    return bwd(run.context(), &d);
  });
}

}  // namespace

void check_vision(Kit& kit) {
  const auto fwd =
      reinterpret_cast<tv_conv2d_fwd_fn>(const_cast<void*>(kit.extension(TV_CONV2D_FWD)));
  const auto bwd =
      reinterpret_cast<tv_conv2d_bwd_fn>(const_cast<void*>(kit.extension(TV_CONV2D_BWD)));
  for (const VisionCase& c : kConvolutions) {
    const tv_conv2d_shape s = shape_of(c);
    for (const int activation : {TV_ACT_NONE, TV_ACT_RELU, TV_ACT_TANH, TV_ACT_GELU_TANH}) {
      if (fwd) {
        check_conv_fwd(kit, fwd, s, activation,
                       activation != TV_ACT_TANH ? Bias::there : Bias::none);
      }
      if (bwd) {
        check_conv_bwd(kit, bwd, s, activation, activation == TV_ACT_RELU ? 1.0f : 0.0f,
                       activation == TV_ACT_GELU_TANH);
      }
    }
  }
  if (fwd) check_conv_fwd(kit, fwd, shape_of(kConvolutions[2]), TV_ACT_RELU, Bias::none);
  if (bwd) check_conv_without_outputs(kit, bwd);
  const auto pool =
      reinterpret_cast<tv_pool2d_fwd_fn>(const_cast<void*>(kit.extension(TV_POOL2D_FWD)));
  const auto unpool =
      reinterpret_cast<tv_pool2d_bwd_fn>(const_cast<void*>(kit.extension(TV_POOL2D_BWD)));
  for (const VisionCase& c : kPools) {
    for (const int kind : {TV_POOL_MAX, TV_POOL_AVG}) {
      check_pool(kit, shape_of(c), kind, pool, unpool);
    }
  }
}

}  // namespace trivet::testing
