// SPDX-License-Identifier: Apache-2.0
// ResNets in double, by plain loops, and small configs of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "model_fixture.h"
#include "vision/resnet.h"

namespace trivet::test::resnet {

using Fixture = ModelFixture<vision::ResNet>;

struct Images {
  std::size_t n, h, w, c;
  std::vector<double> values;

  double at(std::size_t i, std::size_t y, std::size_t x, std::size_t channel) const {
    return values[((i * h + y) * w + x) * c + channel];
  }
};

// The network in double, in training (moments of the batch), with the weights of a Fixture.
class Reference {
 public:
  explicit Reference(const Fixture& fixture) : fixture_(fixture) {}

  // kernel / 2 zeros on every side.
  Images convolution(const Images& in, const std::string& path, std::size_t stride) const {
    const Shape shape = fixture_.store.find(path + "/w")->shape();
    const std::vector<float> w = fixture_.values(path + "/w");
    const auto kernel = static_cast<std::size_t>(shape[0]),
               out = static_cast<std::size_t>(shape[3]);
    Images y{in.n, (in.h + stride - 1) / stride, (in.w + stride - 1) / stride, out, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::size_t tap = 0; tap < kernel * kernel; ++tap) {
          const std::size_t row = i / y.w % y.h * stride + tap / kernel,
                            column = i % y.w * stride + tap % kernel, pad = kernel / 2;
          if (row < pad || row - pad >= in.h || column < pad || column - pad >= in.w) continue;
          for (std::size_t c = 0; c < in.c; ++c) {
            sum += in.at(i / (y.h * y.w), row - pad, column - pad, c) *
                   static_cast<double>(w[(tap * in.c + c) * out + o]);
          }
        }
        y.values.push_back(sum);
      }
    }
    return y;
  }

  Images norm(Images x, const std::string& path) const {
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
            (x.values[i] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gamma[c]) +
            static_cast<double>(beta[c]);
      }
    }
    return x;
  }

  static Images relu(Images x) {
    for (double& value : x.values) value = std::max(value, 0.0);
    return x;
  }

  // ResNet-RS has it in place of relu.
  static Images swish(Images x) {
    for (double& value : x.values) value /= 1 + std::exp(-value);
    return x;
  }

  // The means of 2 x 2 pixels, of fewer at the right and lower edge.
  static Images halved(const Images& x) {
    Images y{x.n, (x.h + 1) / 2, (x.w + 1) / 2, x.c, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w * y.c; ++i) {
      double sum = 0, count = 0;
      for (const std::size_t tap : {0, 1, 2, 3}) {
        const std::size_t row = i / (y.c * y.w) % y.h * 2 + tap / 2,
                          column = i / y.c % y.w * 2 + tap % 2;
        if (row >= x.h || column >= x.w) continue;
        sum += x.at(i / (y.c * y.w * y.h), row, column, i % y.c);
        count += 1;
      }
      y.values.push_back(sum / count);
    }
    return y;
  }

  // Each channel times the sigmoid of two products of the channels' means.
  Images gated(Images x, const std::string& path) const {
    const std::vector<float> w1 = fixture_.values(path + "/reduce/w"),
                             b1 = fixture_.values(path + "/reduce/b"),
                             w2 = fixture_.values(path + "/expand/w"),
                             b2 = fixture_.values(path + "/expand/b");
    const std::size_t pixels = x.h * x.w;
    for (std::size_t i = 0; i < x.n; ++i) {
      std::vector<double> inside(b1.begin(), b1.end());
      for (std::size_t p = 0; p < pixels * x.c; ++p) {
        for (std::size_t r = 0; r < b1.size(); ++r) {
          inside[r] += x.values[i * pixels * x.c + p] / static_cast<double>(pixels) *
                       static_cast<double>(w1[p % x.c * b1.size() + r]);
        }
      }
      for (std::size_t c = 0; c < x.c; ++c) {
        auto gate = static_cast<double>(b2[c]);
        for (std::size_t r = 0; r < b1.size(); ++r) {
          gate += std::max(inside[r], 0.0) * static_cast<double>(w2[r * x.c + c]);
        }
        for (std::size_t p = 0; p < pixels; ++p) {
          x.values[(i * pixels + p) * x.c + c] /= 1 + std::exp(-gate);
        }
      }
    }
    return x;
  }

  // A bottleneck of ResNet-RS, whose residuals are multiplied by `kept`, one number an image.
  Images rs_block(const Images& x, const std::string& path, std::size_t stride,
                  const std::vector<double>& kept) const {
    Images y = swish(norm(convolution(x, path + "/conv_0", 1), path + "/norm_0"));
    y = swish(norm(convolution(y, path + "/conv_1", stride), path + "/norm_1"));
    y = norm(convolution(y, path + "/conv_2", 1), path + "/norm_2");
    y = gated(y, path + "/squeeze_excitation");
    Images straight = stride == 2 ? halved(x) : x;
    if (fixture_.store.find(path + "/shortcut/w") != nullptr) {
      straight = norm(convolution(straight, path + "/shortcut", 1), path + "/shortcut_norm");
    }
    const std::size_t each = y.values.size() / y.n;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = y.values[i] * kept[i / each] + straight.values[i];
    }
    return swish(y);
  }

  // `strides`: of the block's convolutions.
  Images block(const Images& x, const std::string& path,
               const std::vector<std::size_t>& strides) const {
    std::size_t stride = 1;
    Images y = x;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const std::string number = std::to_string(i);
      y = norm(convolution(y, path + "/conv_" + number, strides[i]), path + "/norm_" + number);
      if (i + 1 < strides.size()) y = relu(y);
      stride *= strides[i];
    }
    Images straight = x;
    if (fixture_.store.find(path + "/shortcut/w") != nullptr) {
      straight = norm(convolution(x, path + "/shortcut", stride), path + "/shortcut_norm");
    }
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += straight.values[i];
    return relu(y);
  }

  // 3 x 3, stride 2, one position outside on every side.
  static Images max_pool(const Images& x) {
    Images y{x.n, (x.h + 1) / 2, (x.w + 1) / 2, x.c, {}};
    for (std::size_t i = 0; i < y.n * y.h * y.w * y.c; ++i) {
      double most = -1e30;
      for (std::size_t tap = 0; tap < 9; ++tap) {
        const std::size_t row = i / (y.c * y.w) % y.h * 2 + tap / 3,
                          column = i / y.c % y.w * 2 + tap % 3;
        if (row < 1 || row > x.h || column < 1 || column > x.w) continue;
        most = std::max(most, x.at(i / (y.c * y.w * y.h), row - 1, column - 1, i % y.c));
      }
      y.values.push_back(most);
    }
    return y;
  }

  // The mean of all pixels, then the classifier.
  std::vector<double> logits(const Images& x) const {
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
  const Fixture& fixture_;
};

