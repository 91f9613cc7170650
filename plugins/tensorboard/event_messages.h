// SPDX-License-Identifier: Apache-2.0
// TensorBoard's events as protocol buffers. Messages and field numbers: tensorboard/compat/proto
// (event.proto, summary.proto, histogram.proto, tensor.proto) of the TensorBoard project.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/layer/summaries.h"
#include "trivet/train/logs.h"

namespace trivet::tensorboard {

// Seconds since 1970 and the global step, which every event has.
struct Moment {
  double time = 0;
  std::int64_t step = 0;
};

// The first record of every file.
std::string version_event(double time);
// A session starts: readers drop what files before this one hold of `moment.step` and later.
std::string start_event(Moment moment);
// The step of an event that shows something; nothing for the version of a file and the start of a
// session, which are there for the events behind them: a session that starts after step 50 has a
// start of step 51, and may evaluate step 50 behind it.
std::optional<std::int64_t> step_of_event(std::string_view event);
// Every number as a scalar of its name, in f32 as TensorBoard has them.
std::string scalars_event(Moment moment, const Logs& logs);
// Histograms that met values which are not finite get a scalar NAME/not_finite beside them.
std::string summaries_event(Moment moment, const Summaries& summaries);

}  // namespace trivet::tensorboard
