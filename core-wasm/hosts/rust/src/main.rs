//! Replays the shared vectors and the shared trace on wasmtime, then schedules a few retries.
//! Run by `cargo run` in this folder; exits with 1 when a result differs.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::{fs, path::Path};
use wasmtime::{Engine, Instance, Memory, Module, Store, TypedFunc, WasmParams, WasmResults};

type Failure = Box<dyn std::error::Error>;

/// One instance of the core: an independent heap.
struct Core {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Core {
    fn new(wasm: &[u8]) -> Result<Core, Failure> {
        let engine = Engine::default();
        let module = Module::new(&engine, wasm)?;
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[])?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("no memory")?;
        Ok(Core { store, instance, memory })
    }

    fn function<P: WasmParams, R: WasmResults>(&mut self, name: &str) -> Result<TypedFunc<P, R>, Failure> {
        Ok(self.instance.get_typed_func(&mut self.store, name)?)
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.memory.data(&self.store)[at..at + 4].try_into().unwrap())
    }

    fn f64_at(&self, at: usize) -> f64 {
        f64::from_le_bytes(self.memory.data(&self.store)[at..at + 8].try_into().unwrap())
    }
}

fn check_vectors(wasm: &[u8], vectors: &serde_json::Value) -> Result<usize, Failure> {
    let mut core = Core::new(wasm)?;
    let delay = core.function::<(f64, f64, f64, f64), f64>("delay")?;
    let jitter = core.function::<(f64, f64, f64), f64>("jitter")?;
    let rows = |name: &str| -> Vec<Vec<f64>> {
        let rows = vectors[name].as_array().unwrap().iter();
        rows.map(|row| row.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()).collect()
    };
    let (delays, jitters) = (rows("delay"), rows("jitter"));
    for row in &delays {
        let found = delay.call(&mut core.store, (row[0], row[1], row[2], row[3]))?;
        if found != row[4] {
            return Err(format!("delay {row:?} gave {found}").into());
        }
    }
    for row in &jitters {
        let found = jitter.call(&mut core.store, (row[0], row[1], row[2]))?;
        if found != row[3] {
            return Err(format!("jitter {row:?} gave {found}").into());
        }
    }
    Ok(delays.len() + jitters.len())
}

fn replay(wasm: &[u8], trace: &str) -> Result<String, Failure> {
    let mut core = Core::new(wasm)?;
    let area = core.function::<(), i32>("area_at")?.call(&mut core.store, ())? as usize;
    let open = core.function::<(), i32>("group_open")?;
    let insert = core.function::<(i32, f64, i32), f64>("insert")?;
    let cancel = core.function::<f64, f64>("cancel")?;
    let clear = core.function::<i32, f64>("group_clear")?;
    let pop = core.function::<(f64, f64), i32>("pop_due")?;
    let mut groups = Vec::new();
    for _ in 0..4 {
        groups.push(open.call(&mut core.store, ())?);
    }
    let mut handles: Vec<f64> = Vec::new();
    let mut out = String::new();
    for line in trace.lines() {
        let mut fields = line.split(' ');
        let kind = fields.next().unwrap();
        let numbers: Vec<u64> = fields.map(|field| field.parse().unwrap()).collect();
        match kind {
            "i" => {
                let arguments = (groups[numbers[0] as usize], numbers[1] as f64, numbers[2] as i32);
                let handle = insert.call(&mut core.store, arguments)?;
                handles.push(handle);
                writeln!(out, "i {}", handle as i64)?;
            }
            "c" => {
                let result = cancel.call(&mut core.store, handles[numbers[0] as usize])?;
                writeln!(out, "c {}", result as i64)?;
            }
            "p" => {
                let result = clear.call(&mut core.store, groups[numbers[0] as usize])?;
                writeln!(out, "p {}", result as i64)?;
            }
            _ => {
                let count = pop.call(&mut core.store, (numbers[0] as f64, numbers[1] as f64))?;
                writeln!(out, "d {count}")?;
                for at in (0..count as usize).map(|index| area + index * 32) {
                    let (payload, group) = (core.u32_at(at), core.u32_at(at + 4));
                    let (due, handle) = (core.f64_at(at + 8) as i64, core.f64_at(at + 16) as i64);
                    writeln!(out, "{payload} {group} {due} {handle}")?;
                }
            }
        }
    }
    Ok(out)
}

/// Three jobs that failed once, twice and three times wait for their next attempt.
fn example(wasm: &[u8]) -> Result<(), Failure> {
    let mut core = Core::new(wasm)?;
    let area = core.function::<(), i32>("area_at")?.call(&mut core.store, ())? as usize;
    let delay = core.function::<(f64, f64, f64, f64), f64>("delay")?;
    let insert = core.function::<(i32, f64, i32), f64>("insert")?;
    let pop = core.function::<(f64, f64), i32>("pop_due")?;
    let next = core.function::<(), f64>("next_due")?;
    let group = core.function::<(), i32>("group_open")?.call(&mut core.store, ())?;
    let mut now = 1_000_000.0;
    for attempt in 1..=3 {
        let wait = delay.call(&mut core.store, (500.0, 2.0, 30_000.0, attempt as f64))?;
        insert.call(&mut core.store, (group, now + wait, attempt))?;
    }
    loop {
        let due = next.call(&mut core.store, ())?;
        if due == f64::INFINITY {
            return Ok(());
        }
        now = f64::max(now, due); // a real program sleeps until then
        for index in 0..pop.call(&mut core.store, (now, 64.0))? as usize {
            println!("example: job {} runs again at {now}", core.u32_at(area + index * 32));
        }
    }
}

fn main() -> Result<(), Failure> {
    let core_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let wasm = fs::read(core_dir.join("reprise_core.wasm"))?;
    let vectors = serde_json::from_str(&fs::read_to_string(core_dir.join("vectors/delay.json"))?)?;
    println!("vectors: {} as expected", check_vectors(&wasm, &vectors)?);

    let out = replay(&wasm, &fs::read_to_string(core_dir.join("vectors/trace.txt"))?)?;
    let expected = fs::read_to_string(core_dir.join("vectors/trace_result.json"))?;
    let expected: serde_json::Value = serde_json::from_str(&expected)?;
    let digest: String = Sha256::digest(&out).iter().map(|byte| format!("{byte:02x}")).collect();
    if expected["sha256"] != digest.as_str() || expected["bytes"] != out.len() {
        return Err(format!("trace differs: {} bytes, {digest}", out.len()).into());
    }
    println!("trace: {} result bytes as expected", out.len());
    example(&wasm)
}
