#include "worker/psctl/printer.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "worker/psctl/format.h"

namespace syncline::psctl {
namespace {

constexpr size_t kGutter = 3;

// Characters on the screen: bytes that do not continue one.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool IsNumber(const Value& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<uint64_t>(value) ||
         std::holds_alternative<double>(value);
}

struct Cell {
  std::string text;
  bool right = false;
};
using Line = std::vector<Cell>;

// No spaces at the end of a line.
void PrintLine(const Line& line, const std::vector<size_t>& widths, std::ostream& out) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const std::string fill(widths[i] - Width(line[i].text), ' ');
    text += line[i].right ? fill + line[i].text : line[i].text + fill;
    if (i + 1 < line.size()) text.append(kGutter, ' ');
  }
  text.erase(text.find_last_not_of(' ') + 1);
  out << text << '\n';
}

void PrintLines(const std::vector<Line>& lines, std::ostream& out) {
  std::vector<size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i].text));
  }
  for (const Line& line : lines) PrintLine(line, widths, out);
}

class TablePrinter final : public Printer {
 public:
  explicit TablePrinter(bool no_headers) : no_headers_(no_headers) {}

  void Print(const Report& report, std::ostream& out) const override {
    PrintLines(report.single ? Fields(report) : Rows(report), out);
  }

 private:
  std::vector<Line> Fields(const Report& report) const {
    std::vector<Line> lines;
    for (size_t i = 0; i < report.columns.size(); ++i) {
      const Column& column = report.columns[i];
      Line& line = lines.emplace_back();
      if (!no_headers_) line.push_back({column.title + ":"});
      line.push_back({FormatCell(report.rows[0][i], column.unit)});
    }
    return lines;
  }

  std::vector<Line> Rows(const Report& report) const {
    std::vector<Line> lines;
    for (const auto& row : report.rows) {
      Line& line = lines.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) {
        line.push_back({FormatCell(row[i], report.columns[i].unit), RightAligned(report, i)});
      }
    }
    if (!no_headers_) lines.insert(lines.begin(), Header(report));
    return lines;
  }

  static Line Header(const Report& report) {
    Line line;
    for (size_t i = 0; i < report.columns.size(); ++i) {
      std::string title = report.columns[i].title;
      for (char& c : title) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      line.push_back({std::move(title), RightAligned(report, i)});
    }
    return line;
  }

  static bool RightAligned(const Report& report, size_t column) {
    return std::any_of(report.rows.begin(), report.rows.end(),
                       [column](const auto& row) { return IsNumber(row[column]); });
  }

  bool no_headers_;
};

using Json = nlohmann::ordered_json;

Json ToJson(const Value& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return nullptr;
        } else {
          return v;
        }
      },
      value);
}

void AddFields(const Report& report, const std::vector<Value>& row, Json& object) {
  for (size_t i = 0; i < row.size(); ++i) object[report.columns[i].key] = ToJson(row[i]);
}

class JsonPrinter final : public Printer {
 public:
  void Print(const Report& report, std::ostream& out) const override {
    Json json = {{"apiVersion", "psctl/v1"}, {"kind", report.kind}};
    if (report.single) {
      AddFields(report, report.rows[0], json);
    } else {
      Json& items = json["items"] = Json::array();
      for (const auto& row : report.rows)
        AddFields(report, row, items.emplace_back(Json::object()));
    }
    out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  }
};

}  // namespace

std::unique_ptr<Printer> MakePrinter(OutputFormat format, bool no_headers) {
  if (format == OutputFormat::kJson) return std::make_unique<JsonPrinter>();
  return std::make_unique<TablePrinter>(no_headers);
}

}  // namespace syncline::psctl
