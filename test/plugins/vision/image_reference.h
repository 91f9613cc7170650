// SPDX-License-Identifier: Apache-2.0
// Networks of convolutions in double, by plain loops, with the weights of a ModelFixture.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "model_fixture.h"

namespace trivet::test {

struct Pixels {
  std::size_t n, h, w, c;
  std::vector<double> values;  // [n, h, w, c]
};

template <class Model>
class ImageReference {
 public:
  explicit ImageReference(const ModelFixture<Model>& fixture) : fixture_(fixture) {}

  // kernel / 2 zeros on every side; a bias if there is one. Filters [k, k, c / groups, out].
  Pixels convolution(const Pixels& in, const std::string& path, std::size_t stride) const {
    const Shape shape = fixture_.store.find(path + "/w")->shape();
    const std::vector<float> w = fixture_.values(path + "/w");
    const auto kernel = static_cast<std::size_t>(shape[0]),
               depth = static_cast<std::size_t>(shape[2]), out = static_cast<std::size_t>(shape[3]);
    std::vector<float> b(out, 0);
    if (fixture_.store.find(path + "/b") != nullptr) b = fixture_.values(path + "/b");
    const std::size_t each = out / (in.c / depth);  // filters of a group
    Pixels y{in.n, (in.h + stride - 1) / stride, (in.w + stride - 1) / stride, out, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        auto sum = static_cast<double>(b[o]);
        for (std::size_t tap = 0; tap < kernel * kernel; ++tap) {
          const std::size_t row = i / y.w % y.h * stride + tap / kernel,
                            column = i % y.w * stride + tap % kernel, pad = kernel / 2;
          if (row < pad || row - pad >= in.h || column < pad || column - pad >= in.w) continue;
          const std::size_t pixel = (i / (y.h * y.w) * in.h + row - pad) * in.w + column - pad;
          for (std::size_t k = 0; k < depth; ++k) {
            sum += in.values[pixel * in.c + o / each * depth + k] *
                   static_cast<double>(w[(tap * depth + k) * out + o]);
          }
        }
        y.values.push_back(sum);
      }
    }
    return y;
  }

  // BatchNorm in training.
  Pixels norm(Pixels x, const std::string& path, double epsilon) const {
    const std::vector<float> gamma = fixture_.values(path + "/gamma");
    const std::vector<float> beta = fixture_.values(path + "/beta");
    const auto rows = static_cast<double>(x.n * x.h * x.w);
    for (std::size_t c = 0; c < x.c; ++c) {
      double mean = 0, variance = 0;
      for (std::size_t i = c; i < x.values.size(); i += x.c) mean += x.values[i] / rows;
      for (std::size_t i = c; i < x.values.size(); i += x.c) {
        variance += std::pow(x.values[i] - mean, 2) / rows;
      }
      for (std::size_t i = c; i < x.values.size(); i += x.c) {
        x.values[i] =
            (x.values[i] - mean) / std::sqrt(variance + epsilon) * static_cast<double>(gamma[c]) +
            static_cast<double>(beta[c]);
      }
    }
    return x;
  }

  // The mean of all pixels, then the classifier "output".
  std::vector<double> logits(const Pixels& x) const {
    const std::vector<float> w = fixture_.values("output/w"), b = fixture_.values("output/b");
    std::vector<double> y;
    for (std::size_t i = 0; i < x.n; ++i) {
      for (std::size_t o = 0; o < b.size(); ++o) {
        auto sum = static_cast<double>(b[o]);
        for (std::size_t p = 0; p < x.h * x.w * x.c; ++p) {
          sum += x.values[i * x.h * x.w * x.c + p] / static_cast<double>(x.h * x.w) *
                 static_cast<double>(w[p % x.c * b.size() + o]);
        }
        y.push_back(sum);
      }
    }
    return y;
  }

 private:
  const ModelFixture<Model>& fixture_;
};

}  // namespace trivet::test
