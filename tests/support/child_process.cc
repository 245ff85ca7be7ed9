#include "tests/support/child_process.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/status/status.h"
#include "common/time_source.h"

namespace syncline {
namespace {

constexpr int kCannotRun = 127;
constexpr std::chrono::milliseconds kPollInterval{2};

// Only what is safe between fork and exec in a process with threads.
[[noreturn]] void BecomeChild(char* const* arguments, int in, int out, int err, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (getppid() == parent && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2) {
    execv(arguments[0], arguments);
  }
  _exit(kCannotRun);
}

int OpenForWriting(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments, const std::string& output,
    const std::string& errors) {
  if (access(arguments.at(0).c_str(), X_OK) != 0) {
    return MakeError(absl::StatusCode::kNotFound, Detail::kNone,
                     "there is no program {}; build it first", arguments[0]);
  }
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int out = OpenForWriting(output);
  const int err = OpenForWriting(errors);
  const pid_t parent = getpid();
  const pid_t pid = in < 0 || out < 0 || err < 0 ? -1 : fork();
  if (pid == 0) BecomeChild(raw.data(), in, out, err, parent);
  for (const int fd : {in, out, err}) {
    if (fd >= 0) close(fd);
  }
  if (pid < 0) {
    return MakeError(absl::StatusCode::kUnavailable, Detail::kNone, "cannot start {} into {}",
                     arguments[0], output);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, output, errors));
}

ChildProcess::ChildProcess(pid_t pid, std::string output, std::string errors)
    : pid_(pid), output_(std::move(output)), errors_(std::move(errors)) {}

ChildProcess::~ChildProcess() {
  if (!running()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool ChildProcess::running() {
  if (status_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

void ChildProcess::Signal(int number) {
  if (running()) kill(pid_, number);
}

std::optional<int> ChildProcess::Wait(std::chrono::milliseconds time) {
  const SystemTimeSource clock;
  const MonotonicTime end = clock.Now() + time;
  while (running() && clock.Now() < end) std::this_thread::sleep_for(kPollInterval);
  return status_;
}

uint64_t ChildProcess::PeakResidentBytes() const {
  std::istringstream lines(ReadFile("/proc/" + std::to_string(pid_) + "/status"));
  for (std::string word; lines >> word;) {
    uint64_t kib = 0;
    if (word == "VmHWM:" && lines >> kib) return kib << 10;
  }
  return 0;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string ProgramFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

}  // namespace syncline
