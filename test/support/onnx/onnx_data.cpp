// SPDX-License-Identifier: Apache-2.0
#include "onnx_data.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

namespace trivet::test::onnx {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

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

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    for (const auto& entry : fs::directory_iterator(kData / group)) all.push_back(entry.path());
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool close(double got, double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  return got == want || std::abs(got - want) <= 2e-6 + 1e-5 * std::abs(want);
}

}  // namespace

std::vector<DataSet> data_sets(const std::function<bool(const std::string& op)>& knows) {
  if (!fs::exists(kData)) {
    WARN("left out: " << kData << " is not there (package libonnx-testdata)");
    SUCCEED();
    return {};
  }
  std::vector<DataSet> sets;
  for (const fs::path& folder : folders()) {
    DataSet set{folder.filename().string(), read_model(folder / "model.onnx"), {}, {}};
    const auto& nodes = set.model.nodes;
    if (!std::ranges::all_of(nodes, [&](const Node& node) { return knows(node.op); })) continue;
    try {
      set.inputs = arrays(folder / "test_data_set_0", "input", set.model.inputs.size());
      set.outputs = arrays(folder / "test_data_set_0", "output", set.model.outputs.size());
    } catch (const NoCounterpart&) {
      continue;
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

std::string difference(const std::vector<std::int64_t>& dims, const std::vector<double>& values,
                       const Array& want) {
  if (dims != want.dims) {
    std::string text = "the shape is";
    for (const std::int64_t extent : dims) text += " " + std::to_string(extent);
    return text;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (close(values[i], want.values[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", not " +
           std::to_string(want.values[i]);
  }
  return "";
}

}  // namespace trivet::test::onnx
