// SPDX-License-Identifier: Apache-2.0
// Ignores all events of a controller. Derive from it to record events in a test.
#pragma once

#include <filesystem>
#include <string>

#include "train/controller.h"

namespace trivet::test {

class SilentEvents : public ControllerEvents {
 public:
  void on_start(std::int64_t, const std::filesystem::path&) override {}
  void on_left_unsaved(std::int64_t, const std::string&) override {}
  bool is_evaluated(std::int64_t) const override { return false; }
  void on_train_begin(std::int64_t) override {}
  void on_train_end(std::int64_t) override {}
  void on_train_logs(std::int64_t, const Logs&) override {}
  void on_eval_begin(std::int64_t) override {}
  void on_eval_logs(std::int64_t, const Logs&) override {}
  void on_eval_done(std::int64_t, const Logs&) override {}
  void on_save_begin(std::int64_t) override {}
  void on_save_goes_on(std::int64_t) override {}
  void on_saved(const SavedCheckpoint&) override {}
  void on_best(const BestCheckpoints::Entry&, const std::filesystem::path&) override {}
  void add_state(CheckpointWriter&) override {}
  void on_end_of_data(std::int64_t) override {}
  bool must_stop() const override { return false; }
};

}  // namespace trivet::test
