// SPDX-License-Identifier: Apache-2.0
// The plugin "tabular": tasks and models for tables.
#include "trivet/plugin.h"

#include "classification.h"
#include "mlp.h"
#include "regression.h"
#include "scores.h"

namespace tabular = trivet::tabular;

TRIVET_PLUGIN(
    ({.name = "tabular",
      .version = "1.0.0",
      .license = "Apache-2.0",
      .doc = "Learning from tables."}),
    trivet::task<tabular::Regression>("Regression", "Predicts a column of numbers."),
    trivet::task<tabular::Classification>("Classification", "Predicts a column of categories."),
    trivet::model<tabular::Mlp>("Mlp",
                                "Numbers and embedded categories, then fully connected layers."),
    trivet::metric<tabular::Accuracy>("Accuracy", "Share of labels with the largest logit."),
    trivet::metric<tabular::RegressionScores>("RegressionScores", "rmse, mae and r2."))
