/// The request for the broker that coordinates a group or a transactional id, which is always this one.
struct FindCoordinatorRequest: Equatable {
    // Kafka's numbers of the key types.
    static let group: Int8 = 0
    static let transaction: Int8 = 1

    var keyType = FindCoordinatorRequest.group
    /// Ids of groups or transactional ids. Up to version 3 there is exactly one.
    var keys: [String]
}

extension FindCoordinatorRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        if version < 4 { keys = [try reader.string()] } else { keys = [] }
        if version >= 1 { keyType = try reader.int8() }
        if version >= 4 { keys = try reader.array { (reader) throws(WireError) in try reader.string() } }
        try reader.skipTags()
    }
}

/// The answer: the node that coordinates each group or transactional id.
struct FindCoordinatorResponse {
    /// The coordinator of one key, or the error.
    struct Coordinator {
        var key: String
        var error = ErrorCode.none
        var errorMessage: String?
        var nodeID: Int32
        var host: String
        var port: Int32
    }

    /// One for each key of the request; before version 4 exactly one.
    var coordinators: [Coordinator]

    func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        if version >= 4 {
            writer.array(coordinators) { writer, coordinator in
                writer.string(coordinator.key)
                Self.writeNode(coordinator, to: &writer)
                writer.error(coordinator.error)
                writer.message(coordinator.errorMessage)
                writer.emptyTags()
            }
        } else if let only = coordinators.first {
            writer.error(only.error)
            if version >= 1 { writer.message(only.errorMessage) }
            Self.writeNode(only, to: &writer)
        }
        writer.emptyTags()
    }

    private static func writeNode(_ coordinator: Coordinator, to writer: inout WireWriter) {
        writer.int32(coordinator.nodeID)
        writer.string(coordinator.host)
        writer.int32(coordinator.port)
    }
}
