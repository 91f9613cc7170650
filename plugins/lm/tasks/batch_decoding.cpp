// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/batch_decoding.h"

#include <algorithm>
#include <utility>

#include "lm/metrics/real_rows.h"
#include "trivet/error.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

void check_alone(const std::int32_t* segments, std::int64_t length) {
  if (std::none_of(segments, segments + length, [](std::int32_t id) { return id > 1; })) return;
  throw UsageError("a row holds several documents, and a program that decodes needs one in each",
                   {.hint = "set pack = false and long_documents = \"trim\" in the set's input"});
}

}  // namespace

std::vector<std::optional<PromptedRow>> prompted_rows(const Batch& batch) {
  if (batch.contains("task_ids")) {
    throw UsageError("a program that decodes writes texts of one task, and the batch has task_ids",
                     {.hint = "remove task_ids from the set's input, and set adapter_task_id of "
                              "the model's blocks"});
  }
  const Tensor& all_ids = batch.at("ids");
  const HostArray<std::int32_t> ids(all_ids), labels(batch.at("labels"));
  const HostArray<float> weights(batch.at("weights"));
  const std::int64_t rows = all_ids.dim(0), length = all_ids.dim(1);
  std::optional<HostArray<std::int32_t>> segments;
  if (const Tensor* found = batch.find("segment_ids")) segments.emplace(*found);
  const std::vector<bool> real = real_rows(batch, rows);
  std::vector<std::optional<PromptedRow>> prompted(real.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!real[static_cast<std::size_t>(row)]) continue;
    if (segments) check_alone(segments->data() + row * length, length);
    const float* const weight = weights.data() + row * length;
    const auto counts = [](float w) { return w > 0; };
    const auto first = std::find_if(weight, weight + length, counts) - weight;
    if (first == length) {
      throw UsageError("no token of a row is to be predicted, so there is nothing to decode",
                       {.hint = "the inputs of an example may be longer than seq_len"});
    }
    std::int64_t last = length - 1;
    while (!counts(weight[last])) --last;
    const std::int32_t* const id = ids.data() + row * length;
    const std::int32_t* const label = labels.data() + row * length;
    prompted[static_cast<std::size_t>(row)] =
        PromptedRow{.prompt = {id, id + first + 1}, .reference = {label + first, label + last + 1}};
  }
  return prompted;
}

std::vector<std::optional<TokenIds>> unpadded_rows(const Batch& batch, const std::string& ids,
                                                   const std::string& paddings) {
  const Tensor& all = batch.at(ids);
  const HostArray<std::int32_t> values(all);
  const HostArray<float> padding(batch.at(paddings));
  const std::int64_t rows = all.dim(0), length = all.dim(1);
  const std::vector<bool> real = real_rows(batch, rows);
  std::vector<std::optional<TokenIds>> out(real.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!real[static_cast<std::size_t>(row)]) continue;
    TokenIds& own = out[static_cast<std::size_t>(row)].emplace();
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (padding[i] == 0) own.push_back(values[i]);
    }
  }
  return out;
}

std::string text_of(const Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                    std::optional<std::int32_t> bos, std::optional<std::int32_t> eos) {
  if (bos && !ids.empty() && ids.front() == *bos) ids = ids.subspan(1);
  if (eos && !ids.empty() && ids.back() == *eos) ids = ids.first(ids.size() - 1);
  return tokenizer.decode(ids);
}

GenerateOptions options_of_samples(const BatchDecodeOptions& options,
                                   const std::vector<std::uint64_t>& numbers,
                                   std::int64_t beam_size) {
  if (beam_size > 1 && options.num_samples > beam_size) {
    throw UsageError("num_samples is " + std::to_string(options.num_samples) +
                         ", and beam search has " + std::to_string(beam_size) + " sequences",
                     {.hint = "set task.decode.beam_size as large, or to 1 to sample"});
  }
  GenerateOptions generate;
  generate.seed = options.seed;
  for (const std::uint64_t number : numbers) {
    for (std::uint64_t sample = 0; std::cmp_less(sample, options.num_samples); ++sample) {
      generate.draws.push_back({.prompt = number, .sample = sample});
    }
  }
  return generate;
}

std::vector<DecodedExample> grouped(std::vector<GeneratedText> texts, std::int64_t num_samples) {
  const auto samples = static_cast<std::size_t>(num_samples);
  std::vector<DecodedExample> examples(texts.size() / samples);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto own = std::span(texts).subspan(i * samples, samples);
    std::ranges::stable_sort(own, std::ranges::greater(), &GeneratedText::score);
    for (GeneratedText& text : own) {
      examples[i].samples.push_back(std::move(text.text));
      examples[i].scores.push_back(text.log_probability);
    }
  }
  return examples;
}

}  // namespace trivet::lm
