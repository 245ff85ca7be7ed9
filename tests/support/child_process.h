// A real process that a test starts, signals and never leaves behind.
#ifndef SYNCLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
#define SYNCLINE_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace syncline {

// Not thread-safe. Start it from the main thread: the child is killed when the thread that started
// it ends, so that a test that crashes leaves nothing behind.
class ChildProcess {
 public:
  // arguments[0] is the program's path. Standard output and error go to the files (made anew).
  // Errors: NOT_FOUND when the program cannot be run; UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments, const std::string& output,
      const std::string& errors);
  // Kills it and waits.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }
  bool running();
  // To this process alone; nothing once it has ended.
  void Signal(int number);
  // Unset: still running after the time. Else the exit status, or 128 + the signal that ended it.
  std::optional<int> Wait(std::chrono::milliseconds time);
  // The most memory that was resident at once (VmHWM); 0 once it has ended.
  uint64_t PeakResidentBytes() const;

 private:
  ChildProcess(pid_t pid, std::string output, std::string errors);

  const pid_t pid_;
  const std::string output_;
  const std::string errors_;
  std::optional<int> status_;
};

// The whole file; empty when there is none.
std::string ReadFile(const std::string& path);
// The folder that the running program lies in.
std::string ProgramFolder();

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_CHILD_PROCESS_H_
