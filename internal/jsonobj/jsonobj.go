// Package jsonobj takes JSON objects apart by the exact names of their members, as the reference does: "ID"
// is not "id". encoding/json fills a struct whichever way its names are written.
package jsonobj

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Take reads the members of an object that are asked for: each name with a pointer to where its value goes,
// as for json.Unmarshal. Members that are null or not there change nothing. The others are given back.
func Take(data []byte, members map[string]any) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errors.New("null instead of an object")
	}
	for name, to := range members {
		raw, ok := all[name]
		if !ok {
			continue
		}
		delete(all, name)
		if err := json.Unmarshal(raw, to); err != nil {
			return nil, fmt.Errorf("member %q: %w", name, err)
		}
	}
	return all, nil
}
