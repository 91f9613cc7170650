// SPDX-License-Identifier: Apache-2.0
#include "vision/blocks/parts.h"

#include <utility>

namespace trivet::vision {
namespace {

ConfigOf<Layer> make_weighted(std::string key, Value fields, const ConfigOf<Layer>& activation,
                              const InitConfig& init) {
  if (activation) fields.set("activation", activation.to_value());
  fields.set("init", encode(init));
  return {std::move(key), std::move(fields)};
}

}  // namespace

ConfigOf<Layer> linear(std::int64_t input_dims, std::int64_t output_dims,
                       const ConfigOf<Layer>& activation, const InitConfig& init,
                       const ConfigOf<Layer>& parametrization,
                       const ConfigOf<Layer>& input_quantization) {
  Value fields = Value::table({{"input_dims", input_dims}, {"output_dims", output_dims}});
  if (parametrization) fields.set("parametrization", parametrization.to_value());
  if (input_quantization) fields.set("input_quantization", input_quantization.to_value());
  return make_weighted("nn/Linear", std::move(fields), activation, init);
}

ConfigOf<Layer> convolution(std::int64_t input_dims, std::int64_t output_dims, std::int64_t kernel,
                            const ConfigOf<Layer>& activation, const InitConfig& init) {
  return make_weighted("nn/Conv2d",
                       Value::table({{"input_dims", input_dims},
                                     {"output_dims", output_dims},
                                     {"kernel", Value::array({kernel})}}),
                       activation, init);
}

ConfigOf<Layer> dropout(double rate) {
  return {"nn/Dropout", Value::table({{"rate", rate}})};
}

ConfigOf<Layer> drop_path(double rate) {
  return {"nn/DropPath", Value::table({{"rate", rate}})};
}

ConfigOf<Layer> mean_pool(std::int64_t size) {
  return {"nn/AvgPool2d", Value::table({{"window", Value::array({size})}, {"padding", "same"}})};
}

ConfigOf<Layer> halving_max_pool() {
  return {"nn/MaxPool2d", Value::table({{"window", Value::array({3})},
                                        {"stride", Value::array({2})},
                                        {"padding", "explicit"},
                                        {"pad", Value::array({1})}})};
}

ConfigOf<Layer> centered_convolution(std::int64_t input_dims, std::int64_t output_dims,
                                     std::int64_t kernel, const ConvolutionOptions& options,
                                     const InitConfig& init) {
  return make_weighted("nn/Conv2d",
                       Value::table({{"input_dims", input_dims},
                                     {"output_dims", output_dims},
                                     {"kernel", Value::array({kernel})},
                                     {"stride", Value::array({options.stride})},
                                     {"padding", "explicit"},
                                     {"pad", Value::array({kernel / 2})},
                                     {"groups", options.groups},
                                     {"has_bias", options.has_bias}}),
                       {}, init);
}

}  // namespace trivet::vision
