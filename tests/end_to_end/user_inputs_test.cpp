// SPDX-License-Identifier: Apache-2.0
// --inputs, --expected, --tolerance and --judge, on models of one or two nodes.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "end_to_end/driver.h"
#include "support/arrays.h"

namespace touchstone {
namespace {

const std::string& work() {
  static const std::string kFolder = shared_installation().work();
  return kFolder;
}

std::string file(const std::string& name) {
  return work() + "/" + name;
}

CommandResult verify(std::vector<std::string> more, const std::string& engines = "synthetic") {
  std::vector<std::string> arguments = {"verify", "--engines", engines};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return shared_installation().touchstone(arguments);
}

// y = x + x, for any number of rows of three.
void write_doubling(const std::string& name) {
  write_text(file(name),
             onnx_model({{"Add", {"x", "x"}, {"y"}}}, {{"x", 1, {"rows", "3"}}}, {{"y", 1, {"rows", "3"}}}));
}

void write_rows(const std::string& name, const std::string& array, const std::vector<float>& numbers) {
  write_npz(
      file(name),
      {{array, npy_file("<f4", {static_cast<std::int64_t>(numbers.size() / 3), 3}, bytes_of(numbers))}});
}

void refused(const CommandResult& result, const std::string& part) {
  CHECK((result.exit_code == 1 || result.exit_code == 2));
  CHECK_MESSAGE(holds(result.err, part), result.err);
}

}  // namespace

TEST_CASE("a_users_inputs_are_proven_and_timed") {
  write_doubling("double.onnx");
  write_rows("rows.npz", "x", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  const CommandResult whole = verify({file("double.onnx"), "--inputs", file("rows.npz")});
  CHECK_MESSAGE(whole.exit_code == 0, whole.err);
  CHECK_MESSAGE(holds(whole.out, "equal"), whole.out);
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(
      {"run", file("double.onnx"), "--engines", "synthetic", "--inputs", file("rows.npz"), "--batch", "2,8",
       "--precision-target", "40%", "--budget", "20s", "-o", results, "--quiet"});
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const RunData data = results_of(results);
  CHECK(data.cells.size() == 2);
  for (const CellRecord& cell : data.cells) {
    CHECK(cell.verdict == "equal");
    CHECK(cell.median_ns);
  }
}

TEST_CASE("every_row_is_held_against_the_outputs_that_the_user_expects") {
  write_doubling("double.onnx");
  write_rows("rows.npz", "x", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  write_rows("right.npz", "y", {2, 4, 6, 8, 10, 12, 14, 16, 18});
  write_rows("wrong.npz", "y", {2, 4, 6, 8, 10, 12, 14, 16, 18.01F});
  for (const char* batch : {"1", "2", "3", "7"}) {
    CAPTURE(batch);
    const std::vector<std::string> common = {file("double.onnx"), "--inputs", file("rows.npz"), "--batch",
                                             batch};
    std::vector<std::string> right = common;
    right.insert(right.end(), {"--expected", file("right.npz")});
    const CommandResult equal = verify(right);
    CHECK_MESSAGE(equal.exit_code == 0, equal.err);
    CHECK_MESSAGE(holds(equal.out, "equal to the expected outputs"), equal.out);
    std::vector<std::string> wrong = common;
    wrong.insert(wrong.end(), {"--expected", file("wrong.npz")});
    const CommandResult differs = verify(wrong);
    CHECK(differs.exit_code == 3);
    CHECK_MESSAGE(holds(differs.out, "18.01"), differs.out);
    wrong.insert(wrong.end(), {"--tolerance", "y=1e-3"});
    CHECK(verify(wrong).exit_code == 0);
  }
}

TEST_CASE("top_1_and_cosine_judge_where_they_are_asked_to") {
  write_doubling("double.onnx");
  write_rows("rows.npz", "x", {1, 2, 3, 6, 5, 4});
  write_rows("near.npz", "y", {2, 4, 6.5F, 11.5F, 10, 8});
  write_rows("other.npz", "y", {2, 7, 6, 12, 10, 8});
  const std::vector<std::string> common = {file("double.onnx"), "--inputs", file("rows.npz"), "--expected"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return verify(arguments);
  };
  CHECK(with({file("near.npz")}).exit_code == 3);
  const CommandResult top = with({file("near.npz"), "--judge", "top-1"});
  CHECK_MESSAGE(holds(top.out, "by top-1 (2 of 2 vectors)"), top.out);
  CHECK(with({file("near.npz"), "--judge", "y=cosine", "--tolerance", "0.01"}).exit_code == 0);
  const CommandResult other = with({file("other.npz"), "--judge", "top-1"});
  CHECK(other.exit_code == 3);
  CHECK_MESSAGE(holds(other.out, "1 of 2 vectors"), other.out);
  CHECK(with({file("other.npz"), "--judge", "top-1", "--tolerance", "50%"}).exit_code == 0);
}

TEST_CASE("onnxs_test_data_is_run_set_by_set") {
  write_doubling("double.onnx");
  for (const int rows : {1, 2}) {
    const std::string folder = file("data/test_data_set_" + std::to_string(rows - 1));
    mkdir(file("data").c_str(), 0755);
    mkdir(folder.c_str(), 0755);
    std::vector<float> in, out;
    for (int i = 0; i < rows * 3; ++i) {
      in.push_back(static_cast<float>(i));
      out.push_back(static_cast<float>(2 * i));
    }
    write_text(folder + "/input_0.pb", onnx_tensor("x", 1, {rows, 3}, bytes_of(in)));
    write_text(folder + "/output_0.pb", onnx_tensor("y", 1, {rows, 3}, bytes_of(out)));
  }
  const CommandResult result = verify({file("double.onnx"), "--inputs", file("data")});
  CHECK_MESSAGE(result.exit_code == 0, result.err);
  CHECK_MESSAGE(holds(result.out, "equal to the expected outputs"), result.out);
}

TEST_CASE("numbers_of_another_type_are_taken_where_nothing_is_lost") {
  write_doubling("double.onnx");
  write_npz(file("f8.npz"), {{"x", npy_file("<f8", {1, 3}, bytes_of<double>({1, 2, 0.1}))}});
  const CommandResult rounded = verify({file("double.onnx"), "--inputs", file("f8.npz")});
  CHECK_MESSAGE(rounded.exit_code == 0, rounded.err);
  CHECK_MESSAGE(holds(rounded.out + rounded.err, "rounded from float64"), rounded.out);
  write_text(file("ids.onnx"),
             onnx_model({{"Add", {"ids", "ids"}, {"y"}}}, {{"ids", 6, {"n"}}}, {{"y", 6, {"n"}}}));
  write_npz(file("i8.npz"), {{"ids", npy_file("<i8", {2}, bytes_of<std::int64_t>({1, 2}))}});
  CHECK(verify({file("ids.onnx"), "--inputs", file("i8.npz")}).exit_code == 0);
  write_npz(file("big.npz"), {{"ids", npy_file("<i8", {2}, bytes_of<std::int64_t>({1, 1LL << 40}))}});
  refused(verify({file("ids.onnx"), "--inputs", file("big.npz")}), "1099511627776");
  refused(verify({file("ids.onnx"), "--inputs", file("f8.npz")}), "no input of the model");
}

TEST_CASE("inputs_that_do_not_fit_are_refused_by_name") {
  write_doubling("double.onnx");
  write_rows("rows.npz", "x", {1, 2, 3});
  write_rows("named.npz", "xx", {1, 2, 3});
  write_npz(file("wide.npz"), {{"x", npy_file("<f4", {1, 4}, bytes_of<float>({1, 2, 3, 4}))}});
  const std::string model = file("double.onnx");
  refused(verify({model, "--inputs", file("named.npz")}), "'xx' is no input of the model, did you mean 'x'?");
  refused(verify({model, "--inputs", file("wide.npz")}), "[1,4]");
  refused(verify({model, "--inputs", file("none.npz")}), "none.npz");
  refused(verify({model, "--inputs", work()}), "input_0.pb");
  refused(verify({model, "--batch", "1", "--expected", file("rows.npz")}), "--inputs");
  refused(verify({model, "--inputs", file("rows.npz"), "--judge", "z=top-1"}), "no output 'z'");
  refused(verify({model, "--inputs", file("rows.npz"), "--judge", "top1"}), "top-1");
  refused(verify({model, "--inputs", file("rows.npz"), "--tolerance", "much"}), "much");
}

TEST_CASE("what_cannot_be_made_up_is_asked_for") {
  write_text(file("tile.onnx"), onnx_model({{"Tile", {"x", "times"}, {"y"}}},
                                           {{"x", 1, {"2"}}, {"times", 7, {"1"}}}, {{"y", 1, {"n"}}}));
  refused(verify({file("tile.onnx")}), "'times' is the repeats of Tile");
  write_npz(file("times.npz"), {{"times", npy_file("<i8", {1}, bytes_of<std::int64_t>({3}))}});
  const CommandResult given = verify({file("tile.onnx"), "--inputs", file("times.npz")});
  CHECK_MESSAGE(given.exit_code == 0, given.err);
  CHECK_MESSAGE(holds(given.out + given.err, "no 'x': it is made up"), given.out);
}

#if defined(HAVE_onnxruntime) && defined(HAVE_openvino)
TEST_CASE("where_the_reference_lacks_an_operator_engines_are_held_against_each_other") {
  write_text(file("lp.onnx"), onnx_model({{"GlobalLpPool", {"x"}, {"y"}}}, {{"x", 1, {"1", "2", "4", "4"}}},
                                         {{"y", 1, {"1", "2", "1", "1"}}}));
  const CommandResult both = verify({file("lp.onnx")}, "onnxruntime,openvino");
  CHECK_MESSAGE(both.exit_code == 0, both.err);
  CHECK_MESSAGE(holds(both.out, "equal to openvino, as the reference cannot say"), both.out);
  const CommandResult alone = verify({file("lp.onnx")}, "onnxruntime");
  CHECK_MESSAGE(holds(alone.out, "not proven"), alone.out);
  CHECK(alone.exit_code == 1);
}
#endif

}  // namespace touchstone
