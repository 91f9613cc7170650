// SPDX-License-Identifier: Apache-2.0
// The data sets of ONNX's backend tests (Debian's libonnx-testdata): every one whose operators have
// a counterpart among the layers of plugin nn or the optimizers of plugin optim, on every backend.
#include "onnx_layers.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "onnx_optimizers.h"
#include "support/plugins.h"

namespace trivet::test::onnx {
namespace {

// Keyed by output name; outputs that no layer computes are missing.
std::map<std::string, Array> run_layers(const DataSet& set, const std::string& backend) {
  std::map<std::string, Array> values;
  for (const Array& array : set.model.initializers) values[array.name] = array;
  for (std::size_t i = 0; i < set.inputs.size(); ++i) values[set.model.inputs[i]] = set.inputs[i];
  for (const Node& node : set.model.nodes) {
    LayerCall call{node, {}, backend, set.model.opset};
    for (const std::string& input : node.inputs) {
      call.inputs.push_back(input.empty() ? nullptr : &values.at(input));
    }
    Arrays out = layer_operators().at(node.op)(call);
    for (std::size_t i = 0; i < std::min(out.size(), node.outputs.size()); ++i) {
      values[node.outputs[i]] = std::move(out[i]);
    }
  }
  return values;
}

using Run = std::function<std::map<std::string, Array>(const DataSet&, const std::string&)>;

// Data sets with a counterpart must match, and at least `wanted` sets must have one.
void check_sets(const std::vector<DataSet>& sets, const Run& run, std::size_t wanted) {
  if (sets.empty()) return;
  for (const std::string& backend : backends()) {
    std::size_t passed = 0;
    for (const DataSet& set : sets) {
      INFO(set.name << " on " << backend);
      try {
        const auto got = run(set, backend);
        std::string wrong;
        for (std::size_t i = 0; i < set.outputs.size() && wrong.empty(); ++i) {
          const auto found = got.find(set.model.outputs[i]);
          if (found == got.end() && i > 0) continue;
          REQUIRE(found != got.end());
          wrong = difference(found->second.dims, found->second.values, set.outputs[i]);
        }
        CHECK(wrong == "");
        passed += wrong.empty() ? 1 : 0;
      } catch (const NoCounterpart&) {
        continue;
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
    INFO(backend);
    CHECK(passed >= wanted);
  }
}

}  // namespace

// The counts are those of 1.12, so that no set is skipped silently.
TEST_CASE("ONNX's data sets come out right through layers", "[nn][onnx]") {
  const auto knows = [](const std::string& op) { return layer_operators().contains(op); };
  check_sets(data_sets(knows), run_layers, 113);
}

TEST_CASE("ONNX's data sets come out right through optimizers", "[optim][onnx]") {
  check_sets(data_sets(is_optimizer), run_optimizer, 7);
}

}  // namespace trivet::test::onnx
