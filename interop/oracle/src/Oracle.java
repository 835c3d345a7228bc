import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.util.RawValue;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.table.source.TableScan;
import org.apache.paimon.types.*;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.*;

/**
 * Runs scripts of JSON commands (one per line) against real Paimon tables and answers each one with
 * a JSON line. Only API that exists in every Paimon release since 0.4 is used directly; all the rest
 * goes through {@link #call}, so that one source file compiles against every release.
 */
public class Oracle {
    // numbers with a point stay doubles: a BigDecimal would lose the sign of -0.0
    static final ObjectMapper M = new ObjectMapper();
    static final JsonNodeFactory F = M.getNodeFactory();

    Path warehouse;
    Path outDir;
    Catalog catalog;
    final Map<Path, Catalog> catalogs = new HashMap<>(); // of all warehouses that were open
    IOManager ioManager;
    final Path tmp;
    final Map<String, Long> nextIdentifier = new HashMap<>();

    Oracle() throws Exception {
        tmp = Files.createTempDirectory("paimon-oracle");
        ioManager = IOManager.create(tmp.toString());
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(new java.io.BufferedOutputStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), 1 << 16), false, "UTF-8");
        System.setOut(System.err); // keep stdout for answers only
        Oracle o = new Oracle();
        String script = null;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--warehouse": o.openWarehouse(args[++i]); break;
                case "--out": o.outDir = Paths.get(args[++i]).toAbsolutePath(); break;
                case "run": break;
                default: script = args[i];
            }
        }
        BufferedReader in = script == null || script.equals("-")
                ? new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                : Files.newBufferedReader(Paths.get(script));
        int rc = 0;
        String line;
        while ((line = in.readLine()) != null) {
            line = line.trim();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            ObjectNode answer = F.objectNode();
            JsonNode cmd = null;
            boolean failed = false;
            try {
                cmd = M.readTree(line);
                answer.put("op", cmd.path("op").asText());
                if (cmd.has("id")) answer.set("id", cmd.get("id"));
                o.execute(cmd, answer);
                if (cmd.path("expectError").asBoolean()) {
                    answer.put("error", "expected an error, but the command succeeded");
                    answer.put("unexpected", true);
                    failed = true;
                } else {
                    answer.put("ok", true);
                }
            } catch (Throwable t) {
                Throwable c = t;
                while (c instanceof InvocationTargetException || c instanceof java.util.concurrent.ExecutionException) c = c.getCause();
                answer.put("ok", false);
                answer.put("error", c.getClass().getName() + ": " + c.getMessage());
                Throwable root = c;
                while (root.getCause() != null && root.getCause() != root) root = root.getCause();
                if (root != c) answer.put("rootCause", root.getClass().getName() + ": " + root.getMessage());
                if (System.getProperty("oracle.trace") != null) t.printStackTrace();
                failed = cmd == null || !cmd.path("expectError").asBoolean();
                if (!failed) answer.put("ok", true);
            }
            out.write(M.writeValueAsBytes(answer));
            out.write('\n');
            out.flush();
            if (failed) {
                rc = 1;
                if (cmd != null && cmd.path("stopOnError").asBoolean()) break;
            }
        }
        out.flush();
        deleteTree(o.tmp);
        Runtime.getRuntime().halt(rc);
    }

    static void deleteTree(Path p) {
        try (java.util.stream.Stream<Path> s = Files.walk(p)) {
            s.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
        } catch (Exception ignored) {
        }
    }

    void openWarehouse(String dir) throws Exception {
        warehouse = Paths.get(dir).toAbsolutePath();
        Files.createDirectories(warehouse);
        catalog = catalogs.get(warehouse);
        if (catalog == null) {
            Options options = new Options();
            options.set("warehouse", warehouse.toString());
            options.set("cache-enabled", "false");
            CatalogContext context = CatalogContext.create(options);
            try {
                catalog = (Catalog) Class.forName("OracleExt").getMethod("catalog", CatalogContext.class, String.class).invoke(null, context, warehouse.toString());
            } catch (ClassNotFoundException e) { // an old release
                catalog = CatalogFactory.createCatalog(context);
            }
            catalogs.put(warehouse, catalog);
        }
        if (outDir == null || !outDirFixed) outDir = warehouse;
    }

    boolean outDirFixed;
    final Map<String, Object[]> holdMap = new HashMap<>();

    // ------------------------------------------------------------------ commands

    void execute(JsonNode c, ObjectNode a) throws Exception {
        String op = c.path("op").asText();
        switch (op) {
            case "warehouse":
                outDirFixed = false;
                openWarehouse(c.get("path").asText());
                if (c.has("out")) {
                    outDir = Paths.get(c.get("out").asText()).toAbsolutePath();
                    outDirFixed = true;
                }
                return;
            case "create": create(c); return;
            case "dropTable": catalog.dropTable(ident(c), true); return;
            case "write": write(c, a); return;
            case "commitHeld": {
                Object[] h = holdMap.get(c.get("hold").asText());
                ObjectNode c2 = ((ObjectNode) h[3]).deepCopy();
                c2.setAll((ObjectNode) c);
                commit(fsTable(c2), c2, a, c.has("commitUser") ? c.get("commitUser").asText() : (String) h[0], c.has("commitIdentifier") ? c.get("commitIdentifier").asLong() : (Long) h[1], (List<CommitMessage>) h[2]);
                return;
            }
            case "bucketof": bucketOf(c, a); return;
            case "compact": compact(c, a); return;
            case "alter": alter(c); return;
            case "read": read(c, a); return;
            case "streamread": streamRead(c, a); return;
            case "describe": {
                Table t = table(c);
                ArrayNode columns = a.putArray("columns");
                for (DataField f : t.rowType().getFields()) columns.addObject().put("name", f.name()).put("type", f.type().asSQLString());
                a.set("primaryKey", M.valueToTree(t.primaryKeys()));
                return;
            }
            case "dump": dump(c, a); return;
            case "sleep": Thread.sleep(c.get("millis").asLong()); return;
            case "remove": deleteTree(warehouse.resolve(c.get("path").asText())); return;
            case "list": {
                List<String> names = new ArrayList<>(catalog.listTables(c.get("db").asText()));
                Collections.sort(names);
                a.set("tables", M.valueToTree(names));
                return;
            }
            case "tag": {
                Table t = table(c);
                String name = c.get("name").asText();
                if (c.has("snapshot") && c.has("retain")) call(t, "createTag", name, c.get("snapshot").asLong(), Duration.parse(c.get("retain").asText()));
                else if (c.has("snapshot")) call(t, "createTag", name, c.get("snapshot").asLong());
                else call(t, "createTag", name);
                return;
            }
            case "deleteTag": call(table(c), "deleteTag", c.get("name").asText()); return;
            case "renameTag": call(table(c), "renameTag", c.get("name").asText(), c.get("to").asText()); return;
            case "rollback":
                if (c.has("snapshot")) call(table(c), "rollbackTo", c.get("snapshot").asLong());
                else call(table(c), "rollbackTo", c.get("tag").asText());
                return;
            case "branch":
                if (c.has("tag")) call(table(c), "createBranch", c.get("name").asText(), c.get("tag").asText());
                else call(table(c), "createBranch", c.get("name").asText());
                return;
            case "deleteBranch": call(table(c), "deleteBranch", c.get("name").asText()); return;
            case "fastForward": call(table(c), "fastForward", c.get("name").asText()); return;
            default:
                try {
                    Class<?> ext = Class.forName("OracleExt");
                    ext.getMethod("execute", Oracle.class, JsonNode.class, ObjectNode.class).invoke(null, this, c, a);
                } catch (ClassNotFoundException e) {
                    throw new UnsupportedOperationException("unknown op for this Paimon version: " + op);
                }
        }
    }

    Identifier ident(JsonNode c) {
        String full = c.get("table").asText();
        int dot = full.indexOf('.');
        return Identifier.create(full.substring(0, dot), full.substring(dot + 1));
    }

    Table table(JsonNode c) throws Exception {
        Table t = catalog.getTable(ident(c));
        if (c.has("options")) {
            Map<String, String> m = stringMap(c.get("options"));
            t = t.copy(m);
        }
        return t;
    }

    FileStoreTable fsTable(JsonNode c) throws Exception {
        return (FileStoreTable) table(c);
    }

    static Map<String, String> stringMap(JsonNode n) {
        Map<String, String> m = new LinkedHashMap<>();
        n.fields().forEachRemaining(e -> m.put(e.getKey(), e.getValue().isNull() ? null : e.getValue().asText()));
        return m;
    }

    static List<String> strings(JsonNode n) {
        List<String> l = new ArrayList<>();
        n.forEach(x -> l.add(x.asText()));
        return l;
    }

    void create(JsonNode c) throws Exception {
        Identifier id = ident(c);
        catalog.createDatabase(id.getDatabaseName(), true);
        Schema.Builder b = Schema.newBuilder();
        TypeParser.nextNestedId = c.get("columns").size();
        for (JsonNode col : c.get("columns")) {
            String comment = col.has("comment") ? col.get("comment").asText() : null;
            DataType type = TypeParser.parse(col.get("type").asText());
            if (col.has("default")) call(b, "column", col.get("name").asText(), type, comment, col.get("default").asText());
            else b.column(col.get("name").asText(), type, comment);
        }
        if (c.has("primaryKey")) b.primaryKey(strings(c.get("primaryKey")));
        if (c.has("partitionKeys")) b.partitionKeys(strings(c.get("partitionKeys")));
        if (c.has("options")) b.options(stringMap(c.get("options")));
        if (c.has("comment")) b.comment(c.get("comment").asText());
        catalog.createTable(id, b.build(), false);
    }

    void alter(JsonNode c) throws Exception {
        List<SchemaChange> changes = new ArrayList<>();
        for (JsonNode x : c.get("changes")) {
            String kind = x.get("change").asText();
            String[] path = x.has("column") ? (x.get("column").isArray() ? strings(x.get("column")).toArray(new String[0]) : new String[] {x.get("column").asText()}) : null;
            boolean nested = path != null && path.length > 1;
            switch (kind) {
                case "setOption": changes.add(SchemaChange.setOption(x.get("key").asText(), x.get("value").asText())); break;
                case "removeOption": changes.add(SchemaChange.removeOption(x.get("key").asText())); break;
                case "updateComment": changes.add((SchemaChange) callStatic(SchemaChange.class, "updateComment", x.get("comment").isNull() ? null : x.get("comment").asText())); break;
                case "addColumn": {
                    SchemaChange.Move mv = move(x, path[path.length - 1]);
                    String comment = x.has("comment") ? x.get("comment").asText() : null;
                    DataType type = TypeParser.parse(x.get("type").asText());
                    if (nested) changes.add((SchemaChange) callStatic(SchemaChange.class, "addColumn", path, type, comment, mv));
                    else changes.add(SchemaChange.addColumn(path[0], type, comment, mv));
                    break;
                }
                case "renameColumn":
                    if (nested) changes.add((SchemaChange) callStatic(SchemaChange.class, "renameColumn", path, x.get("to").asText()));
                    else changes.add(SchemaChange.renameColumn(path[0], x.get("to").asText()));
                    break;
                case "dropColumn":
                    if (nested) changes.add((SchemaChange) callStatic(SchemaChange.class, "dropColumn", (Object) path));
                    else changes.add(SchemaChange.dropColumn(path[0]));
                    break;
                case "updateType": {
                    DataType type = TypeParser.parse(x.get("type").asText());
                    if (nested) changes.add((SchemaChange) callStatic(SchemaChange.class, "updateColumnType", path, type, x.path("keepNullability").asBoolean(false)));
                    else changes.add(SchemaChange.updateColumnType(path[0], type));
                    break;
                }
                case "updateNullability": changes.add(SchemaChange.updateColumnNullability(path, x.get("nullable").asBoolean())); break;
                case "updateColumnComment": changes.add(SchemaChange.updateColumnComment(path, x.get("comment").asText())); break;
                case "updateDefault": changes.add((SchemaChange) callStatic(SchemaChange.class, "updateColumnDefaultValue", path, x.get("value").isNull() ? null : x.get("value").asText())); break;
                case "position": changes.add(SchemaChange.updateColumnPosition(move(x, path[0]))); break;
                case "dropPrimaryKey": changes.add((SchemaChange) callStatic(SchemaChange.class, "dropPrimaryKey")); break;
                default: throw new IllegalArgumentException("unknown change " + kind);
            }
        }
        catalog.alterTable(ident(c), changes, false);
    }

    static SchemaChange.Move move(JsonNode x, String field) throws Exception {
        if (x.path("first").asBoolean()) return SchemaChange.Move.first(field);
        if (x.path("last").asBoolean()) return (SchemaChange.Move) callStatic(SchemaChange.Move.class, "last", field);
        if (x.has("after")) return SchemaChange.Move.after(field, x.get("after").asText());
        if (x.has("before")) return (SchemaChange.Move) callStatic(SchemaChange.Move.class, "before", field, x.get("before").asText());
        return null;
    }

    // ------------------------------------------------------------------ write

    long identifier(JsonNode c) {
        // identifiers go on where one comes back to a warehouse after another
        String user = user(c) + "@" + c.get("table").asText() + "@" + warehouse;
        long id = c.has("commitIdentifier") ? c.get("commitIdentifier").asLong() : nextIdentifier.getOrDefault(user, 1L);
        if (id != Long.MAX_VALUE) nextIdentifier.put(user, id + 1);
        return id;
    }

    static String user(JsonNode c) {
        return c.has("commitUser") ? c.get("commitUser").asText() : "oracle";
    }

    InternalRow toRow(JsonNode r, RowType type) throws Exception {
        JsonNode values = r.has("row") ? r.get("row") : r;
        GenericRow row = (GenericRow) toInternal(values, type);
        if (r.has("kind")) row.setRowKind(kind(r.get("kind").asText()));
        return row;
    }

    static RowKind kind(String s) {
        for (RowKind k : RowKind.values()) if (k.shortString().equals(s)) return k;
        throw new IllegalArgumentException("row kind " + s);
    }

    void write(JsonNode c, ObjectNode a) throws Exception {
        FileStoreTable t = fsTable(c);
        String user = user(c);
        long id = identifier(c);
        String mode = "FIXED";
        try {
            mode = String.valueOf(call(t, "bucketMode"));
        } catch (NoSuchMethodException ignored) {
        }
        boolean overwrite = c.has("overwrite");
        TableWriteImpl<?> w;
        RowType type = t.rowType();
        if (c.has("writeColumns")) {
            List<DataField> fs = new ArrayList<>();
            for (String n : strings(c.get("writeColumns"))) fs.add(field(type, n));
            type = (RowType) call(type, "project", strings(c.get("writeColumns")));
        }
        w = t.newWrite(user);
        w.withIOManager(ioManager);
        if (c.has("writeColumns")) call(w, "withWriteType", type);
        if (overwrite) {
            try {
                call(w, "withIgnorePreviousFiles", true);
            } catch (NoSuchMethodException e) {
                call(w, "withOverwrite", true);
            }
        }
        Assigner assigner = null;
        if ((mode.equals("HASH_DYNAMIC") || mode.equals("KEY_DYNAMIC") || mode.equals("DYNAMIC") || mode.equals("GLOBAL_DYNAMIC")) && !c.has("bucket")) {
            assigner = (Assigner) Class.forName("OracleExt").getMethod("assigner", Oracle.class, FileStoreTable.class, TableWriteImpl.class, String.class, String.class, boolean.class)
                    .invoke(null, this, t, w, user, mode, overwrite);
        }
        List<JsonNode> rows = new ArrayList<>();
        c.path("rows").forEach(rows::add);
        if (c.has("generate")) {
            // {"column":"id","from":0,"to":100}: rows that have only this number
            JsonNode g = c.get("generate");
            for (long i = g.get("from").asLong(); i < g.get("to").asLong(); i++) rows.add(F.objectNode().put(g.get("column").asText(), i));
        }
        for (JsonNode r : rows) {
            InternalRow row = toRow(r, type);
            if (assigner != null) assigner.write(row);
            else if (r.has("bucket")) call(w, "write", row, r.get("bucket").asInt());
            else if (c.has("bucket")) call(w, "write", row, c.get("bucket").asInt());
            else w.write(row);
        }
        if (c.has("compactAfter")) {
            boolean full = c.get("compactAfter").asText().equals("full");
            for (Map.Entry<BinaryRow, TreeSet<Integer>> e : buckets(t, c.path("rows"), type, w).entrySet())
                for (int b : e.getValue()) w.compact(e.getKey(), b, full);
        }
        if (assigner != null) assigner.prepareCommit(id);
        List<CommitMessage> msgs = new ArrayList<>(w.prepareCommit(c.path("waitCompaction").asBoolean(true), id));
        if (assigner != null) assigner.close();
        w.close();
        commit(t, c, a, user, id, msgs);
    }

    interface Assigner {
        void write(InternalRow row) throws Exception;
        void prepareCommit(long id) throws Exception;
        void close() throws Exception;
    }

    Map<BinaryRow, TreeSet<Integer>> buckets(FileStoreTable t, JsonNode rows, RowType type, TableWriteImpl<?> w) throws Exception {
        Map<BinaryRow, TreeSet<Integer>> m = new LinkedHashMap<>();
        for (JsonNode r : rows) {
            InternalRow row = toRow(r, type);
            m.computeIfAbsent(w.getPartition(row).copy(), k -> new TreeSet<>()).add(r.has("bucket") ? r.get("bucket").asInt() : w.getBucket(row));
        }
        return m;
    }

    void commit(FileStoreTable t, JsonNode c, ObjectNode a, String user, long id, List<CommitMessage> msgs) throws Exception {
        if (c.has("hold") && !c.path("op").asText().equals("commitHeld")) {
            holdMap.put(c.get("hold").asText(), new Object[] {user, id, msgs, c});
            return;
        }
        TableCommitImpl commit = t.newCommit(user);
        commit.ignoreEmptyCommit(c.path("ignoreEmpty").asBoolean(false));
        if (c.has("overwrite")) commit.withOverwrite(stringMap(c.get("overwrite")));
        Long watermark = c.has("watermark") ? Long.valueOf(c.get("watermark").asLong()) : null;
        ManifestCommittable mc = new ManifestCommittable(id, watermark);
        if (c.has("properties")) for (Map.Entry<String, String> e : stringMap(c.get("properties")).entrySet()) call(mc, "addProperty", e.getKey(), e.getValue());
        for (CommitMessage m : msgs) mc.addFileCommittable(m);
        if (c.has("logOffsets")) for (Map.Entry<String, String> e : stringMap(c.get("logOffsets")).entrySet()) {
            try {
                call(mc, "addLogOffset", Integer.parseInt(e.getKey()), Long.parseLong(e.getValue()), false);
            } catch (NoSuchMethodException x) {
                call(mc, "addLogOffset", Integer.parseInt(e.getKey()), Long.parseLong(e.getValue()));
            }
        }
        if (c.path("filter").asBoolean()) a.put("committed", (Integer) call(commit, "filterAndCommitMultiple", new ArrayList<>(Collections.singletonList(mc)), true));
        else commit.commit(mc);
        commit.close();
        Object sm = call(t, "snapshotManager");
        Object latest = call(sm, "latestSnapshotId");
        if (latest != null) a.put("snapshot", ((Number) latest).longValue());
    }

    void bucketOf(JsonNode c, ObjectNode a) throws Exception {
        FileStoreTable t = fsTable(c);
        TableWriteImpl<?> w = t.newWrite(user(c));
        List<ObjectNode> lines = new ArrayList<>();
        RowType pt = partitionType(t);
        for (JsonNode r : c.path("rows")) {
            InternalRow row = toRow(r, t.rowType());
            ObjectNode n = F.objectNode();
            n.set("row", rowJson(row, t.rowType()));
            n.put("bucket", w.getBucket(row));
            if (pt.getFieldCount() > 0) n.set("partition", rowJson(w.getPartition(row), pt));
            lines.add(n);
        }
        w.close();
        emit(c, a, lines);
    }

    static DataField field(RowType t, String name) {
        for (DataField f : t.getFields()) if (f.name().equals(name)) return f;
        throw new IllegalArgumentException("no column " + name + " in " + t);
    }

    static RowType partitionType(FileStoreTable t) {
        List<DataField> fs = new ArrayList<>();
        for (String k : t.partitionKeys()) fs.add(field(t.rowType(), k));
        return new RowType(false, fs);
    }

    /** {"full":true} or automatic; "partitions" limits nothing: all buckets with files are compacted. */
    void compact(JsonNode c, ObjectNode a) throws Exception {
        FileStoreTable t = fsTable(c);
        String mode = "FIXED";
        try {
            mode = String.valueOf(call(t, "bucketMode"));
        } catch (NoSuchMethodException ignored) {
        }
        Map<String, String> over = new HashMap<>();
        over.put("write-only", "false");
        t = t.copy(over);
        String user = user(c);
        long id = identifier(c);
        if (mode.equals("BUCKET_UNAWARE") || mode.equals("UNAWARE") || mode.equals("POSTPONE_MODE")) {
            Class.forName("OracleExt").getMethod("compact", Oracle.class, FileStoreTable.class, JsonNode.class, ObjectNode.class, String.class, long.class)
                    .invoke(null, this, t, c, a, user, id);
            return;
        }
        boolean full = c.path("full").asBoolean(true);
        TableWriteImpl<?> w = t.newWrite(user);
        w.withIOManager(ioManager);
        Map<BinaryRow, TreeSet<Integer>> m = new LinkedHashMap<>();
        Object store = call(t, "store");
        Object plan = call(call(store, "newScan"), "plan");
        for (Object e : (Iterable<?>) call(plan, "files")) {
            m.computeIfAbsent(((BinaryRow) call(e, "partition")).copy(), k -> new TreeSet<>()).add((Integer) call(e, "bucket"));
        }
        for (Map.Entry<BinaryRow, TreeSet<Integer>> e : m.entrySet()) for (int b : e.getValue()) w.compact(e.getKey(), b, full);
        List<CommitMessage> msgs = w.prepareCommit(true, id);
        w.close();
        commit(t, c, a, user, id, msgs);
    }

    // ------------------------------------------------------------------ read

    void emit(JsonNode c, ObjectNode a, List<ObjectNode> lines) throws Exception {
        List<String> out = new ArrayList<>();
        for (ObjectNode n : lines) out.add(M.writeValueAsString(n));
        if (c.path("sort").asBoolean(false)) out.sort((x, y) -> Arrays.compareUnsigned(x.getBytes(StandardCharsets.UTF_8), y.getBytes(StandardCharsets.UTF_8)));
        a.put("count", out.size());
        if (c.has("out")) {
            Path p = outDir.resolve(c.get("out").asText());
            Files.createDirectories(p.getParent());
            StringBuilder sb = new StringBuilder();
            for (String s : out) sb.append(s).append('\n');
            Files.write(p, sb.toString().getBytes(StandardCharsets.UTF_8));
        } else {
            ArrayNode rows = F.arrayNode();
            for (String s : out) rows.addRawValue(new RawValue(s));
            a.set("rows", rows);
        }
    }

    ReadBuilder readBuilder(Table t, JsonNode c) throws Exception {
        ReadBuilder rb = t.newReadBuilder();
        if (c.has("columns")) {
            int[] p = new int[c.get("columns").size()];
            for (int i = 0; i < p.length; i++) p[i] = t.rowType().getFieldNames().indexOf(c.get("columns").get(i).asText());
            rb = rb.withProjection(p);
        }
        if (c.has("filter")) rb = rb.withFilter(predicate(c.get("filter"), t.rowType()));
        if (c.has("partition")) rb = (ReadBuilder) call(rb, "withPartitionFilter", stringMap(c.get("partition")));
        if (c.has("limit")) rb = (ReadBuilder) call(rb, "withLimit", c.get("limit").asInt());
        return rb;
    }

    TableRead newRead(ReadBuilder rb, JsonNode c) throws Exception {
        TableRead r = rb.newRead();
        try {
            call(r, "withIOManager", ioManager);
        } catch (NoSuchMethodException ignored) {
        }
        if (c.has("filter") && !c.path("pushOnly").asBoolean()) {
            try {
                call(r, "executeFilter");
            } catch (NoSuchMethodException ignored) {
            }
        }
        return r;
    }

    RowType readType(Table t, JsonNode c, ReadBuilder rb) {
        if (!c.has("columns")) return t.rowType();
        List<DataField> fs = new ArrayList<>();
        for (String n : strings(c.get("columns"))) fs.add(field(t.rowType(), n));
        return new RowType(fs);
    }

    void readSplit(TableRead r, Split s, RowType type, JsonNode c, Table t, Predicate rowFilter, List<ObjectNode> lines, ObjectNode extra) throws Exception {
        RecordReader<InternalRow> reader = r.createReader(s);
        ObjectNode loc = null;
        if (c.path("withBucket").asBoolean()) {
            loc = F.objectNode();
            DataSplit ds = (DataSplit) s;
            loc.put("bucket", ds.bucket());
            if (!t.partitionKeys().isEmpty()) loc.set("partition", rowJson(ds.partition(), partitionType((FileStoreTable) t)));
        }
        final ObjectNode location = loc;
        Exception[] failed = new Exception[1];
        reader.forEachRemaining(row -> {
            try {
                if (failed[0] != null) return;
                ObjectNode n = F.objectNode();
                if (extra != null) n.setAll(extra);
                n.put("kind", row.getRowKind().shortString());
                n.set("row", rowJson(row, type));
                if (location != null) n.setAll(location);
                lines.add(n);
            } catch (Exception e) {
                failed[0] = e;
            }
        });
        if (failed[0] != null) throw failed[0];
    }

    void read(JsonNode c, ObjectNode a) throws Exception {
        Table t = table(c);
        ReadBuilder rb = readBuilder(t, c);
        TableScan.Plan plan = rb.newScan().plan();
        TableRead r = newRead(rb, c);
        RowType type = readType(t, c, rb);
        List<ObjectNode> lines = new ArrayList<>();
        ArrayNode files = F.arrayNode();
        for (Split s : plan.splits()) {
            readSplit(r, s, type, c, t, null, lines, null);
            if (c.path("showFiles").asBoolean() && s instanceof DataSplit) for (Object f : (List<?>) call(s, "dataFiles")) files.add((String) call(f, "fileName"));
        }
        if (c.path("showFiles").asBoolean()) {
            a.put("splits", plan.splits().size());
            a.put("plannedFiles", files.size());
            a.set("files", files);
        }
        emit(c, a, lines);
    }

    /** Follows the table until no further snapshot exists; rows carry the number of the plan they came from. */
    void streamRead(JsonNode c, ObjectNode a) throws Exception {
        Table t = table(c);
        ReadBuilder rb = readBuilder(t, c);
        StreamTableScan scan = rb.newStreamScan();
        if (c.has("restore")) scan.restore(c.get("restore").asLong());
        RowType type = readType(t, c, rb);
        int max = c.path("maxPlans").asInt(Integer.MAX_VALUE);
        List<ObjectNode> lines = new ArrayList<>();
        ArrayNode plans = F.arrayNode();
        int idle = 0;
        for (int i = 0; plans.size() < max; i++) {
            TableScan.Plan plan;
            try {
                plan = scan.plan();
            } catch (Exception e) {
                if (e.getClass().getSimpleName().equals("EndOfScanException")) break;
                throw e;
            }
            if (plan.splits().isEmpty()) {
                // the first plan of most start modes is empty, so give up only after several
                if (++idle > c.path("maxIdle").asInt(8)) break;
                continue;
            }
            idle = 0;
            ObjectNode extra = F.objectNode();
            extra.put("plan", plans.size());
            int before = lines.size();
            TableRead r = newRead(rb, c);
            List<ObjectNode> here = new ArrayList<>();
            for (Split s : plan.splits()) readSplit(r, s, type, c, t, null, here, extra);
            if (c.path("sortInPlan").asBoolean(false)) {
                List<Map.Entry<String, ObjectNode>> l = new ArrayList<>();
                for (ObjectNode n : here) l.add(new AbstractMap.SimpleEntry<>(M.writeValueAsString(n), n));
                l.sort((x, y) -> Arrays.compareUnsigned(x.getKey().getBytes(StandardCharsets.UTF_8), y.getKey().getBytes(StandardCharsets.UTF_8)));
                here.clear();
                for (Map.Entry<String, ObjectNode> e : l) here.add(e.getValue());
            }
            lines.addAll(here);
            ObjectNode p = F.objectNode();
            p.put("plan", plans.size());
            Long next = scan.checkpoint();
            if (next != null) p.put("next", next);
            p.put("rows", lines.size() - before);
            plans.add(p);
            if (c.path("ackConsumer").asBoolean() && next != null) scan.notifyCheckpointComplete(next);
        }
        a.set("plans", plans);
        emit(c, a, lines);
    }

    Predicate predicate(JsonNode f, RowType type) throws Exception {
        PredicateBuilder b = new PredicateBuilder(type);
        String op = f.get("op").asText();
        if (op.equals("and") || op.equals("or")) {
            List<Predicate> ps = new ArrayList<>();
            for (JsonNode x : f.get("args")) ps.add(predicate(x, type));
            return op.equals("and") ? PredicateBuilder.and(ps) : PredicateBuilder.or(ps);
        }
        if (op.equals("not")) return predicate(f.get("arg"), type).negate().orElseThrow(() -> new IllegalArgumentException("cannot negate"));
        int i = type.getFieldNames().indexOf(f.get("field").asText());
        DataType dt = type.getTypeAt(i);
        Object v = f.has("value") ? toInternal(f.get("value"), dt) : null;
        switch (op) {
            case "=": return b.equal(i, v);
            case "<>": return b.notEqual(i, v);
            case "<": return b.lessThan(i, v);
            case "<=": return b.lessOrEqual(i, v);
            case ">": return b.greaterThan(i, v);
            case ">=": return b.greaterOrEqual(i, v);
            case "isNull": return b.isNull(i);
            case "isNotNull": return b.isNotNull(i);
            case "startsWith": return b.startsWith(i, v);
            case "endsWith": return (Predicate) call(b, "endsWith", i, v);
            case "contains": return (Predicate) call(b, "contains", i, v);
            case "like": return (Predicate) call(b, "like", i, v);
            case "between": return b.between(i, toInternal(f.get("from"), dt), toInternal(f.get("to"), dt));
            case "in":
            case "notIn": {
                List<Object> vs = new ArrayList<>();
                for (JsonNode x : f.get("values")) vs.add(toInternal(x, dt));
                return op.equals("in") ? b.in(i, vs) : b.notIn(i, vs);
            }
            default: throw new IllegalArgumentException("predicate " + op);
        }
    }

    // ------------------------------------------------------------------ dump

    void dump(JsonNode c, ObjectNode a) throws Exception {
        FileStoreTable t = fsTable(c);
        RowType full = t.rowType();
        RowType pt = partitionType(t);
        Object scan = call(call(t, "store"), "newScan");
        if (c.has("snapshot")) scan = call(scan, "withSnapshot", c.get("snapshot").asLong());
        Object plan = call(scan, "plan");
        ArrayNode files = F.arrayNode();
        for (Object e : (Iterable<?>) call(plan, "files")) {
            ObjectNode n = F.objectNode();
            Object f = call(e, "file");
            n.put("kind", String.valueOf(call(e, "kind")));
            if (pt.getFieldCount() > 0) n.set("partition", rowJson((BinaryRow) call(e, "partition"), pt));
            n.put("bucket", (Integer) call(e, "bucket"));
            n.put("totalBuckets", (Integer) call(e, "totalBuckets"));
            for (String g : new String[] {"fileName", "fileSize", "rowCount", "minSequenceNumber", "maxSequenceNumber", "schemaId", "level", "extraFiles", "deleteRowCount", "fileSource", "valueStatsCols", "externalPath", "firstRowId", "writeCols"}) {
                try {
                    Object v = call(f, g);
                    if (v instanceof Optional) v = ((Optional<?>) v).orElse(null);
                    if (v instanceof Enum) v = v.toString();
                    n.set(g, M.valueToTree(v));
                } catch (NoSuchMethodException ignored) {
                }
            }
            try {
                byte[] idx = (byte[]) call(f, "embeddedIndex");
                if (idx != null) n.put("embeddedIndexBytes", idx.length);
            } catch (NoSuchMethodException ignored) {
            }
            Object schema = call(call(t, "schemaManager"), "schema", call(f, "schemaId"));
            List<DataField> fileFields = (List<DataField>) call(schema, "fields");
            RowType fileType = new RowType(fileFields);
            List<String> pks = t.primaryKeys();
            if (!pks.isEmpty()) {
                List<DataField> kf = new ArrayList<>();
                for (String k : pks) if (!t.partitionKeys().contains(k)) kf.add(field(full, k));
                RowType kt = new RowType(kf);
                n.set("minKey", rowJson((BinaryRow) call(f, "minKey"), kt));
                n.set("maxKey", rowJson((BinaryRow) call(f, "maxKey"), kt));
                n.set("keyStats", stats(call(f, "keyStats"), kt));
            }
            List<String> cols = null;
            try {
                cols = (List<String>) call(f, "valueStatsCols");
            } catch (NoSuchMethodException ignored) {
            }
            List<String> wc = null;
            try {
                wc = (List<String>) call(f, "writeCols");
            } catch (NoSuchMethodException ignored) {
            }
            if (cols == null) cols = wc;
            if (cols != null) {
                List<DataField> fs = new ArrayList<>();
                for (String s : cols) for (DataField df : fileFields) if (df.name().equals(s)) fs.add(df);
                fileType = new RowType(fs);
            }
            n.set("valueStats", stats(call(f, "valueStats"), fileType));
            files.add(n);
        }
        List<ObjectNode> l = new ArrayList<>();
        files.forEach(x -> l.add((ObjectNode) x));
        if (c.path("snapshotJson").asBoolean(true)) {
            Object sm = call(t, "snapshotManager");
            Object id = c.has("snapshot") ? c.get("snapshot").asLong() : call(sm, "latestSnapshotId");
            if (id != null) a.set("snapshot", M.readTree((String) call(call(sm, "snapshot", id), "toJson")));
        }
        emit(c, a, l);
    }

    JsonNode stats(Object s, RowType type) throws Exception {
        ObjectNode n = F.objectNode();
        BinaryRow min;
        BinaryRow max;
        Object nulls;
        try {
            min = (BinaryRow) call(s, "minValues");
            max = (BinaryRow) call(s, "maxValues");
            nulls = call(s, "nullCounts");
        } catch (NoSuchMethodException e) {
            min = (BinaryRow) call(s, "min");
            max = (BinaryRow) call(s, "max");
            nulls = call(s, "nullCounts");
        }
        n.put("arity", min.getFieldCount());
        if (min.getFieldCount() == type.getFieldCount()) {
            n.set("min", rowJson(min, type));
            n.set("max", rowJson(max, type));
        }
        ArrayNode nc = F.arrayNode();
        if (nulls instanceof InternalArray) {
            InternalArray arr = (InternalArray) nulls;
            for (int i = 0; i < arr.size(); i++) {
                if (arr.isNullAt(i)) nc.addNull();
                else nc.add(arr.getLong(i));
            }
        } else if (nulls != null) for (Object x : (Object[]) (nulls instanceof long[] ? Arrays.stream((long[]) nulls).boxed().toArray() : nulls)) nc.add(x == null ? F.nullNode() : F.numberNode((Long) x));
        n.set("nullCounts", nc);
        return n;
    }

    // ------------------------------------------------------------------ values

    static String hex(byte[] b) {
        StringBuilder sb = new StringBuilder(2 * b.length);
        for (byte x : b) sb.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
        return sb.toString();
    }

    static byte[] unhex(String s) {
        byte[] b = new byte[s.length() / 2];
        for (int i = 0; i < b.length; i++) b[i] = (byte) Integer.parseInt(s.substring(2 * i, 2 * i + 2), 16);
        return b;
    }

    static ObjectNode rowJson(InternalRow row, RowType type) throws Exception {
        ObjectNode n = F.objectNode();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType ft = type.getTypeAt(i);
            Object v = row.isNullAt(i) ? null : InternalRow.createFieldGetter(ft.copy(true), i).getFieldOrNull(row);
            n.set(type.getFieldNames().get(i), toJson(v, ft));
        }
        return n;
    }

    static String digits(int v, int n) {
        String s = Integer.toString(v);
        return "000000000".substring(0, n - s.length()) + s;
    }

    static String clock(LocalTime t) {
        return digits(t.getHour(), 2) + ":" + digits(t.getMinute(), 2) + ":" + digits(t.getSecond(), 2);
    }

    static String ts(LocalDateTime t) {
        return t.toLocalDate() + "T" + clock(t.toLocalTime()) + "." + digits(t.getNano(), 9);
    }

    static JsonNode toJson(Object v, DataType type) throws Exception {
        if (v == null) return F.nullNode();
        switch (type.getTypeRoot().name()) {
            case "BOOLEAN": return F.booleanNode((Boolean) v);
            case "TINYINT": return F.numberNode((Byte) v);
            case "SMALLINT": return F.numberNode((Short) v);
            case "INTEGER": return F.numberNode((Integer) v);
            case "BIGINT": return F.numberNode((Long) v);
            case "FLOAT": {
                float f = (Float) v;
                return Float.isNaN(f) || Float.isInfinite(f) ? F.textNode(Float.toString(f)) : F.numberNode(f);
            }
            case "DOUBLE": {
                double d = (Double) v;
                return Double.isNaN(d) || Double.isInfinite(d) ? F.textNode(Double.toString(d)) : F.numberNode(d);
            }
            case "CHAR":
            case "VARCHAR": return F.textNode(v.toString());
            case "BINARY":
            case "VARBINARY": return F.textNode(hex((byte[]) v));
            case "BLOB": return F.textNode(hex((byte[]) call(v, "toData")));
            case "DECIMAL": return F.textNode(((Decimal) v).toBigDecimal().toPlainString());
            case "DATE": return F.textNode(LocalDate.ofEpochDay((Integer) v).toString());
            case "TIME_WITHOUT_TIME_ZONE": {
                LocalTime t = LocalTime.ofNanoOfDay((Integer) v * 1_000_000L);
                return F.textNode(clock(t) + "." + digits(t.getNano() / 1_000_000, 3));
            }
            case "TIMESTAMP_WITHOUT_TIME_ZONE": return F.textNode(ts(((Timestamp) v).toLocalDateTime()));
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE": return F.textNode(ts(((Timestamp) v).toLocalDateTime()) + "Z");
            case "VECTOR":
            case "ARRAY": {
                DataType et = (DataType) call(type, "getElementType");
                InternalArray arr = (InternalArray) v;
                ArrayNode n = F.arrayNode();
                InternalArray.ElementGetter g = InternalArray.createElementGetter(et.copy(true));
                for (int i = 0; i < arr.size(); i++) n.add(toJson(arr.isNullAt(i) ? null : g.getElementOrNull(arr, i), et));
                return n;
            }
            case "MULTISET":
            case "MAP": {
                boolean ms = type.getTypeRoot().name().equals("MULTISET");
                DataType kt = (DataType) call(type, ms ? "getElementType" : "getKeyType");
                DataType vt = ms ? new IntType(false) : (DataType) call(type, "getValueType");
                InternalMap m = (InternalMap) v;
                InternalArray ks = m.keyArray();
                InternalArray vs = m.valueArray();
                InternalArray.ElementGetter kg = InternalArray.createElementGetter(kt.copy(true));
                InternalArray.ElementGetter vg = InternalArray.createElementGetter(vt.copy(true));
                List<String> parts = new ArrayList<>();
                for (int i = 0; i < m.size(); i++) {
                    ArrayNode e = F.arrayNode();
                    e.add(toJson(ks.isNullAt(i) ? null : kg.getElementOrNull(ks, i), kt));
                    e.add(toJson(vs.isNullAt(i) ? null : vg.getElementOrNull(vs, i), vt));
                    parts.add(M.writeValueAsString(e));
                }
                parts.sort((x, y) -> Arrays.compareUnsigned(x.getBytes(StandardCharsets.UTF_8), y.getBytes(StandardCharsets.UTF_8)));
                ArrayNode n = F.arrayNode();
                for (String p : parts) n.addRawValue(new RawValue(p));
                return n;
            }
            case "ROW": return rowJson((InternalRow) v, (RowType) type);
            case "VARIANT": {
                ObjectNode n = F.objectNode();
                n.put("value", hex((byte[]) call(v, "value")));
                n.put("metadata", hex((byte[]) call(v, "metadata")));
                n.put("json", (String) call(v, "toJson"));
                return n;
            }
            default: throw new IllegalArgumentException("type " + type);
        }
    }

    /** {"rbm32":[..]}, {"rbm64":[..]}, {"hll":[..]}, {"theta":[..]}: the serialized form the aggregate functions expect. */
    static byte[] sketch(JsonNode j) throws Exception {
        String kind = j.fieldNames().next();
        JsonNode values = j.get(kind);
        int[] ints = new int[values.size()];
        for (int i = 0; i < ints.length; i++) ints[i] = (int) values.get(i).asLong();
        String u = "org.apache.paimon.utils.";
        if (kind.equals("hll")) return (byte[]) callStatic(Class.forName(u + "HllSketchUtil"), "sketchOf", (Object) ints);
        if (kind.equals("theta")) return (byte[]) callStatic(Class.forName(u + "ThetaSketch"), "sketchOf", (Object) ints);
        Object b = Class.forName(u + (kind.equals("rbm32") ? "RoaringBitmap32" : "RoaringBitmap64")).getConstructor().newInstance();
        for (JsonNode v : values) {
            if (kind.equals("rbm32")) call(b, "add", v.asInt());
            else call(b, "add", v.asLong());
        }
        return (byte[]) call(b, "serialize");
    }

    static Timestamp parseTs(String s) {
        if (s.endsWith("Z")) s = s.substring(0, s.length() - 1);
        return Timestamp.fromLocalDateTime(LocalDateTime.parse(s.replace(' ', 'T')));
    }

    static double dbl(JsonNode j) {
        return j.isTextual() ? Double.parseDouble(j.asText()) : j.asDouble();
    }

    static Object toInternal(JsonNode j, DataType type) throws Exception {
        if (j == null || j.isNull() || j.isMissingNode()) return null;
        switch (type.getTypeRoot().name()) {
            case "BOOLEAN": return j.asBoolean();
            case "TINYINT": return (byte) j.asInt();
            case "SMALLINT": return (short) j.asInt();
            case "INTEGER": return j.asInt();
            case "BIGINT": return j.isTextual() ? Long.parseLong(j.asText()) : j.asLong();
            case "FLOAT": return j.isTextual() ? Float.parseFloat(j.asText()) : Float.parseFloat(j.asText());
            case "DOUBLE": return Double.parseDouble(j.asText());
            case "CHAR":
            case "VARCHAR": return BinaryString.fromString(j.asText());
            case "BINARY":
            case "VARBINARY": return j.isObject() ? sketch(j) : unhex(j.asText());
            case "BLOB": return callStatic(Class.forName("org.apache.paimon.data.Blob"), "fromData", (Object) unhex(j.asText()));
            case "DECIMAL": {
                DecimalType d = (DecimalType) type;
                return Decimal.fromBigDecimal(new BigDecimal(j.asText()), d.getPrecision(), d.getScale());
            }
            case "DATE": return (int) LocalDate.parse(j.asText()).toEpochDay();
            case "TIME_WITHOUT_TIME_ZONE": return (int) (LocalTime.parse(j.asText()).toNanoOfDay() / 1_000_000L);
            case "TIMESTAMP_WITHOUT_TIME_ZONE":
            case "TIMESTAMP_WITH_LOCAL_TIME_ZONE": return parseTs(j.asText());
            case "VECTOR": {
                float[] fs = new float[j.size()];
                for (int i = 0; i < fs.length; i++) fs[i] = Float.parseFloat(j.get(i).asText());
                return callStatic(Class.forName("org.apache.paimon.data.BinaryVector"), "fromPrimitiveArray", (Object) fs);
            }
            case "ARRAY": {
                DataType et = ((ArrayType) type).getElementType();
                Object[] vs = new Object[j.size()];
                for (int i = 0; i < vs.length; i++) vs[i] = toInternal(j.get(i), et);
                return new GenericArray(vs);
            }
            case "MULTISET":
            case "MAP": {
                boolean ms = type.getTypeRoot().name().equals("MULTISET");
                DataType kt = (DataType) call(type, ms ? "getElementType" : "getKeyType");
                DataType vt = ms ? new IntType(false) : (DataType) call(type, "getValueType");
                Map<Object, Object> m = new LinkedHashMap<>();
                for (JsonNode e : j) m.put(toInternal(e.get(0), kt), toInternal(e.get(1), vt));
                return new GenericMap(m);
            }
            case "ROW": {
                RowType rt = (RowType) type;
                GenericRow r = new GenericRow(rt.getFieldCount());
                for (int i = 0; i < rt.getFieldCount(); i++) r.setField(i, toInternal(j.get(rt.getFieldNames().get(i)), rt.getTypeAt(i)));
                return r;
            }
            case "VARIANT": return callStatic(Class.forName("org.apache.paimon.data.variant.GenericVariant"), "fromJson", j.isTextual() ? j.asText() : M.writeValueAsString(j));
            default: throw new IllegalArgumentException("type " + type);
        }
    }

    // ------------------------------------------------------------------ reflection

    static Object callStatic(Class<?> cls, String name, Object... args) throws Exception {
        return invoke(cls, null, name, args);
    }

    static Object call(Object o, String name, Object... args) throws Exception {
        return invoke(o.getClass(), o, name, args);
    }

    static final Map<List<Object>, Method> methods = new java.util.concurrent.ConcurrentHashMap<>();

    private static Object invoke(Class<?> cls, Object o, String name, Object... args) throws Exception {
        List<Object> key = new ArrayList<>();
        key.add(cls);
        key.add(name);
        for (Object a : args) key.add(a == null ? "null" : a.getClass());
        Method m = methods.get(key);
        if (m == null) {
            m = method(cls, name, args);
            m.setAccessible(true);
            methods.put(key, m);
        }
        try {
            return m.invoke(o, args);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception) throw (Exception) e.getCause();
            if (e.getCause() instanceof Error) throw (Error) e.getCause();
            throw e;
        }
    }

    private static Method method(Class<?> cls, String name, Object... args) throws Exception {
        Method best = null;
        int score = -1;
        Deque<Class<?>> todo = new ArrayDeque<>();
        Set<Class<?>> seen = new HashSet<>();
        todo.add(cls);
        while (!todo.isEmpty()) {
            Class<?> k = todo.poll();
            if (!seen.add(k)) continue;
            if (k.getSuperclass() != null) todo.add(k.getSuperclass());
            todo.addAll(Arrays.asList(k.getInterfaces()));
            for (Method m : k.getDeclaredMethods()) {
                if (!m.getName().equals(name) || m.getParameterCount() != args.length || m.isBridge()) continue;
                int s = 0;
                Class<?>[] ps = m.getParameterTypes();
                for (int i = 0; i < ps.length && s >= 0; i++) {
                    if (args[i] == null) s += ps[i].isPrimitive() ? -1000 : 1;
                    else if (box(ps[i]) == args[i].getClass()) s += 3;
                    else if (box(ps[i]).isInstance(args[i])) s += 2;
                    else s = -1000;
                }
                if (s < 0) continue;
                if (s > score) {
                    best = m;
                    score = s;
                }
            }
        }
        if (best == null) throw new NoSuchMethodException(cls.getName() + "." + name + "/" + args.length);
        return best;
    }

    static Class<?> box(Class<?> c) {
        if (!c.isPrimitive()) return c;
        if (c == int.class) return Integer.class;
        if (c == long.class) return Long.class;
        if (c == boolean.class) return Boolean.class;
        if (c == byte.class) return Byte.class;
        if (c == short.class) return Short.class;
        if (c == float.class) return Float.class;
        if (c == double.class) return Double.class;
        return Character.class;
    }

    // ------------------------------------------------------------------ type strings

    static class TypeParser {
        /** Old releases keep the ids of nested fields as given, so they must not collide. */
        static int nextNestedId = 1000;

        final String s;
        int p;

        TypeParser(String s) {
            this.s = s;
        }

        static DataType parse(String s) throws Exception {
            TypeParser t = new TypeParser(s);
            DataType d = t.type();
            t.ws();
            if (t.p != s.length()) throw new IllegalArgumentException("cannot parse type " + s + " at " + t.p);
            return d;
        }

        void ws() {
            while (p < s.length() && Character.isWhitespace(s.charAt(p))) p++;
        }

        String word() {
            ws();
            int b = p;
            if (p < s.length() && s.charAt(p) == '`') {
                int e = s.indexOf('`', p + 1);
                String w = s.substring(p + 1, e);
                p = e + 1;
                return w;
            }
            while (p < s.length() && (Character.isLetterOrDigit(s.charAt(p)) || s.charAt(p) == '_')) p++;
            return s.substring(b, p);
        }

        boolean eat(String t) {
            ws();
            if (s.regionMatches(true, p, t, 0, t.length())) {
                p += t.length();
                return true;
            }
            return false;
        }

        boolean eatWord(String t) {
            ws();
            int e = p + t.length();
            if (s.regionMatches(true, p, t, 0, t.length()) && (e >= s.length() || !(Character.isLetterOrDigit(s.charAt(e)) || s.charAt(e) == '_'))) {
                p = e;
                return true;
            }
            return false;
        }

        int[] args() {
            if (!eat("(")) return new int[0];
            List<Integer> l = new ArrayList<>();
            do {
                l.add(Integer.parseInt(word()));
            } while (eat(","));
            if (!eat(")")) throw new IllegalArgumentException("expected ) in " + s);
            return l.stream().mapToInt(i -> i).toArray();
        }

        DataType type() throws Exception {
            DataType t = base();
            if (eatWord("NOT")) {
                eatWord("NULL");
                return t.copy(false);
            }
            eatWord("NULL");
            return t;
        }

        DataType base() throws Exception {
            String w = word().toUpperCase(Locale.ROOT);
            int[] a;
            switch (w) {
                case "BOOLEAN": return new BooleanType();
                case "TINYINT": return new TinyIntType();
                case "SMALLINT": return new SmallIntType();
                case "INT":
                case "INTEGER": return new IntType();
                case "BIGINT": return new BigIntType();
                case "FLOAT": return new FloatType();
                case "DOUBLE": return new DoubleType();
                case "STRING": return new VarCharType(VarCharType.MAX_LENGTH);
                case "BYTES": return new VarBinaryType(VarBinaryType.MAX_LENGTH);
                case "DATE": return new DateType();
                case "CHAR": a = args(); return new CharType(a.length > 0 ? a[0] : 1);
                case "VARCHAR": a = args(); return new VarCharType(a.length > 0 ? a[0] : 1);
                case "BINARY": a = args(); return new BinaryType(a.length > 0 ? a[0] : 1);
                case "VARBINARY": a = args(); return new VarBinaryType(a.length > 0 ? a[0] : 1);
                case "DECIMAL": a = args(); return new DecimalType(a.length > 0 ? a[0] : 10, a.length > 1 ? a[1] : 0);
                case "TIME": a = args(); return new TimeType(a.length > 0 ? a[0] : 0);
                case "TIMESTAMP_LTZ": a = args(); return new LocalZonedTimestampType(a.length > 0 ? a[0] : 6);
                case "TIMESTAMP": {
                    a = args();
                    int prec = a.length > 0 ? a[0] : 6;
                    if (eatWord("WITH")) {
                        eatWord("LOCAL");
                        eatWord("TIME");
                        eatWord("ZONE");
                        return new LocalZonedTimestampType(prec);
                    }
                    return new TimestampType(prec);
                }
                case "ARRAY": {
                    need("<");
                    DataType e = type();
                    need(">");
                    return new ArrayType(e);
                }
                case "MULTISET": {
                    need("<");
                    DataType e = type();
                    need(">");
                    return new MultisetType(e);
                }
                case "MAP": {
                    need("<");
                    DataType k = type();
                    need(",");
                    DataType v = type();
                    need(">");
                    return new MapType(k, v);
                }
                case "VECTOR": {
                    need("<");
                    DataType e = type();
                    need(",");
                    int n = Integer.parseInt(word());
                    need(">");
                    return (DataType) Class.forName("org.apache.paimon.types.DataTypes").getMethod("VECTOR", int.class, DataType.class).invoke(null, n, e);
                }
                case "ROW": {
                    need("<");
                    List<DataField> fs = new ArrayList<>();
                    do {
                        String n = word();
                        int fieldId = nextNestedId++;
                        fs.add(new DataField(fieldId, n, type()));
                    } while (eat(","));
                    need(">");
                    return new RowType(fs);
                }
                case "VARIANT": return (DataType) Class.forName("org.apache.paimon.types.VariantType").getConstructor().newInstance();
                case "BLOB": return (DataType) Class.forName("org.apache.paimon.types.BlobType").getConstructor().newInstance();
                default: throw new IllegalArgumentException("unknown type " + w + " in " + s);
            }
        }

        void need(String t) {
            if (!eat(t)) throw new IllegalArgumentException("expected " + t + " at " + p + " in " + s);
        }
    }
}
