// SPDX-License-Identifier: Apache-2.0
#include "data/answers/squad_file.h"

#include <optional>
#include <set>
#include <string_view>
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
  explicit SquadReader(NoAnswers no_answers) : no_answers_(no_answers) {}

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
    node.location += " (" + question.id + ")";
    question.location = node.location;
    if (!ids_.insert(question.id).second) node.refuse("another question has this id");
    const Value* impossible = node.find("is_impossible");
    const bool has_none =
        impossible != nullptr && impossible->is_boolean() && impossible->as_boolean();
    if (!has_none) {
      const Node answers = node.member("answers");
      for (std::size_t i = 0; i < answers.items().size(); ++i) {
        question.answers.push_back(answer_of(answers.item(i), *context));
      }
    }
    if (question.answers.empty() && no_answers_ == NoAnswers::refused) {
      node.refuse("the question has no answer", "version_2 = true accepts such questions");
    }
    if (question.answers.empty() && !has_none) {
      node.refuse("the question has no answer, and is_impossible does not say so");
    }
    questions_.push_back(std::move(question));
  }

  NoAnswers no_answers_;
  std::vector<SquadQuestion> questions_;
  std::set<std::string> ids_;
};

}  // namespace

std::vector<SquadQuestion> read_squad(const std::vector<std::string>& files, NoAnswers no_answers,
                                      std::uint64_t limit) {
  if (const std::uint64_t bytes = bytes_of(files); bytes > limit) {
    throw InputError(summary_of(files) + ": has " + std::to_string(bytes) +
                         " bytes, more than limit = " + std::to_string(limit),
                     {.hint = "raise limit if memory allows"});
  }
  SquadReader reader(no_answers);
  for (const std::string& file : files) {
    const std::string text = input_text(file, limit);
    limit -= text.size();
    reader.read(file, text);
  }
  return reader.take();
}

}  // namespace trivet::data
