// SPDX-License-Identifier: Apache-2.0
#include "experiment_files.h"

#include <fstream>
#include <stdexcept>

#include "launch/store/disk_records.h"
#include "trivet/config/enums.h"
#include "trivet/config/json.h"
#include "trivet/launch/job.h"

namespace trivet::test {
namespace {

namespace fs = std::filesystem;

constexpr double kLaunched = 1e9;  // in 2001

std::string record(int step, const std::string& kind, const std::string& values) {
  return "{\"step\":" + std::to_string(step) + ",\"kind\":\"" + kind + "\",\"values\":{" + values +
         "},\"rates\":{\"steps_per_second\":50.0,\"examples_per_second\":1600.0},\"time\":1.0}\n";
}

}  // namespace

void append(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

void ExperimentFiles::add(std::int64_t xid, std::int64_t units) const {
  fs::create_directories(root_ / ".trivet/experiments");
  append(root_ / ".trivet/experiments" / std::to_string(xid), std::to_string(xid) + "\n");
  fs::create_directories(directory(xid));
  const std::string name = "made-" + std::to_string(xid);
  append(directory(xid) / "experiment.json", to_json(Value::table({{"xid", xid},
                                                                   {"name", name},
                                                                   {"author", "ada"},
                                                                   {"note", ""},
                                                                   {"launched", kLaunched}})));
  append(directory(xid) / "events.jsonl", "");
  add_units(xid, 1, units);
}

void ExperimentFiles::add_units(std::int64_t xid, std::int64_t first, std::int64_t last) const {
  std::string lines;
  for (std::int64_t wid = first; wid <= last; ++wid) {
    launch::WorkUnit made;
    made.wid = wid;
    made.identity = std::to_string(wid);
    made.directory = unit(xid, wid);
    made.sweep.args = {{"n", Value(wid)}, {"lr", Value(static_cast<double>(wid) / 100)}};
    launch::Job job;
    job.name = "main";
    job.argv = {"/bin/sh", "-c", "echo $0", "--n=" + std::to_string(wid)};
    job.working_directory = root_;
    job.directory = made.directory / "jobs/main";
    made.jobs = {job};
    lines += to_json(launch::to_value(made)) + "\n";
    fs::create_directories(made.directory);
  }
  append(directory(xid) / "units.jsonl", lines);
}

void ExperimentFiles::add_event(std::int64_t xid, std::int64_t wid,
                                const std::string& state) const {
  launch::JobEvent event{wid, "main", {}};
  event.status.state = enum_from_name<launch::JobState>(state).value();
  event.status.attempt = 1;
  event.status.time = event.status.started = kLaunched + static_cast<double>(wid);
  if (state == "completed") event.status.exit_code = 0;
  append(directory(xid) / "events.jsonl", to_json(to_value(event)) + "\n");
}

void ExperimentFiles::add_run(std::int64_t xid, std::int64_t wid, double best) const {
  std::string lines;
  for (int step = 10; step <= 40; step += 10) {
    lines += record(step, "train", "\"training_loss\":" + std::to_string(1.0 / step));
    if (step % 20 != 0) continue;
    const std::string accuracy = std::to_string(step == 20 ? best : best / 2);
    lines +=
        record(step, "eval",
               "\"accuracy\":" + accuracy + ",\"validation_loss\":" + (step == 20 ? "1.0" : "2.0"));
  }
  append(unit(xid, wid) / "metrics.jsonl", lines);
  append(unit(xid, wid) / "status.json",
         "{\"state\":\"done\",\"step\":40,\"target\":40,\"mode\":\"train_and_eval\","
         "\"attempt\":1,\"time\":1000000000.0,\"started\":999999990.0,\"pid\":1,"
         "\"host\":\"elsewhere\",\"boot_id\":\"x\",\"message\":\"\"}");
}

}  // namespace trivet::test
