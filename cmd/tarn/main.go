// Command tarn is a streaming lakehouse in one binary.
package main

import (
	"os"

	"github.com/tarnlake/tarn/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
