package cdc_test

import "github.com/tarnlake/tarn/types"

func mustType(s string) types.Type { return types.MustParse(s) }
