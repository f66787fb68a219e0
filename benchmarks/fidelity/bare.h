// SPDX-License-Identifier: Apache-2.0
// The frame of a bare loop: for every line "N" on standard input, N inferences are timed one by one and the
// median in nanoseconds is printed. Nothing of Touchstone's harness is in here.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <vector>

inline int serve_bare_loop(const std::function<void()>& infer) {
  int count = 0;
  while (std::cin >> count) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      infer();
      times.push_back(
          std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
              .count());
    }
    std::sort(times.begin(), times.end());
    std::cout << times[times.size() / 2] << std::endl;
  }
  return 0;
}
