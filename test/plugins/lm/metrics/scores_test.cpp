// SPDX-License-Identifier: Apache-2.0
// Scores of classifiers, regressions and taggers: published values, and values by hand.
#include <cmath>

#include <catch2/catch.hpp>

#include "lm/metrics/class_counts.h"
#include "lm/metrics/correlation.h"
#include "lm/metrics/entities.h"
#include "lm/metrics/tag_scores.h"
#include "support/plugins.h"
#include "trivet/error.h"

namespace {

using namespace trivet;
using namespace trivet::lm;
using Catch::Contains;
using Classes = std::vector<std::int64_t>;
using Tags = std::vector<std::string_view>;

ClassCounts counts_of(std::int64_t classes, const Classes& truth, const Classes& told) {
  ClassCounts counts(classes);
  for (std::size_t i = 0; i < truth.size(); ++i) counts.add(truth[i], told[i]);
  return counts;
}

// Gorodkin's formula (2004), over the confusion matrix c[truth][predicted].
double gorodkin(const std::vector<std::vector<double>>& c) {
  const std::size_t n = c.size();
  double above = 0, truth = 0, told = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double row = 0, column = 0, other_rows = 0, other_columns = 0;
    for (std::size_t l = 0; l < n; ++l) {
      row += c[k][l];
      column += c[l][k];
      for (std::size_t m = 0; m < n; ++m) {
        above += c[k][k] * c[l][m] - c[k][l] * c[m][k];
        if (l != k) {
          other_rows += c[l][m];
          other_columns += c[m][l];
        }
      }
    }
    truth += row * other_rows;
    told += column * other_columns;
  }
  return above / std::sqrt(truth) / std::sqrt(told);
}

}  // namespace

TEST_CASE("class scores match scikit-learn's documentation", "[lm-scores]") {
  // matthews_corrcoef([+1, +1, +1, -1], [+1, -1, +1, +1]) = -0.33..
  CHECK(counts_of(2, {1, 1, 1, 0}, {1, 0, 1, 1}).matthews_corrcoef() == Approx(-1.0 / 3));
  // f1_score([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1], average="macro") = 0.26..
  const ClassCounts three = counts_of(3, {0, 1, 2, 0, 1, 2}, {0, 2, 1, 0, 0, 1});
  CHECK(three.macro_f1() == Approx(0.8 / 3));
  CHECK(three.f1(0) == Approx(0.8));
  CHECK(three.accuracy() == Approx(1.0 / 3));
  // f1_score([0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1, 1]): 2 right, 3 predicted, 2 true.
  CHECK(counts_of(2, {0, 1, 0, 0, 1, 0}, {0, 1, 0, 0, 1, 1}).f1(1) == Approx(0.8));
}

TEST_CASE("Matthews' coefficient by both of its formulas", "[lm-scores]") {
  // 6 and 3 right, 2 and 1 wrong: (6 * 3 - 1 * 2) / sqrt(7 * 8 * 4 * 5).
  ClassCounts two(2);
  const double cells[2][2] = {{3, 1}, {2, 6}};
  for (std::int64_t truth = 0; truth < 2; ++truth) {
    for (std::int64_t told = 0; told < 2; ++told) {
      for (int i = 0; i < static_cast<int>(cells[truth][told]); ++i) two.add(truth, told);
    }
  }
  CHECK(two.matthews_corrcoef() == Approx(16 / std::sqrt(1120.0)));
  CHECK(two.matthews_corrcoef() == Approx(gorodkin({{3, 1}, {2, 6}})));
  const ClassCounts three = counts_of(3, {0, 1, 2, 0, 1, 2, 0, 0}, {0, 1, 1, 0, 2, 2, 0, 1});
  CHECK(three.matthews_corrcoef() == Approx(gorodkin({{3, 1, 0}, {0, 1, 1}, {0, 1, 1}})));
  CHECK(counts_of(3, {0, 1, 2}, {0, 1, 2}).matthews_corrcoef() == Approx(1));
}

