// SPDX-License-Identifier: Apache-2.0
// Runs of the real program in a separate folder, for end-to-end tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/shell.h"

namespace trivet::test {

// A file below configs/.
std::filesystem::path config(std::string_view name);

// Overrides that make configs/vision/local.toml fast, with a blank at the end.
inline constexpr const char* kSmallRun =
    "task.model.hidden_dims=[16] task.train_input.batch_size=32 task.eval_input.examples=64 "
    "runtime.threads=1 ";

// Runs `trivet WORDS` with only the built plugins, without the user's settings, and with `settings`
// in the environment, such as SlowDisk::prefix().
ShellResult trivet(const std::string& words, const std::string& settings = {});

// `trivet run CONFIG --workdir WORKDIR MORE`.
ShellResult run(const std::filesystem::path& config, const std::filesystem::path& workdir,
                const std::string& more = {}, const std::string& settings = {});

nlohmann::json json_of(const std::filesystem::path& file);

// The lines of metrics.jsonl of one kind, "train" or "eval".
std::vector<nlohmann::json> records(const std::filesystem::path& workdir, std::string_view kind);

// Overrides that make one step from `first` on a bad one that the run recovers from: the bound is
// between the two largest losses in `workdir`, where the same run without the bound wrote those of
// every step. Later data may cause more bad steps.
std::string one_bad_step(const std::filesystem::path& workdir, std::int64_t first);

// The names of the kernels in summary.json for which the SDK fell back to others.
std::vector<std::string> fallback_kernels(const std::filesystem::path& workdir);

}  // namespace trivet::test
