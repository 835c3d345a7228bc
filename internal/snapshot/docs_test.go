package snapshot

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// The pages on snapshots and tags name every member that is written.
func TestDocsNameTheMembers(t *testing.T) {
	one := int64(1)
	s := &Snapshot{
		Version: 3, UUID: "u", ID: 1, BaseManifestList: "b", BaseManifestListSize: &one, DeltaManifestList: "d", DeltaManifestListSize: &one,
		ChangelogManifestList: "c", ChangelogManifestListSize: &one, IndexManifest: "i", CommitKind: Append, LogOffsets: map[string]int64{"1": 1},
		TotalRecordCount: &one, DeltaRecordCount: &one, ChangelogRecordCount: &one, Watermark: &one, Statistics: "s",
		Properties: map[string]string{"a": "b"}, NextRowID: &one,
	}
	tag := encodeTag(&Tag{Snapshot: s, Created: time.Unix(0, 0).UTC(), Retained: time.Hour}, 0)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(tag, &members); err != nil {
		t.Fatal(err)
	}
	if len(members) < 22 {
		t.Errorf("only %d members", len(members))
	}
	var text strings.Builder
	for _, page := range []string{"snapshot.md", "tag.md"} {
		b, err := os.ReadFile("../../docs/format/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	for m := range members {
		if !strings.Contains(text.String(), "| `"+m+"` |") {
			t.Errorf("no page names %s", m)
		}
	}
}
