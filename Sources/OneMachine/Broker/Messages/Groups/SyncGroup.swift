/// A member's request for its assignment. The leader sends the assignments of all members.
struct SyncGroupRequest: Equatable {
    struct Assignment: Equatable {
        var memberID: String
        var assignment: [UInt8]
    }

    var groupID: String
    var generation: Int32
    var memberID: String
    var instanceID: String?
    var protocolType: String?
    var protocolName: String?
    var assignments: [Assignment]
}

extension SyncGroupRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        generation = try reader.int32()
        memberID = try reader.string()
        instanceID = version >= 3 ? try reader.nullableString() : nil
        protocolType = version >= 5 ? try reader.nullableString() : nil
        protocolName = version >= 5 ? try reader.nullableString() : nil
        assignments = try reader.array { (reader) throws(WireError) in
            let assignment = Assignment(memberID: try reader.string(), assignment: try reader.bytes())
            try reader.skipTags()
            return assignment
        }
        try reader.skipTags()
    }
}

/// The answer: the partitions that the leader assigned to this member.
struct SyncGroupResponse: Equatable {
    var error = ErrorCode.none
    var protocolType: String?
    var protocolName: String?
    var assignment: [UInt8] = []

    func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        writer.error(error)
        if version >= 5 {
            writer.nullableString(protocolType)
            writer.nullableString(protocolName)
        }
        writer.bytes(assignment)
        writer.emptyTags()
    }
}
