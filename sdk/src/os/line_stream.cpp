// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/line_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/os/input_file.h"

namespace trivet {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 16;

}  // namespace

struct LineStream::State {
  explicit State(const std::string& file) : name(file == "-" ? "standard input" : file) {
    if (file != "-") {
      whole.emplace(file);
      return;
    }
    pipe = UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!pipe) throw InputError(name + ": " + std::generic_category().message(errno));
  }

  // Adds what the input has to `text`; false at its end.
  bool read_more() {
    const std::size_t held = text.size();
    text.resize(held + kPieceBytes);
    const std::size_t count = whole ? whole->read(std::span(text).subspan(held)) : read_pipe(held);
    text.resize(held + count);
    ended = count == 0;
    return !ended;
  }

  std::size_t read_pipe(std::size_t held) {
    while (true) {
      const ssize_t count = ::read(pipe.get(), text.data() + held, kPieceBytes);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) {
        throw InputError(name + ": cannot read: " + std::generic_category().message(errno));
      }
    }
  }

  // A pipe with compressed contents is read whole.
  void begin() {
    if (begun) return;
    begun = true;
    if (whole) return;
    while (text.size() < 4 && read_more()) {
    }
    const auto bytes = [&] {
      return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    };
    if (compression_of(bytes()) == Compression::none) return;
    while (read_more()) {
    }
    compressed.swap(text);
    text.clear();
    whole.emplace(
        std::span(reinterpret_cast<const std::uint8_t*>(compressed.data()), compressed.size()),
        name);
    ended = false;
  }

  std::optional<std::size_t> line_end() {
    const std::size_t found = text.find('\n', std::max(at, searched));
    searched = text.size();
    if (found == std::string::npos) return std::nullopt;
    return found;
  }

  void drop_used() {
    text.erase(0, at);
    searched -= std::min(searched, at);
    at = 0;
  }

  std::string name;
  std::optional<InputFile> whole;  // a file, or decompressed standard input
  UniqueFd pipe;
  std::string compressed;  // of standard input
  std::string text;        // read and not yet given from `at` on
  std::size_t at = 0;
  std::size_t searched = 0;  // no line ends between `at` and here
  std::int64_t line = 0;
  bool begun = false, ended = false;
};

LineStream::LineStream(const std::string& file) : state_(std::make_unique<State>(file)) {}

LineStream::~LineStream() = default;

const std::string& LineStream::name() const {
  return state_->name;
}

std::int64_t LineStream::line() const {
  return state_->line;
}

bool LineStream::next(std::string& line) {
  State& state = *state_;
  state.begin();
  std::optional<std::size_t> end = state.line_end();
  while (!end) {
    if (state.text.size() - state.at > kMostLineBytes) {
      throw InputError(state.name + ":" + std::to_string(state.line + 1) + ": is longer than " +
                       std::to_string(kMostLineBytes >> 20) + " MiB");
    }
    if (state.ended) break;
    state.drop_used();
    if (!state.read_more()) break;
    end = state.line_end();
  }
  if (!end && state.at == state.text.size()) return false;
  const std::size_t stop = end.value_or(state.text.size());
  line.assign(state.text, state.at, stop - state.at);
  if (line.ends_with('\r')) line.pop_back();
  state.at = end ? stop + 1 : stop;
  state.searched = state.at;
  ++state.line;
  return true;
}

bool LineStream::has_next_now() {
  State& state = *state_;
  if (!state.begun) return false;
  if (state.whole || state.ended) return true;
  if (state.text.find('\n', state.at) != std::string::npos) return true;
  pollfd waiting{.fd = state.pipe.get(), .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, 0) <= 0) return false;
  state.drop_used();
  return !state.read_more() || state.text.find('\n') != std::string::npos;
}

}  // namespace trivet