TEST_CASE("scores of no examples, of a single class and of absent classes are 0", "[lm-scores]") {
  const ClassCounts none(3);
  CHECK(none.accuracy() == 0);
  CHECK(none.macro_f1() == 0);
  CHECK(none.matthews_corrcoef() == 0);
  const ClassCounts one = counts_of(3, {1, 1}, {1, 1});
  CHECK(one.matthews_corrcoef() == 0);
  CHECK(one.macro_f1() == 1);  // the other classes were neither true nor predicted
  CHECK(one.f1(0) == 0);
  // Labels outside do not count.
  const ClassCounts outside = counts_of(2, {-1, 2, 1}, {0, 0, 1});
  CHECK(outside.accuracy() == 1);
}

TEST_CASE("correlations match SciPy's documentation", "[lm-scores]") {
  const std::vector<double> a = {1, 2, 3, 4, 5};
  // spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]): the sevens share a rank.
  CHECK(spearman(a, std::vector<double>{5, 6, 7, 8, 7}) == Approx(0.8207826816681233));
  // pearsonr([1, 2, 3, 4, 5, 6, 7], [10, 9, 2.5, 6, 4, 3, 2]), and of the first five.
  CHECK(pearson(std::vector<double>{1, 2, 3, 4, 5, 6, 7},
                std::vector<double>{10, 9, 2.5, 6, 4, 3, 2}) == Approx(-0.828503883588428));
  CHECK(pearson(a, std::vector<double>{10, 9, 2.5, 6, 4}) == Approx(-0.7426106572325057));
  CHECK(spearman(a, std::vector<double>{1, 8, 27, 64, 125}) == Approx(1));
  CHECK(spearman(std::vector<double>{2, 2, 1}, std::vector<double>{1, 1, 2}) == Approx(-1));
  CHECK(pearson(a, std::vector<double>(5, 3)) == 0);
  CHECK(spearman(std::vector<double>(5, 3), a) == 0);
  CHECK(pearson({}, {}) == 0);
  CHECK(spearman({}, {}) == 0);
  // Far from 0 no digits are lost.
  CHECK(pearson(std::vector<double>{1e9 + 1, 1e9 + 2, 1e9 + 3}, std::vector<double>{2, 4, 6}) ==
        Approx(1));
}

TEST_CASE("numbers that are none come last in ranks", "[lm-scores]") {
  const std::vector<double> a = {1, std::nan(""), 2, std::nan("")}, b = {1, 3, 2, 3};
  CHECK(spearman(a, b) == Approx(1));
}

TEST_CASE("entities are the spans that tags mark", "[lm-scores]") {
  using Entities = std::vector<Entity>;
  // seqeval's documentation of get_entities.
  CHECK(entities_of(Tags{"B-PER", "I-PER", "O", "B-LOC"}) ==
        Entities{{"PER", 0, 2}, {"LOC", 3, 4}});
  CHECK(entities_of(Tags{"B-A", "B-A", "I-A"}) == Entities{{"A", 0, 1}, {"A", 1, 3}});
  // Tags that break the scheme, as in conlleval.
  CHECK(entities_of(Tags{"I-A", "I-A", "I-B"}) == Entities{{"A", 0, 2}, {"B", 2, 3}});
  CHECK(entities_of(Tags{"O", "I-A", "O", "I-A"}) == Entities{{"A", 1, 2}, {"A", 3, 4}});
  CHECK(entities_of(Tags{"B-A", "I-B"}) == Entities{{"A", 0, 1}, {"B", 1, 2}});
  // IOBES.
  CHECK(entities_of(Tags{"S-A", "B-A", "I-A", "E-A", "I-A"}) ==
        Entities{{"A", 0, 1}, {"A", 1, 4}, {"A", 4, 5}});
  CHECK(entities_of({}).empty());
  CHECK(entities_of(Tags{"O"}).empty());
  CHECK(entities_of(Tags{"B-A-B"}) == Entities{{"A-B", 0, 1}});
}