inline vision::ResNetConfig small(vision::ResNetBlock block) {
  vision::ResNetConfig config;
  config.image_shape = {7, 6, 2};
  config.num_classes = 3;
  config.block = block;
  config.blocks = {1, 2};
  config.width = 3;
  return config;
}

inline Images images_of(const std::vector<float>& pixels, std::size_t n,
                        const vision::ResNetConfig& c) {
  return {n,
          static_cast<std::size_t>(c.image_shape[0]),
          static_cast<std::size_t>(c.image_shape[1]),
          static_cast<std::size_t>(c.image_shape[2]),
          {pixels.begin(), pixels.end()}};
}

// Half a dozen norms in f32 in sequence.
inline constexpr double kTolerance = 1e-4;

inline std::int64_t parameters_of(std::int64_t depth, vision::ResNetConfig config = {}) {
  config.image_shape = {224, 224, 3};
  config.num_classes = 1000;
  config.depth = depth;
  config.stem_kernel = 7;
  config.stem_stride = 2;
  config.stem_pool = true;
  const auto device = trivet::test::open_device("tiny/Backend");
  trivet::test::use_plugin("nn");
  trivet::ParameterStore store(*device, trivet::RngKey(1));
  trivet::Scope scope(store);
  const vision::ResNet model(config, scope);
  return store.trainable_count();  // not built: nothing is allocated
}

}  // namespace trivet::test::resnet
