// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/harness/trials"
)

// slurmConf is a cluster of two nodes on this machine, each of which runs one
// task at a time. Finished jobs stay known, and what can run is looked for at
// once.
const slurmConf = `ClusterName=rehearse
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmctldPort=%[3]s
StateSaveLocation=%[2]s/ctld
SlurmdSpoolDir=%[2]s/%%n
SlurmctldPidFile=%[2]s/ctld.pid
SlurmdPidFile=%[2]s/%%n.pid
SelectType=select/cons_tres
ReturnToService=2
JobRequeue=1
MinJobAge=86400
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
MailProg=/bin/true
NodeName=n1 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[4]s CPUs=1 State=UNKNOWN
NodeName=n2 NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[5]s CPUs=1 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
`

// until asks again and again until ok, at most for the patience with one peer.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.After(patience)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// output is what a command prints; it must end with 0.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := command(t, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// daemon starts a program that runs in the foreground until the test ends.
func daemon(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+args[len(args)-1]+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer kill.Stop()
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%s", filepath.Base(log.Name()), text)
		}
	})
}

// slurm starts a cluster and waits until it can take jobs.
func slurm(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} { // munged wants everybody to reach its socket
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	for _, d := range []string{"ctld", "n1", "n2"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(dir, "slurm.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, slurmConf, host, dir, freePort(t), freePort(t), freePort(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", conf)
	t.Cleanup(func() { leftOfSlurm(t, conf) })

	at := func(name string) string { return filepath.Join(dir, name) }
	output(t, "mungekey", "--create", "--keyfile="+at("key"))
	daemon(t, dir, "munged", "--foreground", "--key-file="+at("key"), "--socket="+at("munge"), "--pid-file="+at("munged.pid"), "--log-file="+at("munge.txt"), "--seed-file="+at("seed"), "--force")
	until(t, "munged", func() bool { return command(t, "munge", "--no-input", "--socket="+at("munge")).Run() == nil })
	daemon(t, dir, "slurmctld", "-i", "-D")
	daemon(t, dir, "slurmd", "-D", "-N", "n1")
	daemon(t, dir, "slurmd", "-D", "-N", "n2")
	until(t, "two idle nodes", func() bool {
		out, err := command(t, "sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return err == nil && strings.TrimSpace(string(out)) == "2"
	})
	t.Cleanup(func() { // before the daemons end
		command(t, "scancel", "--user=root").Run()
		until(t, "the end of all jobs", func() bool {
			out, err := command(t, "squeue", "--noheader").Output()
			return err == nil && len(out) == 0
		})
	})
}

// leftOfSlurm ends the processes that still have the environment of a cluster.
func leftOfSlurm(t *testing.T, conf string) {
	t.Helper()
	mark := []byte("SLURM_CONF=" + conf + "\x00")
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range dirs {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(env, mark) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			t.Fatal(err)
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		t.Errorf("left behind: process %d: %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// slurmJob is what `scontrol show job` says of a job, or of a task of an array.
type slurmJob map[string]string

// ended says that a job will not go on by itself.
func (j slurmJob) ended() bool {
	switch j["JobState"] {
	case "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "":
		return false
	}
	return true
}

func slurmJobs(t *testing.T) []slurmJob {
	t.Helper()
	var jobs []slurmJob
	for line := range strings.Lines(output(t, "scontrol", "--oneliner", "show", "job")) {
		job := slurmJob{}
		for word := range strings.FieldsSeq(line) {
			if key, value, ok := strings.Cut(word, "="); ok && job[key] == "" {
				job[key] = value
			}
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// callIDs are drawn for each call that the stand-in makes.
var callIDs = regexp.MustCompile(`"call_[A-Za-z0-9]+"`)

// sortedRecords are the lines of a run's records, without the ids of calls.
func sortedRecords(t *testing.T, run string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, trials.RecordsFile))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(strings.Lines(callIDs.ReplaceAllString(string(data), `"call"`)))
}

// TestSlurm plays a suite as an array of four on two nodes, with the script that
// `rehearse shard` writes. One task is begun again in the middle: its last trial
// waits for a reply, which comes only when Slurm has ended it. What the last
// job merges is the run of one process, trial by trial.
func TestSlurm(t *testing.T) {
	slurm(t)
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS("testdata/shards")); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	standin := serve(t, "llm", filepath.Join(work, "standin.yaml"))
	t.Chdir(work)

	flags := []string{"--mode", "live", "--model", "stand-in", "--base-url", standin.URL, "--unmeasured"}
	script := output(t, program, append([]string{"shard", "suite", "--for", "slurm", "--shards", "4"}, flags...)...)
	if err := os.WriteFile("suite.slurm", []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log(output(t, "bash", "suite.slurm"))

	until(t, "the reply that is held", func() bool {
		res, err := http.Get(standin.Admin + "/held/go")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == http.StatusNoContent
	})
	var held slurmJob
	until(t, "the end of the other tasks", func() bool {
		ended := 0
		held = nil
		for _, job := range slurmJobs(t) {
			switch {
			case job["ArrayTaskId"] == "" || job["JobName"] != "suite":
			case job.ended():
				ended++
			case job["JobState"] == "RUNNING":
				held = job
			}
		}
		return ended == 3 && held != nil
	})
	id := held["ArrayJobId"] + "_" + held["ArrayTaskId"]
	task, err := strconv.Atoi(held["ArrayTaskId"])
	if err != nil {
		t.Fatal(err)
	}
	folder := fmt.Sprintf("runs/suite-%s-%d-of-4", held["ArrayJobId"], task+1)
	if n := len(sortedRecords(t, folder)); n != 3 {
		t.Fatalf("task %s has %d records, want 3 and a trial that waits", id, n)
	}
	output(t, "scontrol", "requeue", id)
	find := func() slurmJob {
		for _, job := range slurmJobs(t) {
			if job["ArrayJobId"] == held["ArrayJobId"] && job["ArrayTaskId"] == held["ArrayTaskId"] {
				return job
			}
		}
		return slurmJob{}
	}
	until(t, "the task in the queue again", func() bool { return find()["JobState"] == "PENDING" })
	res, err := http.Post(standin.Admin+"/cue/go", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	// Slurm leaves a task that it begins again in the queue for two minutes. In the
	// second in which it ended the task, the node would refuse it.
	output(t, "scontrol", "update", "JobId="+id, "StartTime=now+2")

	var all []slurmJob
	until(t, "the end of the job that merges", func() bool {
		all = slurmJobs(t)
		return !slices.ContainsFunc(all, func(j slurmJob) bool { return !j.ended() })
	})
	nodes, merged := map[string]bool{}, slurmJob{}
	for _, job := range all {
		if job["JobName"] == "suite-merge" {
			merged = job
			continue
		}
		nodes[job["NodeList"]] = true
		if want := map[bool]string{true: "1", false: "0"}[job["ArrayTaskId"] == held["ArrayTaskId"]]; job["Restarts"] != want {
			t.Errorf("task %s was begun again %s times, want %s", job["ArrayTaskId"], job["Restarts"], want)
		}
	}
	if diff := cmp.Diff([]string{"n1", "n2"}, slices.Sorted(maps.Keys(nodes))); diff != "" {
		t.Errorf("nodes that the tasks ran on (-want +got):\n%s", diff)
	}
	log, err := os.ReadFile("suite-" + id + ".log")
	if err != nil {
		t.Fatal(err)
	}
	if want := "resuming " + folder + ": 3 trials kept, 1 to play"; !strings.Contains(string(log), want) {
		t.Errorf("the log of task %s lacks %q:\n%s", id, want, log)
	}

	code, out := runProgram(t, program, append([]string{"run", "suite", "--out", "whole"}, flags...)...)
	whole, err := filepath.Glob("whole/*")
	if err != nil || len(whole) != 1 {
		t.Fatalf("want one run in whole, found %q (%v)\n%s", whole, err, out)
	}
	if code != 1 || merged["ExitCode"] != "1:0" {
		t.Errorf("the whole run ended with %d, the job that merges with %s; want 1 and 1:0\n%s", code, merged["ExitCode"], out)
	}
	if diff := cmp.Diff(sortedRecords(t, whole[0]), sortedRecords(t, "runs/suite-"+held["ArrayJobId"])); diff != "" {
		t.Errorf("trials of one process and of the array (-one +array):\n%s", diff)
	}
}
