// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build ignore

// This program writes cl100k.bin, see bpe.go, from the vocabulary of
// github.com/tiktoken-go/tokenizer, which has it from OpenAI's tiktoken (both
// under the MIT licence).
package main

import (
	"encoding/binary"
	"log"
	"os"

	"github.com/tiktoken-go/tokenizer"
)

const (
	tokens = 100256
	slots  = 1 << 18
)

func main() {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		log.Fatal(err)
	}
	var offsets, table, texts []byte
	slot := make([]uint32, slots)
	for rank := range uint32(tokens) {
		text, err := codec.Decode([]uint{uint(rank)})
		if err != nil {
			log.Fatal(err)
		}
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(texts)))
		texts = append(texts, text...)
		h := uint32(2166136261)
		for i := range len(text) {
			h = (h ^ uint32(text[i])) * 16777619
		}
		for h %= slots; slot[h] != 0; h = (h + 1) % slots {
		}
		slot[h] = rank + 1
	}
	offsets = binary.LittleEndian.AppendUint32(offsets, uint32(len(texts)))
	for _, s := range slot {
		table = binary.LittleEndian.AppendUint32(table, s)
	}
	if err := os.WriteFile("cl100k.bin", append(append(table, offsets...), texts...), 0o644); err != nil {
		log.Fatal(err)
	}
}
