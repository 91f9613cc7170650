// SPDX-License-Identifier: Apache-2.0
// Model: a batch in, named outputs out. Put together from layers in its constructor (const Config&,
// Scope&).
#pragma once

#include <string_view>

#include "trivet/config.h"
#include "trivet/plugin/export.h"
#include "trivet/layer.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

struct ModelConfig {};
TRIVET_CONFIG(ModelConfig, trivet::NoBase)

class TRIVET_API Model {
 public:
  static constexpr std::string_view kKind = "model";
  using Config = ModelConfig;
  using Context = Scope;

  virtual ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Reads what it needs from the batch and returns its outputs by name (e.g. "logits"). [run
  // thread]
  virtual NestedMap fprop(const Batch& batch, FpropContext& context) = 0;
  virtual const void* extension(std::string_view id) const noexcept;

 protected:
  Model() = default;
};

}  // namespace trivet
