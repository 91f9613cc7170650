// SPDX-License-Identifier: Apache-2.0
#include "data/answers/squad_file.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "data/formats/file_list.h"
#include "trivet/config/json.h"
#include "trivet/config/value.h"
#include "trivet/error.h"
#include "trivet/os/input_file.h"
#include "trivet/text/utf8.h"

namespace trivet::data {
namespace {

// A value of the file, with its location.
struct Node {
  const Value& value;
  std::string location;  // "FILE: data[0]"

  [[noreturn]] void refuse(const std::string& what, const std::string& hint = {}) const {
    throw InputError(location + ": " + what, {.hint = hint});
  }

  const Value* find(const char* name) const {
    if (!value.is_table()) refuse("is not a JSON object");
    const Value* found = value.find(name);
    return found != nullptr && !found->is_null() ? found : nullptr;
  }

  Node member(const char* name) const {
    const Value* found = find(name);
    if (found == nullptr) refuse(std::string("has no \"") + name + "\"", "SQuAD's files have it");
    return {*found, location + (location.ends_with(": ") ? "" : ".") + name};
  }

  const Value::Array& items() const {
    if (!value.is_array()) refuse("is not a list");
    return value.items();
  }

  Node item(std::size_t i) const { return {items()[i], location + "[" + std::to_string(i) + "]"}; }

  const std::string& text() const {
    if (!value.is_string()) refuse("is not a text");
    return value.as_string();
  }
};

// The offset in bytes of a character; the size of the text for the one after the last. Nothing
// beyond that.
std::optional<std::size_t> offset_of(std::string_view text, std::int64_t character) {
  std::size_t at = 0;
  for (; character > 0 && at < text.size(); --character) {
    at += first_code_point(text.substr(at)).length;
  }
  return character == 0 ? std::optional(at) : std::nullopt;
}

SquadAnswer answer_of(const Node& node, const std::string& context) {
  SquadAnswer answer{.text = node.member("text").text()};
  if (answer.text.empty()) node.refuse("the answer is empty");
  if (answer.text.find('\0') != std::string::npos) node.refuse("the answer has a zero byte");
  const Node start = node.member("answer_start");
  if (!start.value.is_integer() || start.value.as_integer() < 0) {
    start.refuse("is not a number of at least 0");
  }
  const auto begin = offset_of(context, start.value.as_integer());
  if (!begin || context.compare(*begin, answer.text.size(), answer.text) != 0) {
    node.refuse("the context does not have '" + answer.text + "' at character " +
                    std::to_string(start.value.as_integer()),
                "answer_start counts characters, from 0");
  }
  answer.begin = *begin;
  return answer;
}

Value json_of(const std::string& file, const std::string& text) {
  try {
    return value_from_json(text, file);
  } catch (const Error& error) {
    throw InputError(error.message(), error.details());
  }
}

class SquadReader {
 public:
  explicit SquadReader(const SquadRules& rules) : rules_(rules) {}

  void read(const std::string& file, const std::string& text) {
    if (const auto wrong = find_invalid_utf8(text)) {
      throw InputError(file + ": byte " + std::to_string(*wrong) + " is not UTF-8");
    }
    const Value whole = json_of(file, text);
    const Node data = Node{whole, file + ": "}.member("data");
    for (std::size_t i = 0; i < data.items().size(); ++i) {
      const Node paragraphs = data.item(i).member("paragraphs");
      for (std::size_t j = 0; j < paragraphs.items().size(); ++j) add(paragraphs.item(j));
    }
  }

  std::vector<SquadQuestion> take() { return std::move(questions_); }

 private:
  void add(const Node& paragraph) {
    const auto context = std::make_shared<const std::string>(paragraph.member("context").text());
    const Node questions = paragraph.member("qas");
    for (std::size_t i = 0; i < questions.items().size(); ++i) {
      add_question(questions.item(i), context);
    }
  }

  void add_question(Node node, const std::shared_ptr<const std::string>& context) {
    SquadQuestion question{.id = node.member("id").text(),
                           .text = node.member("question").text(),
                           .context = context,
                           .answers = {},
                           .location = {}};
    if (question.id.find('\0') != std::string::npos) node.refuse("the id has a zero byte");
    node.location += " (" + question.id + ")";
    question.location = node.location;
    const auto [same, is_new] = ids_.emplace(question.id, question.location);
    if (!is_new) {
      node.refuse("the question at " + same->second + " has the same id",
                  "give each question an id of its own, and list no file twice");
    }
    const bool has_none = is_impossible(node);
    question.labeled = has_none || node.find("answers") != nullptr;
    if (node.find("answers") != nullptr) {
      const Node answers = node.member("answers");
      for (std::size_t i = 0; i < answers.items().size(); ++i) {
        question.answers.push_back(answer_of(answers.item(i), *context));
      }
    }
    check(node, question, has_none);
    questions_.push_back(std::move(question));
  }

  static bool is_impossible(const Node& node) {
    const Value* found = node.find("is_impossible");
    if (found == nullptr) return false;
    if (!found->is_boolean()) node.refuse("is_impossible is neither true nor false");
    return found->as_boolean();
  }

  void check(const Node& node, const SquadQuestion& question, bool has_none) const {
    if (!question.labeled && rules_.needs_answers) {
      node.refuse("has no \"answers\"", "training needs them");
    }
    if (!questions_.empty() && question.labeled != questions_.front().labeled) {
      node.refuse(question.labeled ? "has \"answers\", but the questions before it do not"
                                   : "has no \"answers\", but the questions before it do",
                  "give all questions answers, or none");
    }
    if (!question.labeled) return;
    if (!question.answers.empty() && has_none) {
      node.refuse("is_impossible is true, but there is an answer", "remove one of the two");
    }
    if (!question.answers.empty()) return;
    if (!rules_.version_2) {
      node.refuse("the question has no answer",
                  "version_2 = true of the task and the input accepts such questions");
    }
    if (!has_none) node.refuse("the question has no answer, and is_impossible does not say so");
  }

  const SquadRules& rules_;
  std::vector<SquadQuestion> questions_;
  std::unordered_map<std::string, std::string> ids_;  // and where each is
};

}  // namespace

std::vector<SquadQuestion> read_squad(const std::vector<std::string>& files,
                                      const SquadRules& rules) {
  std::uint64_t limit = rules.limit;
  if (const std::uint64_t bytes = bytes_of(files); bytes > limit) {
    throw InputError(summary_of(files) + ": has " + std::to_string(bytes) +
                         " bytes, more than limit = " + std::to_string(limit),
                     {.hint = "raise limit if memory allows"});
  }
  SquadReader reader(rules);
  for (const std::string& file : files) {
    const std::string text = input_text(file, limit);
    limit -= text.size();
    reader.read(file, text);
  }
  std::vector<SquadQuestion> questions = reader.take();
  if (questions.empty()) {
    throw InputError(summary_of(files) + ": has no question",
                     {.hint = "a file of SQuAD has them in data[].paragraphs[].qas"});
  }
  return questions;
}

}  // namespace trivet::data
