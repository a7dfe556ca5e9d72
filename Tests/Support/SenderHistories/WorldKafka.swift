internal import JSON
internal import LiveActivity
internal import Sender

/// The content of a cluster as values: the topics of some lanes, and the group's offsets.
struct WorldKafka {
    enum Entry {
        /// The end of a transaction, which takes an offset.
        case marker
        /// A sheet, parsed once for all processes.
        case sheet(SheetRecord)
        case nonsense
    }

    struct Place: Hashable {
        let lane: Int32
        let topic: JobTopic
        var index: Int { Int(lane) * 4 + topic.rawValue }
    }

    /// Entries by the indices of places.
    var sheets: [[Entry]]
    /// Encoded receipts by lane. They are decoded at each read, as a process does.
    var receipts: [[[UInt8]]]
    var letters = 0
    var committed: [(offset: Int64, note: String)?]

    init(lanes: Int) {
        sheets = Array(repeating: [], count: lanes * 4)
        receipts = Array(repeating: [], count: lanes)
        committed = Array(repeating: nil, count: lanes * 4)
    }

    mutating func append(_ content: SheetContent, origin: SheetOrigin?, to place: Place) throws -> Int64 {
        sheets[place.index].append(.sheet(try SheetRecord(content, origin: origin?.headerValue)))
        return Int64(sheets[place.index].count - 1)
    }

    func end(_ place: Place) -> Int64 { Int64(sheets[place.index].count) }
    func receiptsEnd(_ lane: Int32) -> Int64 { Int64(receipts[Int(lane)].count) }

    func start(_ lane: Int32) -> LaneStart {
        LaneStart(
            lane: lane,
            partitions: JobTopic.allCases.map { topic in
                let found = committed[Place(lane: lane, topic: topic).index]
                return LanePartitionStart(
                    base: found?.offset ?? 0, metadata: found.flatMap { CommitMetadata(text: $0.note) })
            })
    }
}
