/// The list of the topics of a data directory, stored in one small file. The file is replaced as a whole,
/// so a crash leaves the old one or the new one. `CatalogCopies` keeps it twice.
///
/// The broker removes a log only if the catalog lists it in `removed`. A log that the catalog does not
/// mention is never removed: the catalog may be older than the log, or belong to another broker.
struct TopicCatalog: Equatable {
    static let format: Int32 = 2
    /// The format of an older release, without `revision` and `removed`.
    private static let formatWithoutRemoved: Int32 = 1

    /// One topic.
    struct Entry: Equatable {
        var name: String
        var id: TopicID
        var isInternal: Bool
        var serial: Int64
        var partitionCount: Int32
        var settings: [String: String]

        var directories: [LogDirectory] {
            (0..<partitionCount).map { LogDirectory(topic: name, partition: $0, serial: serial) }
        }
    }

    /// A deleted topic, some of whose directories may still exist.
    struct RemovedTopic: Equatable {
        var name: String
        var serial: Int64

        func includes(_ directory: LogDirectory) -> Bool {
            directory.topic == name && directory.serial == serial
        }
    }

    var clusterID: String
    /// The serial of the next topic. A serial is never used twice.
    var nextSerial: Int64 = 1
    var entries: [Entry] = []
    /// Grows with each change, so the newer of two copies has the larger revision.
    var revision: Int64 = 0
    /// Deleted topics, some of whose directories may still exist.
    var removed: [RemovedTopic] = []
    /// Whether `removed` is complete. False for a file of an older release: that release removed every log that
    /// its catalog did not name.
    private(set) var listsRemoved = true

    init(clusterID: String) { self.clusterID = clusterID }

    /// Whether a directory that no entry names may be removed.
    func allowsRemoval(of directory: LogDirectory) -> Bool {
        guard listsRemoved else { return directory.serial < nextSerial }
        return removed.contains { $0.includes(directory) }
    }

    func encoded() -> [UInt8] {
        SealedFile.seal(format: Self.format) { writer in
            writer.string(clusterID)
            writer.int64(nextSerial)
            writer.array(entries) { writer, entry in
                writer.string(entry.name)
                writer.uuid(entry.id)
                writer.bool(entry.isInternal)
                writer.int64(entry.serial)
                writer.int32(entry.partitionCount)
                writer.array(entry.settings.sorted { $0.key < $1.key }) { writer, setting in
                    writer.string(setting.key)
                    writer.string(setting.value)
                }
            }
            writer.int64(revision)
            writer.array(removed) { writer, topic in
                writer.string(topic.name)
                writer.int64(topic.serial)
            }
        }
    }

    init?(decoding bytes: [UInt8]) {
        for format in [Self.format, Self.formatWithoutRemoved] {
            let catalog = SealedFile.unseal(bytes, format: format) { (reader) throws(WireError) in
                try TopicCatalog(from: &reader, format: format)
            }
            guard let catalog else { continue }
            self = catalog
            return
        }
        return nil
    }

    private init(from reader: inout WireReader, format: Int32) throws(WireError) {
        clusterID = try reader.string()
        nextSerial = try reader.int64()
        entries = try reader.array { (reader) throws(WireError) in
            Entry(
                name: try reader.string(), id: try reader.uuid(), isInternal: try reader.bool(),
                serial: try reader.int64(), partitionCount: try reader.int32(),
                settings: Dictionary(
                    try reader.array { (reader) throws(WireError) in
                        (try reader.string(), try reader.string())
                    }
                ) { _, new in new })
        }
        listsRemoved = format == Self.format
        guard listsRemoved else { return }
        revision = try reader.int64()
        removed = try reader.array { (reader) throws(WireError) in
            RemovedTopic(name: try reader.string(), serial: try reader.int64())
        }
    }

    /// Moves a topic from the entries to the removed topics.
    mutating func remove(name: String, serial: Int64) {
        entries.removeAll { $0.serial == serial }
        removed.append(RemovedTopic(name: name, serial: serial))
    }

    /// Forgets the removed topics, after their logs were removed.
    mutating func forgetRemoved() {
        removed = []
        listsRemoved = true
    }
}
