/// The choice of the assignment protocol: the members vote for one that all know.
extension Group {
    /// Whether a client can join: it has the type of the members, and offers a protocol that all know.
    func supports(protocolType type: String, offers: [JoinGroupRequest.OfferedProtocol]) -> Bool {
        guard !members.isEmpty else { return !type.isEmpty && !offers.isEmpty }
        guard protocolType == type else { return false }
        return offers.contains { offer in
            members.values.allSatisfy { $0.protocols.contains { $0.name == offer.name } }
        }
    }

    /// Returns the protocol with the most votes, or nil if there is no member. Each member votes for its first
    /// protocol that all members know. On a tie, the oldest member's preference counts.
    func electedProtocol() -> String? {
        let ordered = membersInOrder
        guard let oldest = ordered.first else { return nil }
        let candidates = oldest.protocols.map(\.name).filter { name in
            ordered.allSatisfy { $0.protocols.contains { $0.name == name } }
        }
        var votes: [String: Int] = [:]
        for member in ordered {
            guard let vote = member.protocols.first(where: { candidates.contains($0.name) }) else { continue }
            votes[vote.name, default: 0] += 1
        }
        // The candidates have the order of the oldest member's preference.
        let mostVotes = votes.values.max()
        return candidates.first { votes[$0] == mostVotes }
    }

    /// Whether a member may read this topic. True if the metadata of the members cannot be read, or if they are
    /// no consumers, because then their topics are unknown.
    func mayRead(topic: String) -> Bool {
        guard protocolType == "consumer" else { return true }
        return members.values.contains { member in
            Group.subscribedTopics(in: member.metadata(for: protocolName))?.contains(topic) ?? true
        }
    }

    /// Returns the topics of a consumer's metadata, which has a version and then names. Returns nil if the
    /// metadata cannot be read.
    static func subscribedTopics(in metadata: [UInt8]) -> [String]? {
        do throws(WireError) {
            return try WireReader.read(metadata) { (reader) throws(WireError) in
                _ = try reader.int16()
                return try reader.array { (reader) throws(WireError) in try reader.string() }
            }
        } catch {
            return nil
        }
    }
}
