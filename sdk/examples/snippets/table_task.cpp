// SPDX-License-Identifier: Apache-2.0
// What trivet/extensions/table.h shows: a task that looks at all rows of a table and encodes them.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/error.h>
#include <trivet/extensions/table.h>
#include <trivet/task.h>

#include "fixtures.h"

namespace table_task_example {

using namespace trivet;

namespace {

// The first column, less its mean, as "x".
class CenteredEncoder final : public RowEncoder {
 public:
  explicit CenteredEncoder(double mean) : mean_(mean) {}
  const std::vector<Array>& arrays() const override { return arrays_; }
  void encode(const TableRow& row, std::span<float> floats,
              std::span<std::int32_t>) const override {
    floats[0] = static_cast<float>(row.number_in(0).value_or(mean_) - mean_);
  }

 private:
  double mean_;
  std::vector<Array> arrays_ = {{.name = "x", .dtype = DType::f32}};
};

class TableTask final : public Task {
 public:
  explicit TableTask(TaskContext& context) : Task({}, context) {}

  // [build_inputs]
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override {
    std::unique_ptr<Input> input = make(config, context);
    TableInput* table = table_of(*input);  // null: an input of another kind
    if (table == nullptr) throw Error(context.name + " has no rows and columns");
    double sum = 0;
    table->scan([&](const TableRow& row) { sum += row.number_in(0).value_or(0); });
    table->set_encoder(std::make_shared<CenteredEncoder>(sum / table->rows()));
    return input;
  }
  // [/build_inputs]

  WeightedScalar build_losses(const Batch&, const NestedMap&, const FpropContext&) override {
    return {};
  }
};

}  // namespace

TEST_CASE("example: a task looks at the rows of its input and sets the encoder") {
  snippets::use_plugin("data");
  const auto device = snippets::open_device();
  const snippets::Folder folder;
  TaskContext task_context{.device = *device, .logging_dir = {}};
  TableTask task(task_context);
  InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
  const ConfigOf<Input> csv(
      "data/Csv",
      Value::table({{"file", folder.write("a.csv", "n\n1\n3\n5\n")}, {"batch_size", 3}}));
  const auto batch = task.build_inputs(csv, context)->get_next();
  REQUIRE(batch.has_value());
  CHECK(batch->at("x").to_host<float>() == std::vector<float>{-2, 0, 2});
  const ConfigOf<Input> images(
      "data/Synthetic",
      Value::table({{"image_shape", Value::array({2, 2, 1})}, {"batch_size", 3}}));
  CHECK_THROWS_WITH(task.build_inputs(images, context),
                    Catch::Contains("task.eval_input has no rows and columns"));
}

}  // namespace table_task_example
