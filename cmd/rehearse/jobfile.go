// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/rehearse-dev/rehearse/harness"
	"github.com/rehearse-dev/rehearse/harness/trials"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

//go:embed jobs
var jobTemplates embed.FS

// jobFiles are the templates by the name of the scheduler.
var jobFiles = map[string]string{"slurm": "slurm.tmpl", "pbs": "pbs.tmpl", "kubernetes": "kubernetes.tmpl", "github": "github.tmpl"}

// notInJobs are flags of run that a job file does not have, and why.
var notInJobs = map[string]string{
	"shard":        "the job file numbers the shards itself",
	"resume":       "a task goes on in its own run folder by itself",
	"retry-errors": "retry the errors of one shard with rehearse run --resume",
	"json":         "print it of the merged run",
	"junit":        "write it of the merged run: rehearse report RUN --junit FILE",
	"html":         "write it of the merged run: rehearse report RUN --html FILE",
}

// partOf are flags whose value is for all shards together, and what one of n
// shards has of it.
var partOf = map[string]func(value string, n int) (string, error){
	"budget": func(value string, n int) (string, error) {
		b, err := trials.ParseBudget(value)
		return b.Part(n).String(), err
	},
	"rate": func(value string, n int) (string, error) {
		r, err := trials.ParseRate(value)
		part, ok := r.Part(n)
		if err == nil && !ok {
			err = fmt.Errorf("%s divided by %d shards is less than one request an hour", value, n)
		}
		return part.String(), err
	},
}

// jobFile is what the templates show.
type jobFile struct {
	Shards int
	// Name of the run, as part of the name of a file; Label is the same as
	// Kubernetes allows it.
	Name, Label string
	Out         string // folder of the run folders
	Image       string
	Words       []string // of the command line after rehearse
	Live        bool     // it needs an endpoint
}

// Last is the number of the last task, from 0.
func (j *jobFile) Last() int { return j.Shards - 1 }

// Numbers are those of the shards, from 1.
func (j *jobFile) Numbers() []int {
	out := make([]int, j.Shards)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// Shell is the command line as a shell reads it.
func (j *jobFile) Shell() string {
	words := make([]string, len(j.Words))
	for i, w := range j.Words {
		words[i] = prose.ShellWord(w)
	}
	return strings.Join(words, " ")
}

func shardCommand(p *process) *cobra.Command {
	var job jobFile
	var to string
	inner := runCommand(p)
	cmd := &cobra.Command{
		Use:   "shard PATH... --for slurm|pbs|kubernetes|github",
		Short: "Print the job file of a run on several machines",
		Long: `shard prints a file for a scheduler: an array of tasks, each of which plays one
shard of the run that the other flags describe (those of ` + "`rehearse run`" + `), and a last
job that merges the run folders of all tasks into one and reports on it.

  --for slurm       a script for a Slurm job array; submit it with bash
  --for pbs         the same for PBS Pro and OpenPBS
  --for kubernetes  an Indexed Job, and a job that merges, to apply with kubectl
  --for github      a workflow of GitHub Actions with a matrix

A task that the scheduler begins again, after the death of its machine, goes on in
its own run folder (not on GitHub, where a job begins anew).`,
		Example: `  rehearse shard scenarios --for slurm --shards 4 --mode live --model m >scenarios.slurm
  rehearse shard scenarios --for kubernetes --image registry.example/agents:1 >scenarios.yaml`,
		Args: minArgs(1, "a scenario file or a folder of them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return errors.New("--for is missing: want slurm, pbs, kubernetes or github")
			}
			name, ok := jobFiles[to]
			if !ok {
				return fmt.Errorf("--for %q is not known: want slurm, pbs, kubernetes or github%s", to, prose.DidYouMean(to, slices.Sorted(maps.Keys(jobFiles))))
			}
			if err := checkFlags(cmd, rule{"shards", job.Shards >= 2, "at least 2"}); err != nil {
				return err
			}
			if err := inner.PreRunE(cmd, args); err != nil {
				return err
			}
			if err := job.fill(inner.Flags(), args); err != nil {
				return err
			}
			return writeJob(p, name, &job)
		},
	}
	f := cmd.Flags()
	f.AddFlagSet(inner.Flags())
	f.StringVar(&to, "for", "", "scheduler: slurm, pbs, kubernetes or github")
	f.IntVar(&job.Shards, "shards", 4, "number of tasks")
	f.StringVar(&job.Image, "image", "rehearse:latest", "with --for kubernetes: image that has rehearse and sh")
	return cmd
}

// fill takes over the flags of run and its paths.
func (j *jobFile) fill(flags *pflag.FlagSet, paths []string) error {
	var err error
	j.Words = append([]string{"run"}, paths...)
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || err != nil {
			return
		}
		if why, ok := notInJobs[f.Name]; ok {
			err = fmt.Errorf("--%s is not for job files: %s", f.Name, why)
		}
		value := f.Value.String()
		if part := partOf[f.Name]; part != nil && err == nil {
			if value, err = part(value, j.Shards); err != nil {
				err = fmt.Errorf("--%s: %w", f.Name, err)
			}
		}
		flag := "--" + f.Name
		list, many := f.Value.(pflag.SliceValue)
		switch {
		case many && f.Value.Type() == "stringSlice":
			j.Words = append(j.Words, flag, strings.Join(list.GetSlice(), ","))
		case many:
			for _, v := range list.GetSlice() {
				j.Words = append(j.Words, flag, v)
			}
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			j.Words = append(j.Words, flag)
		case f.Value.Type() == "bool":
			j.Words = append(j.Words, flag+"=false")
		default:
			j.Words = append(j.Words, flag, value)
		}
	})
	if err != nil {
		return err
	}
	value := func(name string) string { return flags.Lookup(name).Value.String() }
	j.Name = trials.FileName(cmp.Or(value("name"), runName(paths[0])), "run")
	j.Label = label(j.Name)
	if j.Out = value("out"); prose.ShellWord(j.Out) != j.Out {
		return fmt.Errorf("--out %q: want the name of a folder that needs no quotes in a shell", j.Out)
	}
	j.Live = harness.Mode(value("mode")).Real()
	return nil
}

// label makes of a name one that Kubernetes allows: lower-case letters, digits
// and dashes, at most 50 bytes, so that "-merge" still fits.
func label(name string) string {
	text := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return cmp.Or(strings.Trim(text[:min(len(text), 50)], "-"), "rehearse")
}

// writeJob writes the job file to standard output.
func writeJob(p *process, name string, job *jobFile) error {
	t, err := template.New(name).Funcs(template.FuncMap{"yaml": yamlText, "kubernetes": kubernetesText}).ParseFS(jobTemplates, "jobs/"+name)
	if err != nil {
		return err
	}
	return t.Execute(p.stdout, job)
}

// yamlText is a text as a value of YAML, on one line.
func yamlText(text string) (string, error) {
	value, err := yaml.Marshal(text)
	if err == nil && strings.Count(string(value), "\n") > 1 {
		value, err = json.Marshal(text) // JSON is YAML
	}
	return strings.TrimSpace(string(value)), err
}

// kubernetesText is a text as a word of a command of a pod, in which $(NAME)
// would be the value of a variable.
func kubernetesText(text string) (string, error) {
	return yamlText(strings.ReplaceAll(text, "$(", "$$("))
}
