// SPDX-License-Identifier: Apache-2.0
// The base of Regression and Classification. Learns an encoding from the training rows before the
// model is built, stores it in the run's directory, passes it to every input and sets the model's
// sizes.
//
// The encoding comes from the first of: table.json of the run that a continuous evaluation follows,
// table.json of the run's own directory, config.encoding, the rows of train_input. A resumed run
// checks that the training rows have not changed.
#pragma once

#include <filesystem>
#include <memory>

#include "config.h"
#include "encoding.h"
#include "fit.h"
#include "trivet/extensions/table.h"
#include "trivet/task.h"

namespace trivet::tabular {

// The encoding's file in a run's directory.
inline constexpr const char* kEncodingFile = "table.json";

class TabularTask : public Task {
 public:
  std::unique_ptr<Model> build_model(const ConfigOf<Model>& config, Scope& scope) override;
  std::unique_ptr<Input> build_inputs(const ConfigOf<Input>& config,
                                      InputContext& context) override;

 protected:
  TabularTask(const TabularConfig& config, Target target, TaskContext& context);

  // Loads or learns it at the first call.
  const Encoding& encoding();
  virtual std::int64_t output_dims() = 0;

 private:
  std::shared_ptr<const Encoding> found_encoding();
  std::shared_ptr<const Encoding> loaded(const std::filesystem::path& file) const;
  void check_training(TableInput& table);
  void keep(std::shared_ptr<const Encoding> encoding);
  std::filesystem::path own_file() const;       // empty for a run without a directory
  std::filesystem::path followed_file() const;  // empty except for a continuous evaluation
  ConfigOf<Model> sized(const ConfigOf<Model>& model);

  TabularConfig tabular_;
  Target target_;
  std::shared_ptr<const Encoding> encoding_;
  std::unique_ptr<Input> fitted_;  // the training input, kept from the encoding to build_inputs
};

}  // namespace trivet::tabular
