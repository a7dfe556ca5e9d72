/// The request to change settings. AlterConfigs gives all settings of a resource anew, and
/// IncrementalAlterConfigs changes single settings.
struct AlterConfigsRequest {
    /// The operation of an incremental change, with Kafka's numbers. The last two change a list.
    enum ChangeOperation: Int8 {
        case set = 0
        case delete = 1
        case append = 2
        case subtract = 3
    }

    struct Change {
        var name: String
        /// The number of a `ChangeOperation`. The handler refuses other numbers.
        var operation: Int8
        var value: String?
    }

    struct ResourceChanges {
        var resource: ConfigResource
        var changes: [Change]
    }

    var resources: [ResourceChanges]
    var validateOnly: Bool

    init(from reader: inout WireReader, incremental: Bool) throws(WireError) {
        resources = try reader.array { (reader) throws(WireError) in
            let resource = ConfigResource(kind: try reader.int8(), name: try reader.string())
            let changes = try reader.array { (reader) throws(WireError) in
                let name = try reader.string()
                let operation = incremental ? try reader.int8() : ChangeOperation.set.rawValue
                let change = Change(name: name, operation: operation, value: try reader.nullableString())
                try reader.skipTags()
                return change
            }
            try reader.skipTags()
            return ResourceChanges(resource: resource, changes: changes)
        }
        validateOnly = try reader.bool()
        try reader.skipTags()
    }
}

/// The answer to both requests.
struct AlterConfigsResponse {
    struct Outcome {
        var resource: ConfigResource
        var error = ErrorCode.none
        var message: String?
    }

    var outcomes: [Outcome]

    func write(to writer: inout WireWriter) {
        writer.zeroThrottleTime()
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
