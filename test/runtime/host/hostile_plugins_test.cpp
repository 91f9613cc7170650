// SPDX-License-Identifier: Apache-2.0
// Files that must not become plugins: each is refused with its reason, and the valid plugin next to
// it still works.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "host/host_lookup.h"
#include "support/plugin_folder.h"
#include "trivet/schedule.h"

using namespace trivet;
using trivet::test::PluginFolder;
using trivet::test::state_of;

namespace {

namespace fs = std::filesystem;

// A host for `folder`, which also contains alpha, with its own registry.
class Bench {
 public:
  explicit Bench(const PluginFolder& folder) {
    folder.copy("alpha");
    host_ = std::make_unique<PluginHost>(folder.search(), registry_);
  }

  PluginHost& host() { return *host_; }
  Registry& registry() { return registry_; }

  // The reason for refusing the plugin in the scan; alpha must be usable.
  std::string refusal(std::string_view stem) {
    check_alpha();
    const PluginFile file = state_of(*host_, stem);
    CHECK(file.state == PluginState::refused);
    return file.reason;
  }

  // The reason for refusing the plugin when one of its keys is requested; the error and the listing
  // agree.
  std::string refusal_on_load(const std::string& name) {
    CHECK(state_of(*host_, name).state == PluginState::available);
    std::string said;
    try {
      registry_.get("schedule", name + "/Plain");
      FAIL("it was loaded");
    } catch (const PluginError& error) {
      CHECK(error.exit_code() == 3);
      CHECK(error.plugin() == name);
      said = error.what();
    }
    check_alpha();
    CHECK(registry_.find("schedule", name + "/Plain") == nullptr);
    const PluginFile file = state_of(*host_, name);
    CHECK(file.state == PluginState::refused);
    CHECK(said.find(file.reason) != std::string::npos);
    CHECK(said.find(file.path.string()) != std::string::npos);
    // Another request gives the same answer without a new attempt.
    CHECK_THROWS_WITH(registry_.get("schedule", name + "/Plain"), Catch::Contains(file.reason));
    return file.reason;
  }

 private:
  void check_alpha() { CHECK(registry_.get("schedule", "alpha/Constant").plugin->name == "alpha"); }

  Registry registry_;
  std::unique_ptr<PluginHost> host_;
};

std::string scanned(std::string_view name) {
  const PluginFolder folder;
  folder.copy(name);
  return Bench(folder).refusal(name);
}

std::string loaded(std::string_view name) {
  const PluginFolder folder;
  folder.copy(name);
  return Bench(folder).refusal_on_load(std::string(name));
}

using Catch::Contains;

}  // namespace

TEST_CASE("a library whose variables others would share is refused with a remedy", "[nosan]") {
  const PluginFolder folder;
  folder.copy("unflagged_a");
  folder.copy("unflagged_b");
  Bench bench(folder);
  for (const char* name : {"unflagged_a", "unflagged_b"}) {
    const std::string reason = bench.refusal(name);
    CHECK_THAT(reason, Catch::Contains("it shares variables with other plugins"));
    CHECK_THAT(reason, Catch::Contains("pkg-config --libs trivet-sdk"));
  }
}

TEST_CASE("a library that contains its own C++ library is refused", "[nosan]") {
  CHECK_THAT(scanned("own_cxx_library"), Contains("link it without -static-libstdc++"));
}

TEST_CASE("files that are not libraries are refused") {
  const PluginFolder folder;
  for (const auto& [name, content] :
       {std::pair{"empty.so", ""}, {"text.so", "#!/bin/sh\necho\n"}}) {
    std::FILE* const file = std::fopen((folder.path() / name).c_str(), "w");
    std::fputs(content, file);
    std::fclose(file);
  }
  Bench bench(folder);
  CHECK(bench.refusal("empty") == "not a shared library: the file is empty");
  CHECK(bench.refusal("text") == "not a shared library: it does not start as an ELF file");
}

TEST_CASE("a library truncated at any offset is refused") {
  const auto size = fs::file_size(test::fixture("alpha"));
  for (const std::size_t cut : {std::size_t{40}, std::size_t{4096}, size / 2, size - 1}) {
    const PluginFolder folder;
    folder.copy_start("alpha", cut, "cut");
    INFO(cut);
    CHECK_THAT(Bench(folder).refusal("cut"), Contains("truncated"));
  }
}

TEST_CASE("a library without a note is refused") {
  CHECK(scanned("no_note") == "not a trivet plugin: it has no trivet note");
}

TEST_CASE("a plugin for another SDK is refused with both versions and a remedy") {
  CHECK(scanned("other_major") ==
        "built for SDK 9.0, this program has SDK 1.0: rebuild the plugin");
  CHECK(scanned("newer_minor") == "needs SDK 1.77, this program has SDK 1.0: update trivet");
}

TEST_CASE("a plugin with another C++ ABI is refused with the field and both values") {
  CHECK_THAT(
      scanned("other_abi"),
      Contains("debug is 'glibcxx_debug' in the plugin and 'none' here") && Contains("rebuild it"));
}

TEST_CASE("a plugin cannot take the program's own name") {
  CHECK_THAT(scanned("own_name_of_program"), Contains("the name 'trivet' is taken"));
}

TEST_CASE("a note that declares a key twice is refused") {
  CHECK_THAT(scanned("duplicate_key"),
             Contains("declares the schedule 'duplicate_key/Plain' twice"));
}

TEST_CASE("two plugins of one name in one folder: the second is refused, naming the first") {
  const PluginFolder folder;
  folder.copy("alpha", "other");
  Bench bench(folder);
  CHECK_THAT(bench.refusal("other"), Contains("alpha.so is the plugin 'alpha', too"));
}

