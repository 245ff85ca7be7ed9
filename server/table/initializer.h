// What a row holds before its first update.
#ifndef SYNCLINE_SERVER_TABLE_INITIALIZER_H_
#define SYNCLINE_SERVER_TABLE_INITIALIZER_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "common/table_spec.h"
#include "common/types.h"

namespace syncline {

// Element i of row `key` is a pure function of (seed, table id, key, i), with the same bits on
// every machine: a row that was never trained needs no storage, and everybody who computes it
// agrees.
//
// The random bits of an element (all modulo 2^64, golden = 0x9e3779b97f4a7c15):
//
//   row     = Mix64(StableHash(table, key) ^ Mix64(seed + golden))
//   bits(i) = Mix64(Mix64(row + (i + 1) * golden) ^ row)
//
// and from them, in double, rounded to float at the end:
//
//   u = (bits >> 11) * 2^-53                 in [0, 1)
//   o = ((bits >> 12) + 0.5) * 2^-52         in (0, 1), symmetric about 1/2
//   zeros             0
//   constant          a
//   uniform           a + (b - a) * u        a rounded result of b becomes the float below it
//   normal            a + b * InverseNormal(o)
//   truncated_normal  a + b * InverseNormal(c + (1 - 2c) * o), c = P(Z <= -2): the distribution
//   that
//                     redrawing outside two deviations gives, without a loop
//   inverse_sqrt      uniform with -1/sqrt(a) and 1/sqrt(a)
//
// These formulas never change: they are part of what a table holds. Immutable, safe to share.
class Initializer {
 public:
  // REQUIRES: Validate(spec) is OK.
  Initializer(const InitializerSpec& spec, TableId table);

  // Writes elements 0, 1, ... of the row.
  void Fill(Key key, std::span<float> out) const;

  // Errors: INVALID_ARGUMENT when a value that the initializer can give is no finite float, or the
  // arguments do not describe a distribution.
  static absl::Status Validate(const InitializerSpec& spec);

 private:
  float Element(uint64_t bits) const;

  InitializerSpec spec_;  // inverse_sqrt is kept as the uniform that it is
  TableId table_;
};

}  // namespace syncline

#endif  // SYNCLINE_SERVER_TABLE_INITIALIZER_H_
