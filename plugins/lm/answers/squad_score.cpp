// SPDX-License-Identifier: Apache-2.0
#include "lm/answers/squad_score.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "lm/text_metrics/words.h"

namespace trivet::lm {
namespace {

using Score = double (*)(const std::string&, const std::string&);

// The largest over the right answers. As in the script, one that is empty once normalized does not
// count.
double best_of(Score score, const std::string& answer, const std::vector<std::string>& truths) {
  double best = 0;
  bool any = false;
  for (const std::string& truth : truths) {
    if (squad_words(truth).empty()) continue;
    best = std::max(best, score(answer, truth));
    any = true;
  }
  return any ? best : score(answer, "");
}

bool has_answer(const ScoredAnswer& answer) {
  return std::ranges::any_of(answer.answers, [](const std::string& text) { return !text.empty(); });
}

struct Mean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  void set(Logs& logs, const std::string& name) const {
    if (count > 0) logs.set(name, 100 * sum / count);
  }
};

// find_best_thresh: starts with no answer for all questions and gives the answers one after the
// other, those with the smallest difference first.
void set_best(const std::vector<ScoredAnswer>& answers, Score score, const std::string& name,
              Logs& logs) {
  double now = static_cast<double>(std::ranges::count_if(answers, std::not_fn(has_answer)));
  double best = now, threshold = 0;
  std::vector<std::size_t> order(answers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return answers[i].null_difference; });
  for (const std::size_t i : order) {
    const ScoredAnswer& answer = answers[i];
    if (has_answer(answer)) {
      now += best_of(score, answer.best, answer.answers);
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

double squad_f1(const std::string& answer, const std::string& truth) {
  const std::vector<std::string> told = squad_words(answer), right = squad_words(truth);
  if (told.empty() || right.empty()) return told == right ? 1 : 0;
  return f_measure(shared_words(told, right), told.size(), right.size());
}

Logs squad_scores(const std::vector<ScoredAnswer>& answers, bool version_2, double threshold) {
  Logs logs;
  if (answers.empty()) return logs;
  Mean exact, f1, has_exact, has_f1, no_exact, no_f1;
  for (const ScoredAnswer& answer : answers) {
    const bool is_null = version_2 && answer.null_difference > threshold;
    const std::string given = is_null ? "" : answer.best;
    const double e = best_of(squad_exact, given, answer.answers);
    const double f = best_of(squad_f1, given, answer.answers);
    exact.add(e);
    f1.add(f);
    (has_answer(answer) ? has_exact : no_exact).add(e);
    (has_answer(answer) ? has_f1 : no_f1).add(f);
  }
  exact.set(logs, "exact_match");
  f1.set(logs, "f1");
  if (!version_2) return logs;
  has_exact.set(logs, "HasAns_exact");
  has_f1.set(logs, "HasAns_f1");
  no_exact.set(logs, "NoAns_exact");
  no_f1.set(logs, "NoAns_f1");
  set_best(answers, squad_exact, "exact", logs);
  set_best(answers, squad_f1, "f1", logs);
  return logs;
}

}  // namespace trivet::lm
