// SPDX-License-Identifier: Apache-2.0
#include "search/math/maximize.h"

#include <nlopt.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "trivet/error.h"

namespace trivet::search {
namespace {

using Optimizer = std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)>;

// The callback state for NLopt. Keeps the best point itself, as NLopt returns none if it gives up.
struct Search {
  const Maximized& objective;
  std::vector<double> best;
  double best_value = -std::numeric_limits<double>::infinity();

  static double call(unsigned n, const double* x, double* gradient, void* self) {
    auto& search = *static_cast<Search*>(self);
    std::vector<double> at(x, x + n);
    std::vector<double> slope(gradient != nullptr ? n : 0);
    const double value = search.objective(at, slope);
    for (unsigned i = 0; i < slope.size(); ++i) {
      gradient[i] = std::isfinite(slope[i]) ? slope[i] : 0;
    }
    // NLopt stops at a value that is not finite; a very bad value makes it turn back.
    if (!std::isfinite(value)) return -1e100;
    if (value > search.best_value) {
      search.best_value = value;
      search.best = std::move(at);
    }
    return value;
  }
};

std::vector<double> run(nlopt_algorithm algorithm, const Maximized& objective, const Box& box,
                        std::vector<double> start, double step, int evaluations) {
  const Optimizer optimizer(nlopt_create(algorithm, static_cast<unsigned>(start.size())),
                            &nlopt_destroy);
  if (optimizer == nullptr) throw Error("NLopt is out of memory");
  Search search{.objective = objective, .best = start};
  nlopt_set_max_objective(optimizer.get(), &Search::call, &search);
  nlopt_set_lower_bounds(optimizer.get(), box.low.data());
  nlopt_set_upper_bounds(optimizer.get(), box.high.data());
  nlopt_set_maxeval(optimizer.get(), evaluations);
  nlopt_set_xtol_abs1(optimizer.get(), 1e-5);
  nlopt_set_ftol_abs(optimizer.get(), 1e-7);
  if (step > 0) nlopt_set_initial_step1(optimizer.get(), step);
  double value = 0;
  nlopt_optimize(optimizer.get(), start.data(), &value);
  return std::move(search.best);
}

}  // namespace

std::vector<double> climb(const Maximized& objective, const Box& box, std::vector<double> start,
                          int evaluations) {
  return run(NLOPT_LD_LBFGS, objective, box, std::move(start), 0, evaluations);
}

std::vector<double> probe(const Maximized& objective, const Box& box, std::vector<double> start,
                          double step, int evaluations) {
  return run(NLOPT_LN_SBPLX, objective, box, std::move(start), step, evaluations);
}

}  // namespace trivet::search
