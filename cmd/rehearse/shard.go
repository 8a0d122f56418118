// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/harness/run"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// scheduler is who started this process as a task of an array, and what it
// says in the environment.
type scheduler struct {
	name string
	// index names the variable of the task's number, which counts from 0 where
	// the number of tasks is given to rehearse.
	index string
	// job names the variable of the id that all tasks share, and each of its
	// values has what follows the separator for one task.
	job, separator string
	// restarts names the variable that counts how often the task was begun
	// again; empty where there is none.
	restarts string
}

// schedulers in the order in which they are looked for.
var schedulers = []scheduler{
	{name: "Slurm", index: "SLURM_ARRAY_TASK_ID", job: "SLURM_ARRAY_JOB_ID", restarts: "SLURM_RESTART_COUNT"},
	{name: "PBS", index: "PBS_ARRAY_INDEX", job: "PBS_JOBID", separator: "["},
	{name: "Kubernetes", index: "JOB_COMPLETION_INDEX", job: "REHEARSE_JOB"},
}

// autoShard is the value of --shard that leaves the number to a scheduler.
const autoShard = "auto"

// shardOf reads --shard. A nil scheduler is one that was not asked.
func shardOf(text string, getenv func(string) (string, bool)) (trials.Shard, *scheduler, error) {
	count, auto := 0, text == autoShard
	if n, ok := strings.CutPrefix(text, autoShard+"/"); ok {
		var err error
		if count, err = strconv.Atoi(n); err != nil || count < 1 {
			return trials.Shard{}, nil, fmt.Errorf("--shard %s: want the number of shards after the slash, such as auto/4", text)
		}
		auto = true
	}
	if !auto {
		s, err := trials.ParseShard(text)
		if err != nil {
			return trials.Shard{}, nil, fmt.Errorf("--shard: %w; auto asks Slurm, and auto/4 asks Slurm, PBS or Kubernetes for the number of the task", err)
		}
		return s, nil, nil
	}
	env := environment(getenv)
	at := slices.IndexFunc(schedulers, func(s scheduler) bool { return env.text(s.index) != "" })
	if at < 0 {
		return trials.Shard{}, nil, fmt.Errorf("--shard %s: this is not a task of an array: none of SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX and JOB_COMPLETION_INDEX is set; name the shard, such as --shard 1/4", text)
	}
	s := &schedulers[at]
	index, err := env.number(s.index)
	switch {
	case err != nil:
		return trials.Shard{}, nil, err
	case count > 0:
		if index < 0 || index >= count {
			return trials.Shard{}, nil, fmt.Errorf("--shard %s: %s is %d: want the tasks to be numbered from 0 to %d", text, s.index, index, count-1)
		}
	case s.restarts == "": // only Slurm tells how many there are
		return trials.Shard{}, nil, fmt.Errorf("--shard auto: %s does not say how many tasks there are: give their number, such as --shard auto/4", s.name)
	default:
		if index, count, err = slurmArray(env, index); err != nil {
			return trials.Shard{}, nil, fmt.Errorf("--shard auto: %w", err)
		}
	}
	return trials.Shard{Index: index + 1, Count: count}, s, nil
}

// slurmArray says which of how many tasks of an array a task is, from 0.
func slurmArray(env environment, id int) (index, count int, err error) {
	var v [4]int
	for i, name := range []string{"SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"} {
		if name == "SLURM_ARRAY_TASK_STEP" && env.text(name) == "" {
			v[i] = 1
			continue
		}
		if v[i], err = env.number(name); err != nil {
			return 0, 0, err
		}
	}
	count, first, last, step := v[0], v[1], v[2], max(v[3], 1)
	if (last-first)/step+1 != count || (id-first)%step != 0 || id < first || id > last {
		return 0, 0, fmt.Errorf("the %d tasks from %d to %d are not evenly spaced; submit with --array=0-%d, or give the number of shards, such as --shard auto/4", count, first, last, count-1)
	}
	return (id - first) / step, count, nil
}

// environment reads variables.
type environment func(string) (string, bool)

func (e environment) text(name string) string { v, _ := e(name); return v }

func (e environment) number(name string) (int, error) {
	n, err := strconv.Atoi(e.text(name))
	if err != nil {
		return 0, fmt.Errorf("%s is %q: want a whole number", name, e.text(name))
	}
	return n, nil
}

// ownFolder gives a task of an array a run folder of its own, by the id of the
// job, so that a task which is begun again goes on in it. A job without an id
// has a new folder each time.
func ownFolder(p *process, opts *run.Options, s *scheduler) error {
	env := environment(p.getenv)
	job, _, _ := strings.Cut(env.text(s.job), cmp.Or(s.separator, "\x00"))
	if job == "" || opts.Resume != "" {
		return nil
	}
	name := fmt.Sprintf("%s-%s-%d-of-%d", trials.FileName(opts.Name, "run"), trials.FileName(job, "job"), opts.Shard.Index, opts.Shard.Count)
	opts.Folder = filepath.Join(opts.Out, name)
	_, err := os.Stat(filepath.Join(opts.Folder, trials.ManifestFile))
	if err == nil && s.restarts != "" && strings.Trim(env.text(s.restarts), "0") == "" {
		return fmt.Errorf("run folder %q already exists, and %s does not say that this task was begun again (%s); to go on in it, give --resume %s, and else another --name", opts.Folder, s.name, s.restarts, opts.Folder)
	}
	return nil
}

// planLine says what a run is to do, where it does not play all from the
// beginning.
func planLine(plan run.Plan) string {
	var parts []string
	if plan.Shard != (trials.Shard{}) {
		parts = append(parts, fmt.Sprintf("shard %s: %d of %s", plan.Shard, plan.Trials+plan.Kept, prose.Count(plan.Whole, "trial")))
	}
	if plan.Kept+plan.Retried > 0 {
		text := fmt.Sprintf("resuming %s: %s kept, %d to play", plan.Dir, prose.Count(plan.Kept, "trial"), plan.Trials)
		if plan.Retried > 0 {
			text += fmt.Sprintf(", %d of them because of an error", plan.Retried)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// howToResume is the command that plays what is missing of a run.
func howToResume(args []string, dir string, shard trials.Shard) string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch name, _, whole := strings.Cut(args[i], "="); name {
		case "--retry-errors", "--watch": // a run that is watched begins anew
		case "--resume", "--shard", "--budget":
			if !whole {
				i++ // its value
			}
		default:
			out = append(out, prose.ShellWord(args[i]))
		}
	}
	if shard != (trials.Shard{}) {
		out = append(out, "--shard", shard.String())
	}
	return "rehearse " + strings.Join(append(out, "--resume", prose.ShellWord(dir)), " ")
}
