// Keeps the best pass over the data by validation AUC: small models overfit after a few.
#ifndef SYNCLINE_WORKER_DLRM_BEST_PASS_H_
#define SYNCLINE_WORKER_DLRM_BEST_PASS_H_

#include <cstddef>
#include <optional>
#include <utility>

namespace syncline {

// `Result` is what to keep of the best pass, say its test metrics. Choosing by validation and
// reporting test keeps the choice from seeing the test set.
template <typename Result>
class BestPass {
 public:
  struct Best {
    size_t pass = 0;
    double validation_auc = 0;
    Result result;
  };

  // Takes the pass when its AUC is above all before it (of equals the earliest stays; a pass
  // without an AUC never wins). Returns whether it is now the best.
  bool Offer(size_t pass, std::optional<double> validation_auc, Result result) {
    if (!validation_auc) return false;
    if (best_ && !(*validation_auc > best_->validation_auc)) return false;
    best_ = Best{pass, *validation_auc, std::move(result)};
    return true;
  }

  // Empty until a pass had an AUC.
  const std::optional<Best>& best() const { return best_; }

 private:
  std::optional<Best> best_;
};

}  // namespace syncline

#endif  // SYNCLINE_WORKER_DLRM_BEST_PASS_H_
