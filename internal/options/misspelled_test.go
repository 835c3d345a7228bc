package options

import "testing"

func TestMisspelled(t *testing.T) {
	for key, want := range map[string]string{
		"buckets": "bucket", "bucket_key": "bucket-key", "merge-engin": "merge-engine", "Merge-Engine": "merge-engine", "sequence.feild": "sequence.field",
		"snapshot.num-retain.max": "snapshot.num-retained.max", "scan.snaphot-id": "scan.snapshot-id", "scan.timestamp-milis": "scan.timestamp-millis",
		"write-ony": "write-only", "file.fromat": "file.format", "fields.a.b.stats-mod": "fields.a.b.stats-mode", "sink.paralellism": "sink.parallelism",
		// These mean something, here or to another engine, or nothing like an option.
		"bucket": "", "deduplicate.ignore-delete": "", "tag.automatic-creation": "", "sink.parallelism": "", "lookup.local-file-type": "", "owner": "",
		"team": "", "my.own.option": "", "fields.a.stats-mode": "", "fields.a.b.aggregate-function": "", "file-index.bloom-filter.columns": "",
		"file-index.bloom-filter.id.fpp": "", "kafka.bootstrap.servers": "", "hive.table.owner": "",
	} {
		if got, ok := Misspelled(key); got != want || ok != (want != "") {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
