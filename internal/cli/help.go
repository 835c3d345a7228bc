package cli

import "github.com/spf13/cobra"

const exitHelp = `Exit codes:
  0    done (also after a signal and a clean last checkpoint)
  1    failed
  2    usage or configuration
  3    not found
  4    conflict, or exists already
  5    source or storage cannot be reached: trying again helps
  6    check found damage
  7    some tables failed, the others are complete
  130  interrupted`

const envHelp = `Environment:
  TARN_WAREHOUSE           the warehouse, where --warehouse does not name one
  NO_COLOR                 no colours, as --color never
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL
                           S3, where --catalog s3.… does not say it
Job files take variables of any name as ${NAME}, and the content of files as ${file:/path}.`

const formatsHelp = `Formats:
  rows out (-o)            table, json (an array), jsonl, csv, tsv, md, arrow (IPC stream), parquet
  rows in (write --format) json (one object a line), csv and tsv (with a header), parquet
  change events (sync)     debezium-json, canal-json: one event a line
JSON rows are without loss. How values are written:
  BOOLEAN                  true, false
  integers                 numbers
  FLOAT, DOUBLE            numbers, "NaN", "Infinity", "-Infinity"
  DECIMAL                  "12.50"
  CHAR, VARCHAR, STRING    "text"
  BINARY, VARBINARY, BYTES "00ff", hexadecimal
  DATE, TIME               "2024-02-29", "12:34:56.789"
  TIMESTAMP                "2024-02-29T12:34:56.789000000"; TIMESTAMP_LTZ in UTC, with Z at the end
  ARRAY                    [1,2]
  MAP, MULTISET            [["key",1]], pairs
  ROW                      {"a":1}
CSV and TSV have these within cells; an empty cell is NULL, but for text columns, where it is the empty text.
_kind is the kind of a row: +I, -U, +U, -D.`

// topics are pages of tarn help.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "The exit codes of tarn", Long: exitHelp},
		{Use: "env", Short: "Environment variables", Long: envHelp},
		{Use: "formats", Short: "How rows and values are written", Long: formatsHelp},
	}
}

// helpCommand is tarn help [COMMAND|TOPIC].
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command, exit-codes, env or formats",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
