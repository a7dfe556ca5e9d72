/// The request to remove members from a group. Up to version 2 there is exactly one.
struct LeaveGroupRequest: Equatable {
    struct Member: Equatable {
        /// Empty if an operator's tool names a static member by its instance id alone.
        var memberID: String
        var instanceID: String?
    }

    var groupID: String
    var members: [Member]
}

extension LeaveGroupRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
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
struct LeaveGroupResponse: Equatable {
    struct Member: Equatable {
        var memberID: String
        var instanceID: String?
        var error = ErrorCode.none
    }

    var error = ErrorCode.none
    var members: [Member] = []

    /// The error for old versions, which have one member and one error.
    private var onlyError: ErrorCode {
        error == .none ? members.first?.error ?? .none : error
    }

    func write(to writer: inout WireWriter, version: Int16) {
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
