// SPDX-License-Identifier: Apache-2.0
#include "nn/basic/checks.h"

#include "trivet/error.h"

namespace trivet::nn {

void wrong_input(std::string_view layer, const std::string& path, const std::string& expected,
                 const Tensor& got, std::string hint) {
  throw Error("[" + std::string(layer) + "] '" + path + "': expected " + expected + ", got " +
                  std::string(name_of(got.dtype())) + " " + got.shape().to_string(),
              {.hint = std::move(hint)});
}

std::int64_t expect_set(std::string_view layer, const std::string& path, const char* field,
                        std::int64_t value) {
  if (value > 0) return value;
  throw Error("[" + std::string(layer) + "] '" + path + "': " + field + " is not set",
              {.hint = "only a template may leave it unset, for its parent layer to fill"});
}

void refuse_block(std::string_view stack, const std::string& path, std::string_view expected,
                  const ConfigOf<Layer>& block) {
  throw ConfigError(Diagnostic{.path = "task.model",
                               .what = "'" + path + "': " + std::string(stack) + " stacks " +
                                       std::string(expected) + ", not " +
                                       (block ? std::string(block.key()) : "none"),
                               .hint = "set block_tpl = \"" + std::string(expected) + "\""});
}

void expect_last(std::string_view layer, const std::string& path, const Tensor& x,
                 std::int64_t dims) {
  if (x.rank() > 0 && x.dim(-1) == dims) return;
  std::int64_t rest = 1;
  for (int axis = 1; axis < x.rank(); ++axis) rest *= x.dim(axis);
  const bool image = x.rank() > 2 && rest == dims;
  wrong_input(layer, path, "[.., " + std::to_string(dims) + "]", x,
              image ? "an nn/Flatten before it makes a row of each image" : "");
}

void expect_image(std::string_view layer, const std::string& path, const Tensor& x,
                  std::int64_t channels) {
  if (x.rank() == 4 && (channels == 0 || x.dim(3) == channels)) return;
  const std::string depth = channels == 0 ? "C" : std::to_string(channels);
  wrong_input(layer, path, "images [B, H, W, " + depth + "]", x);
}

}  // namespace trivet::nn
