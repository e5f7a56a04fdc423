// One measurement in a process of its own: takes a job as JSON in its argument, prints the figures
// as JSON. Started by launch.ts.

import process from "node:process";
import { measureCalls } from "./calls.ts";
import { type Job, measureSpeed } from "./measure.ts";

const job = JSON.parse(process.argv[2] ?? "{}") as Job;
const figures = job.kind === "calls" ? measureCalls(job) : measureSpeed(job);
console.log(JSON.stringify(figures));
