internal import APNs
internal import JSON
internal import LiveActivity

/// `POST /3/device/<token>`
extension Judge {
    static let pushBytesMax = 4_096
    static let collapseBytesMax = 64

    func push(
        _ request: ReceivedRequest, to token: Range<Int>, on standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        let digits = request.bytes.span.extracting(token)
        let target = isWatched ? PushToken(hex: digits) : nil
        if let target { facts.target = .token(target) }
        guard request.isMethod("POST") else { return .refused(.methodNotAllowed) }
        if let reason = refusal(ofHeaders: request, isDirect: true) { return .refused(reason) }
        if let reason = refusal(ofProviderIn: request, &standing, &facts) { return .refused(reason) }
        guard !token.isEmpty else { return .refused(.missingDeviceToken) }
        guard target != nil || (!isWatched && isToken(digits)) else { return .refused(.badDeviceToken) }
        guard let topic = request.headers.topic else { return .refused(.missingTopic) }
        let count = topic.count - Judge.topicSuffix.utf8CodeUnitCount
        guard Text.ends(request.bytes.span.extracting(topic), with: Judge.topicSuffix), count > 0 else {
            return .refused(.badTopic)
        }
        let app = request.bytes.span.extracting(topic.lowerBound..<topic.lowerBound + count)
        guard let bundleID = registered(app) else { return .refused(.badTopic) }
        facts.bundleID = bundleID
        if let apps = standing.provider?.key.apps, !apps.contains(bundleID) {
            return .refused(.topicDisallowed)
        }
        guard !request.bodyIsCut, request.body.count <= Judge.pushBytesMax else {
            return .refused(.payloadTooLarge)
        }
        guard let payload = payload(request, &facts) else { return .refused(.payloadEmpty) }
        guard pace.allows(digits, at: facts.receivedAt) else { return .refused(.tooManyRequests) }
        guard let target else { return .accepted(nil) }
        return .accepted(
            AcceptedPush(
                id: request.id, target: .token(target), environment: facts.environment, bundleID: bundleID,
                priority: priority(request), expiration: expiration(request), payload: payload,
                receivedAt: facts.receivedAt))
    }

    private func isToken(_ digits: Span<UInt8>) -> Bool {
        unsafe digits.withUnsafeBufferPointer { unsafe PushToken.isPossible(hex: $0) }
    }

    /// Returns the payload, or nil if the body is not a JSON object with an object `aps`.
    func payload(_ request: ReceivedRequest, _ facts: inout RequestFacts) -> PushPayload? {
        guard !request.body.isEmpty else { return nil }
        if request.body != lastRead.body { lastRead = (request.body, read(request.body)) }
        facts.event = lastRead.payload?.event
        facts.timestamp = lastRead.payload?.timestamp
        return lastRead.payload
    }

    private func read(_ body: [UInt8]) -> PushPayload? {
        let depth: PushPayload.Depth = readsPayloads ? .whole : isWatched ? .order : .event
        let payload = try? reader.read(body) { value -> PushPayload? in PushPayload(value, depth) }
        return payload ?? nil
    }

    /// Checks the header fields that both kinds of push can have.
    func refusal(ofHeaders request: ReceivedRequest, isDirect: Bool) -> Reason? {
        let headers = request.headers
        let bytes = request.bytes
        if headers.isRepeated { return .duplicateHeaders }
        if request.hasBadID { return .badMessageID }
        if let type = headers.pushType {
            let type = bytes.span.extracting(type)
            // Apple's pages about channels use three spellings.
            guard
                isDirect
                    ? Text.equal(type, "liveactivity") : Text.equalIgnoringCase(type, "liveactivity")
            else { return .invalidPushType }
        } else {
            return isDirect ? .invalidPushType : .missingPushType
        }
        if headers.priority != nil, priority(request) == 0 { return .badPriority }
        if headers.expiration != nil, expiration(request) == nil { return .badExpirationDate }
        if let collapse = headers.collapseID, !(1...Judge.collapseBytesMax).contains(collapse.count) {
            return .badCollapseID
        }
        return nil
    }

    /// Returns the priority: 10 if it is missing, 0 if it is invalid.
    func priority(_ request: ReceivedRequest) -> Int {
        guard let priority = request.headers.priority else { return 10 }
        let text = request.bytes.span.extracting(priority)
        if Text.equal(text, "10") { return 10 }
        if Text.equal(text, "5") { return 5 }
        return Text.equal(text, "1") ? 1 : 0
    }

    func expiration(_ request: ReceivedRequest) -> Int64? {
        request.headers.expiration.flatMap { Text.number(request.bytes.span.extracting($0)) }
    }
}
