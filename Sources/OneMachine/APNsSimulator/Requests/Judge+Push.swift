internal import APNs
internal import JSON
internal import LiveActivity

/// `POST /3/device/<token>`
extension RequestValidator {
    static let pushBytesMax = 4_096
    static let collapseBytesMax = 64

    func validatePush(
        _ request: ReceivedRequest, token: Range<Int>, state standing: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        let digits = request.bytes.span.extracting(token)
        let target = usesTargets ? PushToken(hex: digits) : nil
        if let target { facts.target = .token(target) }
        guard request.isMethod("POST") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofHeaders: request, isDirect: true) { return .refused(reason) }
        if let reason = refusal(ofProviderIn: request, state: &standing, facts: &facts) {
            return .refused(reason)
        }
        guard !token.isEmpty else { return .refused(.missingDeviceToken) }
        guard target != nil || (!usesTargets && isToken(digits)) else { return .refused(.badDeviceToken) }
        guard let topic = request.headers.topic else { return .refused(.missingTopic) }
        let count = topic.count - RequestValidator.topicSuffix.utf8CodeUnitCount
        guard ASCIIText.ends(request.bytes.span.extracting(topic), with: RequestValidator.topicSuffix),
            count > 0
        else {
            return .refused(.badTopic)
        }
        let app = request.bytes.span.extracting(topic.lowerBound..<topic.lowerBound + count)
        guard let bundleID = registeredBundleID(in: app) else { return .refused(.badTopic) }
        facts.bundleID = bundleID
        if let apps = standing.provider?.key.apps, !apps.contains(bundleID) {
            return .refused(.topicDisallowed)
        }
        guard !request.isBodyTruncated, request.body.count <= RequestValidator.pushBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard let payload = payload(of: request, facts: &facts) else { return .refused(.payloadEmpty) }
        guard rateLimiter.allowsPush(to: digits, at: facts.receivedAt) else {
            return .refused(.tooManyRequests)
        }
        guard let target else { return .accepted(nil) }
        return .accepted(
            AcceptedPush(
                id: request.id, target: .token(target), environment: facts.environment, bundleID: bundleID,
                priority: priority(of: request), expiration: expiration(of: request), payload: payload,
                receivedAt: facts.receivedAt))
    }

    private func isToken(_ digits: Span<UInt8>) -> Bool {
        unsafe digits.withUnsafeBufferPointer { unsafe PushToken.isValid(hex: $0) }
    }

    /// Returns the payload, or nil if the body is not a JSON object with an object `aps`.
    func payload(of request: ReceivedRequest, facts: inout RequestFacts) -> PushPayload? {
        guard !request.body.isEmpty else { return nil }
        if request.body != lastRead.body { lastRead = (request.body, readPayload(request.body)) }
        facts.event = lastRead.payload?.event
        facts.timestamp = lastRead.payload?.timestamp
        return lastRead.payload
    }

    private func readPayload(_ body: [UInt8]) -> PushPayload? {
        let depth: PushPayload.ReadingDepth =
            readsPayloads ? .whole : usesTargets ? .eventAndTimestamp : .event
        let payload = try? reader.read(body) { value -> PushPayload? in PushPayload(value, depth: depth) }
        return payload ?? nil
    }

    /// Checks the header fields that both kinds of push can have.
    func refusal(ofHeaders request: ReceivedRequest, isDirect: Bool) -> APNsReason? {
        let headers = request.headers
        let bytes = request.bytes
        if headers.isRepeated { return .duplicateHeaders }
        if request.hasInvalidID { return .badMessageID }
        if let type = headers.pushType {
            let type = bytes.span.extracting(type)
            // Apple's pages about channels use three spellings.
            guard
                isDirect
                    ? ASCIIText.isEqual(type, to: "liveactivity")
                    : ASCIIText.isEqual(type, ignoringCase: "liveactivity")
            else { return .invalidPushType }
        } else {
            return isDirect ? .invalidPushType : .missingPushType
        }
        if headers.priority != nil, priority(of: request) == 0 { return .badPriority }
        if headers.expiration != nil, expiration(of: request) == nil { return .badExpirationDate }
        if let collapse = headers.collapseID,
            !(1...RequestValidator.collapseBytesMax).contains(collapse.count)
        {
            return .badCollapseID
        }
        return nil
    }

    /// Returns the priority: 10 if it is missing, 0 if it is invalid.
    func priority(of request: ReceivedRequest) -> Int {
        guard let priority = request.headers.priority else { return 10 }
        let text = request.bytes.span.extracting(priority)
        if ASCIIText.isEqual(text, to: "10") { return 10 }
        if ASCIIText.isEqual(text, to: "5") { return 5 }
        return ASCIIText.isEqual(text, to: "1") ? 1 : 0
    }

    func expiration(of request: ReceivedRequest) -> Int64? {
        request.headers.expiration.flatMap { ASCIIText.wholeNumber(in: request.bytes.span.extracting($0)) }
    }
}
