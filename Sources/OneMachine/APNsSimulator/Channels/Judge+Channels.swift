internal import APNs
internal import JSON

/// The channel-management port: `/1/apps/<bundle id>/channels` and `/all-channels`.
extension Judge {
    func channel(
        _ request: ReceivedRequest, of app: Range<Int>, on standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        if request.isMethod("POST") {
            facts.kind = .createChannel
        } else if request.isMethod("GET") {
            facts.kind = .readChannel
        } else if request.isMethod("DELETE") {
            facts.kind = .deleteChannel
        } else {
            return .refused(.methodNotAllowed)
        }
        if let reason = refusal(ofManagement: request, of: app, on: &standing, noting: &facts) {
            return .refused(reason)
        }
        let owner = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        if facts.kind == .createChannel { return create(request, for: owner) }
        switch channel(in: request, facts) {
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let (id, _)):
            facts.target = .channel(id)
            return .managed(facts.kind == .readChannel ? .read(id) : .delete(id), of: owner)
        }
    }

    func list(
        _ request: ReceivedRequest, of app: Range<Int>, on standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        guard request.isMethod("GET") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofManagement: request, of: app, on: &standing, noting: &facts) {
            return .refused(reason)
        }
        let owner = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        return .managed(.list, of: owner)
    }

    private func refusal(
        ofManagement request: ReceivedRequest, of app: Range<Int>, on standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Reason? {
        if request.headers.isRepeated { return .badRequestParameters }
        if request.hasBadID { return .badMessageID }
        if let reason = refusal(ofProviderIn: request, &standing, &facts) { return reason }
        return refusal(ofApp: app, of: request, on: standing, noting: &facts)
    }

    private func create(_ request: ReceivedRequest, for owner: Channels.App) -> Verdict {
        guard !request.bodyIsCut, request.body.count <= Judge.broadcastBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard !request.body.isEmpty else { return .refused(.payloadEmpty) }
        let wanted = try? reader.read(request.body) { Judge.wanted($0) }
        switch wanted {
        case nil: return .refused(.badRequestPayload)
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let policy): return .managed(.create(policy), of: owner)
        }
    }

    private static func wanted(_ body: JSONValue) -> Result<Channels.Policy, Refusal> {
        guard body.kind == .object, case let members = body.object() else {
            return .failure(Refusal(reason: .badRequestPayload))
        }
        let type = members["push-type"]
        guard !type.isMissing else { return .failure(Refusal(reason: .missingPushType)) }
        guard type.kind == .string, type.string() == "LiveActivity" else {
            return .failure(Refusal(reason: .invalidPushType))
        }
        let policy = members["message-storage-policy"]
        guard policy.kind == .integer, (0.0...1.0).contains(policy.double()),
            let policy = Channels.Policy(rawValue: policy.int())
        else { return .failure(Refusal(reason: .missingChannelQueueSize)) }
        return .success(policy)
    }
}
