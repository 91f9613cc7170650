// SPDX-License-Identifier: Apache-2.0
#include "support/shell.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace trivet::test {

ShellResult shell(const std::string& command) {
  std::FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start a shell for: " + command);
  ShellResult result;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "trivet-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder: " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a folder left behind must not hide the test's outcome
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TempDir::write(std::string_view name, std::string_view content) const {
  std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
  return file;
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string read_process_file(const std::filesystem::path& process, const char* name) {
  std::ifstream in(process / name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();  // an iterator would throw if the process ends now
  return text.str();
}

}  // namespace trivet::test
