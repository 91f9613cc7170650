// SPDX-License-Identifier: Apache-2.0
#include "rundir/event_log.h"

#include <fcntl.h>

#include <utility>

#include "base/process_info.h"
#include "trivet/config/json.h"

namespace trivet {

EventLog::EventLog(std::filesystem::path path)
    : path_(std::move(path)), file_(open_file(path_, O_RDWR | O_CREAT | O_APPEND)) {
  cut_unfinished_line(file_, path_);
}

void EventLog::write(std::string_view level, std::string_view event, const Value& fields) {
  Value line = Value::table({{"time", unix_time()}, {"level", level}, {"event", event}});
  for (const Value::Member& member : fields.members()) line.set(member.key, member.value);
  append_all(file_, to_json(line) + "\n", path_);
}

}  // namespace trivet
