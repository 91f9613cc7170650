// SPDX-License-Identifier: Apache-2.0
// Encodes TensorBoard's events as protocol buffers. Messages and field numbers:
// tensorboard/compat/proto (event.proto, summary.proto, histogram.proto, tensor.proto) of the
// TensorBoard project.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/layer/summaries.h"
#include "trivet/train/logs.h"

namespace trivet::tensorboard {

// Every event has a time in seconds since 1970 and a global step.
struct Moment {
  double time = 0;
  std::int64_t step = 0;
};

// The first record of every file.
std::string version_event(double time);
// Starts a session: readers drop events of `moment.step` and later from earlier files.
std::string start_event(Moment moment);
// The step of an event with data. Empty for file versions and session starts, which belong to the
// events after them: a session that starts after step 50 has a start of step 51, and may evaluate
// step 50 after that.
std::optional<std::int64_t> step_of_event(std::string_view event);
// Encodes every number as a scalar of its name, in f32 as TensorBoard stores them.
std::string scalars_event(Moment moment, const Logs& logs);
// A histogram with values that are not finite also gets a scalar NAME/not_finite.
std::string summaries_event(Moment moment, const Summaries& summaries);

}  // namespace trivet::tensorboard
