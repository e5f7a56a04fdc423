// Replays the shared vectors and the shared trace on wazero, then schedules a few retries.
// Run by `go run .` in this folder; exits with 1 when a result differs.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const coreDir = "../.."
const entryBytes = 32

// core is one instance of the module: an independent heap.
type core struct {
	ctx    context.Context
	module api.Module
	area   uint32
}

func newCore(ctx context.Context) *core {
	wasm := read("reprise_core.wasm")
	module, err := wazero.NewRuntime(ctx).Instantiate(ctx, wasm)
	check(err)
	c := &core{ctx: ctx, module: module}
	c.area = uint32(c.call("area_at"))
	return c
}

func (c *core) call(name string, arguments ...uint64) uint64 {
	results, err := c.module.ExportedFunction(name).Call(c.ctx, arguments...)
	check(err)
	if len(results) == 0 {
		return 0
	}
	return results[0]
}

func (c *core) number(name string, arguments ...uint64) float64 {
	return api.DecodeF64(c.call(name, arguments...))
}

// entry is one timer that is due.
type entry struct {
	payload, group uint32
	due, handle    float64
}

func (c *core) due(now, max float64) []entry {
	count := int(int32(c.call("pop_due", api.EncodeF64(now), api.EncodeF64(max))))
	entries := make([]entry, count)
	for index := range entries {
		at := c.area + uint32(index*entryBytes)
		memory := c.module.Memory()
		entries[index].payload, _ = memory.ReadUint32Le(at)
		entries[index].group, _ = memory.ReadUint32Le(at + 4)
		entries[index].due, _ = memory.ReadFloat64Le(at + 8)
		entries[index].handle, _ = memory.ReadFloat64Le(at + 16)
	}
	return entries
}

func checkVectors(ctx context.Context) int {
	var vectors struct{ Delay, Jitter [][]float64 }
	check(json.Unmarshal(read("vectors/delay.json"), &vectors))
	c := newCore(ctx)
	verify := func(name string, rows [][]float64) {
		for _, row := range rows {
			arguments := make([]uint64, len(row)-1)
			for index := range arguments {
				arguments[index] = api.EncodeF64(row[index])
			}
			if found := c.number(name, arguments...); found != row[len(row)-1] {
				log.Fatalf("%s %v gave %v", name, row, found)
			}
		}
	}
	verify("delay", vectors.Delay)
	verify("jitter", vectors.Jitter)
	return len(vectors.Delay) + len(vectors.Jitter)
}

func replay(ctx context.Context) []byte {
	c := newCore(ctx)
	var groups [4]uint64
	for index := range groups {
		groups[index] = c.call("group_open")
	}
	var handles []float64
	var out strings.Builder
	trace := strings.TrimRight(string(read("vectors/trace.txt")), "\n")
	for _, line := range strings.Split(trace, "\n") {
		fields := strings.Split(line, " ")
		var numbers [3]int64
		for index, field := range fields[1:] {
			var err error
			numbers[index], err = strconv.ParseInt(field, 10, 64)
			check(err)
		}
		switch fields[0] {
		case "i":
			due := api.EncodeF64(float64(numbers[1]))
			handle := c.number("insert", groups[numbers[0]], due, uint64(numbers[2]))
			handles = append(handles, handle)
			fmt.Fprintf(&out, "i %d\n", int64(handle))
		case "c":
			result := c.number("cancel", api.EncodeF64(handles[numbers[0]]))
			fmt.Fprintf(&out, "c %d\n", int64(result))
		case "p":
			fmt.Fprintf(&out, "p %d\n", int64(c.number("group_clear", groups[numbers[0]])))
		default:
			entries := c.due(float64(numbers[0]), float64(numbers[1]))
			fmt.Fprintf(&out, "d %d\n", len(entries))
			for _, e := range entries {
				fmt.Fprintf(&out, "%d %d %d %d\n", e.payload, e.group, int64(e.due), int64(e.handle))
			}
		}
	}
	return []byte(out.String())
}

// example: three jobs that failed once, twice and three times wait for their next attempt.
func example(ctx context.Context) {
	c := newCore(ctx)
	retries := c.call("group_open")
	now := 1_000_000.0
	for attempt := 1; attempt <= 3; attempt++ {
		delay := c.number("delay", api.EncodeF64(500), api.EncodeF64(2), api.EncodeF64(30_000),
			api.EncodeF64(float64(attempt)))
		c.call("insert", retries, api.EncodeF64(now+delay), uint64(attempt))
	}
	for next := c.number("next_due"); !math.IsInf(next, 1); next = c.number("next_due") {
		now = math.Max(now, next) // a real program sleeps until then
		for _, e := range c.due(now, 64) {
			fmt.Printf("example: job %d runs again at %.0f\n", e.payload, e.due)
		}
	}
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	fmt.Printf("vectors: %d as expected\n", checkVectors(ctx))

	var expected struct {
		Bytes  int
		Sha256 string
	}
	check(json.Unmarshal(read("vectors/trace_result.json"), &expected))
	results := replay(ctx)
	digest := sha256.Sum256(results)
	if len(results) != expected.Bytes || hex.EncodeToString(digest[:]) != expected.Sha256 {
		log.Fatalf("trace differs: %d bytes, %x", len(results), digest)
	}
	fmt.Printf("trace: %d result bytes as expected\n", len(results))
	example(ctx)
}

func read(name string) []byte {
	bytes, err := os.ReadFile(filepath.Join(coreDir, name))
	check(err)
	return bytes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
