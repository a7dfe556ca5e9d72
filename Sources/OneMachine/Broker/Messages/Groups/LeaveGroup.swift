/// The request to remove members from a group. Up to version 2 there is exactly one.
package struct LeaveGroupRequest: Equatable {
    package struct Member: Equatable {
        /// Empty if an operator's tool names a static member by its instance id alone.
        package var memberID: String
        package var instanceID: String?
    }

    package var groupID: String
    package var members: [Member]
}

extension LeaveGroupRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupID = try reader.string()
        if version < 3 {
            members = [Member(memberID: try reader.string())]
        } else {
            members = try reader.array { (reader) throws(WireError) in
                let member = Member(
                    memberID: try reader.string(), instanceID: try reader.nullableString())
                try reader.skipTags()
                return member
            }
        }
        try reader.skipTags()
    }
}

/// The answer: an error for each member that was to leave.
package struct LeaveGroupResponse: Equatable {
    package struct Member: Equatable {
        package var memberID: String
        package var instanceID: String?
        package var error = ErrorCode.none
    }

    package var error = ErrorCode.none
    package var members: [Member] = []

    /// The error for old versions, which have one member and one error.
    private var onlyError: ErrorCode {
        error == .none ? members.first?.error ?? .none : error
    }

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        guard version >= 3 else { return writer.error(onlyError) }
        writer.error(error)
        writer.array(members) { writer, member in
            writer.string(member.memberID)
            writer.nullableString(member.instanceID)
            writer.error(member.error)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
