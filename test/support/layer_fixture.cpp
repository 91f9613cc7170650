// SPDX-License-Identifier: Apache-2.0
#include "support/layer_fixture.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/plugins.h"
#include "trivet/backend/mesh.h"
#include "trivet/error.h"

namespace trivet::test {
namespace {

template <class Want>
double error_between(std::span<const float> got, std::span<const Want> want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto wanted = static_cast<double>(want[i]);
    const double error =
        std::abs(static_cast<double>(got[i]) - wanted) / std::max(1.0, std::abs(wanted));
    if (!(error <= largest)) largest = error;  // a NaN stays
  }
  return largest;
}

}  // namespace

LayerFixture::LayerFixture(const std::string& backend, const ConfigOf<Layer>& config)
    : LayerFixture(backend, config, 1) {}

LayerFixture::LayerFixture(const std::string& backend, const ConfigOf<Layer>& config,
                           std::int64_t mdl, ProcessGroup* group)
    : LayerFixture(backend, config, mesh_along_mdl(mdl), group) {}

LayerFixture::LayerFixture(const std::string& backend, const ConfigOf<Layer>& config,
                           const MeshConfig& mesh, ProcessGroup* group)
    : mesh_(mesh, group),
      device_(open_device(backend)),
      store_(std::make_unique<ParameterStore>(*device_, RngKey(7))) {
  use_plugin("nn");
  layer_ = Scope(*store_, mesh_).layer("layer", config);
  store_->build();
}

LayerFixture::~LayerFixture() = default;

Parameter& LayerFixture::parameter(std::string_view path) const {
  Parameter* found = store_->find("layer/" + std::string(path));
  if (found == nullptr) throw Error("no parameter layer/" + std::string(path));
  return *found;
}

std::vector<float> LayerFixture::values(std::string_view path) const {
  return parameter(path).value().to_host<float>();
}

void LayerFixture::set(std::string_view path, const std::vector<float>& values) const {
  Parameter& target = parameter(path);
  target.assign(tensor(values, target.shape()));
}

Tensor LayerFixture::tensor(const std::vector<float>& values, const Shape& shape) const {
  return Tensor::from(*device_, std::span<const float>(values), shape);
}

Tensor LayerFixture::fprop(const Tensor& x, bool train) const {
  FpropContext context;
  context.train = train;
  context.key = RngKey(11);
  return layer_->fprop(x, context);
}

MeshConfig mesh_along_mdl(std::int64_t devices) {
  MeshConfig mesh;
  mesh.ici_mesh_shape = {1, 1, devices};
  return mesh;
}

std::vector<float> random_values(std::int64_t n, std::uint64_t seed, double stddev) {
  std::vector<float> values(static_cast<std::size_t>(n));
  random_normal(RngKey(seed), 0, stddev, values);
  return values;
}

double largest_error(std::span<const float> got, std::span<const double> want) {
  return error_between(got, want);
}

double largest_error(std::span<const float> got, std::span<const float> want) {
  return error_between(got, want);
}

}  // namespace trivet::test
