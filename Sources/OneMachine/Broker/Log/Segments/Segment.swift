/// One file of a log, with batches one behind the other. Its name is its first offset, for example
/// `00000000000000001234.log`.
///
/// Confined to the loop thread. Its file and index are opened when needed, and `OpenSegments` closes
/// them.
final class Segment {
    /// The first offset.
    let baseOffset: Int64
    let directory: String
    /// Bytes of whole batches. Only before recovery may the file have more, a torn tail.
    var size = 0
    /// The offset behind the last record.
    var endOffset: Int64
    /// The largest timestamp of a record; -1 if no record has one.
    var maxTimestamp: Int64 = -1
    /// Arrival time of the first batch, in milliseconds since 1970; nil for an empty segment.
    var firstAppendedAt: Int64?

    var file: OpenFile?
    var index: SegmentIndex?
    /// Whether the segment has bytes that no sync covers yet.
    var isDirty = false
    /// Whether this is the newest segment. Its index exists only in memory and must stay.
    var isActive = false
    /// The number of the last use, by the counter of `OpenSegments`.
    var lastUse: UInt64 = 0

    init(baseOffset: Int64, directory: String) {
        self.baseOffset = baseOffset
        self.endOffset = baseOffset
        self.directory = directory
    }

    var path: String { Self.path(in: directory, from: baseOffset, suffix: "log") }
    var indexPath: String { Self.path(in: directory, from: baseOffset, suffix: "index") }

    static func path(in directory: String, from offset: Int64, suffix: String) -> String {
        let digits = String(offset)
        let zeros = String(repeating: "0", count: digitsInName - digits.count)
        return directory + "/" + zeros + digits + "." + suffix
    }

    /// As in Kafka's names, so that they sort by offset.
    private static let digitsInName = 20

    /// Returns the first offset from the name of a segment's file; nil for another file.
    static func baseOffset(ofFileNamed name: String) -> Int64? {
        guard name.hasSuffix(".log") else { return nil }
        return Int64(name.dropLast(".log".count))
    }

    /// Takes over a batch that was written at the end of the file.
    func recordAppend(_ header: BatchHeader, now: Int64) {
        index?.add(
            relativeOffset: header.baseOffset - baseOffset, position: size, maxTimestampBefore: maxTimestamp)
        size += header.totalSize
        endOffset = header.nextOffset
        maxTimestamp = max(maxTimestamp, header.maxTimestamp)
        if firstAppendedAt == nil { firstAppendedAt = now }
    }

    /// Continues behind damaged bytes, which stay in the file; their offsets stay unused.
    func skipDamage(to offset: Int64, position: Int) {
        index?.add(
            relativeOffset: offset - baseOffset, position: position, maxTimestampBefore: maxTimestamp,
            isBehindDamage: true)
        size = position
        endOffset = offset
    }

    /// Returns the open file. Opens it if it is closed.
    func openFile(with openSegments: OpenSegments) throws(DiskError) -> OpenFile {
        openSegments.markUsed(self)
        if let file { return file }
        let file = try openSegments.withDescriptor { () throws(DiskError) in
            try openSegments.disk.open(path: path, writable: isActive)
        }
        self.file = file
        openSegments.register(self)
        return file
    }
}
