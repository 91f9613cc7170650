// SPDX-License-Identifier: Apache-2.0
// What trivet/os/input_file.h and trivet/train/run_log.h show: text that is read, lines that are
// written.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <trivet/error.h>
#include <trivet/os/input_file.h>
#include <trivet/os/line_stream.h>
#include <trivet/os/text_check.h>
#include <trivet/task.h>
#include <trivet/train/run_log.h>

#include "fixtures.h"

namespace files_example {

using namespace trivet;

namespace {

std::string text_of(const std::string& name) {
  std::string text;
  // [read]
  InputFile file(name);  // "books.txt.gz"
  TextCheck check(file.name(), "this wants text");
  for (std::string piece(1 << 16, '\0'); const std::size_t n = file.read(piece);) {
    check.add(std::string_view(piece).substr(0, n));
    text.append(piece, 0, n);
  }
  check.finish();
  // [/read]
  return text;
}

std::vector<std::string> lines_of(const std::string& name) {
  std::vector<std::string> all;
  const auto use = [&](const std::string& line) { all.push_back(line); };
  // [lines]
  LineStream lines(name);  // "-" is standard input
  for (std::string line; lines.next(line);) use(line);
  // [/lines]
  return all;
}

// What gzip makes of "In the beginning.\n".
constexpr unsigned char kZipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                     0xf3, 0xcc, 0x53, 0x28, 0xc9, 0x48, 0x55, 0x48, 0x4a, 0x4d,
                                     0xcf, 0xcc, 0xcb, 0xcb, 0xcc, 0x4b, 0xd7, 0xe3, 0x02, 0x00,
                                     0x79, 0xa9, 0x14, 0xf0, 0x12, 0x00, 0x00, 0x00};

}  // namespace

TEST_CASE("example: text is read from a plain and from a compressed file") {
  const snippets::Folder folder;
  const std::string zipped(kZipped, kZipped + sizeof kZipped);
  CHECK(text_of(folder.write("books.txt.gz", zipped)) == "In the beginning.\n");
  CHECK(text_of(folder.write("books.txt", "In the end.\n")) == "In the end.\n");
  CHECK_THROWS_WITH(text_of(folder.write("image", std::string("a\0b", 3))),
                    Catch::Contains("this wants text"));
}

TEST_CASE("example: the lines of a file come one by one") {
  const snippets::Folder folder;
  using Lines = std::vector<std::string>;
  CHECK(lines_of(folder.write("end.txt", "a\r\n\nb")) == Lines{"a", "", "b"});
  CHECK(lines_of(folder.write("empty.txt", "")).empty());
  const std::string zipped(kZipped, kZipped + sizeof kZipped);
  CHECK(lines_of(folder.write("books.txt.gz", zipped)) == Lines{"In the beginning."});
}

TEST_CASE("example: a log of a run has a line for a step") {
  const snippets::Folder folder;
  const auto device = snippets::open_device();
  const TaskContext context{.device = *device, .logging_dir = folder.path()};
  const std::int64_t global_step = 20;
  const std::string text = "In the";
  // [log]
  RunLog samples(context.logging_dir, "samples.jsonl", RunLog::Of::evaluation);
  samples.append(global_step, Value::table({{"text", text}}));
  // [/log]
  CHECK(folder.read("samples.jsonl") == "{\"step\":20,\"text\":\"In the\"}\n");
  cut_run_records(folder.path(), {.step = 10});
  CHECK(folder.read("samples.jsonl").empty());
}

}  // namespace files_example
