package scenarios_test

import (
	"fmt"
	"testing"

	"github.com/rehearse-dev/rehearse/scenarios"
)

func TestX(t *testing.T) {
	for _, p := range []string{"testdata/spec", "suites"} {
		set, err := scenarios.Load([]string{p}, nil)
		fmt.Println(err)
		for _, s := range set.Scenarios {
			fmt.Printf("%s %+v %v %d servers %d turns\n", s.Name, s.Limits, s.Hash, len(s.Servers), len(s.Turns))
			s.ModelScript()
		}
		fmt.Println(set.Notes, len(set.LLMs), len(set.Servers)); for _, p := range set.Check() { fmt.Println("CHECK", p) }
	}
}
