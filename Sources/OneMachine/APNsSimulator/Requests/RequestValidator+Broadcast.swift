internal import APNs
internal import Payloads

/// The checks of a broadcast, `POST /4/broadcasts/apps/<bundle id>`, in the order that `RequestValidator`
/// describes. The first failed check gives the reason.
extension RequestValidator {
    /// Apple's limit on the payload of a broadcast.
    static let broadcastBytesMax = 5_120

    /// - Parameters:
    ///   - app: the range of the bundle id in the request's bytes.
    ///   - facts: receives the facts that are known when a check fails.
    func validateBroadcast(
        _ request: ReceivedRequest, app: Range<Int>, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        if usesTargets, let channel = request.headers.channelID {
            facts.target = .channel(ASCIIText.string(from: request.batchBytes.span.extracting(channel)))
        }
        guard request.isMethod("POST") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofHeaders: request, isPushToToken: false) { return .refused(reason) }
        if let reason = refusal(ofProviderTokenIn: request, state: &state, facts: &facts) {
            return .refused(reason)
        }
        if let reason = refusal(ofApp: app, in: request, state: state, facts: &facts) {
            return .refused(reason)
        }
        // The channel gives the topic, and unlike a push a broadcast must name its priority and expiration.
        guard request.headers.topic == nil else { return .refused(.badRequestParameters) }
        guard request.headers.priority != nil else { return .refused(.badPriority) }
        guard let expiration = expiration(of: request) else { return .refused(.badExpirationDate) }
        let channel: RegisteredChannel
        switch registeredChannel(in: request, facts: facts) {
        case .success(let registered): channel = registered
        case .failure(let refusal): return .refused(refusal.reason)
        }
        // An expiration demands that the message is stored, which this channel must allow.
        guard channel.policy == .storesNewest || expiration == 0 else { return .refused(.badExpirationDate) }
        return validateBroadcastBody(request, to: channel, expiration: expiration, facts: &facts)
    }

    /// Checks the body and the rate of a broadcast whose header fields are valid.
    private func validateBroadcastBody(
        _ request: ReceivedRequest, to channel: RegisteredChannel,
        expiration: Int64, facts: inout RequestFacts
    ) -> RequestVerdict {
        guard !request.isBodyTruncated, request.body.count <= Self.broadcastBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard !request.body.isEmpty else { return .refused(.payloadEmpty) }
        guard let payload = payload(of: request, facts: &facts),
            payload.event == .update || payload.event == .end
        else {
            return .refused(.badRequestPayload)
        }
        // The header is present, because the channel is registered.
        let channelIDBytes = request.batchBytes.span.extracting(request.headers.channelID ?? 0..<0)
        guard rateLimiter.takePush(to: channelIDBytes, at: facts.receivedAt) else {
            return .refused(.tooManyRequests)
        }
        // A load test without phones needs no target.
        guard usesTargets, let bundleID = facts.bundleID else { return .accepted(nil) }
        return .accepted(
            AcceptedPush(
                id: request.id, target: .channel(channel.id), environment: facts.environment,
                bundleID: bundleID, priority: priority(of: request), expiration: expiration,
                isStored: channel.policy == .storesNewest, payload: payload, receivedAt: facts.receivedAt))
    }

    /// Checks that the app in the path may use channels and that the provider token may send for it. Returns
    /// the refusal, or nil if both are true. The bundle id is stored in `facts`.
    func refusal(
        ofApp app: Range<Int>, in request: ReceivedRequest, state: ConnectionState,
        facts: inout RequestFacts
    ) -> APNsReason? {
        let text = request.batchBytes.span.extracting(app)
        guard !ASCIIText.ends(text, with: Self.topicSuffix),
            let bundleID = registeredBundleID(in: text)
        else {
            return .topicDisallowed
        }
        facts.bundleID = bundleID
        if let apps = state.providerToken?.key.apps, !apps.contains(bundleID) { return .topicMismatch }
        // An app without an entry in the settings may broadcast.
        guard settings.apps[bundleID]?.mayBroadcast ?? true else { return .featureNotEnabled }
        return nil
    }

    /// Returns the registered channel that the header `apns-channel-id` names.
    func registeredChannel(
        in request: ReceivedRequest, facts: RequestFacts
    ) -> Result<RegisteredChannel, Refusal> {
        guard let idRange = request.headers.channelID else {
            return .failure(Refusal(reason: .missingChannelID))
        }
        let id = ASCIIText.string(from: request.batchBytes.span.extracting(idRange))
        guard Channels.isID(id) else { return .failure(Refusal(reason: .badChannelID)) }
        let app = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        guard let policy = channels.policy(of: id, app: app) else {
            return .failure(Refusal(reason: .channelNotRegistered))
        }
        return .success(RegisteredChannel(id: id, policy: policy))
    }

    struct RegisteredChannel {
        let id: String
        let policy: Channels.StoragePolicy
    }

    /// A refusal as the failure of a `Result`. It is never thrown.
    struct Refusal: Error {
        let reason: APNsReason
    }
}
