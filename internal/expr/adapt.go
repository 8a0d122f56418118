// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

package expr

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/rehearse-dev/rehearse/internal/value"
)

// adapter makes CEL values of ours, one level at a time: what an expression
// does not read is never converted.
type adapter struct{}

func (a adapter) NativeToValue(x any) ref.Val {
	switch x := x.(type) {
	case ref.Val:
		return x
	case value.Value:
		return a.json(x)
	case []any: // of objects
		return given{types.NewDynamicList(a, x)}
	case []value.Value:
		return given{types.NewDynamicList(a, x)}
	}
	return types.DefaultTypeAdapter.NativeToValue(x)
}

func (a adapter) json(v value.Value) ref.Val {
	switch v.Kind() {
	case value.Bool:
		return types.Bool(v.Bool())
	case value.String:
		return types.String(v.Str())
	case value.Number:
		return celNumber(v)
	case value.Array:
		return given{types.NewDynamicList(a, v.Items())}
	case value.Object:
		return jsonMap{v}
	default:
		return types.NullValue
	}
}

func celNumber(v value.Value) ref.Val {
	if n, ok := v.Int(); ok {
		return types.Int(n)
	}
	if f, ok := v.Float(); ok && !v.IsInteger() {
		return types.Double(f)
	}
	// Rounding it to a double would make unequal ids equal.
	return types.NewErr("the number %s is too large for an expression (only a plain path keeps it; use a string for an id)", v.Num())
}

// given is a list that an expression was given. It already exists, so it counts
// for less than one that the expression makes, see maxMade.
type given struct{ traits.Lister }

var _ types.AggregateSizeVisitor = given{}

func (g given) AggregateSize(types.AggregateSizer) uint32 {
	n, _ := g.Size().(types.Int)
	return 1 + uint32(n/10)
}

func (m jsonMap) AggregateSize(types.AggregateSizer) uint32 { return 1 }

func (o *object) AggregateSize(types.AggregateSizer) uint32 { return 1 }

// jsonMap is a JSON object in CEL. It iterates in the order of its keys,
// which CEL's own maps do not.
type jsonMap struct{ v value.Value }

var _ traits.Mapper = jsonMap{}

func (m jsonMap) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, ok := m.v.Get(string(k))
	if !ok {
		return nil, false
	}
	return adapter{}.json(v), true
}

func (m jsonMap) Get(key ref.Val) ref.Val {
	if v, ok := m.Find(key); ok {
		return v
	}
	return types.WrapErr(missingf("no such key: %v", key.Value()))
}

func (m jsonMap) Contains(key ref.Val) ref.Val {
	k, ok := key.(types.String)
	if !ok {
		return types.False
	}
	_, ok = m.v.Get(string(k))
	return types.Bool(ok)
}

func (m jsonMap) Size() ref.Val { return types.Int(m.v.Len()) }

func (m jsonMap) Iterator() traits.Iterator {
	keys := make([]string, m.v.Len())
	for i, member := range m.v.Members() {
		keys[i] = member.Key
	}
	return types.NewStringList(adapter{}, keys).(traits.Iterable).Iterator()
}

func (m jsonMap) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok || o.Size() != m.Size() {
		return types.False
	}
	for _, member := range m.v.Members() {
		v, ok := o.Find(types.String(member.Key))
		if !ok {
			return types.False
		}
		if eq := types.Equal(adapter{}.json(member.Value), v); eq != types.True {
			return eq
		}
	}
	return types.True
}

func (m jsonMap) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return m
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from map to %s", t.TypeName())
}

func (m jsonMap) ConvertToNative(t reflect.Type) (any, error) {
	if reflect.TypeFor[value.Value]().AssignableTo(t) {
		return m.v, nil
	}
	return nil, fmt.Errorf("converting a map to %v is not supported", t)
}

func (m jsonMap) Type() ref.Type { return types.MapType }
func (m jsonMap) Value() any     { return m.v }

// object is a value with known fields in CEL.
type object struct {
	typ *objectType
	x   any
}

var _ interface {
	ref.Val
	traits.Indexer
	traits.FieldTester
} = (*object)(nil)

func (o *object) get(name string) (any, error) {
	f, ok := o.typ.field(name)
	if !ok {
		return nil, missingf("%s has no field %q", o.typ.name, name)
	}
	x := f.get(o.x)
	if x == nil {
		return nil, missingf("%s has no %s", o.typ.name, name)
	}
	return x, nil
}

