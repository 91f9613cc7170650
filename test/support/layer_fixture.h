// SPDX-License-Identifier: Apache-2.0
// One layer from a config, on one backend, with its parameters, for tests of layers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/backend/mesh.h"
#include "trivet/layer.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/mesh.h"

namespace trivet::test {

class LayerFixture {
 public:
  // The layer's path is "layer"; weights are drawn with seed 7.
  LayerFixture(const std::string& backend, const ConfigOf<Layer>& config);
  // On a mesh with so many devices along mdl, which the processes of a group share; null: one
  // process.
  LayerFixture(const std::string& backend, const ConfigOf<Layer>& config, std::int64_t mdl,
               ProcessGroup* group = nullptr);
  LayerFixture(const std::string& backend, const ConfigOf<Layer>& config, const MeshConfig& mesh,
               ProcessGroup* group = nullptr);
  ~LayerFixture();

  Device& device() const { return *device_; }
  ParameterStore& store() const { return *store_; }
  Layer& layer() const { return *layer_; }
  // Throws Error if there is none; the path is below "layer/".
  Parameter& parameter(std::string_view path) const;
  std::vector<float> values(std::string_view path) const;
  void set(std::string_view path, const std::vector<float>& values) const;

  Tensor tensor(const std::vector<float>& values, const Shape& shape) const;
  Tensor fprop(const Tensor& x, bool train = false) const;

 private:
  Mesh mesh_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ParameterStore> store_;
  std::shared_ptr<Layer> layer_;
};

MeshConfig mesh_along_mdl(std::int64_t devices);

// Normal numbers that depend on `seed` alone.
std::vector<float> random_values(std::int64_t n, std::uint64_t seed, double stddev = 1);

// The largest |got - want| / max(1, |want|); infinite when the lengths differ.
double largest_error(std::span<const float> got, std::span<const double> want);
double largest_error(std::span<const float> got, std::span<const float> want);

}  // namespace trivet::test
