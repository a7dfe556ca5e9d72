/// The request of a member to be part of a group's next generation.
package struct JoinGroupRequest: Equatable {
    /// An assignment protocol that the member knows, with the metadata for it.
    package struct OfferedProtocol: Equatable {
        package var name: String
        package var metadata: [UInt8]

        package init(name: String, metadata: [UInt8]) {
            self.name = name
            self.metadata = metadata
        }
    }

    package var version: Int16
    package var groupID: String
    package var sessionTimeoutMilliseconds: Int32
    package var rebalanceTimeoutMilliseconds: Int32
    /// Empty in the first join of a client.
    package var memberID: String
    package var instanceID: String?
    package var protocolType: String
    package var protocols: [OfferedProtocol]

    package init(
        version: Int16, groupID: String, sessionTimeoutMilliseconds: Int32,
        rebalanceTimeoutMilliseconds: Int32, memberID: String, instanceID: String? = nil,
        protocolType: String, protocols: [OfferedProtocol]
    ) {
        self.version = version
        self.groupID = groupID
        self.sessionTimeoutMilliseconds = sessionTimeoutMilliseconds
        self.rebalanceTimeoutMilliseconds = rebalanceTimeoutMilliseconds
        self.memberID = memberID
        self.instanceID = instanceID
        self.protocolType = protocolType
        self.protocols = protocols
    }
}

extension JoinGroupRequest {
    package init(from reader: inout WireReader, version: Int16) throws(WireError) {
        self.version = version
        groupID = try reader.string()
        sessionTimeoutMilliseconds = try reader.int32()
        rebalanceTimeoutMilliseconds = version >= 1 ? try reader.int32() : sessionTimeoutMilliseconds
        memberID = try reader.string()
        instanceID = version >= 5 ? try reader.nullableString() : nil
        protocolType = try reader.string()
        protocols = try reader.array { (reader) throws(WireError) in
            let offer = OfferedProtocol(name: try reader.string(), metadata: try reader.bytes())
            try reader.skipTags()
            return offer
        }
        try reader.skipTags()
    }
}

/// The answer: the new generation of the group, the member's id and the protocol that was chosen.
package struct JoinGroupResponse: Equatable {
    package struct Member: Equatable {
        package var memberID: String
        package var instanceID: String?
        package var metadata: [UInt8]
    }

    package var error = ErrorCode.none
    package var generation: Int32 = -1
    package var protocolType: String?
    package var protocolName: String?
    package var leaderID = ""
    package var memberID = ""
    /// All members of the generation for its leader; empty for the others.
    package var members: [Member] = []

    package static func failed(with error: ErrorCode, memberID: String = "") -> JoinGroupResponse {
        JoinGroupResponse(error: error, memberID: memberID)
    }

    package func write(to writer: inout WireWriter, version: Int16) {
        if version >= 2 { writer.zeroThrottleTime() }
        writer.error(error)
        writer.int32(generation)
        if version >= 7 {
            writer.nullableString(protocolType)
            writer.nullableString(protocolName)
        } else {
            writer.string(protocolName ?? "")
        }
        writer.string(leaderID)
        writer.string(memberID)
        writer.array(members) { writer, member in
            writer.string(member.memberID)
            if version >= 5 { writer.nullableString(member.instanceID) }
            writer.bytes(member.metadata)
            writer.emptyTags()
        }
        writer.emptyTags()
    }
}
