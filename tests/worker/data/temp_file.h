// Files for tests of readers.
#ifndef SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_
#define SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/temp_dir.h"

namespace syncline {

// A folder of its own, with files.
class TempFolder {
 public:
  const std::string& path() const { return dir_.path(); }
  std::string Write(const std::string& name, std::string_view text) const {
    std::ofstream(dir_.Sub(name), std::ios::binary) << text;
    return dir_.Sub(name);
  }

 private:
  const TempDir dir_;
};

}  // namespace syncline

#endif  // SYNCLINE_TESTS_WORKER_DATA_TEMP_FILE_H_
