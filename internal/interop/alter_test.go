package interop

import (
	"strings"
	"testing"

	"github.com/tarnlake/tarn"
	"github.com/tarnlake/tarn/internal/tarntest"
	"github.com/tarnlake/tarn/types"
)

// change is a change of a schema that both sides can make.
type change struct {
	command tarntest.Command
	here    tarn.SchemaChange
}

// pathOf splits r.a.b; the oracle takes a path as a list.
func pathOf(p string) []string { return strings.Split(p, ".") }

// columnPlace puts a place into a change of the oracle's and gives ours.
func columnPlace(c tarntest.Command, place, sibling string) tarn.ColumnPlace {
	p := tarn.ColumnPlace{}
	switch place {
	case "first":
		c["first"], p.First = true, true
	case "last":
		c["last"], p.Last = true, true
	case "after":
		c["after"], p.After = sibling, sibling
	case "before":
		c["before"], p.Before = sibling, sibling
	}
	return p
}

func addColumn(path, typ, place, sibling string) change {
	c := tarntest.Command{"change": "addColumn", "column": pathOf(path), "type": typ}
	p := columnPlace(c, place, sibling)
	return change{c, tarn.AddColumn{Path: pathOf(path), Type: types.MustParse(typ), Place: p}}
}

func renameColumn(path, to string) change {
	return change{tarntest.Command{"change": "renameColumn", "column": pathOf(path), "to": to}, tarn.RenameColumn{Path: pathOf(path), To: to}}
}

func dropColumn(path string) change {
	return change{tarntest.Command{"change": "dropColumn", "column": pathOf(path)}, tarn.DropColumn{Path: pathOf(path)}}
}

func updateType(path, typ string) change {
	return change{
		tarntest.Command{"change": "updateType", "column": pathOf(path), "type": typ},
		tarn.UpdateType{Path: pathOf(path), Type: types.MustParse(typ), SetNullability: true},
	}
}

func updateNullability(path string, nullable bool) change {
	return change{
		tarntest.Command{"change": "updateNullability", "column": pathOf(path), "nullable": nullable},
		tarn.UpdateNullability{Path: pathOf(path), NotNull: !nullable},
	}
}

func updateDefault(path, value string) change {
	return change{tarntest.Command{"change": "updateDefault", "column": pathOf(path), "value": value}, tarn.UpdateDefault{Path: pathOf(path), Default: &value}}
}

func updateComment(path, text string) change {
	return change{
		tarntest.Command{"change": "updateColumnComment", "column": pathOf(path), "comment": text},
		tarn.UpdateColumnComment{Path: pathOf(path), Comment: text},
	}
}

func moveColumn(name, place, sibling string) change {
	c := tarntest.Command{"change": "position", "column": name}
	p := columnPlace(c, place, sibling)
	return change{c, tarn.MoveColumn{Column: name, Place: p}}
}

// alter makes changes, all or none.
func (tab table) alter(t testing.TB, by side, changes ...change) {
	t.Helper()
	if by == java {
		var list []tarntest.Command
		for _, c := range changes {
			list = append(list, c.command)
		}
		tab.Do(t, tarntest.Command{"op": "alter", "table": tab.name, "changes": list})
		return
	}
	var list []tarn.SchemaChange
	for _, c := range changes {
		list = append(list, c.here)
	}
	if err := tab.open(t).Alter(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
}
