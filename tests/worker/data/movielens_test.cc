#include "worker/data/movielens.h"

#include <cstdlib>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/status_matchers.h"
#include "tests/worker/data/temp_file.h"

namespace syncline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kMovies[] =
    "movieId,title,genres\n"
    "1,Toy Story (1995),Comedy|Adventure\n"
    "11,\"American President, The (1995)\",Drama\n"
    "12,\"Say \"\"Yes\"\", Now (1990)\",(no genres listed)\n";
constexpr char kRatingsHeader[] = "userId,movieId,rating,timestamp\n";

absl::StatusOr<LoadedData> Load(const std::string& movies, const std::string& ratings,
                                const LoadOptions& options = {}) {
  const TempFolder folder;
  folder.Write("movies.csv", movies);
  folder.Write("ratings.csv", ratings);
  return LoadMovieLens(folder.path(), options);
}

TEST(MovieLensTest, ARatingBecomesALabelAndThreeBags) {
  ASSERT_OK_AND_ASSIGN(
      const LoadedData loaded,
      Load(kMovies, kRatingsHeader + std::string("7,1,4.0,1\n7,11,3.5,2\n9,12,5,3\n")));
  const Dataset& data = loaded.data;
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(loaded.report.malformed, 0u);
  EXPECT_THAT(data.schema().fields, ElementsAre("user", "movie", "genres"));
  EXPECT_THAT(data.schema().dense, IsEmpty());
  EXPECT_EQ(data.label(0), 1);
  EXPECT_EQ(data.label(1), 0);
  EXPECT_THAT(data.bag(0, 0), ElementsAre(7));
  EXPECT_THAT(data.bag(1, 1), ElementsAre(11));
  // Adventure 0, Comedy 1, Drama 2; in the order of the movie's line.
  EXPECT_THAT(data.bag(0, 2), ElementsAre(1, 0));
  EXPECT_THAT(data.bag(1, 2), ElementsAre(2));
  EXPECT_THAT(data.bag(2, 2), IsEmpty());
}

TEST(MovieLensTest, MalformedLinesOfBothFilesAreCountedNamedAndSkipped) {
  const std::string movies = std::string(kMovies) + "1,Again,Drama\n13,\"Open,Drama\n14,X,A||B\n";
  const std::string ratings =
      std::string(kRatingsHeader) + "7,1,4.0,1\n7,99,4.0,1\n7,1,9,1\nx,1,4,1\n7,1,4\n7,1,nan,1\n";
  ASSERT_OK_AND_ASSIGN(const LoadedData loaded, Load(movies, ratings));
  EXPECT_EQ(loaded.data.size(), 1u);
  EXPECT_EQ(loaded.report.malformed, 8u);
  EXPECT_EQ(loaded.report.lines, 14u);
  EXPECT_THAT(loaded.report.first_malformed,
              ElementsAre(HasSubstr("movies.csv:5: movie 1 is there already"),
                          HasSubstr("movies.csv:6: an open quote in column 2"),
                          HasSubstr("movies.csv:7: genres are 'A||B'"),
                          HasSubstr("ratings.csv:3: movie 99 is not in movies.csv"),
                          HasSubstr("ratings.csv:4: rating is 9")));
  EXPECT_THAT(Load(movies, ratings, {.max_malformed = 7}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 7")));
}

TEST(MovieLensTest, AnotherHeaderOrAMissingFileIsAnError) {
  EXPECT_THAT(Load(kMovies, "user;movie\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ratings.csv:1: the header")));
  EXPECT_THAT(Load("", kRatingsHeader),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("movies.csv:1: the header")));
  EXPECT_THAT(LoadMovieLens("/nonexistent"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(CsvTest, QuotesHideCommasAndDoubledQuotes) {
  std::vector<std::string> fields;
  ASSERT_OK(SplitCsvLine(R"(1,"a, ""b""",,"",c"d)", fields));
  EXPECT_THAT(fields, ElementsAre("1", "a, \"b\"", "", "", "c\"d"));
  ASSERT_OK(SplitCsvLine("", fields));
  EXPECT_THAT(fields, ElementsAre(""));
  EXPECT_THAT(SplitCsvLine("\"a\"b,c", fields), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SplitCsvLine("\"a\"\"", fields), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Counts taken with awk and sort from the files themselves.
TEST(MovieLensTest, ReadsTheShippedDataWhole) {
  const char* source = std::getenv("SYNCLINE_SOURCE_DIR");
  ASSERT_NE(source, nullptr) << "set by CTest";
  ASSERT_OK_AND_ASSIGN(
      const LoadedData loaded,
      LoadMovieLens(std::string(source) + "/bench/data/ml-latest-small", {.max_malformed = 0}));
  const Dataset& data = loaded.data;
  ASSERT_EQ(data.size(), 100'836u);
  EXPECT_EQ(loaded.report.lines, 100'837u + 9'743u);
  std::set<uint64_t> users, movies, genres;
  int positive = 0;
  for (uint32_t row = 0; row < data.size(); ++row) {
    positive += data.label(row) == 1 ? 1 : 0;
    users.insert(data.bag(row, 0)[0]);
    movies.insert(data.bag(row, 1)[0]);
    genres.insert(data.bag(row, 2).begin(), data.bag(row, 2).end());
  }
  EXPECT_EQ(positive, 48'580);
  EXPECT_EQ(users.size(), 610u);
  EXPECT_EQ(movies.size(), 9'724u);
  EXPECT_EQ(genres.size(), 19u);
  EXPECT_THAT(data.bag(0, 2), ElementsAre(1, 2, 3, 4, 8));  // Toy Story, genres 0 to 18 by name
}

}  // namespace
}  // namespace syncline
