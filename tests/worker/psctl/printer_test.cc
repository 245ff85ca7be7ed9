#include "worker/psctl/printer.h"

#include <cmath>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace syncline::psctl {
namespace {

std::string Print(const Report& report, OutputFormat format, bool no_headers = false) {
  std::ostringstream out;
  MakePrinter(format, no_headers)->Print(report, out);
  return out.str();
}

Report TwoRows() {
  return {.kind = "ThingList",
          .columns = {{"name", "name"}, {"size_bytes", "size", Unit::kBytes}, {"note", "note"}},
          .rows = {{std::string("a"), uint64_t{2048}, std::string("first")},
                   {std::string("longer"), uint64_t{10}, Value()}}};
}

Report OneThing() {
  return SingleReport("Thing", {{{"name", "Name"}, std::string("a")},
                                {{"wait_seconds", "Wait time", Unit::kSeconds}, 0.5}});
}

TEST(TablePrinter, AlignsTextLeftAndNumbersRight) {
  EXPECT_EQ(Print(TwoRows(), OutputFormat::kTable),
            "NAME         SIZE   NOTE\n"
            "a        2.00 KiB   first\n"
            "longer       10 B   -\n");
}

TEST(TablePrinter, WithoutHeadersPrintsRowsAlone) {
  EXPECT_EQ(Print(TwoRows(), OutputFormat::kTable, true),
            "a        2.00 KiB   first\n"
            "longer       10 B   -\n");
}

TEST(TablePrinter, AnEmptyListHasItsHeader) {
  Report report = TwoRows();
  report.rows.clear();
  EXPECT_EQ(Print(report, OutputFormat::kTable), "NAME   SIZE   NOTE\n");
  EXPECT_EQ(Print(report, OutputFormat::kTable, true), "");
}

TEST(TablePrinter, ASingleReportNamesItsValues) {
  EXPECT_EQ(Print(OneThing(), OutputFormat::kTable),
            "Name:        a\n"
            "Wait time:   500 ms\n");
  EXPECT_EQ(Print(OneThing(), OutputFormat::kTable, true), "a\n500 ms\n");
}

TEST(TablePrinter, CountsCharactersNotBytes) {
  Report report = TwoRows();
  report.rows[0][0] = std::string("\xc3\xa9");  // one character, two bytes
  EXPECT_EQ(Print(report, OutputFormat::kTable, true),
            "\xc3\xa9        2.00 KiB   first\n"
            "longer       10 B   -\n");
}

TEST(JsonPrinter, ListsHaveItemsInBaseUnits) {
  const auto json = nlohmann::json::parse(Print(TwoRows(), OutputFormat::kJson));
  EXPECT_EQ(json, nlohmann::json::parse(R"({
    "apiVersion": "psctl/v1", "kind": "ThingList",
    "items": [{"name": "a", "size_bytes": 2048, "note": "first"},
              {"name": "longer", "size_bytes": 10, "note": null}]})"));
}

TEST(JsonPrinter, AnEmptyListIsAnEmptyArray) {
  Report report = TwoRows();
  report.rows.clear();
  EXPECT_EQ(nlohmann::json::parse(Print(report, OutputFormat::kJson))["items"],
            nlohmann::json::array());
}

TEST(JsonPrinter, ASingleReportIsOneObject) {
  const auto json = nlohmann::json::parse(Print(OneThing(), OutputFormat::kJson));
  EXPECT_EQ(json, nlohmann::json::parse(
                      R"({"apiVersion": "psctl/v1", "kind": "Thing", "name": "a",
                          "wait_seconds": 0.5})"));
}

TEST(JsonPrinter, KeepsEveryBitOfIntegersAndFloats) {
  const Report report = SingleReport(
      "Thing", {{{"n", "N"}, UINT64_MAX}, {{"w", "W"}, std::vector<float>{0.1f, -1e-30f}}});
  const auto json = nlohmann::json::parse(Print(report, OutputFormat::kJson));
  EXPECT_EQ(json["n"].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["w"][0].get<float>(), 0.1f);
  EXPECT_EQ(json["w"][1].get<float>(), -1e-30f);
}

TEST(JsonPrinter, StaysJsonForNonFiniteNumbersAndBrokenText) {
  const Report report =
      SingleReport("Thing", {{{"x", "X"}, std::nan("")}, {{"t", "T"}, std::string("\xff\"\n")}});
  const auto json = nlohmann::json::parse(Print(report, OutputFormat::kJson));
  EXPECT_TRUE(json["x"].is_null());
  EXPECT_EQ(json["t"], "\xef\xbf\xbd\"\n");
}

}  // namespace
}  // namespace syncline::psctl
