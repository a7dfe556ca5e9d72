/// Topics to remove with all their data.
struct DeleteTopicsRequest {
    var names: [String]

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        names = try reader.array { (reader) throws(WireError) in try reader.string() }
        _ = try reader.int32()  // time limit
        try reader.skipTags()
    }
}

/// One outcome by name: the shape that deletion and partition creation share.
struct NamedOutcome {
    var name: String
    var error = ErrorCode.none
    var message: String?
}

enum DeleteTopicsResponse {
    static func write(_ outcomes: [NamedOutcome], to writer: inout WireWriter, version: Int16) {
        writer.int32(0)
        writer.array(outcomes) { writer, outcome in
            writer.string(outcome.name)
            writer.error(outcome.error)
            if version >= 5 { writer.message(outcome.message) }
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
