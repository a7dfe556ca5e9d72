/// Which broker coordinates a group or a transactional id: always this one.
struct FindCoordinatorRequest: Equatable {
    static let group: Int8 = 0
    static let transaction: Int8 = 1

    var keyType = FindCoordinatorRequest.group
    /// One key up to version 3, any number from version 4 on.
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

struct FindCoordinatorResponse {
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
        if version >= 1 { writer.int32(0) }
        if version >= 4 {
            writer.array(coordinators) { writer, each in
                writer.string(each.key)
                Self.writeNode(each, to: &writer)
                writer.error(each.error)
                writer.message(each.errorMessage)
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
