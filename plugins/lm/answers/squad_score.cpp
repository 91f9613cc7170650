// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/squad_score.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "lm/text_metrics/words.h"

namespace trivet::lm {
namespace {

struct Score {
  double exact = 0, f1 = 0;
};

// The largest over the right answers, metric_max_over_ground_truths of version 1 and get_raw_scores
// of version 2.
Score score_of(const std::string& answer, const std::vector<std::string>& truths, bool version_2) {
  Score best;
  bool any = false;
  const auto compare = [&](const std::string& truth) {
    best.exact = std::max(best.exact, squad_exact(answer, truth));
    best.f1 = std::max(best.f1, squad_f1(answer, truth, version_2));
    any = true;
  };
  for (const std::string& truth : truths) {
    if (!version_2 || !squad_words(truth).empty()) compare(truth);
  }
  if (!any) compare("");
  return best;
}

bool has_answer(const ScoredAnswer& answer) {
  return std::ranges::any_of(answer.answers, [](const std::string& text) { return !text.empty(); });
}

struct Mean {
  Score sum;
  double count = 0;
  void add(const Score& score) {
    sum.exact += score.exact;
    sum.f1 += score.f1;
    ++count;
  }
  void set(Logs& logs, const std::string& exact, const std::string& f1) const {
    if (count == 0) return;
    logs.set(exact, 100 * sum.exact / count);
    logs.set(f1, 100 * sum.f1 / count);
  }
};

// find_best_thresh: starts with no answer for all questions and gives the answers one after the
// other, those with the smallest difference first.
void set_best(const std::vector<ScoredAnswer>& answers, double Score::*kind,
              const std::string& name, Logs& logs) {
  constexpr bool version_2 = true;
  double now = static_cast<double>(std::ranges::count_if(answers, std::not_fn(has_answer)));
  double best = now, threshold = 0;
  std::vector<std::size_t> order(answers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return answers[i].null_difference; });
  for (const std::size_t i : order) {
    const ScoredAnswer& answer = answers[i];
    if (has_answer(answer)) {
      now += score_of(answer.best, answer.answers, version_2).*kind;
    } else if (!answer.best.empty()) {
      now -= 1;
    }
    if (now <= best) continue;
    best = now;
    threshold = answer.null_difference;
  }
  logs.set("best_" + name, 100 * best / static_cast<double>(answers.size()));
  logs.set("best_" + name + "_thresh", threshold);
}

}  // namespace

double squad_exact(const std::string& answer, const std::string& truth) {
  return squad_words(answer) == squad_words(truth) ? 1 : 0;
}

double squad_f1(const std::string& answer, const std::string& truth, bool version_2) {
  const std::vector<std::string> told = squad_words(answer), right = squad_words(truth);
  if (told.empty() || right.empty()) return version_2 && told == right ? 1 : 0;
  return f_measure(shared_words(told, right), told.size(), right.size());
}

Logs squad_scores(const std::vector<ScoredAnswer>& answers, bool version_2, double threshold) {
  Logs logs;
  if (answers.empty()) return logs;
  Mean all, with_answer, without;
  for (const ScoredAnswer& answer : answers) {
    const bool is_null = version_2 && answer.null_difference > threshold;
    const std::string given = is_null ? "" : answer.best;
    const Score score = score_of(given, answer.answers, version_2);
    all.add(score);
    (has_answer(answer) ? with_answer : without).add(score);
  }
  all.set(logs, "exact_match", "f1");
  if (!version_2) return logs;
  with_answer.set(logs, "HasAns_exact", "HasAns_f1");
  without.set(logs, "NoAns_exact", "NoAns_f1");
  set_best(answers, &Score::exact, "exact", logs);
  set_best(answers, &Score::f1, "f1", logs);
  return logs;
}

}  // namespace trivet::lm
