// SPDX-License-Identifier: Apache-2.0
// check_engine PLUGIN KEY [LARGE_BYTES | abort CODE]: a process of a started run that checks an
// engine, or whose last rank ends the run. Exits with 1 after a broken promise, which it prints.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "trivet/backend/collective.h"
#include "trivet/plugin/registry.h"
#include "trivet/testing/collective_check.h"
#include "trivet/testing/plugins.h"

namespace {

void print_error(const tv_collective_host*, const char* text) {
  std::cerr << text << '\n';
}

// Ranks that wait forever, but for the last one.
int end_the_run(const tv_collective& engine, int code) {
  tv_collective_host host = {};
  host.struct_size = sizeof(host);
  host.set_error = print_error;
  tv_comm* world = nullptr;
  tv_world about = {};
  about.struct_size = sizeof(about);
  if (engine.init(&host, &world, &about) != TV_OK) return 1;
  if (about.rank == about.size - 1) engine.abort(world, code);
  char byte = 0;
  tv_request* request = nullptr;
  std::int32_t done = 0;
  if (engine.broadcast(world, &byte, 1, about.size - 1, &request) != TV_OK) return 1;
  while (done == 0) {
    if (engine.progress(&request, &done) != TV_OK) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw std::runtime_error("usage: check_engine PLUGIN KEY [BYTES | abort CODE]");
    trivet::testing::load_plugin(argv[1]);
    const auto* engine =
        static_cast<const tv_collective*>(trivet::registry().table("collective", argv[2]));
    const std::string what = argc > 3 ? argv[3] : "0";
    if (what == "abort") return end_the_run(*engine, std::stoi(argv[4]));
    trivet::testing::CollectiveCheckOptions options;
    options.large_bytes = std::stoull(what);
    const std::string wrong = trivet::testing::check_collective(engine, options);
    std::cout << wrong;
    return wrong.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
