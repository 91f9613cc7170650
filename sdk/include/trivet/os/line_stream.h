// SPDX-License-Identifier: Apache-2.0
// LineStream: the lines of a file or of standard input, as they come: a pipe's lines are there as
// soon as they were written. Files may be compressed (input_file.h).
//
// Example (sdk/examples/snippets/files.cpp#lines):
//
//   LineStream lines(name);  // "-" is standard input
//   for (std::string line; lines.next(line);) use(line);
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API LineStream {
 public:
  // A longer line is an error.
  static constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

  // "-" is standard input. Throws InputError with the system's reason for what cannot be opened.
  explicit LineStream(const std::string& file);
  ~LineStream();
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  // The file, or "standard input".
  const std::string& name() const;
  // The next line without its end ("\n" or "\r\n"); false at the end. Waits for it. Throws
  // InputError for what cannot be read or is too long.
  bool next(std::string& line);
  // Whether next() would not wait: a line is here, the input has ended, or it is a file.
  bool has_next_now();
  // Number of the last line, from 1.
  std::int64_t line() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trivet
