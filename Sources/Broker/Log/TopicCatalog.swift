/// Which topics there are, as one small file that is replaced whole: a crash leaves the old one or
/// the new one. Directories that it does not name belong to nobody and are removed.
struct TopicCatalog: Equatable {
    static let format: Int32 = 1
    static let fileName = "catalog"

    struct Entry: Equatable {
        var name: String
        var id: TopicID
        var isInternal: Bool
        var serial: Int64
        var partitionCount: Int32
        var settings: [String: String]
    }

    var clusterID: String
    var nextSerial: Int64 = 1
    var entries: [Entry] = []

    init(clusterID: String) { self.clusterID = clusterID }

    func encoded() -> [UInt8] {
        SealedFile.seal(Self.format) { writer in
            writer.string(clusterID)
            writer.int64(nextSerial)
            writer.array(entries) { writer, entry in
                writer.string(entry.name)
                writer.uuid(entry.id)
                writer.bool(entry.isInternal)
                writer.int64(entry.serial)
                writer.int32(entry.partitionCount)
                writer.array(entry.settings.sorted { $0.key < $1.key }) { writer, pair in
                    writer.string(pair.key)
                    writer.string(pair.value)
                }
            }
        }
    }

    init?(_ bytes: [UInt8]) {
        let read = SealedFile.unseal(bytes, format: Self.format) { (reader) throws(WireError) in
            try TopicCatalog(from: &reader)
        }
        guard let read else { return nil }
        self = read
    }

    private init(from reader: inout WireReader) throws(WireError) {
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
    }
}
