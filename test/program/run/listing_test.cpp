// SPDX-License-Identifier: Apache-2.0
// trivet ls, status, top and index, over experiments with handwritten files: their output, and that
// damaged files do not hide others.
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "run_fixture.h"
#include "support/experiment_files.h"

namespace listing_test {

using namespace trivet::test;
using Catch::Contains;
using Catch::StartsWith;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Experiment 3 with three units: two are done, the third has not started.
struct Listed {
  Listed() {
    files.add(3, 3);
    for (const std::int64_t wid : {1, 2}) {
      files.add_event(3, wid, "completed");
      files.add_run(3, wid, wid == 1 ? 0.5 : 0.75);
    }
  }
  ShellResult trivet(const std::string& words) const {
    return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(files.root().string()) +
                                           " XDG_RUNTIME_DIR=" + quoted(folder.path().string()) +
                                           " ");
  }
  std::string shown(const std::string& words) const {
    const ShellResult result = trivet(words);
    INFO(result.output);
    CHECK(result.exit_code == 0);
    return result.output;
  }
  Json json(const std::string& words) const { return Json::parse(shown(words + " --json")); }

  TempDir folder;
  ExperimentFiles files{folder / "root"};
};

// The first cells of the rows, in order.
std::vector<std::string> names_in(const std::string& table) {
  std::vector<std::string> names;
  for (std::size_t at = table.find('\n'); at + 1 < table.size(); at = table.find('\n', at + 1)) {
    names.push_back(table.substr(at + 1, table.find(' ', at) - at - 1));
  }
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the step of a killed run is that of its last record") {
  const TempDir temp;
  temp.write("runs/killed/status.json",
             R"({"state":"running","step":0,"target":100,"mode":"train","attempt":1,"time":1.0,)"
             R"("started":1.0,"pid":4194304,"host":"elsewhere","boot_id":"x","message":""})");
  temp.write("runs/killed/metrics.jsonl",
             R"({"step":40,"kind":"train","values":{"training_loss":1.0},"rates":{},"time":1.0})"
             "\n");
  const ShellResult result = trivet::test::trivet("ls --json " + quoted((temp / "runs").string()));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const Json rows = Json::parse(result.output);
  REQUIRE(rows.size() == 1);
  CHECK(rows.at(0).at("step") == 40);
  CHECK(rows.at(0).at("target") == 100);
}

TEST_CASE("trivet ls shows work units with their sweep and best values") {
  const Listed at;
  const std::string table = at.shown("ls");
  CHECK_THAT(table, StartsWith("RUN  STATE       STEP"));
  CHECK_THAT(table, Contains("n    lr  best accuracy  best validation_loss\n"));
  CHECK_THAT(table, Contains("3/2  completed  40/40") &&
                        Contains("2  0.02         0.7500                1.0000\n"));
  CHECK_THAT(table, Contains("3/3  pending        -"));
  CHECK(names_in(table) == Names{"3/1", "3/2", "3/3"});
  CHECK(at.shown("ls 3") == table);
  CHECK(at.shown("ls @last") == table);
  CHECK(at.shown("ls " + quoted(at.files.directory(3).string())) == table);
  CHECK_THAT(at.shown("ls -m accuracy -b validation_loss:max"),
             Contains("0.3750                2.0000\n"));
  CHECK_THAT(at.trivet("ls 4").output, Contains("experiment '4' does not exist"));
}

TEST_CASE("trivet ls sorts and selects rows") {
  const Listed at;
  CHECK(names_in(at.shown("ls --sort accuracy -r")) == Names{"3/2", "3/1", "3/3"});
  CHECK(names_in(at.shown("ls --sort 'best accuracy'")) == Names{"3/1", "3/2", "3/3"});
  CHECK(names_in(at.shown("ls --sort n --reverse")) == Names{"3/3", "3/2", "3/1"});
  CHECK(names_in(at.shown("ls --sort state -r")) == Names{"3/3", "3/1", "3/2"});
  CHECK(names_in(at.shown("ls --state completed")) == Names{"3/1", "3/2"});
  CHECK(names_in(at.shown("ls --state pending --state failed")) == Names{"3/3"});
  const ShellResult wrong = at.trivet("ls --sort accuracie");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("unknown column 'accuracie'") && Contains("accuracy"));
}

