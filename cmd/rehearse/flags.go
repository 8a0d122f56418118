// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rehearse-dev/rehearse/internal/gate"
	"github.com/rehearse-dev/rehearse/internal/prose"
)

// rule is what the value of a flag must be.
type rule struct {
	flag string
	ok   bool
	want string // the allowed range, in words
}

// checkFlags finds the first flag that was given a value outside its range.
func checkFlags(cmd *cobra.Command, rules ...rule) error {
	for _, r := range rules {
		if f := cmd.Flags().Lookup(r.flag); f.Changed && !r.ok {
			return fmt.Errorf("--%s %s: want %s", r.flag, f.Value, r.want)
		}
	}
	return nil
}

// gateFlags are the flags of whatever listens that say who is answered.
func gateFlags(f *pflag.FlagSet, rules *gate.Rules) {
	f.StringArrayVar(&rules.Hosts, "allow-host", nil, "host name, other than loopback, that clients may use, such as a container's; * is any; may be repeated")
	f.StringArrayVar(&rules.Origins, "cors", nil, "origin whose pages may send requests, such as http://localhost:5173; * is any; may be repeated")
}

// dialled is the address at which a client on this machine finds a listener:
// one on all addresses is called by the name of loopback.
func dialled(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return a.String()
}

// advertiseFlag is what others call the listeners of a command.
func advertiseFlag(f *pflag.FlagSet, host *string, more string) {
	f.StringVar(host, "advertise", "", "host name or IP address to hand out instead of 127.0.0.1, such as host.docker.internal for agents in containers"+more)
}

// called is the address of a listener with the host that is advertised, if any.
func called(a net.Addr, advertise string) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || advertise == "" {
		return dialled(a)
	}
	return net.JoinHostPort(advertise, fmt.Sprint(tcp.Port))
}

// isHost reports whether a text is a host without scheme, port and path, and
// one that can be called.
func isHost(s string) bool {
	if addr, err := netip.ParseAddr(s); err == nil {
		return !addr.IsUnspecified()
	}
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s && u.Hostname() == s
}

const wantHost = "a host name or an IP address that the subject can call, without a port"

// wholeURL reports whether a client can be given a URL as it stands.
func wholeURL(raw string) bool {
	_, ok := prose.WholeURL(raw)
	return ok
}

// wantURL says what a base URL must be.
const wantURL = "a URL with scheme and host, such as http://localhost:8000/v1"

// flagError adds to an error of the flags what was meant.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, "--"+f.Name)
			}
		})
		msg += prose.DidYouMean("--"+name, known)
	}
	if bad := new(pflag.InvalidValueError); errors.As(err, &bad) {
		if want := wanted(bad.GetFlag().Value.Type(), errors.Is(err, strconv.ErrRange)); want != "" {
			msg = fmt.Sprintf("--%s %s: want %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	}
	return fmt.Errorf("%s\nrun `%s --help` for its flags", msg, cmd.CommandPath())
}

// wanted says what a value of a flag is, by the type of the flag, and between
// which numbers it lies where one did not. Empty where the flag says it itself.
func wanted(kind string, outside bool) string {
	many := strings.HasSuffix(kind, "Slice")
	words := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint": "a whole number from 0", "uint64": "a whole number from 0",
		"float64": "a number", "bool": "true or false", "duration": "a duration with its unit, such as 30s or 5m",
	}[strings.TrimSuffix(kind, "Slice")]
	if many && words != "" {
		words = strings.TrimPrefix(words, "a ") + "s, separated by commas"
	}
	if !outside {
		return words
	}
	limits := map[string]string{
		"int": fmt.Sprintf(", from %d to %d", math.MinInt, math.MaxInt), "int64": fmt.Sprintf(", from %d to %d", math.MinInt64, math.MaxInt64),
		"uint": fmt.Sprintf(" to %d", uint(math.MaxUint)), "uint64": fmt.Sprintf(" to %d", uint64(math.MaxUint64)),
		"float64": fmt.Sprintf(", of at most %.2g", math.MaxFloat64),
	}
	return words + limits[strings.TrimSuffix(kind, "Slice")]
}

// atMost takes n arguments or fewer.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return fmt.Errorf("%s got %s, which is more than it takes: %s\nusage: %s", cmd.CommandPath(), prose.Count(len(args), "argument"), strings.Join(args, " "), cmd.UseLine())
	}
}
