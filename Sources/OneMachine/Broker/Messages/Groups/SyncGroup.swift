/// A member's request for its assignment. The leader sends the assignments of all members.
package struct SyncGroupRequest: Equatable {
    package struct Assignment: Equatable {
        package var memberID: String
        package var assignment: [UInt8]

        package init(memberID: String, assignment: [UInt8]) {
            self.memberID = memberID
            self.assignment = assignment
        }
    }

    package var groupID: String
    package var generation: Int32
    package var memberID: String
    package var instanceID: String?
    package var protocolType: String?
    package var protocolName: String?
    package var assignments: [Assignment]

    package init(
        groupID: String, generation: Int32, memberID: String, instanceID: String? = nil,
        protocolType: String? = nil, protocolName: String? = nil, assignments: [Assignment]
    ) {
        self.groupID = groupID
        self.generation = generation
        self.memberID = memberID
        self.instanceID = instanceID
        self.protocolType = protocolType
        self.protocolName = protocolName
        self.assignments = assignments
    }
}

extension SyncGroupRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
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
package struct SyncGroupResponse: Equatable {
    package var error = ErrorCode.none
    package var protocolType: String?
    package var protocolName: String?
    package var assignment: [UInt8] = []

    package func write(to writer: inout WireWriter, version: Int16) {
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
