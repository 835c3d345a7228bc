// Package interop tests that the Java reference and tarn work on the same tables: what one writes,
// changes, compacts, overwrites or deletes, the other reads and goes on with. It has nothing but tests.
package interop
