// Copyright 2026 The rehearse Authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

func namespaces() bool { return false }
