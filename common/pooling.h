// How a bag of rows becomes one vector: the same word on the wire's both ends and in the model.
#ifndef SYNCLINE_COMMON_POOLING_H_
#define SYNCLINE_COMMON_POOLING_H_

namespace syncline {

// The sum of the n rows of a bag, divided by 1, n or sqrt(n). An empty bag is zeros under each.
enum class Pooling { kSum = 1, kMean = 2, kSqrtN = 3 };

}  // namespace syncline

#endif  // SYNCLINE_COMMON_POOLING_H_
