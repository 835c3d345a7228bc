package sql

import (
	"encoding/json"
	"fmt"
	"strings"
)

// planNode is a part of a plan that EXPLAIN (FORMAT json) gives.
type planNode struct {
	Name     string         `json:"name"`
	Children []planNode     `json:"children"`
	Extra    map[string]any `json:"extra_info"`
}

// shadowScan is a scan of a shadow table in a plan, with the filters on it.
type shadowScan struct {
	table   string
	filters []string
}

// shadowScans finds the scans of shadow tables in a plan.
func shadowScans(plan string) ([]shadowScan, error) {
	var nodes []planNode
	if err := json.Unmarshal([]byte(plan), &nodes); err != nil {
		return nil, fmt.Errorf("read a plan of the engine: %w", err)
	}
	var out []shadowScan
	var walk func([]planNode, []string)
	walk = func(nodes []planNode, above []string) {
		for _, n := range nodes {
			if name, ok := n.Extra["Function"].(string); ok && strings.HasPrefix(strings.ToLower(name), shadowPrefix) {
				out = append(out, shadowScan{strings.ToLower(name), above})
			}
			// A table function is given no filters: they stand right above it.
			var expr []string
			if strings.TrimSpace(n.Name) == "FILTER" && len(n.Children) == 1 {
				expr = planTexts(n.Extra["Expression"])
			}
			walk(n.Children, expr)
		}
	}
	walk(nodes, nil)
	return out, nil
}

// planTexts gives a text, or several.
func planTexts(v any) []string {
	switch f := v.(type) {
	case string:
		return []string{f}
	case []any:
		var out []string
		for _, x := range f {
			if t, ok := x.(string); ok {
				out = append(out, t)
			}
		}
		return out
	}
	return nil
}
