internal import JSON
internal import Jobs
internal import Sender

/// The content of a cluster as values: the topics of some lanes, and the group's offsets.
struct SimulatedKafka {
    enum Entry {
        /// The end of a transaction, which takes an offset.
        case marker
        /// A sheet, parsed once for all processes.
        case sheet(SheetRecord)
        case malformed
    }

    struct Partition: Hashable {
        let lane: Int32
        let topic: JobTopic
        var index: Int { Int(lane) * 4 + topic.rawValue }
    }

    /// Entries by the indices of places.
    var sheets: [[Entry]]
    /// Encoded receipts by lane. They are decoded at each read, as a process does.
    var receipts: [[[UInt8]]]
    var deadLetterCount = 0
    var committed: [(offset: Int64, note: String)?]

    init(lanes: Int) {
        sheets = Array(repeating: [], count: lanes * 4)
        receipts = Array(repeating: [], count: lanes)
        committed = Array(repeating: nil, count: lanes * 4)
    }

    mutating func append(
        _ content: SheetContent, origin: SheetOrigin?, unproven: LineSet, to place: Partition
    ) throws -> Int64 {
        let record = try SheetRecord(
            content, origin: origin?.headerValue, unproven: UnprovenLines.headerValue(of: unproven))
        sheets[place.index].append(.sheet(record))
        return Int64(sheets[place.index].count - 1)
    }

    func endOffset(of partition: Partition) -> Int64 { Int64(sheets[partition.index].count) }
    func receiptsEndOffset(ofLane lane: Int32) -> Int64 { Int64(receipts[Int(lane)].count) }

    func laneStart(of lane: Int32) -> LaneStart {
        LaneStart(
            lane: lane,
            partitions: JobTopic.allCases.map { topic in
                let found = committed[Partition(lane: lane, topic: topic).index]
                return LanePartitionStart(
                    base: found?.offset ?? 0, metadata: found.flatMap { CommitMetadata(text: $0.note) })
            })
    }
}
