// SPDX-License-Identifier: Apache-2.0
// Errors in the location and the records of experiments: unusual, long and dangerous names, a full
// disk, damaged records, too many units; and file permissions.
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "launched_experiments.h"
#include "support/disk/slow_disk.h"
#include "support/paths.h"

namespace launch_faults_test {

using namespace trivet::test;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kLocal = "[xp.orchestrator]\ntype = 'local/Orchestrator'\ncores = 2\n";

// Launches the config in `text`, below the root.
ShellResult launch_text(const Experiments& at, const std::string& text,
                        const std::string& more = {}) {
  const fs::path file = at.folder.write("given.toml", text);
  return at.trivet("launch --xp=" + quoted(file.string()) +
                   " --xp.root_dir=" + quoted(at.root.string()) + " " + more);
}

ShellResult launch_echo(const Experiments& at, const std::string& more) {
  return launch_text(at, std::string("[xp.jobs.main]\ntarget = '/bin/echo'\n") + kLocal, more);
}

// The output of a rejected launch: exit code 2, nothing created.
std::string refusal(const Experiments& at, const ShellResult& result) {
  INFO(result.output);
  CHECK(result.exit_code == 2);
  CHECK_FALSE(fs::exists(at.root / "1"));
  return result.output;
}

void append(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::app | std::ios::binary) << text;
}

bool is_private(const fs::path& path) {
  constexpr auto kOthers = fs::perms::group_all | fs::perms::others_all;
  return (fs::symlink_status(path).permissions() & kOthers) == fs::perms::none;
}

// No control character, in UTF-8 or not.
bool is_harmless(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return false;
    const bool is_c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_c1) return false;
  }
  return true;
}

void stop_supervisor(const Experiments& at) {
  at.kill_supervisor();
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
}

}  // namespace

