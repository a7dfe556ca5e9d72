/// A wish for more partitions, which this broker refuses: lanes are partition numbers.
enum CreatePartitions {
    static func readRequest(from reader: inout WireReader) throws(WireError) -> [String] {
        let names = try reader.array { (reader) throws(WireError) in
            let name = try reader.string()
            _ = try reader.int32()
            _ = try reader.nullableArray { (reader) throws(WireError) in
                _ = try reader.array { (reader) throws(WireError) in try reader.int32() }
                try reader.skipTags()
            }
            try reader.skipTags()
            return name
        }
        _ = try reader.int32()  // time limit
        _ = try reader.bool()
        try reader.skipTags()
        return names
    }

    static func writeResponse(_ outcomes: [NamedOutcome], to writer: inout WireWriter) {
        writer.int32(0)
        writer.array(outcomes) { writer, outcome in
            writer.string(outcome.name)
            writer.error(outcome.error)
            writer.message(outcome.message)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
