"""Every rule of tidy.py catches a planted violation, and leaves clean text alone."""

import pathlib
import shutil
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402
import tidy  # noqa: E402


def header(path, body=""):
    guard = "SYNCLINE_" + path.replace("/", "_").replace(".", "_").upper() + "_"
    return f"#ifndef {guard}\n#define {guard}\n{body}\n#endif\n"


@pytest.fixture(name="plant")
def plant_fixture(tmp_path):
    """Writes files into a clean tree and returns the findings as {rule: [(path, line)]}."""

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def plant(files):
        for path, text in files.items():
            write(path, text)
            folder = path.rpartition("/")[0]
            if not path.endswith((".md", "CMakeLists.txt")):
                write(f"{folder}/README.md", "words\n")
                names = " ".join(f.name for f in (tmp_path / folder).iterdir())
                write(f"{folder}/CMakeLists.txt", names)
        found = {}
        for path, line, rule, _ in tidy.run(tmp_path):
            found.setdefault(rule, []).append((path, line))
        return found

    return plant


def test_a_clean_tree_has_no_findings(plant):
    assert plant({
        "common/types.h": header("common/types.h", "int a;"),
        "server/kv/kv.cc": '#include "common/types.h"\n#include <rocksdb/db.h>\nint b;\n',
        "server/executor/e.cc": '#include "server/table/t.h"\n#include "server/kv/kv.h"\n',
        "server/main.cc": '#include "server/executor/e.h"\n#include "server/ps_server.h"\n',
        "worker/dlrm/d.cc": '#include "worker/data/x.h"\n#include "worker/client/c.h"\n',
        "tests/server/kv/kv_test.cc": '#include "server/kv/kv.h"\n#include <rocksdb/db.h>\n',
    }) == {}


@pytest.mark.parametrize(
    "path,include",
    [
        ("common/a.cc", "server/kv/kv.h"),
        ("common/a.cc", "worker/data/x.h"),
        ("common/a.cc", "tests/support/seed.h"),
        ("proto/a.cc", "common/types.h"),
        ("server/kv/a.cc", "worker/data/x.h"),
        ("worker/client/a.cc", "server/kv/kv.h"),
        ("server/kv/a.cc", "server/storage/s.h"),
        ("server/optimizer/a.cc", "server/storage/s.h"),
        ("server/table/a.cc", "server/executor/e.h"),
        ("server/executor/a.cc", "server/service/s.h"),
        ("server/service/a.cc", "server/ps_server.h"),
        ("server/unheard_of/a.cc", "server/kv/kv.h"),
        ("worker/client/a.cc", "worker/dlrm/d.h"),
        ("worker/data/a.cc", "worker/client/c.h"),
        ("worker/kernels/a.cc", "worker/data/x.h"),
        ("worker/psctl/a.cc", "worker/dlrm/d.h"),
    ],
)
def test_includes_against_the_direction_are_found(plant, path, include):
    found = plant({path: f'int a;\n#include "{include}"\n'})
    assert found == {"include-direction": [(path, 2)]}


@pytest.mark.parametrize(
    "rule,path,include",
    [
        ("grpc-header", "common/wire/a.cc", "<grpcpp/grpcpp.h>"),
        ("grpc-header", "server/executor/a.cc", '"proto/admin.grpc.pb.h"'),
        ("grpc-header", "worker/dlrm/a.cc", "<grpc/grpc.h>"),
        ("rocksdb-header", "server/storage/a.cc", '"rocksdb/db.h"'),
        ("cuda-header", "worker/dlrm/a.cc", "<cuda_runtime.h>"),
        ("cuda-header", "worker/data/a.cc", "<cub/cub.cuh>"),
    ],
)
def test_library_headers_outside_their_folder_are_found(plant, rule, path, include):
    assert plant({path: f"#include {include}\n"}) == {rule: [(path, 1)]}


@pytest.mark.parametrize(
    "rule,call",
    [
        ("clock", "auto t = std::chrono::steady_clock::now();"),
        ("clock", "auto t = high_resolution_clock::now();"),
        ("wall-clock", "std::chrono::system_clock::time_point t;"),
        ("wall-clock", "auto t = time(nullptr);"),
        ("wall-clock", "auto t = std::time(&x);"),
        ("wall-clock", "gettimeofday(&t, nullptr);"),
        ("random", "int r = rand();"),
        ("random", "srand(7);"),
        ("random", "int r = std::rand ();"),
        ("random", "std::random_device device;"),
        ("abort", "std::abort();"),
        ("abort", "abort();"),
        ("abort", "std::terminate();"),
        ("absl-mutex", "absl::Mutex mutex;"),
    ],
)
def test_banned_calls_are_found(plant, rule, call):
    path = "server/executor/a.cc"
    assert plant({path: f"void F() {{\n  {call}\n}}\n"}) == {rule: [(path, 2)]}


