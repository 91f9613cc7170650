// SPDX-License-Identifier: Apache-2.0
// Destructors of base classes that have nothing else out of line: so each class has one vtable and
// one type information in the process, that of libtrivet.
#include "trivet/command.h"
#include "trivet/data_source.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/unit_records.h"
#include "trivet/layer.h"
#include "trivet/metric.h"
#include "trivet/model.h"
#include "trivet/schedule.h"
#include "trivet/search/sampler.h"
#include "trivet/search/stopper.h"
#include "trivet/summary_writer.h"
#include "trivet/train/checkpoint.h"

namespace trivet {

Layer::~Layer() = default;

Model::~Model() = default;

DataSource::~DataSource() = default;

Metric::~Metric() = default;

Schedule::~Schedule() = default;

CheckpointWriter::~CheckpointWriter() = default;
CheckpointReader::~CheckpointReader() = default;

SummaryWriter::~SummaryWriter() = default;
void SummaryWriter::begin(std::int64_t) {}
void SummaryWriter::summaries(std::string_view, std::int64_t, const Summaries&) {}

Command::~Command() = default;
CommandContext::~CommandContext() = default;
TrainedRun::~TrainedRun() = default;

launch::UnitRecords::~UnitRecords() = default;

JobsProvider::~JobsProvider() = default;
Sampler::~Sampler() = default;
Stopper::~Stopper() = default;

}  // namespace trivet
