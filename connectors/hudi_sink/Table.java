package rocketconnect.hudi;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hudi.client.HoodieJavaWriteClient;
import org.apache.hudi.client.WriteStatus;
import org.apache.hudi.client.common.HoodieJavaEngineContext;
import org.apache.hudi.common.data.HoodieListData;
import org.apache.hudi.common.model.EmptyHoodieRecordPayload;
import org.apache.hudi.common.model.HoodieAvroRecord;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieCommitMetadata;
import org.apache.hudi.common.model.HoodieKey;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.model.HoodieRecordLocation;
import org.apache.hudi.common.model.OverwriteWithLatestAvroPayload;
import org.apache.hudi.common.table.HoodieTableMetaClient;
import org.apache.hudi.common.table.TableSchemaResolver;
import org.apache.hudi.common.table.timeline.HoodieArchivedTimeline;
import org.apache.hudi.common.table.timeline.HoodieInstant;
import org.apache.hudi.common.table.timeline.HoodieTimeline;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.config.HoodieWriteConfig;
import org.apache.hudi.index.bloom.HoodieGlobalBloomIndex;
import org.apache.hudi.index.bloom.ListBasedHoodieBloomIndexHelper;
import org.apache.hudi.keygen.BaseKeyGenerator;
import org.apache.hudi.keygen.factory.HoodieAvroKeyGeneratorFactory;
import org.apache.hudi.storage.StorageConfiguration;
import org.apache.hudi.storage.hadoop.HadoopStorageConfiguration;
import org.apache.hudi.table.HoodieJavaTable;
import org.apache.hudi.table.HoodieTable;
import org.apache.hudi.table.action.HoodieWriteMetadata;
import org.apache.parquet.avro.AvroReadSupport;
import org.apache.parquet.avro.AvroSchemaConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;

/**
 * A table of Hudi in a directory of this machine, written by Hudi's client for Java.
 *
 * Spark's Janino compiles this file when the first task begins; it knows no lambdas, and looks at no type arguments.
 */
public class Table {
  private static final String MINE = "rocketconnect.";
  private static final ConcurrentHashMap WRITERS = new ConcurrentHashMap();

  static {
    // Hudi asks JOL how large a record is, which would start another Java to look at this one from outside.
    System.setProperty("jol.skipHotspotSAAttach", "true");
    System.setProperty("jol.skipDynamicAttach", "true");
  }

  private final java.nio.file.Path root;
  private final java.nio.file.Path folder;
  private final String place;
  private final Configuration conf;
  private final long seconds;

  /** In a directory; a commit waits so many seconds for another one to end. */
  public Table(String root, long seconds) {
    this.root = java.nio.file.Paths.get(root, new String[0]);
    this.folder = WholeFiles.parts(this.root);
    this.place = "file://" + root;
    this.seconds = seconds;
    this.conf = new Configuration();
    this.conf.setClassLoader(Table.class.getClassLoader());
    this.conf.set("fs.file.impl", WholeFiles.class.getName());
    this.conf.setBoolean("fs.file.impl.disable.cache", true);
    this.conf.setBoolean("parquet.avro.add-list-element-records", false);
    this.conf.setBoolean("parquet.avro.write-old-list-structure", false);
  }

  public boolean isThere() {
    return Files.exists(root.resolve(".hoodie").resolve("hoodie.properties"), new LinkOption[0]);
  }

  /** What is there, as JSON; null: no table. `kept` is what the newest commit of ours that is there has stored. */
  public String look() throws Exception {
    if (!isThere()) return null;
    HoodieTableMetaClient meta = meta();
    HoodieTimeline done = done(meta);
    Map found = new TreeMap();
    found.put("state", state(done));
    Map kept = kept(done);
    if (kept.isEmpty() && done.countInstants() > 0) {
      // Other writers may have added so much since that Hudi has put ours away.
      HoodieArchivedTimeline archived = meta.getArchivedTimeline();
      archived.loadCompletedInstantDetailsInMemory();
      kept = kept(archived.getCommitsTimeline().filterCompletedInstants());
    }
    found.put("kept", kept);
    Option schema = new TableSchemaResolver(meta).getTableAvroSchemaIfPresent(false);
    found.put("schema", schema.isPresent() ? schema.get().toString() : null);
    found.put("table", meta.getTableConfig().getProps());
    return new ObjectMapper().writeValueAsString(found);
  }

