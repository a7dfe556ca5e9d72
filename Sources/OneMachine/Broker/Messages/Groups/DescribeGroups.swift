/// The request for the state and the members of groups.
package struct DescribeGroupsRequest: Equatable {
    package var groupIDs: [String]
}

extension DescribeGroupsRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupIDs = try reader.array { (reader) throws(WireError) in try reader.string() }
        if version >= 3 { _ = try reader.bool() }  // include_authorized_operations: there are no users
        try reader.skipTags()
    }
}

/// The answer: state, protocol and members of each group.
package struct DescribeGroupsResponse: Equatable {
    /// Kafka's value for operations that are not known.
    private static let noAuthorizedOperations = Int32.min

    package struct Member: Equatable {
        package var memberID: String
        package var instanceID: String?
        package var clientID: String
        package var clientHost: String
        package var metadata: [UInt8]
        package var assignment: [UInt8]
    }

    package struct Group: Equatable {
        package var error = ErrorCode.none
        package var groupID: String
        package var state: String
        package var protocolType = ""
        package var protocolName = ""
        package var members: [Member] = []
    }

    package var groups: [Group]

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        writer.array(groups) { writer, group in
            writer.error(group.error)
            writer.string(group.groupID)
            writer.string(group.state)
            writer.string(group.protocolType)
            writer.string(group.protocolName)
            writer.array(group.members) { writer, member in
                Self.writeMember(member, to: &writer, version: version)
            }
            if version >= 3 { writer.int32(Self.noAuthorizedOperations) }
            writer.emptyTags()
        }
        writer.emptyTags()
    }

    private static func writeMember(_ member: Member, to writer: inout WireWriter, version: Int16) {
        writer.string(member.memberID)
        if version >= 4 { writer.nullableString(member.instanceID) }
        writer.string(member.clientID)
        writer.string(member.clientHost)
        writer.bytes(member.metadata)
        writer.bytes(member.assignment)
        writer.emptyTags()
    }
}
