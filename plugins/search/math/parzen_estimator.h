// SPDX-License-Identifier: Apache-2.0
// ParzenEstimator: a probability over some dimensions of a space, as a mixture of one kernel around
// each observation and a flat prior. Kernel k is a product over the dimensions,
//
//   numbers   a normal of mean u_k and standard deviation s_k, cut off at 0 and 1; of a dimension
//             with finitely many values its mass over the cell of the value
//   choices   (n [value = value_k] + 1) / (n + count), n observations: Bergstra's pseudo-counts
//
// The prior is a normal of mean 1/2 and standard deviation 1, cut off likewise, and 1 / count.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/math/random_stream.h"
#include "trivet/search/search_space.h"

namespace trivet::search {

// Widths of the kernels of one dimension, all in units of its range.
//   neighbor_widths: the larger distance to a neighbor among the observations, the prior's mean
//     and the ends of the range, between 1 / min(100, n + 1) and 1 (Bergstra et al. 2011).
//   scott_width: 0.2 n^(-1 / (d + 4)), the same for all, with the same least width: how a joint
//     density of d dimensions narrows.
std::vector<double> neighbor_widths(std::span<const double> observations);
double scott_width(std::size_t observations, std::size_t dimensions);

class ParzenEstimator {
 public:
  // `observations` holds coordinates of `dimensions`, `weights` one number each. The dimensions
  // must outlive the estimator.
  ParzenEstimator(std::vector<const Dimension*> dimensions,
                  const std::vector<std::vector<double>>& observations, std::vector<double> weights,
                  double prior_weight);

  // Returns the coordinates of one sample.
  std::vector<double> draw(RandomStream& draws) const;
  // Natural logarithm of the density, or of the probability for dimensions with finitely many
  // values.
  double log_density(std::span<const double> unit) const;

 private:
  struct Kernel {
    double mean = 0.5;  // for choices the middle of the cell; unused for the prior
    double width = 1;
    double inside = 1;  // the part of the normal between 0 and 1
    bool is_prior = false;
  };

  Kernel prior() const;
  double draw(const Dimension& dimension, const Kernel& kernel, RandomStream& draws) const;
  double log_kernel(const Dimension& dimension, const Kernel& kernel, double unit) const;

  std::vector<const Dimension*> dimensions_;
  std::vector<double> weights_;               // of the kernels; their sum is 1
  std::vector<std::vector<Kernel>> kernels_;  // by dimension, then by observation, the prior last
  double observations_ = 0;
};

}  // namespace trivet::search
