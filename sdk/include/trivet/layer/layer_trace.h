// SPDX-License-Identifier: Apache-2.0
// LayerTrace: what the layers of a model are and do, for `trivet summary` and the like.
//
// Example (sdk/examples/snippets/layer_trace.cpp#trace):
//
//   LayerTrace trace;  // before the model is made
//   auto model = task.build_model(task.config().model, scope);
//   store.build();
//   model->fprop(batch, context);
//   for (const LayerTrace::Entry& layer : trace.layers()) print(layer.path, layer.calls);
//
// While it lives, every layer that Scope::layer() makes on this thread is wrapped: its calls are
// counted and measured, its extensions answer as before. A run does without, so it costs a run
// nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trivet/base/export.h"
#include "trivet/config/config_of.h"
#include "trivet/layer.h"

namespace trivet {

class TRIVET_API LayerTrace {
 public:
  struct Entry {
    std::string path;        // "encoder/layer_3"
    ConfigOf<Layer> config;  // what it was made of, as the layer around it completed it
    std::int64_t calls = 0;  // 0: never asked, because the layer before it computes it
    std::string input{};     // of the last call, "f32 [64, 256]"
    std::string output{};
    // Of all calls, layers inside included, and of their gradients while a tape records.
    double flops = 0;

    std::string type() const { return std::string(config.key()); }  // "nn/Linear"
  };

  LayerTrace();
  ~LayerTrace();  // the trace before it, if any, is current again
  LayerTrace(const LayerTrace&) = delete;
  LayerTrace& operator=(const LayerTrace&) = delete;

  // In the order they were made, a layer before those inside it.
  const std::vector<Entry>& layers() const;
  void reset_calls();

  // For Scope: makes a layer, wrapped if there is a trace. [run-thread]
  static std::shared_ptr<Layer> make_layer(const ConfigOf<Layer>& config, Scope& scope);

 private:
  class Wrapped;
  struct State;
  std::shared_ptr<State> state_;
  LayerTrace* previous_;
};

}  // namespace trivet
