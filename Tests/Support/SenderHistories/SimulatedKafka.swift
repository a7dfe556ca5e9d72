internal import JSON
internal import Jobs
internal import Sender

/// The content of a simulated cluster: the job topics and `receipts` of some lanes, and the senders' committed offsets.
struct SimulatedKafka {
    /// A record of a job topic, or a marker.
    enum Entry {
        /// The end of a transaction, which takes an offset.
        case marker
        /// A sheet, parsed once for all processes.
        case sheet(SheetRecord)
        case malformed
    }

    /// A record of `receipts`.
    enum ReceiptEntry {
        /// An encoded receipt. It is decoded at each read, as in a process.
        case receipt([UInt8])
        case takeover(TakeoverMarker)
    }

    /// A partition of one of the job topics.
    struct Partition: Hashable {
        static let topicCount = JobTopic.allCases.count

        let lane: Int32
        let topic: JobTopic
        /// The partition's place in lists of all partitions.
        var index: Int { Int(lane) * Self.topicCount + topic.rawValue }
    }

    /// The entries by `Partition.index`, then by offset.
    var sheets: [[Entry]]
    /// The records of `receipts` by lane.
    var receipts: [[ReceiptEntry]]
    var deadLetterCount = 0
    /// The committed offset and its metadata, by `Partition.index`.
    var committed: [(offset: Int64, metadata: String)?]

    init(lanes: Int) {
        sheets = Array(repeating: [], count: lanes * Partition.topicCount)
        receipts = Array(repeating: [], count: lanes)
        committed = Array(repeating: nil, count: lanes * Partition.topicCount)
    }

    /// Stores a sheet and returns its offset.
    mutating func append(
        _ content: SheetContent, origin: SheetOrigin?, unproven: LineSet, to partition: Partition
    ) throws -> Int64 {
        let record = try SheetRecord(
            content, origin: origin?.headerValue, unproven: UnprovenLines.headerValue(of: unproven))
        sheets[partition.index].append(.sheet(record))
        return Int64(sheets[partition.index].count - 1)
    }

    func endOffset(of partition: Partition) -> Int64 { Int64(sheets[partition.index].count) }
    func receiptsEndOffset(ofLane lane: Int32) -> Int64 { Int64(receipts[Int(lane)].count) }

    /// Returns the committed offsets at which a process starts to read a lane.
    func laneStart(of lane: Int32) -> LaneStart {
        LaneStart(
            lane: lane,
            partitions: JobTopic.allCases.map { topic in
                let commit = committed[Partition(lane: lane, topic: topic).index]
                return LanePartitionStart(
                    base: commit?.offset ?? 0, metadata: commit.flatMap { CommitMetadata(text: $0.metadata) })
            })
    }
}
