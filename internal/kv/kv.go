// Package kv is the key-value view of a primary-key table's rows: key vectors, the order of the
// versions of a key, and the merging of sorted runs.
package kv
