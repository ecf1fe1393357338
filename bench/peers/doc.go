// Command peers runs Assay's load driver and other tools against one canned
// gateway, interleaved in one session, and prints what each of them costs as a
// table of ratios with the targets that Assay has set itself.
//
// Everything stays on 127.0.0.1 and ends by itself. What is compared is processor
// time (of the driver, as wait4 tells it when it has ended: user, system, start
// included) and anonymous resident memory: both repeat on a busy machine, and rates
// do not. A tool that cannot be had is named as missing.
package main
