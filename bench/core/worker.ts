// One measurement in a process of its own: takes a job as JSON in its argument, prints the figures
// as JSON. Started by main.ts.

import process from "node:process";
import { type Job, measure } from "./measure.ts";

const job = JSON.parse(process.argv[2] ?? "{}") as Job;
console.log(JSON.stringify(measure(job)));
