// The stable hash against vectors that every language's twin must meet.
#include <cstdlib>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "common/hash.h"

namespace syncline {
namespace {

nlohmann::json Vectors() {
  std::ifstream file(std::string(std::getenv("SYNCLINE_SOURCE_DIR")) +
                     "/tests/golden/hash_vectors.json");
  return nlohmann::json::parse(file);
}

TEST(HashVectorsTest, RowsHashAsTheVectorsSay) {
  const nlohmann::json vectors = Vectors();
  ASSERT_FALSE(vectors["rows"].empty());
  for (const auto& v : vectors["rows"]) {
    const TableId table(v["table"].get<uint32_t>());
    const Key key = std::stoull(v["key"].get<std::string>());
    EXPECT_EQ(StableHash(table, key), std::stoull(v["hash"].get<std::string>())) << key;
    EXPECT_EQ(SlotOf(table, key, 256), SlotId(v["slot_256"].get<uint32_t>())) << key;
  }
}

TEST(HashVectorsTest, NamesHashAsTheVectorsSay) {
  const nlohmann::json vectors = Vectors();
  ASSERT_FALSE(vectors["names"].empty());
  for (const auto& v : vectors["names"]) {
    const auto name = v["name"].get<std::string>();
    EXPECT_EQ(StableHash(name), std::stoull(v["hash"].get<std::string>())) << name;
  }
}

}  // namespace
}  // namespace syncline