TEST_CASE("runs that were not launched are listed with work units") {
  const Listed at;
  at.files.add(4, 1);
  fs::create_directories(at.files.root() / "1-alone");
  for (const char* name : {"status.json", "metrics.jsonl"}) {
    fs::copy_file(at.files.unit(3, 2) / name, at.files.root() / "1-alone" / name);
  }
  const std::string table = at.shown("ls");
  CHECK(names_in(table) == Names{"1-alone", "3/1", "3/2", "3/3", "4/1"});
  CHECK_THAT(table, Contains("1-alone  done") && Contains("0.7500"));
  const Json rows = at.json("ls");
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].at("xid").is_null());
  CHECK(rows[0].at("best").at("accuracy").at("high") == 0.75);
  CHECK(rows[2].at("xid") == 3);
  CHECK(rows[2].at("wid") == 2);
  CHECK(rows[2].at("sweep") == Json{{"n", 2}, {"lr", 0.02}});
  CHECK(rows[2].at("state") == "completed");
  CHECK(rows[2].at("run_state") == "done");
  CHECK(rows[2].at("eval").at("values").at("accuracy") == 0.375);
  CHECK(rows[2].at("train").at("rates").at("steps_per_second") == 50);
  CHECK(rows[2].at("best").at("accuracy") ==
        Json{{"low", 0.375}, {"low_step", 40}, {"high", 0.75}, {"high_step", 20}});
  CHECK(rows[3].at("step").is_null());
  CHECK(rows[3].at("eval").is_null());
}

TEST_CASE("the index can be rebuilt, damaged and removed") {
  const Listed at;
  const std::string before = at.shown("ls --json --sort run");
  CHECK(at.shown("index rebuild") == "1 experiment, 3 work units\n");
  const fs::path index = at.files.root() / ".trivet/index.sqlite";
  REQUIRE(fs::exists(index));
  fs::resize_file(index, 5000);
  CHECK(at.shown("status 3") == at.shown("status 3"));
  CHECK(names_in(at.shown("ls")) == Names{"3/1", "3/2", "3/3"});
  fs::remove(index);
  CHECK(Json::parse(before).size() == at.json("ls").size());
  CHECK(at.trivet("index").exit_code == 2);
  CHECK(at.trivet("index rebuilt").exit_code == 2);
  fs::remove(index);
  fs::create_directory(index);
  CHECK(names_in(at.shown("ls")).size() == 3);
  const ShellResult refused = at.trivet("index rebuild");
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.output, Contains("cannot be written"));
}

TEST_CASE("a damaged experiment is shown as such and does not hide others", "[slow]") {
  const Listed at;
  at.files.add(4, 2);
  at.files.add_event(4, 1, "running");
  const fs::path location = at.files.directory(4);
  fs::create_directories(at.files.attempt(4, 1));
  const auto replace = [&](const std::string& name, const std::string& text) {
    fs::remove_all(location / name);
    append(location / name, text);
  };
  const auto [file, damage] = GENERATE(table<std::string, std::string>({
      {"experiment.json", "truncated"},
      {"experiment.json", "empty"},
      {"experiment.json", "not UTF-8"},
      {"experiment.json", "huge"},
      {"experiment.json", "missing"},
      {"experiment.json", "a directory"},
      {"experiment.json", "a FIFO"},
      {"units.jsonl", "truncated"},
      {"units.jsonl", "empty"},
      {"units.jsonl", "not UTF-8"},
      {"units.jsonl", "huge"},
      {"units.jsonl", "missing"},
      {"units.jsonl", "a directory"},
      {"units.jsonl", "a FIFO"},
      {"events.jsonl", "not UTF-8"},
      {"events.jsonl", "a directory"},
      {"4/1/jobs/main/1/started.json", "truncated"},
      {"4/1/jobs/main/1/started.json", "not UTF-8"},
      {"4/1/jobs/main/1/started.json", "huge"},
      {"4/1/jobs/main/1/exit.json", "empty"},
      {"4/1/jobs/main/1/exit.json", "a directory"},
  }));
  const std::string name = file.starts_with("4/") ? file.substr(2) : file;
  INFO(name << " " << damage);
  if (damage == "truncated") {
    const std::string text =
        fs::exists(location / name) ? read_file(location / name) : std::string("{\"pid\": 12345}");
    replace(name, text.substr(0, text.size() / 2) + (name == "units.jsonl" ? "}\n" : ""));
  } else if (damage == "empty") {
    replace(name, "");
  } else if (damage == "not UTF-8") {
    replace(name, "{\"xid\": 4, \"name\": \"\xff\xfe\"}\n");
  } else if (damage == "huge") {
    replace(name, "{\"xid\": 4");
    fs::resize_file(location / name, std::uint64_t{5} << 30);  // takes no place on the disk
  } else if (damage == "missing") {
    fs::remove(location / name);
  } else if (damage == "a directory") {
    fs::remove_all(location / name);
    fs::create_directories(location / name);
  } else {
    fs::remove(location / name);
    REQUIRE(::mkfifo((location / name).c_str(), 0600) == 0);
  }
  const std::string all = at.shown("status");
  CHECK_THAT(all, Contains("made-3") && Contains("2 completed"));
  // Without that file a launch is incomplete.
  const bool unfinished =
      name == "experiment.json" && !fs::is_regular_file(location / "experiment.json");
  const ShellResult one = at.trivet("status 4");
  CHECK(one.exit_code == (unfinished ? 2 : 0));
  CHECK_THAT(name == "experiment.json" || name.ends_with(".jsonl") ? all : one.output,
             Contains((location / name).string()));
  CHECK_THAT(at.shown("ls"), Contains("3/1  completed") && Contains("3/3  pending"));
  CHECK_THAT(at.shown("top"), Contains("running in"));
  const Json rows = at.json("status");
  REQUIRE(rows.size() == (unfinished ? 1 : 2));
  CHECK(rows.back().at("xid") == (unfinished ? 3 : 4));
  CHECK(rows[0].at("problems").empty());
}

