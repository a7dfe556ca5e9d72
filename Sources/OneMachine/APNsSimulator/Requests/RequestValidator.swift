internal import APNs
internal import JSON

/// The checks of APNs, which accept or refuse a request. They are made in this order: path, method, header
/// fields, provider token, topic, body. They do no I/O. The status of the push token and the faults are
/// considered later, when the request is answered.
///
/// It is confined to the simulator's event loop, because it keeps verified provider tokens, the channels, and
/// the rate of each push token.
final class RequestValidator {
    /// Limit on a body: 64 KiB, far above every limit of APNs. A body up to it is read to its end even if it is
    /// too large for APNs, because some clients lose an answer that comes earlier. A larger body is truncated.
    static let bodyBytesMax = 64 << 10
    /// The suffix of the topic of Live Activities, behind the bundle id.
    static let topicSuffix: StaticString = ".push-type.liveactivity"

    let settings: SimulatorSettings
    /// Whether phones, a fault script or a journal use the token or channel of a push. A load test has none
    /// of them and saves the time.
    let usesTargets: Bool
    /// Whether phones use more of the payload than its event and timestamp.
    let readsPayloads: Bool
    private(set) var channels: Channels
    let reader = JSONReader(limits: JSONLimits(bytesMax: broadcastBytesMax))
    var rateLimiter: PushRateLimiter
    private let tokenVerifier: ProviderTokenVerifier
    // The parsed parts of the last request. They are kept because the next request usually has the same.
    // Exclusivity is unchecked to save time: one thread accesses them, and no call made during an access uses
    // them again.
    /// The newest bundle id, as bytes and as text.
    @safe @exclusivity(unchecked) private var lastBundleID:
        (bytes: [UInt8], text: String, isRegistered: Bool) = ([], "", false)
    /// The newest body, which `sharedBody` returns again.
    @safe @exclusivity(unchecked) private var lastBody: [UInt8] = []
    /// The newest body that was parsed, and its payload.
    @safe @exclusivity(unchecked) var lastParsedBody: (body: [UInt8], payload: PushPayload?) = ([], nil)

    init(settings: SimulatorSettings, usesTargets: Bool, readsPayloads: Bool) {
        self.settings = settings
        self.usesTargets = usesTargets
        self.readsPayloads = readsPayloads
        channels = Channels(channelsPerAppMax: settings.channelsMax)
        rateLimiter = PushRateLimiter(settings: settings.rateLimit)
        tokenVerifier = ProviderTokenVerifier(keys: settings.keys, reader: reader)
    }

    /// Checks a request and returns the verdict.
    /// - Parameters:
    ///   - state: the state of the request's connection. A valid provider token is stored in it.
    ///   - facts: receives the facts about the request, as far as it can be parsed.
    func validate(
        _ request: ReceivedRequest, on port: ServedPort, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> RequestVerdict {
        switch (port.service, request.path) {
        case (.push, .device(let token)):
            facts.kind = .push
            return validatePush(request, token: token, state: &state, facts: &facts)
        case (.push, .broadcast(let app)):
            facts.kind = .broadcast
            return validateBroadcast(request, app: app, state: &state, facts: &facts)
        case (.channels, .channels(let app)):
            return validateChannelRequest(request, app: app, state: &state, facts: &facts)
        case (.channels, .allChannels(let app)):
            facts.kind = .listChannels
            return validateChannelList(request, app: app, state: &state, facts: &facts)
        default: return .refused(.badPath)
        }
    }

    /// Checks the provider token, and binds the connection to it. Returns the refusal, or nil if the token is valid.
    /// The age of the token is measured with the machine's clock, which its issuer uses too. Advancing the
    /// simulator's clock does not age a token.
    func refusal(
        ofProviderTokenIn request: ReceivedRequest, state: inout ConnectionState,
        facts: inout RequestFacts
    ) -> APNsReason? {
        guard let authorization = request.headers.authorization else { return .missingProviderToken }
        let verdict = tokenVerifier.verify(
            authorization: request.batchBytes.span.extracting(authorization), last: state.providerToken,
            at: (facts.receivedAt - facts.clockOffsetMilliseconds) / 1000)
        switch verdict {
        case .refused(let reason): return reason
        case .valid(let token):
            facts.warning = token.warning
            guard token.accepts(facts.environment) else { return .badEnvironmentKey }
            return state.bind(to: token)
        }
    }

    /// Forgets the channels and the rate of each push token. Verified provider tokens stay verified.
    func reset() {
        channels = Channels(channelsPerAppMax: settings.channelsMax)
        rateLimiter = PushRateLimiter(settings: settings.rateLimit)
    }

    /// Returns the bundle id, or nil if no registered app has it.
    func registeredBundleID(in bytes: Span<UInt8>) -> String? {
        if !ASCIIText.isEqual(bytes, to: lastBundleID.bytes) {
            let text = ASCIIText.string(from: bytes)
            let isRegistered =
                ASCIIText.isBundleID(bytes) && (settings.apps.isEmpty || settings.apps[text] != nil)
            lastBundleID = (ASCIIText.array(from: bytes), text, isRegistered)
        }
        return lastBundleID.isRegistered ? lastBundleID.text : nil
    }

    /// Returns a copy of the bytes. Consecutive equal bodies share one array.
    func sharedBody(copying bytes: Span<UInt8>) -> [UInt8] {
        if !ASCIIText.isEqual(bytes, to: lastBody) { lastBody = ASCIIText.array(from: bytes) }
        return lastBody
    }
}
