// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>

namespace touchstone {
namespace {

// `pytorch:eager` is the engine `pytorch`.
std::string engine_of(const std::string& label) {
  return label.substr(0, label.find(':'));
}

bool differs(Outcome outcome) {
  return outcome != Outcome::kPassed && outcome != Outcome::kUnsupported;
}

std::string_view word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kUnsupported:
      return "unsupported";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kWrong:
      return "wrong";
    case Outcome::kCrashed:
      return "crashed";
  }
  return "";
}

bool is_known(const Known& known, const std::string& label, const Case& tried) {
  const auto engine = known.differs.find(engine_of(label));
  return engine != known.differs.end() && engine->second.contains(tried.name);
}

// "5/7": passed of all cases of one operator; an engine that says it has none shows a dash.
std::string operator_cell(const std::vector<Case>& cases, const ColumnReport& column,
                          const std::string& operator_name) {
  int passed = 0, unsupported = 0, all = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].operator_name == operator_name) {
      ++all;
      passed += column.results[i].outcome == Outcome::kPassed ? 1 : 0;
      unsupported += column.results[i].outcome == Outcome::kUnsupported ? 1 : 0;
    }
  }
  return unsupported == all ? "–" : passed == all ? "all" : fmt::format("{}/{}", passed, all);
}

std::string header(const std::vector<ColumnReport>& columns, const std::string& first) {
  std::string names = "| " + first + " |";
  std::string rule = "|---|";
  for (const ColumnReport& column : columns) {
    names += " " + column.label + " |";
    rule += "---|";
  }
  return names + "\n" + rule + "\n";
}

}  // namespace

int ColumnReport::count(Outcome outcome) const {
  return static_cast<int>(std::count_if(results.begin(), results.end(),
                                        [&](const CaseResult& r) { return r.outcome == outcome; }));
}

Result<Known> read_known(const std::string& path) {
  TOUCHSTONE_ASSIGN(const std::string text, read_text_file(path));
  try {
    const auto object = nlohmann::json::parse(text);
    return Known{object.at("differs").get<std::map<std::string, std::map<std::string, std::string>>>(),
                 object.at("at_least").get<std::map<std::string, int>>()};
  } catch (const nlohmann::json::exception& error) {
    return fail(Reason::kInvalidModel, "{}: {}", path, error.what());
  }
}

std::string totals_table(const std::vector<ColumnReport>& columns) {
  std::string text = fmt::format("{:24}", "engine");
  constexpr Outcome kAll[] = {Outcome::kPassed, Outcome::kUnsupported, Outcome::kRefused, Outcome::kWrong,
                              Outcome::kCrashed};
  for (const Outcome outcome : kAll) {
    text += fmt::format("{:>12}", word(outcome));
  }
  text += "\n";
  for (const ColumnReport& column : columns) {
    text += fmt::format("{:24}", column.label);
    for (const Outcome outcome : kAll) {
      text += fmt::format("{:>12}", column.count(outcome));
    }
    text += "\n";
  }
  return text;
}

std::string conformance_page(const std::vector<Case>& cases, const std::vector<ColumnReport>& columns,
                             const Known& known) {
  std::string page =
      "# Conformance\n\nWritten by `conformance_tests --write-docs docs/conformance.md`. Every case is a "
      "small "
      "graph with inputs and the\noutputs that an independent source gives: ONNX's own node tests (numpy "
      "code "
      "beside the specification), and for older\noperator sets and BERT's patterns ONNX's reference "
      "evaluator "
      "(`tests/conformance/make_cases.py`). A case is passed when all\noutputs are within the tolerance that "
      "decides about models, too (`docs/measuring.md`).\n\n```\n" +
      totals_table(columns) + "```\n\nVersions:";
  for (const ColumnReport& column : columns) {
    page += fmt::format(" {} {};", column.label, column.version);
  }
  page.back() = '.';
  page += "\n\n## Known differences\n\n";
  for (const auto& [engine, names] : known.differs) {
    for (const auto& [name, why] : names) {
      page += fmt::format("- {}, `{}`: {}\n", engine, name, why);
    }
  }
  page +=
      "\n## By operator\n\n`all`: every case passed; `–`: the engine says that it does not support it; "
      "else passed ÷ cases.\n\n" +
      header(columns, "operator");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i > 0 && cases[i].operator_name == cases[i - 1].operator_name) {
      continue;
    }
    page += "| " + cases[i].operator_name + " |";
    for (const ColumnReport& column : columns) {
      page += " " + operator_cell(cases, column, cases[i].operator_name) + " |";
    }
    page += "\n";
  }
  return page;
}

std::vector<std::string> complaints(const std::vector<Case>& cases, const std::vector<ColumnReport>& columns,
                                    const Known& known) {
  std::vector<std::string> found;
  for (const ColumnReport& column : columns) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const CaseResult& result = column.results[i];
      if (differs(result.outcome) && !is_known(known, column.label, cases[i])) {
        found.push_back(fmt::format("{}: {} ({}): {}", column.label, cases[i].name, word(result.outcome),
                                    result.message));
      }
    }
    const auto least = known.at_least.find(engine_of(column.label));
    if (least != known.at_least.end() && column.count(Outcome::kPassed) < least->second) {
      found.push_back(fmt::format("{}: {} cases passed, at least {} did before", column.label,
                                  column.count(Outcome::kPassed), least->second));
    }
  }
  return found;
}

}  // namespace touchstone
