/// The request of a member to be part of a group's next generation.
struct JoinGroupRequest: Equatable {
    /// An assignment protocol that the member knows, with the metadata for it.
    struct OfferedProtocol: Equatable {
        var name: String
        var metadata: [UInt8]
    }

    var version: Int16
    var groupID: String
    var sessionTimeoutMilliseconds: Int32
    var rebalanceTimeoutMilliseconds: Int32
    /// Empty in the first join of a client.
    var memberID: String
    var instanceID: String?
    var protocolType: String
    var protocols: [OfferedProtocol]
}

extension JoinGroupRequest {
    init(from reader: inout WireReader, version: Int16) throws(WireError) {
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
struct JoinGroupResponse: Equatable {
    struct Member: Equatable {
        var memberID: String
        var instanceID: String?
        var metadata: [UInt8]
    }

    var error = ErrorCode.none
    var generation: Int32 = -1
    var protocolType: String?
    var protocolName: String?
    var leaderID = ""
    var memberID = ""
    /// All members of the generation for its leader; empty for the others.
    var members: [Member] = []

    static func failed(with error: ErrorCode, memberID: String = "") -> JoinGroupResponse {
        JoinGroupResponse(error: error, memberID: memberID)
    }

    func write(to writer: inout WireWriter, version: Int16) {
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
