package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarnlake/tarn/internal/fileio"
	"github.com/tarnlake/tarn/internal/fileio/open"
	"github.com/tarnlake/tarn/internal/format/parquet"
	"github.com/tarnlake/tarn/internal/manifest"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect FILE", Short: "Print any file of a table as JSON: snapshot, schema, manifest, list, data file", Args: cobra.ExactArgs(1),
		Example: "  tarn inspect lake/shop.db/orders/snapshot/snapshot-3\n  tarn inspect lake/shop.db/orders/bucket-0/data-….parquet",
		RunE:    func(cmd *cobra.Command, args []string) error { return a.inspect(cmd.Context(), args[0]) },
	}
}

func (a *app) inspect(ctx context.Context, uri string) error {
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
		f, err := fs.Open(ctx, p)
		if err != nil {
			return missingFile(err)
		}
		defer f.Close()
		v, err := parquet.Describe(ctx, f)
		if err != nil {
			return fmt.Errorf("%s: %w", uri, err)
		}
		return a.printJSON(v)
	}
	data, err := fileio.ReadFile(ctx, fs, p)
	if err != nil {
		return missingFile(err)
	}
	var v any
	switch {
	case strings.HasPrefix(name, "manifest-list-"):
		v, err = manifest.DecodeList(data)
	case strings.HasPrefix(name, "index-manifest-"):
		v, err = manifest.DecodeIndex(data)
	case strings.HasPrefix(name, "manifest-"):
		v, err = manifest.Decode(data, nil)
	default:
		if json.Valid(data) {
			_, err = a.out.Write(append(data, '\n'))
			return err
		}
		return usage(fmt.Errorf("%s: not a file of a table that is known: snapshots, schemas, tags and consumers are JSON, manifests start with manifest-, data files end with .parquet", uri))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.IsNil() {
		v = []any{} // a list of nothing
	}
	return a.printJSON(v)
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
