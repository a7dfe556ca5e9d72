/// The request of an operator to delete groups that have no members.
package struct DeleteGroupsRequest: Equatable {
    package var groupIDs: [String]
}

extension DeleteGroupsRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        groupIDs = try reader.array { (reader) throws(WireError) in try reader.string() }
        try reader.skipTags()
    }
}

/// The answer: an error for each group.
package struct DeleteGroupsResponse: Equatable {
    package struct Group: Equatable {
        package var groupID: String
        package var error = ErrorCode.none
    }

    package var groups: [Group]

    package func write(to writer: inout WireWriter, version: Int16) {
        writer.zeroThrottleTime()
        writer.array(groups) { writer, group in
            writer.string(group.groupID)
            writer.error(group.error)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