  /**
   * Makes the table; false: it is there. The columns are those of a Parquet file without rows; names are separated by commas.
   *
   * @param told what Avro's types do not say of the columns: a table that no commit was made of yet has it, too
   */
  public boolean make(String name, String file, String told, String key, String partitions, String generator) throws Exception {
    Held held = hold();
    try {
      if (isThere()) return false;
      HoodieTableMetaClient.TableBuilder made = HoodieTableMetaClient.newTableBuilder();
      Schema columns = new Schema.Parser().parse(schemaOf(file, null, name));
      columns.addProp("rocketconnect.columns", told);
      made.setTableType("COPY_ON_WRITE").setTableName(name).setTableCreateSchema(columns.toString());
      if (!key.isEmpty()) made.setRecordKeyFields(key);
      if (!partitions.isEmpty()) made.setPartitionFields(partitions);
      made.setHiveStylePartitioningEnable(Boolean.TRUE).setUrlEncodePartitioning(Boolean.TRUE);
      made.setKeyGeneratorClassProp(generator).setPayloadClassName(OverwriteWithLatestAvroPayload.class.getName());
      made.initTable(storage(), place);
      return true;
    } finally {
      held.release();
    }
  }

  /**
   * Makes a commit of rows and of what is kept beside them, where the state is still the one that was looked at.
   *
   * @param state of look()
   * @param rows a Parquet file of the rows, in columns of the table or new ones; null: there are none
   * @param gone a Parquet file of rows that go, of which the key alone counts; null: there are none
   * @param token begins the key of each row, where the table has no key
   * @param how insert, upsert, or overwrite: all other rows go
   * @param kept see look()
   * @param settings of Hudi's
   */
  public void commit(String state, String rows, String gone, String token, String how, Map kept, Map settings) throws Exception {
    Held held = hold();
    try {
      HoodieTableMetaClient meta = meta();
      if (!state.equals(state(done(meta)))) throw new ConcurrentModificationException("another commit was faster");
      Option there = new TableSchemaResolver(meta).getTableAvroSchemaIfPresent(false);
      String schema = rows == null ? there.get().toString() : schemaOf(rows, (Schema) there.get(), meta.getTableConfig().getTableName());
      Map wanted = new HashMap(settings);
      // Rows that are added to a small file would go with it.
      if (how.equals("overwrite")) wanted.put("hoodie.parquet.small.file.limit", "0");
      HoodieWriteConfig config = config(meta, schema, wanted);
      HoodieJavaEngineContext context = new HoodieJavaEngineContext(storage());
      HoodieJavaWriteClient client = new HoodieJavaWriteClient(context, config);
      try {
        List records = new ArrayList();
        if (rows != null) read(rows, new Schema.Parser().parse(schema), config, meta, token, false, records);
        if (gone != null) read(gone, new Schema.Parser().parse(schema), config, meta, token, true, records);
        commit(client, config, context, state, records, how, kept);
      } finally {
        client.close();
      }
    } finally {
      held.release();
    }
  }

  private void commit(
      HoodieJavaWriteClient client, HoodieWriteConfig config, HoodieJavaEngineContext context, String state, List records, String how,
      Map kept) throws Exception {
    boolean replaces = how.equals("overwrite");
    String action = replaces ? "replacecommit" : "commit";
    // What killed writers have left is rolled back here: whoever has the lock is the only one.
    String instant = client.startCommit(action);
    if (instant.compareTo(state) <= 0) {
      throw new IllegalStateException("the clock of this machine is behind the newest commit of the table: " + instant + " is not after " + state);
    }
    List written = new ArrayList();
    Map replaced = new HashMap();
    if (replaces) {
      HoodieWriteMetadata done = HoodieJavaTable.create(config, context).insertOverwriteTable(context, instant, records);
      written = (List) done.getWriteStatuses();
      replaced = done.getPartitionToReplaceFileIds();
    } else if (records.isEmpty()) {
      client.transitionInflight(instant);
    } else if (how.equals("upsert")) {
      written = client.upsertPreppedRecords(tagged(records, config, context), instant);
    } else {
      written = client.insert(records, instant);
    }
    for (Object each : written) {
      if (((WriteStatus) each).hasErrors()) throw new IOException("rows were not written: " + ((WriteStatus) each).getErrors());
    }
    client.commit(instant, written, Option.of(kept), action, replaced, Option.empty(), Option.empty());
  }

