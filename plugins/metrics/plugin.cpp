// SPDX-License-Identifier: Apache-2.0
// The plugin "metrics": scores of classifiers, for task.metrics.
#include "trivet/plugin.h"

#include "class_score.h"
#include "ranking_score.h"

namespace metrics = trivet::metrics;

TRIVET_PLUGIN(
    ({.name = "metrics",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "Scores of classifiers."}),
    trivet::metric<metrics::AveragePrecision>("AveragePrecision",
                                              "Area below the precision-recall curve of a class."),
    trivet::metric<metrics::F1>("F1", "Harmonic mean of precision and recall."),
    trivet::metric<metrics::Precision>("Precision",
                                       "Share of predictions of a class that are right."),
    trivet::metric<metrics::Recall>("Recall", "Share of a class's examples that are found."),
    trivet::metric<metrics::RocAuc>("RocAuc", "Area below the ROC curve of a class."))
