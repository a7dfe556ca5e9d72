/// The request to delete topics with all their records.
struct DeleteTopicsRequest {
    var names: [String]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        names = try reader.array { (reader) throws(WireError) in try reader.string() }
        _ = try reader.int32()  // timeout_ms
        try reader.skipTags()
    }
}

/// The outcome of DeleteTopics or CreatePartitions for one topic.
struct NamedOutcome {
    var name: String
    var error = ErrorCode.none
    var message: String?
}

enum DeleteTopicsResponse {
    static func write(_ outcomes: [NamedOutcome], to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.array(outcomes) { writer, outcome in
            writer.string(outcome.name)
            writer.error(outcome.error)
            if version >= 5 { writer.message(outcome.message) }
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
