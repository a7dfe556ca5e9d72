/// The request for the list of groups.
package struct ListGroupsRequest: Equatable {
    /// The states of the groups to list; empty for all groups.
    package var states: [String]
}

extension ListGroupsRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        states = version >= 4 ? try reader.array { (reader) throws(WireError) in try reader.string() } : []
        try reader.skipTags()
    }
}

/// The answer: all groups with their states.
package struct ListGroupsResponse: Equatable {
    package struct Group: Equatable {
        package var groupID: String
        package var protocolType: String
        package var state: String
    }

    package var error = ErrorCode.none
    package var groups: [Group]

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 1 { writer.zeroThrottleTime() }
        writer.error(error)
        writer.array(groups) { writer, group in
            writer.string(group.groupID)
            writer.string(group.protocolType)
            if version >= 4 { writer.string(group.state) }
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
