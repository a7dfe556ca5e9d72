/// The request of an operator to delete groups that have no members.
struct DeleteGroupsRequest: Equatable {
    var groupIDs: [String]
}

extension DeleteGroupsRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupIDs = try reader.array { (reader) throws(WireError) in try reader.string() }
        try reader.skipTags()
    }
}

/// The answer: an error for each group.
struct DeleteGroupsResponse: Equatable {
    struct Group: Equatable {
        var groupID: String
        var error = ErrorCode.none
    }

    var groups: [Group]

    func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.array(groups) { writer, group in
            writer.string(group.groupID)
            writer.error(group.error)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
