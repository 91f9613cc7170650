// SPDX-License-Identifier: Apache-2.0
// Model: a batch in, named outputs out. Put together from layers in its constructor (const Config&,
// Scope&).
#pragma once

#include <string_view>

#include "trivet/base/export.h"
#include "trivet/config.h"
#include "trivet/layer.h"
#include "trivet/object.h"
#include "trivet/tensor/nested_map.h"

namespace trivet {

struct ModelConfig {};
TRIVET_CONFIG(ModelConfig, trivet::NoBase)

class TRIVET_API Model : public Object {
 public:
  static constexpr std::string_view kKind = "model";
  using Config = ModelConfig;
  using Context = Scope;

  ~Model() override;

  // Reads what it needs from the batch and returns its outputs by name (e.g. "logits").
  // [run-thread]
  virtual NestedMap fprop(const Batch& batch, FpropContext& context) = 0;
};

}  // namespace trivet