def test_banned_calls_are_allowed_in_their_one_place(plant):
    assert plant({
        "common/time_source.cc": "auto t = std::chrono::steady_clock::now();\n",
        "common/metrics/log.cc": "std::chrono::system_clock::time_point t;\n",
        "common/status/status.cc": "void Panic() { std::abort(); }\n",
    }) == {}


def test_comments_strings_and_look_alikes_are_no_calls(plant):
    assert plant({
        "server/executor/a.cc": """
// rand() and time(nullptr) are banned, and so is absl::Mutex
/* abort();
   srand(1); */
const char* a = "rand() \\" abort()";
const char* b = R"x(system_clock "rand()")x";
int n = 1'000'000; int brand(int); int m = brand(2);
auto t = request.time(nullptr); job.abort(); Operand(1); std::chrono::nanoseconds time(5);
"""
    }) == {}


def test_a_reason_in_the_text_allows_one_place(plant):
    reason = "// tidy: allow abort: the child of a death test\n"
    assert plant({"server/executor/a.cc": f"{reason}void F() {{ abort(); }}\n"}) == {}
    text = f"{reason}\n\nvoid F() {{ abort(); }}\n// tidy: allow abort:\nvoid G() {{ abort(); }}\n"
    path = "server/executor/b.cc"
    assert plant({path: text}) == {"abort": [(path, 4), (path, 6)]}


def test_long_files_and_functions_are_found(plant):
    body = "  int a;\n"
    found = plant({
        "common/fine.cc": "int F() {\n" + body * 68 + "}\n" + "int a;\n" * 430,
        "common/function.cc": "int a;\n\nint A::F(int x,\n         int y) const {\n"
        + "  if (x) {\n" + body * 66 + "  }\n}\n",
        "common/file.cc": "int a;\n" * 501,
        "common/script.py": "a = 1\n" * 501,
    })
    assert found == {
        "function-length": [("common/function.cc", 3)],
        "file-length": [("common/file.cc", 0), ("common/script.py", 0)],
    }


def test_functions_are_measured_wherever_they_stand():
    long_body = "  x();\n" * 5
    text = f"""namespace n {{
template <class T>
class A : public B<T> {{
 public:
  A() : a_(1), b_{{2}} {{
{long_body}  }}
  int F() const {{ return 1; }}
}};
TEST(A, B) {{
  auto f = [&](int) {{
{long_body}  }};
}}
const int kTable[] = {{1, 2}};
}}  // namespace n
"""
    lengths = [last - first + 1 for first, last in cpp_text.functions(cpp_text.strip(text))]
    assert max(lengths) == 9
    assert sorted(lengths)[-2] >= 6
    assert 14 not in lengths


def test_wrong_or_missing_guards_are_found(plant):
    found = plant({
        "common/a.h": header("common/b.h"),
        "common/c.h": "#pragma once\n",
        "common/d.h": header("common/d.h"),
    })
    assert found == {"include-guard": [("common/a.h", 0), ("common/c.h", 0)]}


def test_a_folder_with_code_and_no_readme_is_found(plant, tmp_path):
    plant({"common/a/a.cc": "int a;\n", "tests/common/a/a_test.cc": "int b;\n"})
    (tmp_path / "common/a/README.md").unlink()
    (tmp_path / "tests/common/a/README.md").unlink()
    assert plant({}) == {"readme": [("common/a", 0), ("tests/common/a", 0)]}


def test_unfinished_marks_and_disabled_tests_are_found(plant):
    mark, disabled = "TO" + "DO", "DISABLED" + "_Works"
    found = plant({
        "common/a.cc": f"int a;  // {mark}: more\n",
        "common/b.cc": f"TEST(A,\n     {disabled}) {{}}\n",
        "common/README.md": f"{mark}: words\n",
    })
    assert found["disabled-test"] == [("common/b.cc", 2)]
    assert ("common/a.cc", 1) in found["unfinished"]


def test_a_source_that_nobody_builds_is_found(plant):
    plant({"common/a.cc": "int a;\n"})
    assert plant({"common/CMakeLists.txt": "b.cc\n"}) == {"not-built": [("common/a.cc", 0)]}


def test_builds_and_hidden_folders_are_not_read(plant):
    assert plant({"build/dev/a.cc": "rand();\n", ".cache/a.cc": "rand();\n"}) == {}


@pytest.mark.skipif(shutil.which("clang-format-14") is None, reason="no clang-format-14")
def test_unformatted_text_is_found_when_asked(plant, tmp_path):
    plant({"common/a.cc": "int   a ;\n", "common/b.cc": "int b;\n"})
    (tmp_path / ".clang-format").write_text("BasedOnStyle: Google\n")
    found = [(path, rule) for path, _, rule, _ in tidy.run(tmp_path, with_format=True)]
    assert found == [("common/a.cc", "format")]