  /** The paths of the files that may have rows with the keys of a Parquet file, as JSON. */
  public String filesOf(String keys) throws Exception {
    HoodieTableMetaClient meta = meta();
    Schema schema = (Schema) new TableSchemaResolver(meta).getTableAvroSchemaIfPresent(false).get();
    HoodieWriteConfig config = config(meta, schema.toString(), new HashMap());
    HoodieJavaEngineContext context = new HoodieJavaEngineContext(storage());
    List records = new ArrayList();
    read(keys, schema, config, meta, "", true, records);
    HoodieTable table = HoodieJavaTable.create(config, context);
    Set found = new HashSet();
    for (Object each : tagged(records, config, context)) {
      HoodieRecord record = (HoodieRecord) each;
      if (!record.isCurrentLocationKnown()) continue;
      String id = ((HoodieRecordLocation) record.getCurrentLocation()).getFileId();
      Option file = table.getBaseFileOnlyView().getLatestBaseFile(record.getPartitionPath(), id);
      found.add(((HoodieBaseFile) file.get()).getStoragePath().toUri().getPath());
    }
    return new ObjectMapper().writeValueAsString(found);
  }

  private List tagged(List records, HoodieWriteConfig config, HoodieJavaEngineContext context) {
    // The client itself knows keys within one partition alone.
    HoodieGlobalBloomIndex index = new HoodieGlobalBloomIndex(config, ListBasedHoodieBloomIndexHelper.getInstance());
    return index.tagLocation(HoodieListData.eager(records), context, HoodieJavaTable.create(config, context)).collectAsList();
  }

  private void read(
      String file, Schema schema, HoodieWriteConfig config, HoodieTableMetaClient meta, String token, boolean gone, List into) throws Exception {
    BaseKeyGenerator keys = (BaseKeyGenerator) HoodieAvroKeyGeneratorFactory.createKeyGenerator(config.getProps());
    boolean keyed = meta.getTableConfig().getRecordKeyFields().isPresent();
    Configuration reading = new Configuration(conf);
    AvroReadSupport.setAvroReadSchema(reading, schema);
    ParquetReader rows = ParquetReader.builder(new AvroReadSupport(GenericData.get()), new Path("file://" + file)).withConf(reading).build();
    try {
      long number = 0;
      for (Object each = rows.read(); each != null; each = rows.read()) {
        GenericRecord row = (GenericRecord) each;
        if (gone) {
          // Where its row is the index says.
          into.add(new HoodieAvroRecord(new HoodieKey(keys.getRecordKey(row), ""), new EmptyHoodieRecordPayload()));
          continue;
        }
        HoodieKey key = keyed ? keys.getKey(row) : new HoodieKey(token + "_" + number++, keys.getPartitionPath(row));
        into.add(new HoodieAvroRecord(key, new OverwriteWithLatestAvroPayload(Option.of(row))));
      }
    } finally {
      rows.close();
    }
  }

  private HoodieWriteConfig config(HoodieTableMetaClient meta, String schema, Map settings) {
    Properties table = meta.getTableConfig().getProps();
    Properties given = new Properties();
    given.putAll(settings);
    given.setProperty("hoodie.metadata.enable", "false");
    given.setProperty("hoodie.embed.timeline.server", "false");
    given.setProperty("hoodie.write.markers.type", "DIRECT");
    given.setProperty("hoodie.index.type", "BLOOM");
    given.setProperty("hoodie.allow.empty.commit", "true");
    given.setProperty("hoodie.combine.before.upsert", "false");
    given.setProperty("hoodie.combine.before.insert", "false");
    given.setProperty("hoodie.write.concurrency.mode", "SINGLE_WRITER");
    given.setProperty("hoodie.cleaner.policy.failed.writes", "EAGER");
    // Else it waits this long at each instant for clocks of other machines; here one machine writes, and looks at its clock.
    given.setProperty("hoodie.time.generator.max_expected_clock_skew_ms", "1");
    given.setProperty("hoodie.write.auto.upgrade", "false");
    given.setProperty("hoodie.write.table.version", table.getProperty("hoodie.table.version", ""));
    String first = ((Schema.Field) new Schema.Parser().parse(schema).getFields().get(0)).name();
    given.setProperty("hoodie.datasource.write.recordkey.field", table.getProperty("hoodie.table.recordkey.fields", first));
    given.setProperty("hoodie.datasource.write.partitionpath.field", table.getProperty("hoodie.table.partition.fields", ""));
    for (Object name : table.stringPropertyNames()) {
      if (((String) name).startsWith("hoodie.datasource.write.")) given.setProperty((String) name, table.getProperty((String) name));
    }
    String generator = table.getProperty("hoodie.table.keygenerator.type", "");
    if (!generator.isEmpty()) given.setProperty("hoodie.datasource.write.keygenerator.type", generator);
    String named = table.getProperty("hoodie.table.keygenerator.class", "");
    if (!named.isEmpty()) given.setProperty("hoodie.datasource.write.keygenerator.class", named);
    HoodieWriteConfig.Builder made = HoodieWriteConfig.newBuilder().withPath(place).withSchema(schema);
    return made.forTable(meta.getTableConfig().getTableName()).withParallelism(2, 2).withProps(given).build();
  }

