package metatest

// crashKinds are the tables whose process dies, with their options. With listagg rows that are written twice show.
var crashKinds = map[string]map[string]string{
	"keyed": nil, "crossing": nil, "plain": nil,
	"dynamic":         {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
	"postponed":       {"bucket": "-2"},
	"input":           {"changelog-producer": "input"},
	"lookup":          {"changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "4"},
	"full-compaction": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"},
	"aggregation": {
		"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg", "aggregation.remove-record-on-delete": "true", "changelog-producer": "lookup",
	},
	"partial-update": {
		"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true", "changelog-producer": "full-compaction", "full-compaction.delta-commits": "1",
	},
	"vectors":   {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
	"first-row": {"merge-engine": "first-row", "ignore-delete": "true", "changelog-producer": "lookup"},
}
