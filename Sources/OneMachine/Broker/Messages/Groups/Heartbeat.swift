/// The request of a member to extend its session. The answer says whether its generation is still valid.
struct HeartbeatRequest: Equatable {
    var groupID: String
    var generation: Int32
    var memberID: String
    var instanceID: String?
}

extension HeartbeatRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        generation = try reader.int32()
        memberID = try reader.string()
        instanceID = version >= 3 ? try reader.nullableString() : nil
        try reader.skipTags()
    }
}

/// The answer. Its error tells a member to join the group again.
struct HeartbeatResponse: Equatable {
    var error = ErrorCode.none

    func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        writer.error(error)
        writer.emptyTags()
    }
}
