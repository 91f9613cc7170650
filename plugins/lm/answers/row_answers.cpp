// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/row_answers.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "lm/metrics/real_rows.h"
#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

// The row of a tensor [B, N].
template <class T>
std::span<const T> row_of(const HostArray<T>& values, const Tensor& tensor, std::int64_t row) {
  const std::int64_t width = tensor.dim(1);
  return {values.data() + row * width, static_cast<std::size_t>(width)};
}

// The texts before each zero, until an empty one.
std::vector<std::string> texts_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> texts;
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (byte != 0) {
      text += static_cast<char>(byte);
      continue;
    }
    if (text.empty()) break;
    texts.push_back(std::exchange(text, {}));
  }
  if (!text.empty()) texts.push_back(std::move(text));
  return texts;
}

std::int64_t characters_in(std::span<const std::uint8_t> text) {
  return std::ranges::count_if(text, [](std::uint8_t byte) { return (byte & 0xC0) != 0x80; });
}

const Tensor& logits_of(const NestedMap& outputs, const char* name, const Shape& positions) {
  const Tensor& logits = outputs.at(name);
  if (logits.dtype() == DType::f32 && logits.shape() == positions) return logits;
  throw Error(std::string("lm/QuestionAnswering: expected \"") + name +
              "\" f32 [B, T] of the positions " + positions.to_string() + " from the model, got " +
              logits.to_string());
}

}  // namespace

double RowAnswer::null_difference() const {
  if (!found()) return std::numeric_limits<double>::infinity();
  return null_score == score ? 0 : null_score - score;  // 0 of infinite ones, too
}

void RowAnswer::merge(RowAnswer other) {
  null_score = std::min(null_score, other.null_score);
  if (other.score <= score) return;
  score = other.score;
  text = std::move(other.text);
  start = other.start;
  end = other.end;
}

std::vector<std::optional<RowAnswer>> row_answers(const Batch& batch, const NestedMap& outputs,
                                                  const SpanRules& rules) {
  const Tensor &begins = batch.at("token_begin"), &token_ends = batch.at("token_end"),
               &best = batch.at("best_context"), &contexts = batch.at("context"),
               &ids = batch.at("id");
  const Tensor &starts = logits_of(outputs, "start_logits", begins.shape()),
               &ends = logits_of(outputs, "end_logits", begins.shape());
  const HostArray<float> start(starts), end(ends), is_best(best);
  const HostArray<std::int32_t> begin(begins), token_end(token_ends), number(batch.at("question")),
      window(batch.at("window")), windows(batch.at("windows")), before(batch.at("context_begin"));
  const HostArray<std::uint8_t> bytes(contexts), id_bytes(ids);
  const Tensor* given = batch.find("answers");
  std::optional<HostArray<std::uint8_t>> answers;
  if (given != nullptr) answers.emplace(*given);
  std::vector<std::optional<RowAnswer>> rows;
  for (const bool is_real : real_rows(batch, starts.dim(0))) {
    const std::int64_t row = std::ssize(rows);
    std::optional<RowAnswer>& made = rows.emplace_back();
    if (!is_real) continue;
    RowAnswer& answer = made.emplace();
    answer.question = number[row];
    answer.window = window[row];
    answer.windows = windows[row];
    const auto id = row_of(id_bytes, ids, row);
    answer.id.assign(id.begin(), std::ranges::find(id, std::uint8_t{0}));
    const auto start_logits = row_of(start, starts, row), end_logits = row_of(end, ends, row);
    const double null_score = static_cast<double>(start_logits[0]) + end_logits[0];
    answer.null_score = std::isnan(null_score) ? RowAnswer::kWorst : null_score;
    const AnswerSpan span = best_span({.start_logits = start_logits,
                                       .end_logits = end_logits,
                                       .token_begin = row_of(begin, begins, row),
                                       .token_end = row_of(token_end, token_ends, row),
                                       .best_context = row_of(is_best, best, row)},
                                      rules);
    if (span.found) {
      const auto context = row_of(bytes, contexts, row);
      const auto first = static_cast<std::size_t>(span.begin),
                 size = static_cast<std::size_t>(span.end - span.begin);
      const auto text = context.subspan(first, size);
      answer.text.assign(text.begin(), text.end());
      answer.start = before[row] + characters_in(context.first(first));
      answer.end = answer.start + characters_in(text);
      answer.score = span.score;
    }
    if (answers) answer.answers = texts_of(row_of(*answers, *given, row));
  }
  return rows;
}

}  // namespace trivet::lm
