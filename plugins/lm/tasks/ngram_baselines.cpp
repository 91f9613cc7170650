// SPDX-License-Identifier: Apache-2.0
#include "lm/tasks/ngram_baselines.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>

#include "lm/metrics/ngrams.h"
#include "trivet/error.h"
#include "trivet/extensions/text.h"
#include "trivet/input.h"
#include "trivet/ops/host_array.h"

namespace trivet::lm {
namespace {

// Calls visit(history, label, bytes) for each label that counts; the history stays in its segment.
template <class Visit>
void for_each_label(const Batch& batch, const Visit& visit) {
  const Tensor& shape = batch.at("ids");
  const HostArray<std::int32_t> ids(shape), labels(batch.at("labels"));
  const HostArray<float> weights(batch.at("weights"));
  const Tensor* segment_ids = batch.find("segment_ids");
  const Tensor* label_bytes = batch.find("label_bytes");
  std::unique_ptr<HostArray<std::int32_t>> segments, bytes;
  if (segment_ids != nullptr) segments = std::make_unique<HostArray<std::int32_t>>(*segment_ids);
  if (label_bytes != nullptr) bytes = std::make_unique<HostArray<std::int32_t>>(*label_bytes);
  const std::int64_t rows = shape.dim(0), length = shape.dim(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t begin = row * length;
    for (std::int64_t at = row * length; at < (row + 1) * length; ++at) {
      if (segments && (*segments)[at] != (*segments)[begin]) begin = at;
      if (weights[at] <= 0) continue;
      const std::span<const std::int32_t> history(ids.data() + begin,
                                                  static_cast<std::size_t>(at + 1 - begin));
      visit(history, labels[at], bytes ? (*bytes)[at] : 0);
    }
  }
}

struct OpenInput {
  OpenInput(Task& task, const ConfigOf<Input>& from, const char* name) : config(from) {
    InputContext context{.phase = Phase::evaluation, .name = name};
    input = task.build_inputs(config, context);
  }
  template <class Visit>
  void for_each_label(const Visit& visit) {
    while (const std::optional<Batch> batch = next_batch(*input, config)) {
      lm::for_each_label(*batch, visit);
    }
  }
  // Throws InputError if the input does not know its vocabulary.
  std::int64_t vocabulary_size() const {
    const TextInput* text = text_input(*input);
    const std::int64_t size = text != nullptr ? text->vocabulary_size() : 0;
    if (size > 0) return size;
    throw InputError("lm/NgramBaselines: the input does not know its vocabulary size",
                     {.hint = "give it a tokenizer or its vocabulary_size"});
  }

  const ConfigOf<Input>& config;
  std::unique_ptr<Input> input;
};

std::string name_of(int order) {
  constexpr const char* kNames[] = {"unigram", "bigram", "trigram"};
  return order <= 3 ? kNames[order - 1] : std::to_string(order) + "-gram";
}

}  // namespace

NgramBaselines::NgramBaselines(const Config& config, ActionContext& context)
    : orders_(config.orders), task_(context.task), say_(context.say) {}

void NgramBaselines::run(const ActionEvent&) {
  if (said_) return;
  said_ = true;
  OpenInput train(task_, task_.config().train_input, "task.train_input");
  std::vector<Ngrams> models;
  for (const std::int64_t order : orders_) {
    models.emplace_back(train.vocabulary_size(), static_cast<int>(order));
  }
  train.for_each_label([&](auto history, std::int32_t label, std::int32_t) {
    for (Ngrams& model : models) model.add(history, label);
  });
  std::vector<double> nats(models.size());
  double labels = 0, bytes = 0;
  OpenInput eval(task_, task_.config().eval_input, "task.eval_input");
  eval.for_each_label([&](auto history, std::int32_t label, std::int32_t label_bytes) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      nats[i] -= std::log(models[i].probability(history, label));
    }
    labels += 1;
    bytes += label_bytes;
  });
  std::string text = "baselines";
  for (std::size_t i = 0; i < models.size(); ++i) {
    char line[120];
    text += "  " + name_of(models[i].order());
    if (bytes > 0) {
      std::snprintf(line, sizeof line, " bits_per_byte=%.4f", nats[i] / std::numbers::ln2 / bytes);
      text += line;
    }
    std::snprintf(line, sizeof line, " log_pplx=%.4f", nats[i] / std::max(labels, 1.0));
    text += line;
  }
  say_(text);
}

}  // namespace trivet::lm
