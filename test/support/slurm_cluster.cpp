// SPDX-License-Identifier: Apache-2.0
#include "support/slurm_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "support/jobs.h"
#include "support/shell.h"

namespace trivet::test {
namespace {

namespace fs = std::filesystem;

// Each port stays bound until the last is found, so that they differ.
std::vector<int> free_ports(int count) {
  std::vector<int> sockets, ports;
  for (int i = 0; i < count; ++i) {
    sockets.push_back(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_ANY);
    socklen_t size = sizeof address;
    if (::bind(sockets.back(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("there is no free port");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

std::string program_of(const std::string& name) {
  for (const char* folder : {"/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"}) {
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return {};
}

fs::path process_folder(pid_t process) {
  return "/proc/" + std::to_string(process);
}

// Those whose environment has "NAME=VALUE".
std::vector<pid_t> with_variable(const std::vector<pid_t>& processes, const std::string& variable) {
  const std::string whole = '\0' + variable + '\0';
  std::vector<pid_t> found;
  for (const pid_t process : processes) {
    const std::string text = '\0' + read_process_file(process_folder(process), "environ") + '\0';
    if (text.find(whole) != std::string::npos) found.push_back(process);
  }
  return found;
}

std::string process_name(pid_t process) {
  return read_process_file(process_folder(process), "cmdline");
}

// 1 once it has ended.
pid_t parent_of(pid_t process) {
  const std::string text = read_process_file(process_folder(process), "stat");
  const auto name_end = text.rfind(") ");
  return name_end == std::string::npos ? 1
                                       : static_cast<pid_t>(std::stol(text.substr(name_end + 4)));
}

std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return std::string(name).substr(0, std::string(name).find('.'));
}

}  // namespace

std::string SlurmCluster::missing() {
  for (const char* name : {"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"}) {
    if (program_of(name).empty()) return name;
  }
  return {};
}

void SlurmCluster::write_config(int nodes, int cores, const std::string& settings) const {
  const std::string base = folder_.path().string();
  const std::vector<int> ports = free_ports(nodes + 1);
  const std::string user = ::getpwuid(::getuid())->pw_name;
  std::string text =
      "ClusterName=trivet\nSlurmctldHost=" + host() +
      "(127.0.0.1)\nSlurmctldPort=" + std::to_string(ports[0]) + "\nSlurmUser=" + user +
      "\nSlurmdUser=" + user +
      "\nAuthType=auth/munge\nCredType=cred/munge\n"
      // Also how long a job that is queued again waits; 5 is the least.
      "AuthInfo=socket=" +
      base + "/munge.socket,cred_expire=5\nStateSaveLocation=" + base +
      "/state\nSlurmdSpoolDir=" + base + "/spool-%n\nTmpFS=" + base +
      "/tmp-%n\nSlurmctldPidFile=" + base + "/slurmctld.pid\nSlurmdPidFile=" + base +
      "/slurmd-%n.pid\nSlurmctldLogFile=" + base + "/slurmctld.log\nSlurmdLogFile=" + base +
      "/slurmd-%n.log\n"
      "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n"
      "JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n"
      "SlurmdParameters=config_overrides\nSelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nSchedulerType=sched/backfill\n"
      "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,"
      "bf_interval=1\n"
      "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nReturnToService=2\nKillWait=2\n"
      "MinJobAge=300\nMaxArraySize=101\nMailProg=/bin/true\nSlurmdTimeout=30\nMessageTimeout=10\n"
      "GresTypes=gpu\nAccountingStorageType=accounting_storage/none\n"
      "JobCompType=jobcomp/none\n" +
      settings;
  for (int node = 1; node <= nodes; ++node) {
    text += "NodeName=n" + std::to_string(node) + " NodeHostname=" + host() +
            " NodeAddr=127.0.0.1 Port=" + std::to_string(ports[static_cast<std::size_t>(node)]) +
            " CPUs=" + std::to_string(cores) + " RealMemory=" + std::to_string(cores * 1000) +
            " Gres=gpu:2 State=UNKNOWN\n";
  }
  text +=
      "PartitionName=main Nodes=ALL Default=YES PriorityTier=10 PreemptMode=OFF\n"
      "PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE GraceTime=5\n";
  folder_.write("slurm.conf", text);
  // Two devices that every machine has serve as GPUs; nothing opens them.
  folder_.write("gres.conf",
                "Name=gpu File=/dev/null Flags=nvidia_gpu_env\nName=gpu File=/dev/zero "
                "Flags=nvidia_gpu_env\n");
  std::random_device random;
  std::string key;
  for (int i = 0; i < 128; ++i) key += static_cast<char>(random());
  ::chmod(folder_.write("munge.key", key).c_str(), 0400);
  fs::create_directory(file("state"));
  for (int node = 1; node <= nodes; ++node) {
    fs::create_directory(file("tmp-n" + std::to_string(node)));
  }
}

SlurmCluster::SlurmCluster(int nodes, int cores, const std::string& settings) {
  // Munge requires that others cannot write, and Slurm's users must reach its socket.
  ::chmod(folder_.path().c_str(), 0755);
  write_config(nodes, cores, settings);
  const std::string base = folder_.path().string();
  daemons_.push_back(start(
      {program_of("munged"), "--foreground", "--key-file=" + base + "/munge.key",
       "--socket=" + base + "/munge.socket", "--pid-file=" + base + "/munged.pid",
       "--log-file=" + base + "/munged.log", "--seed-file=" + base + "/seed", "--num-threads=2"}));
  if (!wait_until([&] { return fs::exists(file("munge.socket")); })) {
    throw std::runtime_error("munged does not come up: " + read_file(file("munged.log")));
  }
  start_controller();
  for (int node = 1; node <= nodes; ++node) {
    nodes_.push_back(0);
    start_node(node);
  }
  const std::string all = std::to_string(nodes) + "\n";
  if (!wait_until([&] { return command("sinfo -h -p main -t idle -o %D").output == all; })) {
    throw std::runtime_error("the nodes do not come up: " + command("sinfo").output +
                             read_file(file("slurmctld.log")));
  }
}

SlurmCluster::~SlurmCluster() {
  if (controller_ != 0) {
    command("scancel --quiet --full --signal=KILL --user=" + std::to_string(::getuid()));
    command("scancel --quiet --user=" + std::to_string(::getuid()));
  }
  if (controller_ != 0) end(controller_, SIGKILL);
  for (const pid_t node : nodes_) {
    if (node != 0) end(node, SIGKILL);
  }
  for (const pid_t daemon : daemons_) end(daemon, SIGKILL);
  kill_jobs();
}

std::string SlurmCluster::settings() const {
  return "SLURM_CONF=" + quoted((folder_ / "slurm.conf").string()) + " ";
}

ShellResult SlurmCluster::command(const std::string& words) const {
  return shell(settings() + words);
}

void SlurmCluster::stop_controller(int signal) {
  if (controller_ != 0) end(controller_, signal);
  controller_ = 0;
}

void SlurmCluster::start_controller() {
  controller_ = start({program_of("slurmctld"), "-D"});
  if (!wait_until(
          [&] { return command("scontrol ping").output.find(" is UP") != std::string::npos; })) {
    throw std::runtime_error("slurmctld does not come up: " + read_file(file("slurmctld.log")));
  }
}

void SlurmCluster::kill_daemon(int number) {
  pid_t& node = nodes_.at(static_cast<std::size_t>(number - 1));
  end(node, SIGKILL);
  node = 0;
}

void SlurmCluster::kill_node(int number) {
  kill_daemon(number);
  const std::string mark = "SLURMD_NODENAME=n" + std::to_string(number);
  // The parents of tasks are Slurm's daemons of their steps; those would report the end.
  std::vector<pid_t> tasks = with_variable(ours(), mark), steps;
  for (const pid_t task : tasks) {
    const pid_t parent = parent_of(task);
    if (process_name(parent).starts_with("slurmstepd")) steps.push_back(parent);
  }
  for (const pid_t step : steps) ::kill(step, SIGKILL);
  wait_until([&] {
    for (const pid_t task : tasks) ::kill(task, SIGKILL);
    tasks = with_variable(ours(), mark);
    return tasks.empty();
  });
}

void SlurmCluster::start_node(int number) {
  nodes_.at(static_cast<std::size_t>(number - 1)) =
      start({program_of("slurmd"), "-D", "-N", "n" + std::to_string(number)});
}

fs::file_time_type SlurmCluster::jobs_saved_at() const {
  std::error_code not_yet;
  const fs::file_time_type time = fs::last_write_time(file("state/job_state"), not_yet);
  return not_yet ? fs::file_time_type::min() : time;
}

pid_t SlurmCluster::start(const std::vector<std::string>& words) {
  const std::string config = (folder_ / "slurm.conf").string(),
                    log = (folder_ / "daemons.log").string();
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid(), child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int null = ::open("/dev/null", O_RDONLY);
  if (::getppid() != parent || out < 0 || null < 0) ::_exit(127);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  // Keeps the terminal's signals from the daemons: the test ends them.
  ::setsid();
  ::setenv("SLURM_CONF", config.c_str(), 1);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

void SlurmCluster::end(pid_t process, int signal) {
  ::kill(process, signal);
  wait_for_child(process);
}

// A job's processes are not children of the test, but are identifiable.
std::vector<pid_t> SlurmCluster::ours() const {
  std::vector<pid_t> all;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    all.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return with_variable(all, "SLURM_CONF=" + (folder_ / "slurm.conf").string());
}

void SlurmCluster::kill_jobs() const {
  wait_until([&] {
    const std::vector<pid_t> left = ours();
    for (const pid_t process : left) ::kill(process, SIGKILL);
    return left.empty();
  });
}

}  // namespace trivet::test
