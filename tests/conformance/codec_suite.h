// What every codec must do. Include in one test file and instantiate with names:
//   INSTANTIATE_TEST_SUITE_P(Fp32, CodecSuite, ::testing::Values(CodecCase{"fp32", 0, 1e30f}));
#ifndef SYNCLINE_TESTS_CONFORMANCE_CODEC_SUITE_H_
#define SYNCLINE_TESTS_CONFORMANCE_CODEC_SUITE_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "common/codec/codec.h"
#include "common/random.h"
#include "tests/support/seed.h"
#include "tests/support/status_matchers.h"

namespace syncline {

struct CodecCase {
  std::string name;
  double relative_error;  // of an element within `greatest`, once encoded and decoded
  float greatest;         // largest magnitude that the bound speaks of
};

class CodecSuite : public ::testing::TestWithParam<CodecCase> {
 protected:
  const Codec& codec() { return *FindCodec(GetParam().name); }

  std::vector<uint8_t> Encode(const std::vector<float>& rows, size_t dim) {
    std::vector<uint8_t> bytes(rows.size() / dim * codec().EncodedRowBytes(dim));
    codec().Encode(rows, dim, bytes);
    return bytes;
  }
  std::vector<float> RandomRows(size_t n, SplitMix64& random) {
    std::vector<float> rows(n);
    for (float& x : rows) {
      const double scale = std::pow(GetParam().greatest, random.Uniform() * 0.9);
      x = static_cast<float>((random.Uniform() * 2 - 1) * scale);
    }
    return rows;
  }
};

TEST_P(CodecSuite, IsFoundByIdAndName) {
  ASSERT_NE(FindCodec(GetParam().name), nullptr);
  EXPECT_EQ(codec().name(), GetParam().name);
  EXPECT_EQ(FindCodec(static_cast<uint32_t>(codec().id())), &codec());
}

TEST_P(CodecSuite, RowsEncodeAloneAndToTheSameNumberOfBytes) {
  const uint64_t seed = TestSeed(1);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  for (size_t dim : {1u, 3u, 16u, 257u}) {
    const std::vector<float> rows = RandomRows(5 * dim, random);
    const std::vector<uint8_t> all = Encode(rows, dim);
    const size_t row_bytes = codec().EncodedRowBytes(dim);
    for (size_t i = 0; i < 5; ++i) {
      const std::vector<float> row(rows.begin() + i * dim, rows.begin() + (i + 1) * dim);
      const std::vector<uint8_t> expected(all.begin() + i * row_bytes,
                                          all.begin() + (i + 1) * row_bytes);
      ASSERT_EQ(Encode(row, dim), expected);
    }
  }
}

TEST_P(CodecSuite, DecodedElementsAreWithinTheErrorStated) {
  const uint64_t seed = TestSeed(2);
  SCOPED_TRACE(SeedTrace(seed));
  SplitMix64 random(seed);
  const std::vector<float> rows = RandomRows(64 * 100, random);
  std::vector<float> decoded(rows.size());
  ASSERT_OK(codec().Decode(Encode(rows, 64), 64, decoded));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_LE(std::fabs(double{decoded[i]} - rows[i]),
              GetParam().relative_error * std::max(1.0, std::fabs(double{rows[i]})));
  }
}

TEST_P(CodecSuite, EncodingWhatWasDecodedGivesTheSameBytes) {
  SplitMix64 random(3);
  const std::vector<float> rows = RandomRows(320, random);
  const std::vector<uint8_t> bytes = Encode(rows, 32);
  std::vector<float> decoded(rows.size());
  ASSERT_OK(codec().Decode(bytes, 32, decoded));
  EXPECT_EQ(Encode(decoded, 32), bytes);
}

TEST_P(CodecSuite, ZeroRowsStayZero) {
  std::vector<float> decoded(8, 1);
  ASSERT_OK(codec().Decode(Encode(std::vector<float>(8, 0.0f), 8), 8, decoded));
  EXPECT_EQ(decoded, std::vector<float>(8, 0.0f));
}

TEST_P(CodecSuite, NonFiniteNumbersStayNonFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> rows = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 1};
  std::vector<float> decoded(4);
  ASSERT_OK(codec().Decode(Encode(rows, 4), 4, decoded));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(std::isfinite(decoded[i])) << i;
}

TEST_P(CodecSuite, NoRowsAreNoBytes) {
  EXPECT_TRUE(Encode({}, 4).empty());
  EXPECT_OK(codec().Decode({}, 4, {}));
}

TEST_P(CodecSuite, AWrongNumberOfBytesIsRefused) {
  std::vector<float> rows(8);
  std::vector<uint8_t> bytes = Encode(rows, 4);
  bytes.pop_back();
  EXPECT_THAT(codec().Decode(bytes, 4, rows), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(codec().Decode({}, 4, rows), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(CodecSuite, AnyBytesDecodeToSomethingOrAnError) {
  SplitMix64 random(4);
  std::vector<uint8_t> bytes(4 * codec().EncodedRowBytes(16));
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  std::vector<float> rows(64);
  codec().Decode(bytes, 16, rows).IgnoreError();
}

}  // namespace syncline

#endif  // SYNCLINE_TESTS_CONFORMANCE_CODEC_SUITE_H_