TEST_CASE("a root directory may have blanks, quotes and letters of all kinds in its name") {
  Experiments at;
  at.root = at.folder / "my \"root\" $HOME * äö";
  REQUIRE(at.launch("echo here > $0/file", 2).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(read_file(at.unit_file(2, "file")) == "here\n");
  CHECK_THAT(at.trivet("status").output, Contains("2 completed"));
}

TEST_CASE("paths may be as long as the system allows, but not longer") {
  Experiments at;
  const fs::path folder = at.folder.path();
  // A path of `bytes` bytes; each part has at most 200.
  const auto root_of = [&](std::size_t bytes) {
    fs::path root = folder;
    while (root.native().size() + 202 < bytes) root /= std::string(200, 'd');
    return root / std::string(bytes - root.native().size() - 1, 'e');
  };
  at.root = root_of(3800);
  const ShellResult launched = launch_echo(at, "--xp.args='[\"long\"]'");
  INFO(launched.output);
  REQUIRE(launched.exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1").output == "long\n");

  at.root = root_of(4090);
  CHECK_THAT(refusal(at, launch_echo(at, "")), Contains("is too long: 4092 bytes"));
  at.root = folder / "other";
  CHECK_THAT(refusal(at, launch_echo(at, "--xp.subdir_format.wu_dirname='{wid}-{name}' --xp.name=" +
                                             std::string(254, 'n'))),
             Contains("is too long") && Contains("the limit is 255 bytes for a name"));
  CHECK_THAT(refusal(at, launch_echo(at, "--xp.jobs." + std::string(101, 'j') + ".target=ls")),
             Contains("is no name for a job"));
}

TEST_CASE("names cannot leave the root directory") {
  const Experiments at;
  const fs::path outside = at.folder / "outside";
  fs::create_directories(outside);
  fs::create_directories(at.root);
  fs::create_directory_symlink(outside, at.root / "link");
  const auto said = [&](const std::string& more) { return refusal(at, launch_echo(at, more)); };
  CHECK_THAT(said("--xp.subdir_format.xp_dirname='link/{xid}'"), Contains("by a symbolic link"));
  CHECK_THAT(said("--xp.subdir_format.xp_dirname=link"), Contains("by a symbolic link"));
  CHECK_THAT(said("--xp.subdir_format.xp_dirname='{xid}-{name}' --xp.name=/../../../outside/x"),
             Contains("is not a directory below"));
  CHECK_THAT(said("--xp.subdir_format.wu_dirname='{wid}/../../../outside'"),
             Contains("is not a directory below"));
  for (const char* job : {"..", "a/b", ".hidden", "a b"}) {
    CHECK_THAT(said(std::string("'--xp.jobs.\"") + job + "\".target=ls'"),
               Contains("is no name for a job"));
  }
  CHECK(fs::is_empty(outside));
  // The same for ids and for entries of the index that a user changed.
  REQUIRE(launch_echo(at, "").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  fs::copy(at.root / "1", outside / "1", fs::copy_options::recursive);
  for (const char* entry : {"../outside/1", "/etc", "..", "", "."}) {
    INFO(entry);
    std::ofstream(at.root / ".trivet/experiments/2") << entry << "\n";
    CHECK_THAT(at.trivet("status 2").output, Contains("experiment '2' does not exist"));
  }
  for (const char* id : {"../outside", "1/../../x", "1/1/../../x", "1/0", "1/-1", "''"}) {
    INFO(id);
    CHECK(at.trivet(std::string("cancel ") + id).exit_code == 2);
    CHECK(at.trivet(std::string("logs ") + id).exit_code == 2);
  }
}

TEST_CASE("more units than fit into memory are rejected in every notation") {
  const Experiments at;
  const std::string sweeps = "--xp.sweep_info=sweeps/ConfigSweep --sweep ";
  for (const char* sweep :
       {"'n=range(0, 1000000)'", "'n=range(0, 100001)'",
        "'a=range(0, 1000)' --sweep 'b=range(0, 1000)'",
        "'a=range(0, 100)' --sweep 'b=range(0, 100)' --sweep 'c=range(0, 11)'"}) {
    INFO(sweep);
    CHECK_THAT(refusal(at, launch_echo(at, sweeps + sweep)),
               Contains("more than 100,000 work units"));
  }
  CHECK_THAT(refusal(at, launch_echo(at, sweeps + "'n=range(0, 1e9)'")),
             Contains("more than 1,000,000 values"));
}

TEST_CASE("an empty sweep and cyclic dependencies of jobs are rejected") {
  const Experiments at;
  CHECK_THAT(
      refusal(at, launch_echo(at, "--xp.sweep_info=sweeps/ConfigSweep --sweep 'n=range(0, 0)'")),
      Contains("has no items"));
  const std::string three =
      "[xp]\ntarget = '/bin/true'\n[xp.jobs.a]\nafter = ['c']\n[xp.jobs.b]\nafter = ['a']\n"
      "[xp.jobs.c]\nafter = ['afterany:b']\n";
  CHECK_THAT(refusal(at, launch_text(at, three)),
             Contains("wait for each other: a -> c -> b -> a"));
}

TEST_CASE("two jobs that each need the whole machine run in sequence") {
  const Experiments at;
  const std::string both = std::string(kLocal) +
                           "[xp]\ntarget = '/bin/sh'\ncores = 2\n"
                           "args = ['-c', 'mkdir $0/busy && echo one >> $0/log && rmdir $0/busy', "
                           "'{wu_dir}']\n[xp.jobs.a]\n[xp.jobs.b]\n";
  CHECK_THAT(refusal(at, launch_text(at, both)), Contains("start together and need 4 cores"));
  REQUIRE(launch_text(at, both + "after = ['a']\n").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(read_file(at.unit_file(1, "log")) == "one\none\n");
}

TEST_CASE("programs that cannot be started are found before anything is created") {
  const Experiments at;
  at.folder.write("no_program", "text");
  const auto said = [&](const std::string& target) {
    return refusal(at, launch_echo(at, "--xp.jobs.main.target=" + quoted(target)));
  };
  CHECK_THAT(said((at.folder / "no_program").string()), Contains("an executable file"));
  CHECK_THAT(said(at.folder.path().string()), Contains("no such program: "));
  CHECK_THAT(said("no-such-program"), Contains("no program on PATH has this name"));
}

TEST_CASE("values of a sweep arrive as they were written") {
  const Experiments at;
  const std::string given =
      "[xp.jobs.main]\ntarget = '/usr/bin/printf'\nargs = ['<%s>']\n" + std::string(kLocal) +
      "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\nitems = [{ s = \"a b\\n'\\\"$HOME * {xid} "
      "äö€\" }]\n";
  REQUIRE(launch_text(at, given).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.trivet("logs 1").output == "<--s=a b\n'\"$HOME * {xid} äö€>\n");
}

TEST_CASE("a job gets the listed variables of its launcher's environment and those of the config") {
  const Experiments at("type = 'local/Orchestrator'\ncores = 2\n", "SECRET_TOKEN=abc LANG=C ");
  REQUIRE(launch_text(at, std::string("[xp.jobs.main]\ntarget = '/usr/bin/env'\nenv = { OWN = "
                                      "'mine', HOME = '/elsewhere' }\n") +
                              kLocal)
              .exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  std::set<std::string> names;
  std::istringstream lines(at.trivet("logs 1").output);
  for (std::string line; std::getline(lines, line);) {
    names.insert(line.substr(0, line.find('=')));
    if (line.starts_with("HOME=")) CHECK(line == "HOME=/elsewhere");
    if (line.starts_with("OWN=")) CHECK(line == "OWN=mine");
  }
  CHECK(names.count("OWN") == 1);
  CHECK(names.count("LANG") == 1);
  const std::set<std::string> known = {"PATH",
                                       "HOME",
                                       "USER",
                                       "LOGNAME",
                                       "SHELL",
                                       "LANG",
                                       "LC_ALL",
                                       "TMPDIR",
                                       "TZ",
                                       "TERM",
                                       "XDG_CACHE_HOME",
                                       "TRIVET_PLUGIN_PATH",
                                       "OWN",
                                       "OMP_NUM_THREADS",
                                       "CUDA_VISIBLE_DEVICES"};
  for (const std::string& name : names) {
    INFO(name);
    CHECK(known.count(name) == 1);
  }
}

TEST_CASE("only the owner may read an experiment, unless it is shared") {
  const Experiments at;
  // The supervisors of all commands here: `retry` starts one, too.
  const mode_t before = ::umask(022);
  const std::string script = "echo text; echo text > $0/made";
  const bool shared = GENERATE(false, true);
  INFO("shared: " << shared);
  REQUIRE(at.launch(script + "; exit 1", 1, shared ? "--xp.shared=true" : "").exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("failed"); }));
  REQUIRE(at.trivet("retry 1").exit_code == 0);
  REQUIRE(comes_true(
      [&] { return at.status("1/1").at("units")[0].at("jobs").at("main")["attempt"] == 2; }));
  REQUIRE(comes_true([&] { return at.all_are("failed"); }));
  CHECK(is_private(at.root / "1") == !shared);
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(at.root / "1")) {
    INFO(entry.path());
    CHECK(is_private(entry.path()) == !shared);
    ++files;
  }
  ::umask(before);
  CHECK(files > 15);
}

TEST_CASE("control characters in an experiment never reach the terminal") {
  const Experiments at;
  const std::string evil = "a\\u001b]0;x\\u0007b\\u009b2Jc\\rd";
  const std::string text = "[xp]\nname = \"" + evil + "\"\nnote = \"" + evil + "\"\ntags = [\"" +
                           evil + "\"]\n[xp.jobs.main]\ntarget = '/bin/sh'\n" +
                           "args = ['-c', \"printf '" + evil + "\\\\n'; exit 3\", \"" + evil +
                           "\"]\nenv = { E = \"" + evil + "\" }\n" + kLocal +
                           "[xp.sweep_info]\ntype = 'sweeps/SimpleSweep'\nitems = [{ \"" + evil +
                           "\" = \"" + evil + "\" }]\n";
  const ShellResult dry = launch_text(at, text, "--dry-run");
  INFO(dry.output);
  CHECK(dry.exit_code == 0);
  CHECK(is_harmless(dry.output));
  const ShellResult launched = launch_text(at, text);
  REQUIRE(launched.exit_code == 0);
  CHECK(is_harmless(launched.output));
  REQUIRE(comes_true([&] { return at.all_are("failed"); }));
  for (const char* words : {"status", "status 1", "show 1", "retry 1/1", "cancel 1", "resume 1"}) {
    const ShellResult result = at.trivet(words);
    INFO(words << "\n" << result.output);
    CHECK(result.exit_code == 0);
    CHECK(is_harmless(result.output));
  }
}

TEST_CASE("damaged records do not stop the other units") {
  const Experiments at;
  REQUIRE(
      at.launch("while [ ! -e $0/../go ]; do sleep 0.02; done; echo x >> $0/ran", 4).exit_code ==
      0);
  REQUIRE(comes_true([&] { return at.count("running") == 2; }));
  stop_supervisor(at);
  const fs::path xp_dir = at.root / "1";
  for (const char* file : {"events.jsonl", "units.jsonl", "requests.jsonl"}) {
    append(xp_dir / file, "\xff\xfe{\n");
    append(xp_dir / file, "5\n[]\nnull\n{}\n{\"wid\": \"x\", \"job\": 1}\n");
    append(xp_dir / file, "{\"wid\": 99, \"job\": \"main\", \"state\": \"nonsense\"}\n");
    append(xp_dir / file, "{\"wid\": 1, \"jo");  // cut short
  }
  std::ofstream(xp_dir / "supervisor.json") << "\xff{";
  CHECK(at.status().at("units").size() == 4);
  const ShellResult resumed = at.trivet("resume 1");
  INFO(resumed.output);
  REQUIRE(resumed.exit_code == 0);
  std::ofstream(xp_dir / "go") << "";
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  for (int wid = 1; wid <= 4; ++wid) CHECK(read_file(at.unit_file(wid, "ran")) == "x\n");
}

TEST_CASE("damage of a required record is reported") {
  const Experiments at;
  REQUIRE(at.launch(":", 1).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  const std::string file = GENERATE(as<std::string>{}, "experiment.json", "launch.toml");
  std::ofstream(at.root / "1" / file) << "\xff\xfe = {";
  const ShellResult result = at.trivet("resume 1");
  INFO(result.output);
  CHECK((result.exit_code == 1 || result.exit_code == 2));
  CHECK_THAT(result.output, Contains(file));
}

TEST_CASE("a launch on a full disk fails with a message and can be repeated when there is space",
          "[slow]") {
  int failed = 0;
  for (const std::int64_t room : {0, 1, 100, 700, 1100}) {
    INFO("room for " << room << " bytes");
    const Experiments at;
    const SlowDisk disk{.below = at.root, .room = room};
    const Experiments full("type = 'local/Orchestrator'\ncores = 2\n", disk.prefix());
    const std::string words =
        "launch --xp=xp/single.toml --xp.target=/bin/true --xp.orchestrator=local/"
        "Orchestrator --xp.root_dir=" +
        quoted(at.root.string());
    const ShellResult result = full.trivet(words);
    INFO(result.output);
    if (result.exit_code != 0) {
      ++failed;
      CHECK(result.exit_code == 1);
      CHECK_THAT(result.output, Contains("No space left on device"));
      CHECK(at.trivet("status 1").exit_code == 2);
    }
    const ShellResult again = at.trivet(words + " " + at.into_first());
    INFO(again.output);
    REQUIRE(again.exit_code == 0);
    if (again.output.find("already existed") != std::string::npos) at.trivet("resume 1");
    REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  }
  CHECK(failed >= 4);
}

TEST_CASE("a launch without space for its copies creates no experiment and can be repeated",
          "[slow]") {
  int failed = 0;
  for (const std::int64_t room : {0, 1, 5000, 9999, 10000}) {
    INFO("room for " << room << " bytes");
    const Experiments at;
    const std::string text = std::string(9999, 'x') + "\n";
    const fs::path data = at.folder.write("data.txt", text);
    const SlowDisk disk{.below = at.root / "1/files", .room = room};
    const Experiments full("type = 'local/Orchestrator'\ncores = 2\n", disk.prefix());
    const std::string words =
        "launch --xp=xp/single.toml --xp.target=/bin/cat --xp.root_dir=" +
        quoted(at.root.string()) +
        " --xp.orchestrator=local/Orchestrator --xp.files.data=" + quoted(data.string()) +
        " '--xp.jobs.main.args=[\"{file:data}\"]' ";
    const ShellResult result = full.trivet(words);
    INFO(result.output);
    if (result.exit_code != 0) {
      ++failed;
      CHECK(result.exit_code == 1);
      CHECK_THAT(result.output,
                 Contains("No space left on device") && Contains((at.root / "1/files").string()));
      CHECK(at.trivet("status 1").exit_code == 2);
      const ShellResult again = at.trivet(words + at.into_first());
      INFO(again.output);
      REQUIRE(again.exit_code == 0);
    }
    REQUIRE(comes_true([&] { return at.all_are("completed"); }));
    const bool is_whole = at.trivet("logs 1").output == text;
    CHECK(is_whole);
    for (const auto& entry : fs::recursive_directory_iterator(at.root / "1/files")) {
      CHECK_FALSE(entry.path().extension().string().starts_with(".tmp"));
    }
  }
  CHECK(failed == 4);
}

TEST_CASE("failed copies are reported before anything runs") {
  const Experiments at;
  REQUIRE(at.launch("exit 0", 1).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  const fs::path files = at.root / "1/files";
  fs::create_directories(files);
  fs::permissions(files, fs::perms::owner_read | fs::perms::owner_exec);
  const fs::path data = at.folder.write("data.txt", "text\n");
  const std::string plain = ::geteuid() == 0 ? "setpriv --bounding-set=-all " : "";
  const std::string words = "launch --xid=1 --xp=" + quoted((at.folder / "xp.toml").string()) +
                            " --xp.sweep=false --xp.files.data=" + quoted(data.string());
  const auto call = [&] {
    return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(at.root.string()) +
                                           " XDG_RUNTIME_DIR=" + quoted(at.folder.path().string()) +
                                           " " + plain);
  };
  const ShellResult refused = call();
  INFO(refused.output);
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.output, Contains("Permission denied") && Contains(files.string()));
  // The experiment is unchanged.
  CHECK(at.status().at("units").size() == 1);
  CHECK(at.all_are("completed"));
  CHECK_THAT(read_file(at.root / "1/launch.toml"), !Contains("data.txt"));
  fs::permissions(files, fs::perms::owner_all);
  CHECK(call().exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("completed"); }));
  CHECK(at.status().at("units").size() == 2);
}

