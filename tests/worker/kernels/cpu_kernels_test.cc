#include "worker/kernels/cpu_kernels.h"

#include "gtest/gtest.h"

#include "tests/conformance/kernels_suite.h"
#include "tests/support/deferred_stream.h"

namespace syncline {
namespace {

template <typename StreamType>
KernelsUnderTest CpuKernelsOn(const char* name) {
  return {name, std::make_shared<CpuEmbeddingOps>(), std::make_shared<CpuDenseOps>(),
          [] { return std::make_unique<StreamType>(); }};
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelsSuite,
                         ::testing::Values(CpuKernelsOn<CpuStream>("Synchronous"),
                                           CpuKernelsOn<DeferredStream>("Deferred")),
                         KernelsName);

TEST(DeferredStreamTest, RunsNothingBeforeSynchronize) {
  DeferredStream stream;
  std::vector<float> x = {1};
  CpuDenseOps().Fill(stream, 2, Matrix(x, 1, 1));
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(stream.queued(), 1u);
  stream.Synchronize();
  EXPECT_EQ(x[0], 2);
}

TEST(CpuKernelsDeathTest, ShapesThatDoNotAgreeAreABrokenInvariant) {
  CpuStream stream;
  std::vector<float> a(6), b(6), c(4);
  EXPECT_DEATH(CpuDenseOps().Gemm(stream, Transpose::kNo, Transpose::kNo, 1, ConstMatrix(a, 2, 3),
                                  ConstMatrix(b, 2, 3), 0, Matrix(c, 2, 2)),
               "shapes");
}

}  // namespace
}  // namespace syncline