TEST_CASE("exceptions of an entry are contained") {
  CHECK(loaded("throws_in_entry") == "its entry threw: no key, no door");
  CHECK(loaded("throws_int_in_entry") == "its entry threw something that is not a std::exception");
}

TEST_CASE("an entry that fails halfway leaves nothing behind") {
  CHECK(loaded("fails_in_entry") == "its entry failed: out of luck");
}

TEST_CASE("an entry must offer exactly what the note declares") {
  CHECK_THAT(loaded("undeclared_key"),
             Contains("offers the schedule 'undeclared_key/Secret', which its note does not"));
  CHECK_THAT(loaded("missing_key"),
             Contains("declares the schedule 'missing_key/Promised', which its entry does not"));
  CHECK_THAT(loaded("offers_twice"), Contains("offers the schedule 'offers_twice/Plain' twice"));
}

TEST_CASE("an entry must name its build") {
  CHECK(loaded("no_abi_tag") == "its entry has no ABI tag");
}

TEST_CASE("a library without an entry is refused with the likely cause") {
  CHECK_THAT(loaded("no_entry"),
             Contains("trivet_plugin_entry_v1 is missing or hidden") && Contains("version script"));
}

TEST_CASE("an undefined symbol is found when the library is opened, and shown as C++") {
  CHECK_THAT(loaded("undefined_symbol"),
             Contains("undefined symbol nowhere::to_be_found(int)") && Contains("-Wl,-z,defs"));
}

TEST_CASE("a missing dependency is named") {
  CHECK_THAT(loaded("missing_dependency"), Contains("libgone.so"));
}

TEST_CASE("a file that others may change is refused") {
  for (const auto mode : {0666, 0620, 0602}) {
    const PluginFolder folder;
    REQUIRE(chmod(folder.copy("alpha", "open").c_str(), static_cast<mode_t>(mode)) == 0);
    INFO(std::oct << mode);
    CHECK_THAT(Bench(folder).refusal("open"), Contains("can be changed by others"));
  }
}

TEST_CASE("a folder that others may change is refused, the next one is searched") {
  const PluginFolder open, good;
  open.copy("beta");
  REQUIRE(chmod(open.path().c_str(), 0777) == 0);
  good.copy("alpha");
  auto search = open.search();
  search.push_back(good.search()[0]);
  CHECK_THAT(search[0].error, Contains("can be changed by others (mode 0777)"));
  Registry registry;
  PluginHost host(search, registry);
  CHECK(host.files().size() == 1);
  CHECK_NOTHROW(registry.get("schedule", "alpha/Constant"));
  CHECK_THROWS_WITH(registry.get("schedule", "beta/Times"), Contains("(refused: the folder"));
}

TEST_CASE("a folder below one that everybody may change is refused") {
  const PluginFolder outer;
  const fs::path inner = outer.path() / "inner";
  REQUIRE(mkdir(inner.c_str(), 0755) == 0);
  REQUIRE(chmod(outer.path().c_str(), 0777) == 0);
  CHECK_THAT(directory_objection(inner), Contains("above it can be changed by everybody"));
}

TEST_CASE("a good link into a bad folder is refused") {
  const PluginFolder open, folder;
  const fs::path target = open.copy("alpha");
  REQUIRE(chmod(open.path().c_str(), 0777) == 0);
  fs::create_symlink(target, folder.path() / "link.so");
  CHECK_THAT(Bench(folder).refusal("link"), Contains("can be changed by others"));
}

TEST_CASE("a file that is not regular is refused without blocking") {
  const PluginFolder folder;
  REQUIRE(mkfifo((folder.path() / "pipe.so").c_str(), 0600) == 0);
  REQUIRE(mkdir((folder.path() / "directory.so").c_str(), 0700) == 0);
  fs::create_symlink("loop.so", folder.path() / "loop.so");
  fs::create_symlink("nothing", folder.path() / "dangling.so");
  Bench bench(folder);
  CHECK(bench.refusal("pipe") == "not a regular file");
  CHECK(bench.refusal("directory") == "not a regular file");
  CHECK_THAT(bench.refusal("loop"), Contains("symbolic links"));
  CHECK_THAT(bench.refusal("dangling"), Contains("No such file"));
}

TEST_CASE("a file that is replaced after the scan is not loaded") {
  const PluginFolder folder;
  const fs::path file = folder.copy("throws_in_entry");
  Bench bench(folder);
  fs::remove(file);
  folder.copy("beta", "throws_in_entry");
  CHECK_THAT(bench.refusal_on_load("throws_in_entry"),
             Contains("changed after trivet read its note"));
}

TEST_CASE("a file that is overwritten after the scan is not loaded, whatever its times") {
  const PluginFolder folder;
  const fs::path file = folder.copy("throws_in_entry");
  const auto time = fs::last_write_time(file);
  Bench bench(folder);
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-1, std::ios::end);
    stream.put('x');
  }
  fs::last_write_time(file, time);
  CHECK_THAT(bench.refusal_on_load("throws_in_entry"),
             Contains("changed after trivet read its note"));
}

TEST_CASE("a refused file without a readable note is remembered by its file name") {
  const PluginFolder folder;
  folder.copy_start("beta", 4096, "beta");
  Bench bench(folder);
  CHECK_THROWS_WITH(bench.registry().get("schedule", "beta/Times"), Contains("beta.so: truncated"));
  HostLookup lookup(bench.host(), UnknownDefaults::leave, bench.registry());
  Diagnostics diagnostics;
  CHECK_THROWS_AS(lookup.find("schedule", "beta/Times", {}, "lr", diagnostics), PluginError);
}
