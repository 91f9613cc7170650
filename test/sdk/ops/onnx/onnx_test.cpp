// SPDX-License-Identifier: Apache-2.0
// The data sets of ONNX's backend tests (Debian's libonnx-testdata): every one whose operators have
// a counterpart among trivet's ops, on every backend.
#include <algorithm>

#include <catch2/catch.hpp>

#include "sdk/backend/backends.h"
#include "sdk/ops/onnx/operators.h"
#include "support/onnx/onnx_data.h"

namespace trivet::test::onnx {
namespace {

std::vector<Tensor> run(const DataSet& set, Device& device) {
  std::map<std::string, Tensor> values;
  for (const Array& array : set.model.initializers) values[array.name] = to_device(device, array);
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    values[set.model.inputs[i]] = to_device(device, set.inputs[i]);
  }
  for (const Node& node : set.model.nodes) {
    Call call{node, {}, device, set.model.opset};
    for (const std::string& input : node.inputs) {
      call.inputs.push_back(input.empty() ? Tensor() : values.at(input));
    }
    const Outputs out = operators().at(node.op)(call);
    for (std::size_t i = 0; i < std::min(out.size(), node.outputs.size()); ++i) {
      values[node.outputs[i]] = out[i];
    }
  }
  std::vector<Tensor> out;
  for (const std::string& output : set.model.outputs) out.push_back(values.at(output));
  return out;
}

// The error of an output; empty if it matches.
std::string difference(const Tensor& got, const Array& want) {
  std::vector<double> values;
  if (got.dtype() == DType::i32) {
    for (const std::int32_t value : got.to_host<std::int32_t>()) values.push_back(value);
  } else {
    for (const float value : ops::cast(got, DType::f32).to_host<float>()) {
      values.push_back(static_cast<double>(value));
    }
  }
  return difference(extents_of(got), values, want);
}

}  // namespace

TEST_CASE("ONNX's data sets come out right on every backend", "[slow][ops][onnx]") {
  const auto sets = data_sets([](const std::string& op) { return operators().contains(op); });
  if (sets.empty()) return;
  for (const NamedBackend& backend : named_backends()) {
    const auto device = open(backend);
    std::size_t passed = 0;
    for (const DataSet& set : sets) {
      INFO(set.name << " on " << backend.name);
      try {
        const std::vector<Tensor> got = run(set, *device);
        std::string wrong;
        for (std::size_t i = 0; i < set.outputs.size() && wrong.empty(); ++i) {
          wrong = difference(got[i], set.outputs[i]);
        }
        CHECK(wrong == "");
        passed += wrong.empty() ? 1 : 0;
      } catch (const NoCounterpart&) {
        continue;
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what());
      }
    }
    INFO(backend.name);
    // The count for 1.12, so that no set is skipped silently.
    CHECK(passed >= 714);
  }
}

}  // namespace trivet::test::onnx
