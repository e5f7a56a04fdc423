// std::priority_queue in the two models of bench/core/measure.ts, with the same delays. Compiled and
// run by bench/core/native.ts: priority_queue SHAPE PENDING HOLD_COUNT DRAIN_MAX. Prints JSON. Like the
// queues of JavaScript it neither cancels nor keeps the order of insertion among equals.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <queue>
#include <string>
#include <utility>
#include <vector>

using Timer = std::pair<double, uint32_t>;
struct Later {
  bool operator()(const Timer& a, const Timer& b) const { return a.first > b.first; }
};
using Queue = std::priority_queue<Timer, std::vector<Timer>, Later>;

static double cpuNs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static double residentBytes() {
  long pages = 0, resident = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * 4096.0;
}

static uint32_t state = 1;
static double drawn() {
  state += 0x6d2b79f5u;
  uint32_t mixed = (state ^ (state >> 15)) * (state | 1);
  mixed ^= mixed + (mixed ^ (mixed >> 7)) * (mixed | 61);
  return (mixed ^ (mixed >> 14)) / 4294967296.0;
}

constexpr uint32_t kDelays = 1u << 20;
constexpr double kStart = 1.7e12;

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string shape = argv[1];
  const uint32_t pending = std::strtoul(argv[2], nullptr, 10);
  const uint32_t holdCount = std::strtoul(argv[3], nullptr, 10);
  const uint32_t drainMax = std::strtoul(argv[4], nullptr, 10);
  std::vector<double> delays(kDelays);
  for (uint32_t turn = 0; turn < kDelays; turn++) {
    delays[turn] = shape == "uniform" ? 1 + std::floor(drawn() * 3.6e6)
        : shape == "backoff" ? 1000.0 * (1u << (turn % 9)) : 30000.0;
  }
  const double step = shape == "uniform" ? std::max(1.0, std::round(64 * 3.6e6 / 2 / pending)) : 1;

  const double residentBefore = residentBytes();
  double since = cpuNs();
  Queue queue;
  for (uint32_t payload = 0; payload < pending; payload++) {
    queue.emplace(kStart + delays[payload & (kDelays - 1)], payload);
  }
  const double insertNs = (cpuNs() - since) / pending;
  const double resident = (residentBytes() - residentBefore) / pending;

  double now = kStart;
  uint32_t turn = pending;
  uint32_t payloads[64];
  auto hold = [&](uint32_t count) {
    for (uint32_t held = 0; held < count;) {
      uint32_t taken = 0;
      while (taken < 64 && queue.top().first <= now) {
        payloads[taken++] = queue.top().second;
        queue.pop();
      }
      for (uint32_t at = 0; at < taken; at++) {
        queue.emplace(now + delays[turn++ & (kDelays - 1)], payloads[at]);
      }
      held += taken;
      if (taken == 64) continue;
      now += step;
      if (taken == 0) now = std::max(now, queue.top().first);
    }
  };
  hold(holdCount / 4);
  since = cpuNs();
  hold(holdCount);
  const double holdNs = (cpuNs() - since) / holdCount;

  const uint32_t drained = std::min(pending, drainMax);
  uint32_t sum = 0;
  since = cpuNs();
  for (uint32_t at = 0; at < drained; at++) {
    sum += queue.top().second;
    queue.pop();
  }
  const double drainNs = drained == 0 ? 0 : (cpuNs() - since) / drained;
  if (sum == 1) std::fputs("", stderr); // keeps the results in use
  std::printf("{\"insertNs\":%.3f,\"holdNs\":%.3f,\"drainNs\":%.3f,\"residentBytes\":%.3f,"
              "\"liveBytes\":%zu,\"ownBytes\":%zu}\n",
              insertNs, holdNs, drainNs, resident, sizeof(Timer), sizeof(Timer));
}
