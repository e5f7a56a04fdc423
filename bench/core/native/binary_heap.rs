//! std::collections::BinaryHeap in the two models of bench/core/measure.ts, with the same delays.
//! Compiled and run by bench/core/native.ts: binary_heap SHAPE PENDING HOLD_COUNT DRAIN_MAX. Prints
//! JSON. Like the queues of JavaScript it neither cancels nor keeps the order of insertion.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, now: *mut Timespec) -> i32;
}

/// Processor time of this process; 2 is CLOCK_PROCESS_CPUTIME_ID.
fn cpu_ns() -> f64 {
    let mut now = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(2, &mut now) };
    now.seconds as f64 * 1e9 + now.nanoseconds as f64
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4096.0
}

fn drawn(state: &mut u32) -> f64 {
    *state = state.wrapping_add(0x6d2b_79f5);
    let mut mixed = (*state ^ (*state >> 15)).wrapping_mul(*state | 1);
    mixed ^= mixed.wrapping_add((mixed ^ (mixed >> 7)).wrapping_mul(mixed | 61));
    (mixed ^ (mixed >> 14)) as f64 / 4294967296.0
}

const DELAYS: usize = 1 << 20;
const START: u64 = 1_700_000_000_000;

type Queue = BinaryHeap<Reverse<(u64, u32)>>;

struct Holding {
    queue: Queue,
    delays: Vec<u64>,
    step: u64,
    now: u64,
    turn: usize,
}

impl Holding {
    fn hold(&mut self, count: usize) {
        let mut payloads = [0u32; 64];
        let mut held = 0;
        while held < count {
            let mut taken = 0;
            while taken < 64 && self.queue.peek().is_some_and(|first| first.0 .0 <= self.now) {
                payloads[taken] = self.queue.pop().unwrap().0 .1;
                taken += 1;
            }
            for payload in &payloads[..taken] {
                let due = self.now + self.delays[self.turn & (DELAYS - 1)];
                self.queue.push(Reverse((due, *payload)));
                self.turn += 1;
            }
            held += taken;
            if taken == 64 {
                continue;
            }
            self.now += self.step;
            if taken == 0 {
                self.now = self.now.max(self.queue.peek().unwrap().0 .0);
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<usize>().unwrap();
    let (shape, pending, hold_count, drain_max) = (arguments[1].as_str(), number(2), number(3), number(4));
    let mut state = 1;
    let delays: Vec<u64> = (0..DELAYS)
        .map(|turn| match shape {
            "uniform" => 1 + (drawn(&mut state) * 3.6e6) as u64,
            "backoff" => 1000 << (turn % 9),
            _ => 30_000,
        })
        .collect();
    let step = if shape == "uniform" { ((64.0 * 3.6e6 / 2.0 / pending as f64).round() as u64).max(1) } else { 1 };

    let resident_before = resident_bytes();
    let mut since = cpu_ns();
    let mut queue = Queue::new();
    for payload in 0..pending {
        queue.push(Reverse((START + delays[payload & (DELAYS - 1)], payload as u32)));
    }
    let insert_ns = (cpu_ns() - since) / pending as f64;
    let resident = (resident_bytes() - resident_before) / pending as f64;

    let mut holding = Holding { queue, delays, step, now: START, turn: pending };
    holding.hold(hold_count / 4);
    since = cpu_ns();
    holding.hold(hold_count);
    let hold_ns = (cpu_ns() - since) / hold_count as f64;

    let drained = pending.min(drain_max);
    let mut sum = 0u64;
    since = cpu_ns();
    for _ in 0..drained {
        sum += holding.queue.pop().unwrap().0 .1 as u64;
    }
    let drain_ns = if drained == 0 { 0.0 } else { (cpu_ns() - since) / drained as f64 };
    std::hint::black_box(sum);
    let bytes = std::mem::size_of::<(u64, u32)>();
    println!(
        "{{\"insertNs\":{insert_ns:.3},\"holdNs\":{hold_ns:.3},\"drainNs\":{drain_ns:.3},\
         \"residentBytes\":{resident:.3},\"liveBytes\":{bytes},\"ownBytes\":{bytes}}}"
    );
}
