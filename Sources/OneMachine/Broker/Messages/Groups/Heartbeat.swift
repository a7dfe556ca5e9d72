/// The request of a member to extend its session. The answer says whether its generation is still valid.
package struct HeartbeatRequest: Equatable {
    package var groupID: String
    package var generation: Int32
    package var memberID: String
    package var instanceID: String?

    package init(groupID: String, generation: Int32, memberID: String, instanceID: String? = nil) {
        self.groupID = groupID
        self.generation = generation
        self.memberID = memberID
        self.instanceID = instanceID
    }
}

extension HeartbeatRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        generation = try reader.int32()
        memberID = try reader.string()
        instanceID = version >= 3 ? try reader.nullableString() : nil
        try reader.skipTags()
    }
}

/// The answer. Its error tells a member to join the group again.
package struct HeartbeatResponse: Equatable {
    package var error = ErrorCode.none

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        writer.error(error)
        writer.emptyTags()
    }
}
