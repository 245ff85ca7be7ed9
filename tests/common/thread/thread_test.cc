#include "common/thread/thread.h"

#include <atomic>
#include <string>

#include <pthread.h>
#include <signal.h>

#include "gtest/gtest.h"

namespace syncline {
namespace {

TEST(ThreadTest, ShowsItsNameCutToWhatLinuxKeeps) {
  std::string name;
  Thread thread("executor-with-a-long-name", [&] {
    char buffer[32];
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name = buffer;
  });
  thread.Join();
  EXPECT_EQ(name, "executor-with-a");
}

TEST(ThreadTest, TheDestructorWaitsForTheBody) {
  std::atomic<bool> done = false;
  {
    Thread thread("body", [&] { done = true; });
  }
  EXPECT_TRUE(done);
}

TEST(ThreadTest, AssignmentWaitsForTheOldBody) {
  std::atomic<int> count = 0;
  Thread thread("first", [&] { ++count; });
  thread = Thread("second", [&] { ++count; });
  EXPECT_GE(count, 1);
  thread.Join();
  EXPECT_EQ(count, 2);
  EXPECT_FALSE(thread.joinable());
}

TEST(ThreadTest, LeavesTheSignalsThatEndTheProcessToTheMainThread) {
  sigset_t inside;
  Thread("signals", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).Join();
  EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
  sigset_t outside;
  pthread_sigmask(SIG_SETMASK, nullptr, &outside);
  EXPECT_EQ(sigismember(&outside, SIGTERM), 0);
}

}  // namespace
}  // namespace syncline
