// SPDX-License-Identifier: Apache-2.0
#include "data/sources/text_files.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "data/formats/file_list.h"
#include "data/formats/input_bytes.h"
#include "trivet/os/text_check.h"

namespace trivet::data {
namespace {

// Returns the first offset from `share` of the text on where a UTF-8 character may start. Skips
// three bytes at most, the most continuation bytes of a character, so bytes of another encoding are
// cut unchanged.
std::size_t cut_at(std::string_view text, double share) {
  if (share <= 0) return 0;
  if (share >= 1) return text.size();
  auto at = static_cast<std::size_t>(share * static_cast<double>(text.size()));
  const std::size_t stop = std::min(text.size(), at + 3);
  while (at < stop && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

void hand_out(const DataSource::Visit& visit, std::string_view text, std::string location) {
  visit({{{"text", text}}, std::move(location)});
}

void check_text(std::string_view text, const std::string& file) {
  TextCheck check(file, "encoding = \"bytes\" takes any bytes");
  check.add(text);
  check.finish();
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

void TextFilesConfig::validate(Diagnostics& diagnostics) const {
  if (part_begin >= part_end) diagnostics.add("part_end", "must be more than part_begin");
}

std::string_view part_of(std::string_view text, double begin, double end) {
  const std::size_t first = cut_at(text, begin);
  return text.substr(first, cut_at(text, end) - first);
}

TextFiles::TextFiles(const Config& config)
    : files_(list_files(config.files)),
      name_(summary_of(files_)),
      documents_(config.documents),
      encoding_(config.encoding),
      part_begin_(config.part_begin),
      part_end_(config.part_end) {}

std::uint64_t TextFiles::bytes() const {
  return bytes_of(files_);
}

void TextFiles::read(const Visit& visit) {
  for (const std::string& file : files_) {
    if (is_empty(file)) continue;
    const Memory memory = read_input(file);
    const std::string_view whole = text_in(memory);
    if (encoding_ == Encoding::utf8) check_text(whole, file);
    const std::string_view text = part_of(whole, part_begin_, part_end_);
    if (documents_ == Documents::file) {
      if (!text.empty()) hand_out(visit, text, file);
      continue;
    }
    const auto line = 1 + std::count(whole.data(), text.data(), '\n');
    read_lines(text, line, file, visit);
  }
}

void TextFiles::read_lines(std::string_view text, std::int64_t line, const std::string& file,
                           const Visit& visit) const {
  std::string_view paragraph;  // from its first line on, without the last line end
  std::int64_t paragraph_line = line;
  const auto flush = [&] {
    if (!paragraph.empty()) hand_out(visit, paragraph, file + ":" + std::to_string(paragraph_line));
    paragraph = {};
  };
  for (; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (documents_ == Documents::line) {
      if (!content.empty()) hand_out(visit, content, file + ":" + std::to_string(line));
    } else if (is_blank(content)) {
      flush();
    } else if (paragraph.empty()) {
      paragraph = content;
      paragraph_line = line;
    } else {
      const char* const begin = paragraph.data();
      paragraph = {begin, static_cast<std::size_t>(content.data() + content.size() - begin)};
    }
  }
  flush();
}

}  // namespace trivet::data
