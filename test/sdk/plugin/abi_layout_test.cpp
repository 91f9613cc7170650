// SPDX-License-Identifier: Apache-2.0
// The layout of what plugins derive from, create and hold, as the compiler of Debian 12 for x86-64
// has it: a plugin that was built with an earlier minor of the SDK relies on it (abi.h).
//
// Where one of these fails, a member has come, gone or moved. Within a major take the change back:
// what is new goes into an extension (trivet/object.h), a struct of its own, or behind a pointer.
// With a new major (TRIVET_SDK_MAJOR in abi.h), and before the first release, write the new size.
#include "trivet/action.h"
#include "trivet/command.h"
#include "trivet/data_source.h"
#include "trivet/extensions/text_generator.h"
#include "trivet/input.h"
#include "trivet/launch/attempt.h"
#include "trivet/launch/job_array.h"
#include "trivet/launch/jobs_provider.h"
#include "trivet/launch/orchestrator.h"
#include "trivet/launch/subdir_format.h"
#include "trivet/launch/sweep_info.h"
#include "trivet/layer.h"
#include "trivet/layer/initializer.h"
#include "trivet/layer/softmax_head.h"
#include "trivet/metric.h"
#include "trivet/model.h"
#include "trivet/ops.h"
#include "trivet/ops/ops_vision.h"
#include "trivet/ops/ops_volume.h"
#include "trivet/optimizer.h"
#include "trivet/os/subprocess.h"
#include "trivet/schedule.h"
#include "trivet/search/sampler.h"
#include "trivet/search/stopper.h"
#include "trivet/summary_writer.h"
#include "trivet/task.h"
#include "trivet/tensor/device.h"
#include "trivet/tokenizer.h"
#include "trivet/train/learner.h"
#include "trivet/trainer.h"

#if defined(__x86_64__) && defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI

namespace trivet {

#define TRIVET_HAS_SIZE(type, size)     \
  static_assert(sizeof(type) == (size), \
                "the layout of " #type " has changed: see the top of this file");

// What plugins derive their configs from. An empty one has size 1, and none where it is a base.
TRIVET_HAS_SIZE(TaskConfig, 288)
TRIVET_HAS_SIZE(ModelConfig, 1)
TRIVET_HAS_SIZE(InputConfig, 64)
TRIVET_HAS_SIZE(MetricConfig, 40)
TRIVET_HAS_SIZE(LayerConfig, 32)
TRIVET_HAS_SIZE(OptimizerConfig, 1)
TRIVET_HAS_SIZE(ScheduleConfig, 1)
TRIVET_HAS_SIZE(DataSourceConfig, 1)
TRIVET_HAS_SIZE(TokenizerConfig, 1)
TRIVET_HAS_SIZE(TrainerConfig, 544)

// What plugins create.
TRIVET_HAS_SIZE(FpropContext, 152)
TRIVET_HAS_SIZE(InputContext, 88)
TRIVET_HAS_SIZE(TaskContext, 72)
TRIVET_HAS_SIZE(StepState, 40)
TRIVET_HAS_SIZE(TrainerContext, 320)
TRIVET_HAS_SIZE(ActionContext, 120)
TRIVET_HAS_SIZE(SummaryWriterContext, 40)
TRIVET_HAS_SIZE(launch::SweepContext, 56)
TRIVET_HAS_SIZE(launch::OrchestratorContext, 120)
TRIVET_HAS_SIZE(search::SamplerContext, 120)
TRIVET_HAS_SIZE(search::StopperContext, 4)
TRIVET_HAS_SIZE(InitConfig, 16)
TRIVET_HAS_SIZE(WindowOptions, 64)
TRIVET_HAS_SIZE(VolumeOptions, 88)
TRIVET_HAS_SIZE(ops::ReduceOptions, 1)
TRIVET_HAS_SIZE(ops::MatmulOptions, 2)
TRIVET_HAS_SIZE(ops::AttentionOptions, 88)
TRIVET_HAS_SIZE(ops::CrossEntropyOptions, 8)
TRIVET_HAS_SIZE(ops::LinearCrossEntropyOptions, 16)
TRIVET_HAS_SIZE(SoftmaxLossOptions, 1)
TRIVET_HAS_SIZE(ParameterOptions, 72)
TRIVET_HAS_SIZE(LearnerOptions, 120)
TRIVET_HAS_SIZE(LearnerStepOptions, 24)
TRIVET_HAS_SIZE(GenerateOptions, 224)
TRIVET_HAS_SIZE(ValidateOptions, 40)
TRIVET_HAS_SIZE(DeviceOptions, 88)
TRIVET_HAS_SIZE(ProgramOptions, 32)
TRIVET_HAS_SIZE(launch::AttemptOptions, 128)
TRIVET_HAS_SIZE(launch::JobRunOptions, 168)
TRIVET_HAS_SIZE(launch::SweepItem, 56)
TRIVET_HAS_SIZE(launch::DirProperties, 184)
TRIVET_HAS_SIZE(SourceExample, 56)
TRIVET_HAS_SIZE(search::Trial, 104)

// What plugins derive classes from.
TRIVET_HAS_SIZE(Task, 552)
TRIVET_HAS_SIZE(Layer, 8)
TRIVET_HAS_SIZE(Input, 8)
TRIVET_HAS_SIZE(Metric, 8)
TRIVET_HAS_SIZE(Optimizer, 8)
TRIVET_HAS_SIZE(Schedule, 8)
TRIVET_HAS_SIZE(Tokenizer, 8)
TRIVET_HAS_SIZE(DataSource, 8)
TRIVET_HAS_SIZE(Model, 8)
TRIVET_HAS_SIZE(Trainer, 8)
TRIVET_HAS_SIZE(Action, 8)
TRIVET_HAS_SIZE(Command, 8)
TRIVET_HAS_SIZE(SummaryWriter, 8)
TRIVET_HAS_SIZE(launch::Orchestrator, 8)
TRIVET_HAS_SIZE(launch::SweepInfo, 8)
TRIVET_HAS_SIZE(launch::JobsProvider, 8)
TRIVET_HAS_SIZE(launch::SubdirFormat, 72)
TRIVET_HAS_SIZE(search::Sampler, 8)
TRIVET_HAS_SIZE(search::Stopper, 8)

// What plugins hold.
TRIVET_HAS_SIZE(Tensor, 8)
TRIVET_HAS_SIZE(Value, 8)
TRIVET_HAS_SIZE(NestedMap, 24)

#undef TRIVET_HAS_SIZE

}  // namespace trivet

#endif