TEST_CASE("names mark entities where each has a prefix or is O", "[lm-scores]") {
  const auto mark = [](std::vector<std::string> names) { return mark_entities(names); };
  CHECK(mark({"O", "B-PER", "I-PER"}));
  CHECK(mark({"B-NP"}));
  CHECK_FALSE(mark({"NOUN", "VERB"}));
  CHECK_FALSE(mark({"O", "B-PER", "X-PER"}));
  CHECK_FALSE(mark({"O"}));
  CHECK_FALSE(mark({"O", "B-"}));
}

namespace {

const std::vector<std::string> kNames = {"O", "B-MISC", "I-MISC", "B-PER", "I-PER"};

struct Scored {
  explicit Scored(std::vector<std::string> names = kNames) : scores(std::move(names)) {}
  void add(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& told) {
    std::vector<float> weights;
    for (const std::int32_t tag : truth) weights.push_back(tag < 0 ? 0.0F : 1.0F);
    const Shape shape{1, std::ssize(truth)};
    scores.update_state({{"tags", Tensor::from<std::int32_t>(*device, truth, shape)},
                         {"weights", Tensor::from<float>(*device, weights, shape)}},
                        {{"per_example_argmax", Tensor::from<std::int32_t>(*device, told, shape)}});
  }
  double value(const char* name) const { return *scores.result().find(name); }
  std::unique_ptr<Device> device = test::open_device("tiny/Backend");
  TagScores scores;
};

}  // namespace

TEST_CASE("tag scores match seqeval's documentation", "[lm-scores]") {
  Scored scored;
  // O O O B-MISC I-MISC I-MISC O predicted as O O B-MISC I-MISC I-MISC I-MISC O, with a special
  // token at the front and a second token of a word that do not count; B-PER I-PER O predicted
  // correctly.
  scored.add({-1, 0, 0, 0, 1, -1, 2, 2, 0}, {3, 0, 0, 1, 2, 3, 2, 2, 0});
  scored.add({3, 4, 0}, {3, 4, 0});
  CHECK(scored.value("f1") == 0.5);
  CHECK(scored.value("precision") == 0.5);
  CHECK(scored.value("recall") == 0.5);
  CHECK(scored.value("accuracy") == 0.8);
  Scored again;
  again.scores.restore_state(scored.scores.save_state());
  CHECK(again.value("f1") == 0.5);
  CHECK(again.value("accuracy") == 0.8);
  CHECK_THROWS_WITH(again.scores.restore_state(Value::table()), Contains("lacks 'counts'"));
  scored.scores.reset_state();
  CHECK(scored.scores.result().find("f1") == nullptr);
  Scored lenient({"O", "B-NP", "I-NP"});
  lenient.add({1, 2, 0}, {2, 2, 0});
  CHECK(lenient.value("f1") == 1);
}

TEST_CASE("rows are separate sequences, and tags without a scheme have a mean f1", "[lm-scores]") {
  Scored rows;
  rows.add({0, 3}, {0, 3});
  rows.add({4, 0}, {0, 0});  // starts an entity, though the row before ended with one
  CHECK(rows.value("recall") == 0.5);
  CHECK(rows.value("precision") == 1);
  const Shape shape{1, 2};
  rows.scores.update_state(
      {{"tags", Tensor::from<std::int32_t>(*rows.device, std::vector<std::int32_t>{3, 3}, shape)},
       {"weights", Tensor::from<float>(*rows.device, std::vector<float>{0, 0}, shape)}},
      {{"per_example_argmax",
        Tensor::from<std::int32_t>(*rows.device, std::vector<std::int32_t>{0, 0}, shape)}});
  CHECK(rows.value("recall") == 0.5);  // positions without weight do not count
  Scored none;
  none.add({0, 0}, {0, 0});
  CHECK(none.value("f1") == 0);
  CHECK(none.value("accuracy") == 1);
  Scored words({"NOUN", "VERB", "ADJ"});
  words.add({0, 1, 2, 0, 1, 2}, {0, 2, 1, 0, 0, 1});
  CHECK(words.value("macro_f1") == Approx(0.8 / 3));
  CHECK(words.scores.result().find("f1") == nullptr);
}
