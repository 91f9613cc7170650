// SPDX-License-Identifier: Apache-2.0
// The data sets of ONNX's backend tests (Debian's libonnx-testdata): every one whose operators have
// a counterpart among trivet's ops, on every backend.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "engine/backends.h"
#include "onnx/operators.h"
#include "support/onnx_model.h"

namespace trivet::test::onnx {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

struct DataSet {
  std::string name;
  Model model;
  std::vector<Array> inputs, outputs;
};

std::vector<Array> arrays(const fs::path& folder, const std::string& kind, std::size_t count) {
  std::vector<Array> all;
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) break;
    std::optional<Array> array = read_array(file);
    if (!array) throw NoCounterpart("a value that is no tensor of numbers");
    all.push_back(std::move(*array));
  }
  return all;
}

std::vector<fs::path> test_folders() {
  std::vector<fs::path> folders;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(kData / group)) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Throws NoCounterpart before anything is computed, where that is known.
DataSet data_set(const fs::path& folder) {
  DataSet set{folder.filename().string(), read_model(folder / "model.onnx"), {}, {}};
  for (const Node& node : set.model.nodes) {
    if (operators().count(node.op) == 0) throw NoCounterpart(node.op);
  }
  set.inputs = arrays(folder / "test_data_set_0", "input", set.model.inputs.size());
  set.outputs = arrays(folder / "test_data_set_0", "output", set.model.outputs.size());
  return set;
}

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

bool close(double got, double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  return got == want || std::abs(got - want) <= 2e-6 + 1e-5 * std::abs(want);
}

// What is wrong with an output; empty when nothing is.
std::string difference(const Tensor& got, const Array& want) {
  if (extents_of(got) != want.dims) return "shape " + got.shape().to_string();
  const bool integers = got.dtype() == DType::i32;
  std::vector<double> values;
  if (integers) {
    for (const std::int32_t value : got.to_host<std::int32_t>()) values.push_back(value);
  } else {
    for (const float value : ops::cast(got, DType::f32).to_host<float>()) {
      values.push_back(static_cast<double>(value));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (close(values[i], want.values[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", not " +
           std::to_string(want.values[i]);
  }
  return "";
}

}  // namespace

TEST_CASE("ONNX's data sets come out right on every backend", "[ops][onnx]") {
  if (!fs::exists(kData)) {
    WARN("left out: " << kData << " is not there (package libonnx-testdata)");
    return;
  }
  std::vector<DataSet> sets;
  for (const fs::path& folder : test_folders()) {
    try {
      sets.push_back(data_set(folder));
    } catch (const NoCounterpart&) {
      continue;
    }
  }
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
    // Of those of 1.12, so that none is left out without a word.
    CHECK(passed >= 714);
  }
}

}  // namespace trivet::test::onnx
