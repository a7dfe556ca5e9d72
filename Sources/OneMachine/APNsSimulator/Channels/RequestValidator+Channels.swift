internal import APNs
internal import JSON

/// The checks of the channel-management port: `/1/apps/<bundle id>/channels` and
/// `/1/apps/<bundle id>/all-channels`, in the order that `RequestValidator` describes.
extension RequestValidator {
    /// Checks a request that creates, reads or deletes a channel.
    /// - Parameters:
    ///   - app: the range of the bundle id in the request's bytes.
    ///   - facts: receives the facts that are known when a check fails.
    func validateChannelRequest(
        _ request: ReceivedRequest, app: Range<Int>, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        if request.isMethod("POST") {
            facts.kind = .createChannel
        } else if request.isMethod("GET") {
            facts.kind = .readChannel
        } else if request.isMethod("DELETE") {
            facts.kind = .deleteChannel
        } else {
            return .refused(.methodNotAllowed)
        }
        if let reason = refusal(ofManagementRequest: request, app: app, state: &state, facts: &facts) {
            return .refused(reason)
        }
        // The checks have stored the bundle id in `facts`.
        let owner = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        if facts.kind == .createChannel { return validateChannelCreation(request, for: owner) }
        switch registeredChannel(in: request, facts: facts) {
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let channel):
            facts.target = .channel(channel.id)
            return .channelAction(
                facts.kind == .readChannel ? .read(channel.id) : .delete(channel.id), of: owner)
        }
    }

    /// Checks a request for the ids of an app's channels.
    func validateChannelList(
        _ request: ReceivedRequest, app: Range<Int>, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        guard request.isMethod("GET") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofManagementRequest: request, app: app, state: &state, facts: &facts) {
            return .refused(reason)
        }
        let owner = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        return .channelAction(.list, of: owner)
    }

    /// Checks the header fields, the provider token and the app.
    private func refusal(
        ofManagementRequest request: ReceivedRequest, app: Range<Int>, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> APNsReason? {
        if request.headers.isRepeated { return .badRequestParameters }
        if request.hasInvalidID { return .badMessageID }
        if let reason = refusal(ofProviderTokenIn: request, state: &state, facts: &facts) { return reason }
        return refusal(ofApp: app, in: request, state: state, facts: &facts)
    }

    /// Checks the body of a request that creates a channel.
    private func validateChannelCreation(_ request: ReceivedRequest, for owner: Channels.App)
        -> RequestVerdict
    {
        guard !request.isBodyTruncated, request.body.count <= Self.broadcastBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard !request.body.isEmpty else { return .refused(.payloadEmpty) }
        let requestedPolicy = try? reader.read(request.body) { Self.requestedPolicy(in: $0) }
        switch requestedPolicy {
        case nil: return .refused(.badRequestPayload)
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let policy): return .channelAction(.create(policy), of: owner)
        }
    }

    /// Returns the policy that a body such as `{"message-storage-policy": 1, "push-type": "LiveActivity"}`
    /// requests.
    private static func requestedPolicy(in body: JSONValue) -> Result<Channels.StoragePolicy, Refusal> {
        guard body.kind == .object else { return .failure(Refusal(reason: .badRequestPayload)) }
        let members = body.object()
        let type = members["push-type"]
        guard !type.isMissing else { return .failure(Refusal(reason: .missingPushType)) }
        guard type.kind == .string, type.string() == "LiveActivity" else {
            return .failure(Refusal(reason: .invalidPushType))
        }
        let policyValue = members["message-storage-policy"]
        // A number outside of this range is not read as an integer, because that would report a problem.
        guard policyValue.kind == .integer, (0.0...1.0).contains(policyValue.double()),
            let policy = Channels.StoragePolicy(rawValue: policyValue.int())
        else { return .failure(Refusal(reason: .missingChannelQueueSize)) }
        return .success(policy)
    }
}
