// Package metatest tests the library as a whole through its public API: random histories against a
// naive model, a stop at every call of the file system, processes that race, disks that fail. It has
// nothing but tests.
package metatest
