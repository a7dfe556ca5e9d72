internal import APNs
internal import JSON
internal import LiveActivity

/// Returns the answer of APNs to a request. It checks in the order of a server: path, method, headers,
/// provider, topic, body. It does no I/O. Phones and faults are applied after it.
///
/// It is confined to the simulator's event loop, because it keeps verified provider tokens, the channels, and
/// the pace of each token.
final class Judge {
    /// Limit on a body, far above every limit of APNs. A body that is too large is normally read to its end,
    /// because some clients lose an answer that comes earlier. A body above this limit is truncated.
    static let bodyBytesMax = 64 << 10
    static let topicSuffix: StaticString = ".push-type.liveactivity"

    let settings: SimulatorSettings
    /// Whether the target and the app of a push are used.
    let isWatched: Bool
    /// Whether the payload is used beyond its event.
    let readsPayloads: Bool
    private(set) var channels: Channels
    let reader = JSONReader(limits: JSONLimits(bytesMax: broadcastBytesMax))
    var pace: TokenPace
    private let providers: ProviderTokens
    /// Bundle id and body of the last request, and its payload. The next request usually has the same.
    @safe @exclusivity(unchecked) private var lastBundleID:
        (bytes: [UInt8], text: String, isRegistered: Bool) = ([], "", false)
    @safe @exclusivity(unchecked) private var lastBody: [UInt8] = []
    @safe @exclusivity(unchecked) var lastRead: (body: [UInt8], payload: PushPayload?) = ([], nil)

    init(_ settings: SimulatorSettings, isWatched: Bool, readsPayloads: Bool) {
        self.settings = settings
        self.isWatched = isWatched
        self.readsPayloads = readsPayloads
        channels = Channels(perAppMax: settings.channelsMax)
        pace = TokenPace(settings.pace)
        providers = ProviderTokens(settings.keys, reader)
    }

    /// - Parameters:
    ///   - standing: the standing of the request's connection.
    ///   - facts: receives the facts about the request, as far as it can be parsed.
    func judge(
        _ request: ReceivedRequest, on port: ServedPort, standing: inout ConnectionStanding,
        noting facts: inout RequestFacts
    ) -> Verdict {
        switch (port.kind, request.path) {
        case (.push, .device(let token)):
            facts.kind = .push
            return push(request, to: token, on: &standing, noting: &facts)
        case (.push, .broadcast(let app)):
            facts.kind = .broadcast
            return broadcast(request, of: app, on: &standing, noting: &facts)
        case (.channels, .channels(let app)): return channel(request, of: app, on: &standing, noting: &facts)
        case (.channels, .allChannels(let app)):
            facts.kind = .listChannels
            return list(request, of: app, on: &standing, noting: &facts)
        default: return .refused(.badPath)
        }
    }

    /// Checks the provider and returns nil if it is valid. The age of a provider token is measured with the
    /// machine's clock, like its issuer does. Advancing the simulator's clock does not age a token.
    func refusal(
        ofProviderIn request: ReceivedRequest, _ standing: inout ConnectionStanding,
        _ facts: inout RequestFacts
    ) -> Reason? {
        guard let authorization = request.headers.authorization else { return .missingProviderToken }
        let verdict = providers.judge(
            request.bytes.span.extracting(authorization), last: standing.provider,
            at: (facts.receivedAt - facts.clockAhead) / 1000)
        switch verdict {
        case .refused(let reason): return reason
        case .good(let provider):
            facts.doubt = provider.doubt
            guard provider.takes(facts.environment) else { return .badEnvironmentKey }
            return standing.commit(to: provider)
        }
    }

    /// Forgets the channels and the pace of each token. Verified provider tokens stay verified.
    func forget() {
        channels = Channels(perAppMax: settings.channelsMax)
        pace = TokenPace(settings.pace)
    }

    /// Returns the bundle id, or nil if no registered app has it.
    func registered(_ bytes: Span<UInt8>) -> String? {
        if !Text.equal(bytes, lastBundleID.bytes) {
            let text = Text.string(bytes)
            let isRegistered =
                Text.isBundleID(bytes) && (settings.apps.isEmpty || settings.apps[text] != nil)
            lastBundleID = (Text.array(bytes), text, isRegistered)
        }
        return lastBundleID.isRegistered ? lastBundleID.text : nil
    }

    /// Returns a copy of the bytes. Consecutive equal bodies share one array.
    func body(_ bytes: Span<UInt8>) -> [UInt8] {
        if !Text.equal(bytes, lastBody) { lastBody = Text.array(bytes) }
        return lastBody
    }
}
