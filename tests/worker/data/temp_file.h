// Files for tests of readers.
#ifndef SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_
#define SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "gtest/gtest.h"

namespace syncline {

// A folder of its own that is removed at the end of the scope.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "worker_data_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, std::string_view text) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

 private:
  std::string path_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_