  /** The columns of a table as Avro has them, and behind them those of a Parquet file that it does not have. */
  private String schemaOf(String file, Schema there, String name) throws Exception {
    ParquetFileReader reader = ParquetFileReader.open(HadoopInputFile.fromPath(new Path("file://" + file), conf));
    Schema found;
    try {
      found = new AvroSchemaConverter(conf).convert(reader.getFooter().getFileMetaData().getSchema());
    } finally {
      reader.close();
    }
    List fields = new ArrayList();
    if (there != null) {
      for (Object each : there.getFields()) fields.add(new Schema.Field((Schema.Field) each, ((Schema.Field) each).schema()));
    }
    for (Object each : found.getFields()) {
      Schema.Field field = (Schema.Field) each;
      if (there == null || there.getField(field.name()) == null) fields.add(new Schema.Field(field, field.schema()));
    }
    Schema made = there == null
        ? Schema.createRecord(name + "_record", null, "hoodie." + name, false)
        : Schema.createRecord(there.getName(), there.getDoc(), there.getNamespace(), false);
    made.setFields(fields);
    return made.toString();
  }

  private static String state(HoodieTimeline done) {
    return done.countInstants() == 0 ? "" : ((HoodieInstant) done.lastInstant().get()).requestedTime();
  }

  private static HoodieTimeline done(HoodieTableMetaClient meta) {
    return meta.getActiveTimeline().getCommitsTimeline().filterCompletedInstants();
  }

  private static Map kept(HoodieTimeline done) throws Exception {
    Map found = new TreeMap();
    for (Iterator each = done.getReverseOrderedInstants().iterator(); each.hasNext() && found.isEmpty();) {
      HoodieCommitMetadata one = done.readCommitMetadata((HoodieInstant) each.next());
      for (Object entry : one.getExtraMetadata().entrySet()) {
        String name = (String) ((Map.Entry) entry).getKey();
        if (name.startsWith(MINE)) found.put(name, ((Map.Entry) entry).getValue());
      }
    }
    return found;
  }

  private StorageConfiguration storage() {
    return new HadoopStorageConfiguration(conf);
  }

  private HoodieTableMetaClient meta() {
    return HoodieTableMetaClient.builder().setConf(storage()).setBasePath(place).build();
  }

  /** Waits until nobody else writes: the kernel lets go of the lock of a process that dies. */
  private Held hold() throws Exception {
    Files.createDirectories(folder, new FileAttribute[0]);
    java.nio.file.Path file = folder.resolve("lock");
    WRITERS.putIfAbsent(file, new ReentrantLock());
    ReentrantLock writer = (ReentrantLock) WRITERS.get(file);
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    // Within a process: to close the file anywhere would let go of the other lock.
    if (!writer.tryLock(seconds, TimeUnit.SECONDS)) throw late();
    FileChannel channel = null;
    try {
      channel = FileChannel.open(file, new OpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE});
      FileLock lock = channel.tryLock();
      while (lock == null) {
        if (System.nanoTime() > until) throw late();
        Thread.sleep(50);
        lock = channel.tryLock();
      }
      removeParts();
      return new Held(writer, channel);
    } catch (Exception error) {
      if (channel != null) channel.close();
      writer.unlock();
      throw error;
    }
  }

  private TimeoutException late() {
    return new TimeoutException("another task has been writing the table for " + seconds + " s");
  }

  /** Files that a killed writer has not ended. */
  private void removeParts() throws IOException {
    java.io.File[] files = folder.toFile().listFiles();
    for (int i = 0; i < files.length; i++) {
      if (files[i].getName().startsWith(WholeFiles.PART)) Files.delete(files[i].toPath());
    }
  }
}

/** The right to write a table. */
class Held {
  private final ReentrantLock writer;
  private final FileChannel channel;

  Held(ReentrantLock writer, FileChannel channel) {
    this.writer = writer;
    this.channel = channel;
  }

  void release() throws IOException {
    try {
      channel.close();
    } finally {
      writer.unlock();
    }
  }
}
