package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/manifest"
	"github.com/tarnlake/tarn/internal/paths"
	"github.com/tarnlake/tarn/internal/schema"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE", Short: "Print any file of a table as JSON: snapshot, schema, manifest, list, data file", Args: cobra.ExactArgs(1),
		Long: `Prints a file of a table as JSON, with the names of the specification. Keys, partitions and statistics are values where the
file lies in its table's folder, sizes and times are made readable. --json leaves nothing out: a line for each record,
sizes in bytes, times in milliseconds, and a key or a bound as {"hex": bytes, "row": values or null}.`,
		Example: "  tarn inspect lake/shop.db/orders/snapshot/snapshot-3\n  tarn inspect lake/shop.db/orders/manifest/manifest-… --json\n  tarn inspect lake/shop.db/orders/bucket-0/data-….parquet",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.inspect(cmd.Context(), args[0]) },
	}
}

func (a *app) inspect(ctx context.Context, uri string) error {
	out := a.output
	if a.json {
		out = "jsonl"
	}
	if a.csv || out != "" && out != "json" && out != "jsonl" {
		return hint(usage(errors.New("inspect prints JSON only")), "-o json is one document, --json one line for each record")
	}
	opts, err := a.fileIO()
	if err != nil {
		return err
	}
	fs, p, err := open.FS(ctx, uri, opts)
	if err != nil {
		return err
	}
	name := path.Base(p)
	if strings.HasSuffix(name, ".parquet") {
		return a.inspectParquet(ctx, fs, p, uri, out)
	}
	data, err := fileio.ReadFile(ctx, fs, p)
	if errors.Is(err, fileio.ErrFolder) {
		return hint(usage(err), "tarn table show takes the folder of a table")
	}
	if err != nil {
		return missingFile(err)
	}
	if !strings.HasPrefix(name, "manifest-") && !strings.HasPrefix(name, "index-manifest-") {
		return a.inspectJSON(uri, data, out)
	}
	records, err := manifest.Records(data)
	values := make([]any, len(records))
	d := &rowDecoder{ctx: ctx, schemas: schema.NewManager(fs, paths.Parent(paths.Parent(p))), plain: out == ""}
	for i, r := range records {
		values[i] = d.record(r)
	}
	return errors.Join(a.printValues(values, out), inFile(uri, err))
}

// inFile puts the name of a file in front of what is wrong with it.
func inFile(uri string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", uri, err)
}

func (a *app) inspectParquet(ctx context.Context, fs fileio.FS, p, uri, out string) error {
	f, err := fs.Open(ctx, p)
	if err != nil {
		return missingFile(err)
	}
	defer f.Close()
	d, err := parquet.Describe(ctx, f)
	if d == nil {
		return inFile(uri, err)
	}
	text, jerr := json.Marshal(d)
	if jerr != nil {
		return jerr
	}
	v, jerr := decodeJSON(text)
	if jerr != nil {
		return jerr
	}
	if out == "" {
		v = readable(v)
	}
	return errors.Join(a.printValue(v, out), inFile(uri, err))
}

// inspectJSON prints files that are JSON: as they are, or in one line.
func (a *app) inspectJSON(uri string, data []byte, out string) error {
	if !json.Valid(data) {
		return usage(fmt.Errorf("%s: not a file of a table that is known: snapshots, schemas, tags and consumers are JSON, manifests start with manifest-, data files end with .parquet", uri))
	}
	var b bytes.Buffer
	if out == "jsonl" {
		if err := json.Compact(&b, data); err != nil {
			return err
		}
	} else {
		b.Write(bytes.TrimRight(data, "\n"))
	}
	b.WriteByte('\n')
	_, err := a.out.Write(b.Bytes())
	return err
}

// printValues prints the records of a file.
func (a *app) printValues(values []any, out string) error {
	if out != "jsonl" {
		return a.printValue(values, out)
	}
	for _, v := range values {
		if err := a.printValue(v, out); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printValue(v any, out string) error {
	var b []byte
	if out == "jsonl" {
		b = appendJSON(nil, v)
	} else {
		b = appendPretty(nil, v, 0, 0)
	}
	_, err := a.out.Write(append(b, '\n'))
	return err
}
