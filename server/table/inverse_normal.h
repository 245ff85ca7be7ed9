// The inverse of the normal distribution, with the same bits on every machine.
#ifndef SYNCLINE_SERVER_TABLE_INVERSE_NORMAL_H_
#define SYNCLINE_SERVER_TABLE_INVERSE_NORMAL_H_

namespace syncline {

// Natural logarithm from + - * / alone, because the C library's differs between versions:
// x = m * 2^e with m in [1/sqrt(2), sqrt(2)), s = (m - 1) / (m + 1), and
// log x = e log 2 + 2 (s + s^3/3 + s^5/5 + ... + s^23/23). Relative error below 1e-15 away from 1.
// REQUIRES: x is positive, finite and normal.
double PortableLog(double x);

// The z with P(Z <= z) = p for a standard normal Z: routine PPND16 of M. J. Wichura, "Algorithm
// AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37 (1988), 477-484;
// relative error about 1e-16 (here a few times that, from PortableLog). Odd around 1/2.
// REQUIRES: 0 < p < 1.
double InverseNormal(double p);

}  // namespace syncline

#endif  // SYNCLINE_SERVER_TABLE_INVERSE_NORMAL_H_
