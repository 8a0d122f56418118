// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/rehearse-dev/rehearse/internal/schema"
	"github.com/rehearse-dev/rehearse/internal/value"
)

func TestExactNumbers(t *testing.T) {
	const big = "123456789012345678901234567890"
	for _, tt := range []struct{ schema, value, want string }{
		{`{"multipleOf":0.01}`, `19.99`, ""},
		{`{"multipleOf":0.1}`, `0.3`, ""},
		{`{"multipleOf":0.1}`, `0.35`, "multipleOf: 3152519739159347/9007199254740992 is not a multiple of 0.100000"},
		{`{"multipleOf":3}`, `9007199254740993`, ""},
		{`{"multipleOf":2}`, `9007199254740993`, "multipleOf: 9007199254740993 is not a multiple of 2"},
		{`{"multipleOf":0.01}`, `3`, ""},
		{`{"maximum":123456789012345678901234567889}`, big, "maximum: " + big + " is greater than 123456789012345678901234567889"},
		{`{"minimum":123456789012345678901234567891}`, big, "minimum: " + big + " is less than 123456789012345678901234567891"},
		{`{"exclusiveMaximum":` + big + `}`, "123456789012345678901234567889", ""},
		{`{"exclusiveMinimum":` + big + `}`, "123456789012345678901234567891", ""},
		{`{"const":0.30}`, `0.3`, ""},
		{`{"enum":[1,` + big + `]}`, `123456789012345678901234567891`, "the value holds a number that the schema does not allow when all of its digits count"},
		{`{"enum":[{"a":` + big + `}]}`, `{"a":` + big + `.0}`, ""},
		{`{"uniqueItems":true}`, `[` + big + `,123456789012345678901234567891]`, ""},
		{`{"type":"integer"}`, `1e400`, ""},
		{`{"type":"integer"}`, `1e-400`, "x"},
		{`{"type":"integer"}`, big + ".5", "x"},
		{`{"maximum":5}`, `1e400`, "x"},
		{`{"type":"string"}`, `1.5`, "x"},
		{`{"allOf":[{"maximum":5}],"multipleOf":0.1}`, `5.1`, "x"},
		{`{"allOf":[{"maximum":5}],"multipleOf":0.1}`, `4.1`, ""},
		{`{"properties":{"a":{"maximum":5},"maximum":{"minimum":0.5}}}`, `{"a":3.5,"maximum":20.5}`, ""},
		{`{"properties":{"a":{"maximum":5},"maximum":{"minimum":0.5}}}`, `{"a":3.5,"maximum":0.4}`, "x"},
		{`{"properties":{"enum":{"multipleOf":0.1}}}`, `{"enum":0.3}`, ""},
		{`{"anyOf":[{"multipleOf":0.1},{"type":"string"}]}`, `["a",0.3]`, ""},
		{`{"$defs":{"m":{"multipleOf":0.1}},"items":{"$ref":"#/$defs/m"},"unevaluatedItems":false}`, `[0.3,0.7]`, ""},
	} {
		t.Run(tt.schema+" "+tt.value, func(t *testing.T) {
			s, err := schema.Compile(parse(t, tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := s.Validate(parse(t, tt.value)); err != nil {
				got = err.Error()
			}
			if got != tt.want && !(tt.want == "x" && got != "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