func (o *object) Get(key ref.Val) ref.Val {
	x, err := o.get(fmt.Sprint(key.Value()))
	if err != nil {
		return types.WrapErr(err)
	}
	return adapter{}.NativeToValue(x)
}

func (o *object) IsSet(key ref.Val) ref.Val {
	_, err := o.get(fmt.Sprint(key.Value()))
	return types.Bool(err == nil)
}

func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	if !ok || p.typ != o.typ {
		return types.False
	}
	a, err := toValue(o)
	b, err2 := toValue(p)
	if err != nil || err2 != nil {
		return types.False
	}
	return types.Bool(value.Equal(a, b))
}

func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.typ.cel
	}
	return types.NewErr("type conversion error from %s to %s", o.typ.name, t.TypeName())
}

func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("converting a %s to %v is not supported", o.typ.name, t)
}

func (o *object) Type() ref.Type { return o.typ.cel }
func (o *object) Value() any     { return o }

// toValue makes a JSON value of the result of an expression. A part that CEL
// only passed on is the stored value, with the spelling of its numbers.
func toValue(x any) (value.Value, error) {
	switch x := x.(type) {
	case value.Value:
		return x, nil
	case []value.Value:
		return value.ArrayOf(x...), nil
	case []string:
		return arrayValue(len(x), func(i int) any { return x[i] })
	case []any:
		return arrayValue(len(x), func(i int) any { return x[i] })
	case *object:
		members := make([]value.Member, 0, len(x.typ.fields))
		for _, f := range x.typ.fields {
			if e := f.get(x.x); e != nil {
				v, err := toValue(e)
				if err != nil {
					return value.Value{}, err
				}
				members = append(members, value.Member{Key: f.name, Value: v})
			}
		}
		return value.ObjectOf(members...), nil
	case ref.Val:
		return celValue(x)
	default:
		return value.From(x)
	}
}

func arrayValue(n int, at func(int) any) (value.Value, error) {
	items := make([]value.Value, n)
	for i := range items {
		var err error
		if items[i], err = toValue(at(i)); err != nil {
			return value.Value{}, err
		}
	}
	return value.ArrayOf(items...), nil
}

func celValue(x ref.Val) (value.Value, error) {
	switch x := x.(type) {
	case types.Null:
		return value.Value{}, nil
	case types.Bool:
		return value.BoolOf(bool(x)), nil
	case types.Int:
		return value.IntOf(int64(x)), nil
	case types.Uint:
		return value.From(uint64(x))
	case types.Double:
		return doubleValue(float64(x))
	case types.String:
		return value.StringOf(string(x)), nil
	case types.Timestamp:
		return value.StringOf(x.Format(time.RFC3339Nano)), nil
	case types.Duration:
		return value.StringOf(x.Duration.String()), nil
	case *types.Err:
		return value.Value{}, x
	case *types.Optional:
		if !x.HasValue() {
			return value.Value{}, missingf("the optional value is missing; end with .orValue(...)")
		}
		return toValue(x.GetValue())
	case jsonMap:
		return x.v, nil
	case traits.Lister:
		if items, ok := x.Value().([]value.Value); ok {
			return value.ArrayOf(items...), nil
		}
		return arrayValue(int(x.Size().(types.Int)), func(i int) any { return x.Get(types.Int(i)) })
	case traits.Mapper:
		return mapValue(x)
	}
	return value.Value{}, fmt.Errorf("the result is a %s, which is not a JSON value", x.Type().TypeName())
}

// mapValue converts a map that the expression built. CEL forgets the order
// of its keys, so they are sorted.
func mapValue(m traits.Mapper) (value.Value, error) {
	var members []value.Member
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		k, ok := key.(types.String)
		if !ok {
			return value.Value{}, fmt.Errorf("the key %v of the result is not a string", key.Value())
		}
		v, err := toValue(m.Get(key))
		if err != nil {
			return value.Value{}, err
		}
		members = append(members, value.Member{Key: string(k), Value: v})
	}
	slices.SortFunc(members, func(a, b value.Member) int { return strings.Compare(a.Key, b.Key) })
	return value.ObjectOf(members...), nil
}

// doubleValue spells a double so that it stays one: 3.0, not 3.
func doubleValue(f float64) (value.Value, error) {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if !value.ValidNumber(s) {
		return value.Value{}, fmt.Errorf("the result is %s, which is not a JSON number", s)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return value.NumberOf(s), nil
}
