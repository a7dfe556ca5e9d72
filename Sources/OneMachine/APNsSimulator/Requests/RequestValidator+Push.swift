internal import APNs
internal import Identifiers
internal import JSON

/// The checks of a push, `POST /3/device/<token>`, in the order that `RequestValidator` describes. The first
/// failed check gives the reason.
extension RequestValidator {
    /// Apple's limit on the payload of a push.
    static let pushBytesMax = 4_096
    /// Apple's limit on `apns-collapse-id`.
    static let collapseBytesMax = 64

    /// - Parameters:
    ///   - token: the range of the token in the request's bytes.
    ///   - facts: receives the facts that are known when a check fails.
    func validatePush(
        _ request: ReceivedRequest, token: Range<Int>, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        let tokenDigits = request.batchBytes.span.extracting(token)
        let pushToken = usesTargets ? PushToken(hex: tokenDigits) : nil
        if let pushToken { facts.target = .token(pushToken) }
        guard request.isMethod("POST") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofHeaders: request, isPushToToken: true) { return .refused(reason) }
        if let reason = refusal(ofProviderTokenIn: request, state: &state, facts: &facts) {
            return .refused(reason)
        }
        guard !token.isEmpty else { return .refused(.missingDeviceToken) }
        // If nothing uses the target, the token is checked but not parsed.
        let isValidToken = usesTargets ? pushToken != nil : isToken(tokenDigits)
        guard isValidToken else { return .refused(.badDeviceToken) }
        guard let topic = request.headers.topic else { return .refused(.missingTopic) }
        guard let bundleID = bundleID(inTopic: topic, of: request) else { return .refused(.badTopic) }
        facts.bundleID = bundleID
        if let apps = state.providerToken?.key.apps, !apps.contains(bundleID) {
            return .refused(.topicDisallowed)
        }
        return validatePushBody(
            request, to: pushToken, tokenDigits: tokenDigits, bundleID: bundleID, facts: &facts)
    }

    /// Checks the body and the rate of a push whose token and header fields are valid.
    /// - Parameter pushToken: nil if nothing uses the target.
    private func validatePushBody(
        _ request: ReceivedRequest, to pushToken: PushToken?, tokenDigits: Span<UInt8>, bundleID: String,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        guard !request.isBodyTruncated, request.body.count <= Self.pushBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard let payload = payload(of: request, facts: &facts) else { return .refused(.payloadEmpty) }
        guard rateLimiter.takePush(to: tokenDigits, at: facts.receivedAt) else {
            return .refused(.tooManyRequests)
        }
        // A load test without phones needs no target.
        guard let pushToken else { return .accepted(nil) }
        return .accepted(
            AcceptedPush(
                id: request.id, target: .token(pushToken), environment: facts.environment,
                bundleID: bundleID, priority: priority(of: request), expiration: expiration(of: request),
                payload: payload, receivedAt: facts.receivedAt))
    }

    /// Whether the digits are a valid token: hexadecimal and not too long.
    private func isToken(_ digits: Span<UInt8>) -> Bool {
        unsafe digits.withUnsafeBufferPointer { unsafe PushToken.isValid(hex: $0) }
    }

    /// Returns the bundle id in a topic, such as `com.example.app` in
    /// `com.example.app.push-type.liveactivity`. Returns nil if the topic has another suffix, or if no
    /// registered app has the bundle id.
    private func bundleID(inTopic topic: Range<Int>, of request: ReceivedRequest) -> String? {
        let bundleIDLength = topic.count - Self.topicSuffix.utf8CodeUnitCount
        guard ASCIIText.ends(request.batchBytes.span.extracting(topic), with: Self.topicSuffix),
            bundleIDLength > 0
        else {
            return nil
        }
        let bundleID = topic.lowerBound..<topic.lowerBound + bundleIDLength
        return registeredBundleID(in: request.batchBytes.span.extracting(bundleID))
    }

    /// Returns the payload, or nil if the body is not a JSON object with an object `aps`. The event and the timestamp
    /// are stored in `facts`. A body that equals the last one is not parsed again.
    func payload(of request: ReceivedRequest, facts: inout RequestFacts) -> PushPayload? {
        guard !request.body.isEmpty else { return nil }
        if request.body != lastParsedBody.body { lastParsedBody = (request.body, readPayload(request.body)) }
        facts.event = lastParsedBody.payload?.event
        facts.timestamp = lastParsedBody.payload?.timestamp
        return lastParsedBody.payload
    }

    private func readPayload(_ body: [UInt8]) -> PushPayload? {
        let depth: PushPayload.ReadingDepth =
            if readsPayloads { .whole } else if usesTargets { .eventAndTimestamp } else { .event }
        let payload = try? reader.read(body) { value -> PushPayload? in PushPayload(value, depth: depth) }
        return payload ?? nil
    }

    /// Checks the header fields of a push to a token (`isPushToToken`) or of a broadcast.
    func refusal(ofHeaders request: ReceivedRequest, isPushToToken: Bool) -> APNsReason? {
        let headers = request.headers
        let bytes = request.batchBytes
        if headers.isRepeated { return .duplicateHeaders }
        if request.hasInvalidID { return .badMessageID }
        if let type = headers.pushType {
            let typeText = bytes.span.extracting(type)
            // For a broadcast any case is valid, because Apple's pages about channels use three spellings.
            let isLiveActivity =
                isPushToToken
                ? ASCIIText.isEqual(typeText, to: "liveactivity")
                : ASCIIText.isEqual(typeText, ignoringCase: "liveactivity")
            guard isLiveActivity else { return .invalidPushType }
        } else {
            return isPushToToken ? .invalidPushType : .missingPushType
        }
        if headers.priority != nil, priority(of: request) == 0 { return .badPriority }
        if headers.expiration != nil, expiration(of: request) == nil { return .badExpirationDate }
        if let collapseID = headers.collapseID,
            !(1...Self.collapseBytesMax).contains(collapseID.count)
        {
            return .badCollapseID
        }
        return nil
    }

    /// Returns the priority: 10 if it is missing, 0 if it is invalid.
    func priority(of request: ReceivedRequest) -> Int {
        guard let priority = request.headers.priority else { return 10 }
        let text = request.batchBytes.span.extracting(priority)
        if ASCIIText.isEqual(text, to: "10") { return 10 }
        if ASCIIText.isEqual(text, to: "5") { return 5 }
        return ASCIIText.isEqual(text, to: "1") ? 1 : 0
    }

    /// Returns the expiration in seconds since 1970. Returns nil if it is missing or invalid.
    func expiration(of request: ReceivedRequest) -> Int64? {
        request.headers.expiration.flatMap {
            ASCIIText.wholeNumber(in: request.batchBytes.span.extracting($0))
        }
    }
}
