/// Changes to settings: either a whole new set (AlterConfigs) or one step each
/// (IncrementalAlterConfigs).
struct AlterConfigsRequest {
    /// Kafka's numbers for an incremental step.
    enum ChangeOperation: Int8 {
        case set = 0
        case delete = 1
        case append = 2
        case subtract = 3
    }

    struct Change {
        var name: String
        /// The number as sent; one that is not a `Step` is refused by the handler.
        var step: Int8
        var value: String?
    }

    var resources: [(resource: ConfigResource, changes: [Change])]
    var validateOnly: Bool

    init(from reader: inout WireReader, incremental: Bool) throws(WireError) {
        resources = try reader.array { (reader) throws(WireError) in
            let resource = ConfigResource(kind: try reader.int8(), name: try reader.string())
            let changes = try reader.array { (reader) throws(WireError) in
                let name = try reader.string()
                let step = incremental ? try reader.int8() : ChangeOperation.set.rawValue
                let change = Change(name: name, step: step, value: try reader.nullableString())
                try reader.skipTags()
                return change
            }
            try reader.skipTags()
            return (resource, changes)
        }
        validateOnly = try reader.bool()
        try reader.skipTags()
    }
}

struct AlterConfigsResponse {
    struct Outcome {
        var resource: ConfigResource
        var error = ErrorCode.none
        var message: String?
    }

    var outcomes: [Outcome]

    func write(to writer: inout WireWriter) {
        writer.int32(0)
        writer.array(outcomes) { writer, outcome in
            writer.error(outcome.error)
            writer.message(outcome.message)
            writer.int8(outcome.resource.kind)
            writer.string(outcome.resource.name)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
