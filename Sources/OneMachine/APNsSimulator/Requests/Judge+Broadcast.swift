internal import APNs
internal import LiveActivity

/// `POST /4/broadcasts/apps/<bundle id>`
extension Judge {
    static let broadcastBytesMax = 5_120

    func broadcast(
        _ request: ReceivedRequest, of app: Range<Int>, on standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        if isWatched, let channel = request.headers.channelID {
            facts.target = .channel(Text.string(request.bytes.span.extracting(channel)))
        }
        guard request.isMethod("POST") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofHeaders: request, isDirect: false) { return .refused(reason) }
        if let reason = refusal(ofProviderIn: request, &standing, &facts) { return .refused(reason) }
        if let reason = refusal(ofApp: app, of: request, on: standing, noting: &facts) {
            return .refused(reason)
        }
        guard request.headers.topic == nil else { return .refused(.badRequestParameters) }
        guard request.headers.priority != nil else { return .refused(.badPriority) }
        guard let expiration = expiration(request) else { return .refused(.badExpirationDate) }
        let channel: (id: String, policy: Channels.Policy)
        switch self.channel(in: request, facts) {
        case .success(let found): channel = found
        case .failure(let refusal): return .refused(refusal.reason)
        }
        guard channel.policy == .storesNewest || expiration == 0 else { return .refused(.badExpirationDate) }
        guard !request.bodyIsCut, request.body.count <= Judge.broadcastBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard !request.body.isEmpty else { return .refused(.payloadEmpty) }
        guard let payload = payload(request, &facts), payload.event == .update || payload.event == .end else {
            return .refused(.badRequestPayload)
        }
        let id = request.bytes.span.extracting(request.headers.channelID ?? 0..<0)
        guard pace.allows(id, at: facts.receivedAt) else { return .refused(.tooManyRequests) }
        guard isWatched, let bundleID = facts.bundleID else { return .accepted(nil) }
        return .accepted(
            AcceptedPush(
                id: request.id, target: .channel(channel.id), environment: facts.environment,
                bundleID: bundleID,
                priority: priority(request), expiration: expiration,
                isStored: channel.policy == .storesNewest, payload: payload, receivedAt: facts.receivedAt))
    }

    /// Returns a refusal unless the app in the path may use channels and this provider may send for it.
    func refusal(
        ofApp app: Range<Int>, of request: ReceivedRequest, on standing: ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Reason? {
        let text = request.bytes.span.extracting(app)
        guard !Text.ends(text, with: Judge.topicSuffix), let bundleID = registered(text) else {
            return .topicDisallowed
        }
        facts.bundleID = bundleID
        if let apps = standing.provider?.key.apps, !apps.contains(bundleID) { return .topicMismatch }
        guard settings.apps[bundleID]?.mayBroadcast ?? true else { return .featureNotEnabled }
        return nil
    }

    /// Returns the channel named in the header.
    func channel(
        in request: ReceivedRequest, _ facts: RequestFacts
    ) -> Result<(id: String, policy: Channels.Policy), Refusal> {
        guard let range = request.headers.channelID else {
            return .failure(Refusal(reason: .missingChannelID))
        }
        let id = Text.string(request.bytes.span.extracting(range))
        guard Channels.isID(id) else { return .failure(Refusal(reason: .badChannelID)) }
        let app = Channels.App(environment: facts.environment, bundleID: facts.bundleID ?? "")
        guard let policy = channels.policy(of: id, app) else {
            return .failure(Refusal(reason: .channelNotRegistered))
        }
        return .success((id, policy))
    }

    struct Refusal: Error {
        let reason: Reason
    }
}