TEST_CASE("a read-only experiment can be shown, and writing it is an error") {
  const Experiments at;
  REQUIRE(at.launch("echo text; exit 1", 2).exit_code == 0);
  REQUIRE(comes_true([&] { return at.all_are("failed"); }));
  REQUIRE(comes_true([&] { return !at.status().at("supervised").get<bool>(); }));
  const auto set_writable = [&](bool writable) {
    const fs::perm_options how = writable ? fs::perm_options::add : fs::perm_options::remove;
    for (const auto& entry : fs::recursive_directory_iterator(at.root)) {
      fs::permissions(entry.path(), fs::perms::owner_write, how);
    }
    fs::permissions(at.root, fs::perms::owner_write, how);
  };
  // The superuser may write everywhere unless it drops this capability.
  const std::string plain = ::geteuid() == 0 ? "setpriv --bounding-set=-all " : "";
  const auto call = [&](const std::string& words) {
    return trivet::test::trivet(words, "TRIVET_ROOT=" + quoted(at.root.string()) +
                                           " XDG_RUNTIME_DIR=" + quoted(at.folder.path().string()) +
                                           " " + plain);
  };
  set_writable(false);
  for (const char* words : {"status", "status 1", "status --json 1", "show 1/1", "logs 1"}) {
    const ShellResult result = call(words);
    INFO(words << "\n" << result.output);
    CHECK(result.exit_code == 0);
  }
  const ShellResult refused = call("retry 1");
  set_writable(true);
  INFO(refused.output);
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.output, Contains("Permission denied") && Contains(at.root.string()));
  CHECK(at.all_are("failed"));
  CHECK_THAT(call("retry 1").output, Contains("restarted"));
}

TEST_CASE("the supervisor of a removed experiment ends") {
  const Experiments at;
  REQUIRE(at.launch("sleep 600", 1).exit_code == 0);
  REQUIRE(comes_true([&] { return at.count("running") == 1; }));
  const auto supervisor = json_of(at.root / "1/supervisor.json").at("pid").get<pid_t>();
  // The job's process writes it a moment after it is seen running.
  const fs::path record = at.unit_file(1, "jobs/main/1/started.json");
  REQUIRE(comes_true([&] { return fs::exists(record); }));
  const Json started = json_of(record);
  fs::remove_all(at.root / "1");
  // An ended process has no command line, even before it is reaped.
  CHECK(comes_true([&] {
    std::ifstream in("/proc/" + std::to_string(supervisor) + "/cmdline");
    return in.get() == std::ifstream::traits_type::eof();
  }));
  ::kill(started.at("shim").get<pid_t>(), SIGKILL);
}

}  // namespace launch_faults_test
