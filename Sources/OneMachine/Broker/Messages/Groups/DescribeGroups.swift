/// The request for the state and the members of groups.
struct DescribeGroupsRequest: Equatable {
    var groupIDs: [String]
}

extension DescribeGroupsRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupIDs = try reader.array { (reader) throws(WireError) in try reader.string() }
        if version >= 3 { _ = try reader.bool() }  // include_authorized_operations: there are no users
        try reader.skipTags()
    }
}

/// The answer: state, protocol and members of each group.
struct DescribeGroupsResponse: Equatable {
    /// Kafka's value for operations that are not known.
    private static let noAuthorizedOperations = Int32.min

    struct Member: Equatable {
        var memberID: String
        var instanceID: String?
        var clientID: String
        var clientHost: String
        var metadata: [UInt8]
        var assignment: [UInt8]
    }

    struct Group: Equatable {
        var error = ErrorCode.none
        var groupID: String
        var state: String
        var protocolType = ""
        var protocolName = ""
        var members: [Member] = []
    }

    var groups: [Group]

    func write(to writer: inout WireWriter, version: Int16) {
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
