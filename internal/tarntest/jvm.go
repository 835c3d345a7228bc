package tarntest

import (
	"bufio"
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// jvm is a running oracle. It ends by itself when the test process does, since its input ends then. No
// goroutine serves it, so that tests may look for goroutines that leak.
type jvm struct {
	mu        sync.Mutex // held over all commands of one call
	in, out   *os.File
	lines     *bufio.Reader
	stderr    *os.File
	warehouse string // the one that is open
	broken    atomic.Bool
}

func startJVM(root, version string) (*jvm, error) {
	cmd, err := oracleCommand(root, version)
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	stderr, err := os.CreateTemp("", "tarn-oracle-*.log")
	if err != nil {
		inR.Close()
		outW.Close()
		inW.Close()
		outR.Close()
		return nil, err
	}
	os.Remove(stderr.Name()) // it lives as long as it is open
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, stderr
	j := &jvm{in: inW, out: outR, stderr: stderr, lines: bufio.NewReaderSize(outR, 1<<16)}
	err = cmd.Start()
	// The process has its own ends now: with ours open, its end would not be seen.
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, err
	}
	// The first answer shows that it is built and runs.
	if _, err := j.one(Command{"op": "sleep", "millis": 0}); err != nil {
		inW.Close()
		outR.Close()
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() == 3 { // as paimon-oracle says it
			return nil, errors.New("it is not built: run scripts/install")
		}
		return nil, err
	}
	return j, nil
}
