// SPDX-License-Identifier: Apache-2.0
// Scope: where layers make their parameters and children. Names become paths, and paths are the
// checkpoint's names.
//
// Example (sdk/examples/snippets/layer.cpp#parameters):
//
//   Dense(const Config& config, Scope& scope)
//       : path_(scope.path()),
//         weight_(scope.parameter("weight", {config.input_dims, config.output_dims},
//                                 {.init = config.init})),
//         activation_(scope.layer("activation", config.activation)) {}
//
// The parameters belong to the ParameterStore of the model (parameter_store.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config/config_of.h"
#include "trivet/layer/parameter_store.h"
#include "trivet/tensor/device.h"
#include "trivet/tensor/random.h"

namespace trivet {

class Layer;
class Mesh;  // trivet/tensor/mesh.h

class TRIVET_API Scope {
 public:
  explicit Scope(ParameterStore& store, std::string path = "");
  // Of a model that is trained on this mesh, which must outlive the model.
  Scope(ParameterStore& store, const Mesh& mesh);

  const std::string& path() const { return path_; }  // "encoder/layer_3"
  Device& device() const { return store_.device(); }
  ParameterStore& store() const { return store_; }
  // Layers may split their work over its axes. One device unless the scope was made with a mesh.
  const Mesh& mesh() const;
  // For randomness of this layer: fold in the step and what it is for (see FpropContext::key_for).
  RngKey key() const { return store_.key().fold(path_); }

  // The same path, for layers of one stage of a pipeline (trivet/layer/pipeline.h): processes of
  // other stages do not compute them. They have no states and share no layers with others: throws
  // ConfigError at the mesh where they are made.
  Scope at_stage(std::int64_t stage) const;
  // The same path, for layers that compute blocks of the positions over the devices along seq
  // (trivet/layer/sequence_blocks.h). They have no states: throws ConfigError at the mesh where one
  // is made, unless it has one such device.
  Scope in_sequence_blocks() const;
  bool is_in_sequence_blocks() const { return is_in_sequence_blocks_; }

  // Names are made of letters, digits, '_', '-' and '.'; anything else throws Error.
  Scope child(std::string_view name) const;
  Parameter& parameter(std::string_view name, const Shape& shape,
                       const ParameterOptions& options = {});
  Parameter& state(std::string_view name, const Shape& shape,
                   double value);  // not trainable, starts as `value`

  // Makes a child layer from its template; null for an empty one. Two children of one path are an
  // Error. A template with `shared = "name"` is made once per store, at the path where it is met
  // first: whoever names it again, with an equal config, gets the same layer and weights; an
  // unequal one is an Error.
  std::shared_ptr<Layer> layer(std::string_view name, const ConfigOf<Layer>& config) const;

 private:
  Scope(ParameterStore& store, std::string path, const Mesh* mesh, std::int64_t stage);

  ParameterStore& store_;
  std::string path_;
  const Mesh* mesh_ = nullptr;  // null: one device
  std::int64_t stage_ = Parameter::kEveryStage;
  bool is_in_sequence_blocks_ = false;
};

}  // namespace trivet
