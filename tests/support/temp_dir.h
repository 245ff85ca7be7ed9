// A directory of its own for a test, removed at the end.
#ifndef SYNCLINE_TESTS_SUPPORT_TEMP_DIR_H_
#define SYNCLINE_TESTS_SUPPORT_TEMP_DIR_H_

#include <filesystem>
#include <string>

#include <stdlib.h>

#include "common/status/status.h"

namespace syncline {

class TempDir {
 public:
  TempDir() {
    path_ = (std::filesystem::temp_directory_path() / "syncline_test_XXXXXX").string();
    SYNCLINE_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make a temporary directory");
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string Sub(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_SUPPORT_TEMP_DIR_H_
