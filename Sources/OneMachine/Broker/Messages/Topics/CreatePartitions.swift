/// CreatePartitions, the request to add partitions to topics. This broker refuses it, so only the names are
/// decoded.
enum CreatePartitions {
    /// Returns the names of the topics.
    static func readRequest(from reader: inout WireReader) throws(WireError) -> [String] {
        let names = try reader.array { (reader) throws(WireError) in
            let name = try reader.string()
            _ = try reader.int32()  // count
            _ = try reader.nullableArray { (reader) throws(WireError) in  // assignments
                _ = try reader.array { (reader) throws(WireError) in try reader.int32() }  // broker_ids
                try reader.skipTags()
            }
            try reader.skipTags()
            return name
        }
        _ = try reader.int32()  // timeout_ms
        _ = try reader.bool()  // validate_only
        try reader.skipTags()
        return names
    }

    static func writeResponse(_ outcomes: [NamedOutcome], to writer: inout WireWriter) {
        writer.zeroThrottleTime()
        writer.array(outcomes) { writer, outcome in
            writer.string(outcome.name)
            writer.error(outcome.error)
            writer.message(outcome.message)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