TEST_CASE("experiments in a read-only directory are listed") {
  const Listed at;
  const std::string table = at.shown("ls");
  const fs::path root = at.files.root();
  // Only if mounting is allowed; otherwise uses file modes, which root ignores.
  const bool bound = ::mount(root.c_str(), root.c_str(), nullptr, MS_BIND, nullptr) == 0;
  const bool mounted = bound && ::mount(nullptr, root.c_str(), nullptr,
                                        MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  if (!mounted) {
    fs::permissions(root / ".trivet", fs::perms::owner_write, fs::perm_options::remove);
    fs::permissions(at.files.directory(3), fs::perms::owner_write, fs::perm_options::remove);
  }
  const ShellResult listed = at.trivet("ls"), status = at.trivet("status 3"),
                    top = at.trivet("top"), rebuilt = at.trivet("index rebuild");
  if (bound) ::umount2(root.c_str(), MNT_DETACH);
  if (!mounted) {
    fs::permissions(root / ".trivet", fs::perms::owner_write, fs::perm_options::add);
    fs::permissions(at.files.directory(3), fs::perms::owner_write, fs::perm_options::add);
  }
  CHECK(listed.output == table);
  CHECK_THAT(status.output, Contains("2 completed"));
  CHECK(status.exit_code == 0);
  CHECK(top.exit_code == 0);
  if (mounted) CHECK(rebuilt.exit_code == 1);
}

TEST_CASE("an entry of the store that leaves the root is not an experiment") {
  const Listed at;
  append(at.folder / "elsewhere", "");
  fs::create_directories(at.folder / "out");
  fs::copy(at.files.directory(3), at.folder / "out");
  for (const auto& [number, text] :
       std::vector<std::pair<std::string, std::string>>{{"7", "../out"},
                                                        {"8", (at.folder / "out").string()},
                                                        {"9", "3/../../out"},
                                                        {"10", ""}}) {
    append(at.files.root() / ".trivet/experiments" / number, text + "\n");
  }
  CHECK(at.json("status").size() == 1);
  CHECK(names_in(at.shown("ls")).size() == 3);
  CHECK(at.trivet("status 7").exit_code == 2);
}

TEST_CASE("no listing prints control characters of experiments") {
  const Listed at;
  const fs::path facts = at.files.directory(3) / "experiment.json";
  fs::remove(facts);
  append(
      facts,
      R"({"xid": 3, "name": "\u001b[2Jx\nlong", "author": "\u009b31m", "note": "\u001b]0;title\u0007"})");
  append(at.files.directory(3) / "units.jsonl",
         R"({"wid":4,"identity":"x","directory":"/\u001b[31m","sweep":{"\u001b[1m":"\u001b[5m"},)"
         R"("shown":{},"jobs":[]})"
         "\n");
  append(at.files.directory(3) / "events.jsonl",
         R"({"wid":3,"job":"main","state":"failed","attempt":1,"failures":1,"exit_code":1,)"
         R"("signal":0,"time":1,"started":1,"host":"\u001b[7m","detail":"\u001b[31mred"})"
         "\n");
  for (const char* words : {"ls", "status", "status 3", "show 3", "top"}) {
    const std::string output = at.shown(words);
    INFO(words);
    CHECK(output.find('\x1b') == std::string::npos);
    CHECK(output.find("\xc2\x9b") == std::string::npos);
    CHECK(output.find('\a') == std::string::npos);
  }
  CHECK_THAT(at.shown("status 3"), Contains(" [31mred"));
}

}  // namespace listing_test
