// Package process tells what a benchmark has used of the machine. It works on Linux.
package process

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CPU is the processor time that the process has used, user and system.
func CPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// PeakMB is the most memory that the process had resident, in MiB; -1 if the system does not tell.
func PeakMB() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				return -1
			}
			return kb / 1024
		}
	}
	return -1
}
