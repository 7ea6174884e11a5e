package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tree returns pid and the ids of all descendants of the process pid.
func tree(pid int) []int {
	out := []int{pid}
	ents, _ := os.ReadDir("/proc")
	kids := map[int][]int{}
	for _, e := range ents {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		pp, _ := strconv.Atoi(f[1])
		kids[pp] = append(kids[pp], p)
	}
	for i := 0; i < len(out); i++ {
		out = append(out, kids[out[i]]...)
	}
	return out
}

// rssKB returns the resident memory, in KiB, of the process pid and its descendants. It returns 0
// if the process does not exist.
func rssKB(pid int) (rss int64) {
	for _, p := range tree(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
		if err != nil {
			continue
		}
		for _, l := range strings.Split(string(b), "\n") {
			if strings.HasPrefix(l, "VmRSS:") {
				v, _ := strconv.ParseInt(strings.Fields(l)[1], 10, 64)
				rss += v
			}
		}
	}
	return
}

// cpuSec returns the CPU time, in seconds, that the process pid and its descendants have used. It
// returns 0 if the process does not exist.
func cpuSec(pid int) (s float64) {
	for _, p := range tree(pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		u, _ := strconv.ParseFloat(f[11], 64)
		k, _ := strconv.ParseFloat(f[12], 64)
		s += (u + k) / 100
	}
	return
}

// machine returns the eight CPU time counters of the machine, summed over all cores, from
// /proc/stat: user, nice, system, idle, iowait, irq, softirq and steal, in clock ticks since boot.
// It panics if that file cannot be read.
func machine() (v [8]float64) {
	b, _ := os.ReadFile("/proc/stat")
	f := strings.Fields(strings.SplitN(string(b), "\n", 2)[0])
	for i := 0; i < 8; i++ {
		v[i], _ = strconv.ParseFloat(f[i+1], 64)
	}
	return
}

// machineDelta adds members to o that describe the load of the machine since an earlier call of
// machine, whose result was a. They are the percentages of idle, interrupt and stolen time
// (idle_pct, softirq_pct, steal_pct), and the average number of cores that ran processes
// (busy_cores_ex_softirq). The values are -1 if the counters have not changed.
func machineDelta(o map[string]any, a [8]float64) {
	b := machine()
	var t float64
	for i := range b {
		t += b[i] - a[i]
	}
	o["idle_pct"] = r3(100 * (b[3] + b[4] - a[3] - a[4]) / t)
	o["softirq_pct"] = r3(100 * (b[5] + b[6] - a[5] - a[6]) / t)
	o["steal_pct"] = r3(100 * (b[7] - a[7]) / t)
	o["busy_cores_ex_softirq"] = r3((b[0] + b[1] + b[2] - a[0] - a[1] - a[2]) / t * float64(runtime.NumCPU()))
}

// gate waits until the machine, which other programs may share, has been at least 94% idle for one
// second, or until max has passed. It returns the time that it waited, in seconds.
func gate(max time.Duration) (waited float64) {
	t0 := time.Now()
	for time.Since(t0) < max {
		a := machine()
		time.Sleep(time.Second)
		o := map[string]any{}
		machineDelta(o, a)
		if o["idle_pct"].(float64) >= 94 {
			break
		}
	}
	return time.Since(t0).Seconds()
}

// other adds to o, as other_cores, the number of cores that neither were idle nor worked for the
// server or the client. These cores worked for other programs, or their time was stolen by the
// hypervisor. The number is computed from the members idle_pct, server_cpu and client_cpu of o. If
// o has no idle_pct, other adds nothing.
func other(o map[string]any) {
	idle, ok := o["idle_pct"].(float64)
	if !ok {
		return
	}
	v := float64(runtime.NumCPU()) * (1 - idle/100)
	if s, ok := o["server_cpu"].(float64); ok {
		v -= s
	}
	if c, ok := o["client_cpu"].(float64); ok {
		v -= c
	}
	o["other_cores"] = r3(v)
}

// selfCPU returns the CPU time, in seconds, that this process has used.
func selfCPU() float64 {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// q returns the quantile p, from 0 to 1, of the values v, which must be sorted. It returns NaN if v
// is empty.
func q(v []float64, p float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(p*float64(len(v)))) - 1
	if i < 0 {
		i = 0
	}
	return v[i]
}

// r3 returns f rounded to three decimals, or -1 if f is NaN, which JSON cannot represent.
func r3(f float64) float64 {
	if math.IsNaN(f) {
		return -1
	}
	return math.Round(f*1000) / 1000
}

// ms returns d in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / 1e6 }
