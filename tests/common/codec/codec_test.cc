#include "common/codec/codec.h"

#include "gtest/gtest.h"

#include "tests/conformance/codec_suite.h"

namespace syncline {
namespace {

std::string NameOf(const ::testing::TestParamInfo<CodecCase>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(All, CodecSuite,
                         ::testing::Values(CodecCase{"fp32", 0, 1e30f},
                                           // Half a unit of the 11-bit mantissa.
                                           CodecCase{"fp16", 0x1p-11, 65'504.0f}),
                         NameOf);

TEST(CodecRegistryTest, UnknownCodecsAreNull) {
  EXPECT_EQ(FindCodec(0u), nullptr);
  EXPECT_EQ(FindCodec(3u), nullptr);
  EXPECT_EQ(FindCodec(UINT32_MAX), nullptr);
  EXPECT_EQ(FindCodec(""), nullptr);
  EXPECT_EQ(FindCodec("FP32"), nullptr);
}

TEST(CodecRegistryTest, IdsArePartOfTheWireContract) {
  EXPECT_EQ(FindCodec(1u)->name(), "fp32");
  EXPECT_EQ(FindCodec(2u)->name(), "fp16");
}

}  // namespace
}  // namespace syncline
